import pytest

from kro_gitops.metadata import ARGOCD_INSTALLATION_ID, ARGOCD_TRACKING_ID
from kro_gitops.settings.tracking_options import INSTANCE_LABEL, Method
from kro_gitops.tracking.identity import TrackingId
from kro_gitops.tracking.methods import (
    ArgoCD,
    TrackingMetadata,
    application_of,
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


@pytest.mark.parametrize("method", Method)
def test_what_argo_cd_writes_it_believes(method: Method) -> None:
    argocd = ArgoCD(method, "argocd.argoproj.io/instance", "blue")
    assert application_of(tracking_metadata(ID, argocd), argocd) == "web"


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


@pytest.mark.parametrize(
    ("argocd", "marks", "application"),
    [
        pytest.param(
            ArgoCD(Method.BOTH),
            TrackingMetadata({INSTANCE_LABEL: "web"}),
            None,
            id="the label is decoration",
        ),
        pytest.param(
            ArgoCD(Method.LABEL),
            TrackingMetadata({}, {ARGOCD_TRACKING_ID: str(ID)}),
            None,
            id="the annotation does not count where the label does",
        ),
        pytest.param(
            ArgoCD(),
            TrackingMetadata({}, {ARGOCD_TRACKING_ID: "web"}),
            None,
            id="an unreadable annotation",
        ),
        pytest.param(
            ArgoCD(installation_id="blue"),
            TrackingMetadata({}, {ARGOCD_TRACKING_ID: str(ID)}),
            None,
            id="an installation asks for its own id",
        ),
        pytest.param(
            ArgoCD(),
            TrackingMetadata({}, {ARGOCD_TRACKING_ID: str(ID), ARGOCD_INSTALLATION_ID: "green"}),
            "web",
            id="an installation without an id asks for none",
        ),
        pytest.param(
            ArgoCD(Method.LABEL, "custom/key"),
            TrackingMetadata({INSTANCE_LABEL: "helm-release", "custom/key": "web"}),
            "web",
            id="a label key of its own",
        ),
    ],
)
def test_whom_argo_cd_believes_an_object_to_belong_to(
    argocd: ArgoCD, marks: TrackingMetadata, application: str | None
) -> None:
    assert application_of(marks, argocd) == application
