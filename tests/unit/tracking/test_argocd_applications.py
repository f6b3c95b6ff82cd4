from collections.abc import Mapping
from typing import Any

import pytest

from kro_gitops.metadata import (
    ARGOCD_COMPARE_OPTIONS,
    ARGOCD_INSTALLATION_ID,
    ARGOCD_SYNC_OPTIONS,
    ARGOCD_TRACKING_ID,
)
from kro_gitops.settings.tracking_options import INSTANCE_LABEL, Method
from kro_gitops.tracking.argocd_applications import (
    application_conflict,
    argocd_metadata,
)
from kro_gitops.tracking.identity import parse_tracking_id
from kro_gitops.tracking.methods import ArgoCD, TrackingMetadata
from kube_objects.refs import Kind, KubeObject, ObjectRef

INSTANCE = ObjectRef(Kind("kro.run", "v1alpha1", "WebApp"), "prod", "shop")
DEFINITION = ObjectRef(Kind("kro.run", "v1alpha1", "ResourceGraphDefinition"), "", "webapp")
CRD = ObjectRef(Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition"), "", "xs.io")
OURS = {"url": "https://git.example/team/shop.git", "revision": "main", "paths": ("apps",)}
SAME: dict[str, Any] = {
    "repoURL": "https://git.example/team/shop",
    "targetRevision": "main",
    "path": "apps",
    "directory": {"recurse": True},
}


def annotations_for(
    app: KubeObject,
    ref: ObjectRef,
    written: Mapping[str, str] | None = None,
    argocd: ArgoCD | None = None,
    argocd_namespace: str = "argocd",
) -> Mapping[str, str]:
    return argocd_metadata(
        app, ref, written or {}, argocd=argocd or ArgoCD(), argocd_namespace=argocd_namespace
    ).annotations


def application(
    source: dict[str, Any] | None = None,
    automated: dict[str, Any] | None = None,
    namespace: str = "argocd",
    **spec: Any,
) -> KubeObject:
    policy = {} if automated is None else {"syncPolicy": {"automated": automated}}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "source": SAME if source is None else source,
            "destination": {"namespace": "apps"},
            **policy,
            **spec,
        },
    }


def refused(app: KubeObject | None, **ours: Any) -> str:
    return application_conflict(app, **{**OURS, **ours})


@pytest.mark.parametrize("ref", [INSTANCE, DEFINITION], ids=str)
def test_an_id_names_the_object_it_stands_on(ref: ObjectRef) -> None:
    found = parse_tracking_id(annotations_for(application(), ref)[ARGOCD_TRACKING_ID])
    assert found is not None
    assert found.names(ref)
    assert found.application == "web"


def test_a_cluster_scoped_object_gets_the_applications_destination() -> None:
    written = annotations_for(application(), DEFINITION)[ARGOCD_TRACKING_ID]
    assert written == "web:kro.run/ResourceGraphDefinition:apps/webapp"


def test_an_application_elsewhere_is_named_with_its_namespace() -> None:
    app = application(namespace="team-a")
    assert annotations_for(app, INSTANCE)[ARGOCD_TRACKING_ID].startswith("team-a_web:")
    at_home = annotations_for(app, INSTANCE, argocd_namespace="team-a")
    assert at_home[ARGOCD_TRACKING_ID].startswith("web:")


def test_deleting_the_application_must_not_delete_our_objects() -> None:
    found = annotations_for(application(), INSTANCE)
    assert found[ARGOCD_SYNC_OPTIONS] == "Delete=false"
    assert found[ARGOCD_COMPARE_OPTIONS] == "IgnoreExtraneous"


def test_options_of_the_author_stay_and_win() -> None:
    written = {ARGOCD_SYNC_OPTIONS: "Delete=confirm, Replace=true"}
    assert annotations_for(application(), INSTANCE, written)[ARGOCD_SYNC_OPTIONS] == (
        "Delete=confirm,Replace=true"
    )


def test_an_installation_id_goes_with_the_id() -> None:
    found = annotations_for(application(), INSTANCE, argocd=ArgoCD(installation_id="blue"))
    assert found[ARGOCD_INSTALLATION_ID] == "blue"


