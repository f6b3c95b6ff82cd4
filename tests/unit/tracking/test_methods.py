import pytest

from kro_gitops.metadata import ARGOCD_INSTALLATION_ID, ARGOCD_TRACKING_ID
from kro_gitops.settings.tracking_options import INSTANCE_LABEL, Method
from kro_gitops.tracking.identity import TrackingId
from kro_gitops.tracking.methods import (
    ArgoCD,
    TrackingMetadata,
    tracking_metadata,
)
from kube_objects.errors import RefusedError

ID = TrackingId("web", "apps", "Deployment", "prod", "api")
LONG = "a" * 62 + "-" + "b" * 7


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("annotation", Method.ANNOTATION),
        ("label", Method.LABEL),
        ("annotation+label", Method.BOTH),
        ("", Method.ANNOTATION),
        ("ANNOTATION_AND_LABEL", Method.ANNOTATION),
    ],
)
def test_a_setting_that_is_unset_or_unknown_means_annotations(text: str, method: Method) -> None:
    assert Method.parse(text) is method


@pytest.mark.parametrize(
    ("method", "marks"),
    [
        pytest.param(
            Method.ANNOTATION,
            TrackingMetadata({}, {ARGOCD_TRACKING_ID: str(ID)}),
            id="annotation only",
        ),
        pytest.param(Method.LABEL, TrackingMetadata({INSTANCE_LABEL: "web"}, {}), id="label only"),
        pytest.param(
            Method.BOTH,
            TrackingMetadata({INSTANCE_LABEL: "web"}, {ARGOCD_TRACKING_ID: str(ID)}),
            id="annotation and label",
        ),
    ],
)
def test_each_method_writes_its_own_marks(method: Method, marks: TrackingMetadata) -> None:
    assert tracking_metadata(ID, ArgoCD(method)) == marks


def test_an_installation_id_is_written_beside_the_tracking_id() -> None:
    written = tracking_metadata(ID, ArgoCD(installation_id="blue")).annotations
    assert written == {ARGOCD_TRACKING_ID: str(ID), ARGOCD_INSTALLATION_ID: "blue"}


@pytest.mark.parametrize(
    ("method", "value"),
    [
        pytest.param(Method.BOTH, "a" * 62, id="cut to the last letter that may end it"),
        pytest.param(Method.LABEL, LONG, id="never cut where the label decides"),
    ],
)
def test_long_application_names_in_labels(method: Method, value: str) -> None:
    application = TrackingId(LONG, "apps", "Deployment", "prod", "api")
    assert tracking_metadata(application, ArgoCD(method)).labels == {INSTANCE_LABEL: value}


def test_a_name_that_cannot_end_a_label_is_refused() -> None:
    with pytest.raises(RefusedError, match="no letter or digit"):
        tracking_metadata(TrackingId("-._", "", "Service", "a", "b"), ArgoCD(Method.BOTH))
