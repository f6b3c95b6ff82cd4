import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kro_gitops.tracking.identity import TrackingId, application_instance, parse_tracking_id
from kube_objects.refs import Kind, ObjectRef

DEPLOYMENT = Kind("apps", "v1", "Deployment")
SERVICE = Kind("", "v1", "Service")
ROLE = Kind("rbac.authorization.k8s.io", "v1", "ClusterRole")


@pytest.mark.parametrize(
    ("application", "ref", "destination", "text"),
    [
        pytest.param(
            "web",
            ObjectRef(DEPLOYMENT, "prod", "api"),
            "prod",
            "web:apps/Deployment:prod/api",
            id="a namespaced object",
        ),
        pytest.param(
            "web", ObjectRef(SERVICE, "prod", "api"), "", "web:/Service:prod/api", id="core group"
        ),
        pytest.param(
            application_instance("web", "team-a", "argocd"),
            ObjectRef(DEPLOYMENT, "prod", "api"),
            "",
            "team-a_web:apps/Deployment:prod/api",
            id="an application in another namespace",
        ),
        pytest.param(
            "web",
            ObjectRef(ROLE, "", "reader"),
            "prod",
            "web:rbac.authorization.k8s.io/ClusterRole:prod/reader",
            id="cluster-scoped, with the destination's namespace",
        ),
        pytest.param(
            "web",
            ObjectRef(ROLE, "", "reader"),
            "",
            "web:rbac.authorization.k8s.io/ClusterRole:/reader",
            id="cluster-scoped, without a destination",
        ),
    ],
)
def test_ids_read_as_argo_cd_writes_them(
    application: str, ref: ObjectRef, destination: str, text: str
) -> None:
    written = TrackingId.of(application, ref, destination)
    assert str(written) == text
    assert parse_tracking_id(text) == written
    assert written.names(ref)


def test_names_of_roles_may_contain_colons() -> None:
    found = parse_tracking_id("web:rbac.authorization.k8s.io/ClusterRole:prod/system:x:y")
    assert found is not None
    assert found.name == "system:x:y"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("web:apps/Deployment:prod", id="no name"),
        pytest.param("web:Deployment:prod/api", id="no group"),
        pytest.param("web:apps/v1/Deployment:prod/api", id="a version"),
        pytest.param("web:apps/Deployment:prod/api/x", id="one slash too many"),
        pytest.param("web:apps/Deployment", id="two parts"),
        pytest.param("web", id="a bare name"),
        pytest.param("", id="empty"),
    ],
)
def test_what_argo_cd_cannot_read_is_no_id(text: str) -> None:
    assert parse_tracking_id(text) is None


@pytest.mark.parametrize(
    ("text", "ref", "names"),
    [
        pytest.param(
            "web:kro.run/WebApp:prod/shop",
            ObjectRef(DEPLOYMENT, "prod", "shop"),
            False,
            id="copied from an instance",
        ),
        pytest.param(
            "web:apps/Deployment:other/api",
            ObjectRef(DEPLOYMENT, "prod", "api"),
            False,
            id="another namespace",
        ),
        pytest.param(
            "web:apps/Deployment:prod/web",
            ObjectRef(DEPLOYMENT, "prod", "api"),
            False,
            id="another name",
        ),
        pytest.param(
            "web:extensions/Deployment:prod/api",
            ObjectRef(DEPLOYMENT, "prod", "api"),
            False,
            id="another group",
        ),
        pytest.param(
            "web:apiextensions.k8s.io/X:other/n",
            ObjectRef(Kind("apiextensions.k8s.io", "v1", "X"), "", "n"),
            True,
            id="cluster-scoped: the namespace does not count",
        ),
        pytest.param(
            "other:apps/Deployment:prod/api",
            ObjectRef(Kind("apps", "v1beta1", "Deployment"), "prod", "api"),
            True,
            id="neither application nor version count",
        ),
    ],
)
def test_an_id_names_the_object_it_stands_on_or_another(
    text: str, ref: ObjectRef, names: bool
) -> None:
    found = parse_tracking_id(text)
    assert found is not None
    assert found.names(ref) is names


@pytest.mark.parametrize("namespace", ["", "argocd"])
def test_an_application_beside_argo_cd_goes_by_its_bare_name(namespace: str) -> None:
    assert application_instance("web", namespace, "argocd") == "web"


part = st.text(st.characters(exclude_characters=":/"), max_size=8)
names = st.text(st.characters(exclude_characters="/"), max_size=8)


@settings(max_examples=200)
@given(st.builds(TrackingId, part, part, part, part, names))
def test_an_id_survives_being_written_and_read(tracking_id: TrackingId) -> None:
    assert parse_tracking_id(str(tracking_id)) == tracking_id


@settings(max_examples=200)
@given(st.text(alphabet=":/ab", max_size=12))
def test_what_can_be_read_is_written_the_same_again(text: str) -> None:
    found = parse_tracking_id(text)
    assert found is None or str(found) == text