def test_where_labels_are_tracked_the_label_is_the_mark() -> None:
    marks = argocd_metadata(
        application(), INSTANCE, {}, argocd=ArgoCD(Method.LABEL), argocd_namespace="argocd"
    )
    assert marks.labels == {INSTANCE_LABEL: "web"}
    assert ARGOCD_TRACKING_ID not in marks.annotations


def test_a_crd_is_never_marked() -> None:
    marks = argocd_metadata(application(), CRD, {}, argocd=ArgoCD(), argocd_namespace="argocd")
    assert marks == TrackingMetadata()


def test_an_application_that_does_not_exist_is_refused() -> None:
    assert "does not exist" in refused(None)


@pytest.mark.parametrize(
    "automated",
    [None, {}, {"prune": False}, {"prune": True, "selfHeal": True, "enabled": False}],
    ids=["none", "without options", "no prune", "switched off"],
)
def test_an_application_that_only_watches_may_show_anything(
    automated: dict[str, Any] | None,
) -> None:
    other = {"repoURL": "https://git.example/other", "path": "x", "targetRevision": "y"}
    assert refused(application(other, automated)) == ""


@pytest.mark.parametrize("automated", [{"prune": True}, {"selfHeal": True}], ids=["prune", "heal"])
@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"repoURL": "https://git.example/team/other"}, "repository"),
        ({"repoURL": "https://elsewhere.example/team/shop"}, "repository"),
        ({"targetRevision": "stable"}, "revision"),
        ({"targetRevision": ""}, "revision"),
        ({"path": "apps/web"}, "path"),
        ({"path": "."}, "path"),
    ],
    ids=["repository", "host", "revision", "HEAD", "path", "root"],
)
def test_two_writers_are_refused(
    automated: dict[str, Any], change: dict[str, Any], word: str
) -> None:
    said = refused(application({**SAME, **change}, automated))
    assert f"its {word}" in said
    assert "argocd/web" in said


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example/team/shop.git",
        "https://GIT.example:443/team/shop/",
        "git@git.example:team/shop.git",
        "ssh://git@git.example:22/team/shop.git",
    ],
)
def test_one_repository_has_many_addresses(url: str) -> None:
    assert refused(application({**SAME, "repoURL": url}, {"prune": True})) == ""


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("main", "refs/heads/main"), ("HEAD", ""), ("", ""), ("v1", "refs/tags/v1")],
)
def test_one_revision_has_many_names(theirs: str, ours: str) -> None:
    app = application({**SAME, "targetRevision": theirs}, {"selfHeal": True})
    assert refused(app, revision=ours) == ""


def test_a_source_without_paths_is_the_whole_repository() -> None:
    root = application({**SAME, "path": "."}, {"prune": True})
    assert refused(root, paths=()) == ""
    assert refused(root, paths=("./",)) == ""


def test_all_paths_of_a_source_must_be_the_applications() -> None:
    both = [{**SAME, "path": "apps"}, {**SAME, "path": "rgds"}]
    app = application(automated={"prune": True}, sources=both)
    assert refused(app, paths=("rgds/", "apps")) == ""
    assert "its path" in refused(app, paths=("apps",))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"directory": {}}, "recurse"),
        ({"directory": {"recurse": True, "exclude": "*.md"}}, "exclude"),
        ({"helm": {"releaseName": "x"}}, "helm"),
        ({"kustomize": {"namePrefix": "x"}}, "kustomize"),
    ],
)
def test_an_application_that_prunes_must_see_all_we_see(change: dict[str, Any], word: str) -> None:
    assert word in refused(application({**SAME, **change}, {"prune": True}))
    assert refused(application({**SAME, **change}, {"selfHeal": True})) == ""


def test_a_password_in_an_address_is_not_repeated() -> None:
    source = {**SAME, "repoURL": "https://joe:s3cret@elsewhere.example/x"}
    said = refused(application(source, {"prune": True}))
    assert "elsewhere.example/x" in said
    assert "s3cret" not in said


def test_an_application_full_of_nonsense_is_only_watched() -> None:
    assert refused({"spec": []}) == ""
    odd: KubeObject = {"metadata": {}, "spec": {"syncPolicy": {"automated": {"prune": True}}}}
    assert refused(odd) != ""
