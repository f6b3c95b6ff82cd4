"""What children carry, row by row."""

from typing import Any

import pytest

from kro_gitops.settings.tracking_options import INSTANCE_LABEL, Method, Mode
from kro_gitops.tracking.methods import ArgoCD
from kro_gitops.tracking.stamp import (
    TABLE,
    Child,
    Parent,
    Policy,
    Role,
    Situation,
    Stamp,
    situation,
    stamp,
)
from kube_objects.errors import RefusedError

TRACKING = "argocd.argoproj.io/tracking-id"
INSTALLATION = "argocd.argoproj.io/installation-id"
SYNC = "argocd.argoproj.io/sync-options"
COMPARE = "argocd.argoproj.io/compare-options"

ID = "web:shops.example.com/Shop:town/corner"
SHIELD = {SYNC: "Delete=false,Prune=false", COMPARE: "IgnoreExtraneous"}
BY_LABEL = Policy(argocd=ArgoCD(Method.LABEL))


Texts = dict[str, str]


def instance(
    namespace: str = "town", labels: Texts | None = None, annotations: Texts | None = None
) -> Parent:
    metadata: dict[str, Any] = {"name": "corner", "uid": "u-1", "labels": labels or {}}
    metadata["annotations"] = annotations or {}
    if namespace:
        metadata["namespace"] = namespace
    return Parent.of({"apiVersion": "shops.example.com/v2", "kind": "Shop", "metadata": metadata})


def tracked(
    namespace: str = "town", labels: Texts | None = None, annotations: Texts | None = None
) -> Parent:
    return instance(namespace, labels, {TRACKING: ID, **(annotations or {})})


def deployment(namespace: str = "town", **metadata: Any) -> dict[str, Any]:
    about = {"name": "web", **({"namespace": namespace} if namespace else {}), **metadata}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": about}


def stamped(parent: Parent, obj: dict[str, Any], policy: Policy | None = None) -> dict[str, Any]:
    """Return a child's metadata."""
    found = stamp(parent, Child.of(obj), policy or Policy()).onto(obj)["metadata"]
    about = dict(found)
    about.setdefault("annotations", {})
    return about


REFERENCE = {
    "apiVersion": "shops.example.com/v2",
    "kind": "Shop",
    "name": "corner",
    "uid": "u-1",
    "controller": False,
    "blockOwnerDeletion": True,
}


@pytest.mark.parametrize(
    ("parent_namespace", "child_namespace", "role", "expected"),
    [
        ("town", "town", Role.CHILD, Situation.SAME_NAMESPACE),
        ("town", "city", Role.CHILD, Situation.OUT_OF_REACH),
        ("town", "", Role.CHILD, Situation.OUT_OF_REACH),
        ("", "town", Role.CHILD, Situation.CLUSTER_INSTANCE),
        ("", "", Role.CHILD, Situation.CLUSTER_INSTANCE),
        ("town", "town", Role.EXTERNAL, Situation.EXTERNAL),
        ("town", "town", Role.SHARED, Situation.SHARED),
    ],
)
def test_scopes_and_roles_choose_the_row(
    parent_namespace: str, child_namespace: str, role: Role, expected: Situation
) -> None:
    child = Child.of(deployment(child_namespace), role)
    assert situation(instance(parent_namespace), child, Policy()) is expected


def test_every_situation_has_a_row() -> None:
    assert set(TABLE) == set(Situation)


class TestOwnedChildren:
    @pytest.mark.parametrize("namespace", ["town", ""], ids=["namespaced", "cluster-scoped"])
    def test_carry_an_owner_reference_and_the_instances_ids(self, namespace: str) -> None:
        parent = tracked(namespace, annotations={INSTALLATION: "blue"})
        about = stamped(parent, deployment())
        assert about["ownerReferences"] == [REFERENCE]
        assert about["annotations"] == {TRACKING: ID, INSTALLATION: "blue"}

    def test_of_an_instance_nobody_tracks_carry_nothing_of_argo_cd(self) -> None:
        about = stamped(instance(), deployment())
        assert about["ownerReferences"] == [REFERENCE]
        assert about["annotations"] == {}

    @pytest.mark.parametrize(
        "annotations",
        [
            pytest.param({TRACKING: "web"}, id="an id that cannot be read"),
            pytest.param({INSTALLATION: "blue"}, id="an installation id alone"),
        ],
    )
    def test_do_not_get_what_means_nothing(self, annotations: dict[str, str]) -> None:
        parent = instance(annotations=annotations)
        assert stamped(parent, deployment())["annotations"] == {}

    def test_get_the_label_where_argo_cd_reads_labels(self) -> None:
        parent = instance(labels={INSTANCE_LABEL: "web"})
        assert stamped(parent, deployment(), BY_LABEL)["labels"] == {INSTANCE_LABEL: "web"}
        assert "labels" not in stamped(parent, deployment())

    def test_get_the_label_under_argo_cds_own_key(self) -> None:
        parent = instance(labels={"example.com/app": "web", INSTANCE_LABEL: "release"})
        policy = Policy(argocd=ArgoCD(Method.LABEL, "example.com/app"))
        assert stamped(parent, deployment(), policy)["labels"] == {"example.com/app": "web"}


class TestChildrenOutOfReach:
    @pytest.mark.parametrize("namespace", ["city", ""], ids=["elsewhere", "cluster-scoped"])
    def test_carry_ids_and_a_shield_but_no_reference(self, namespace: str) -> None:
        about = stamped(tracked(), deployment(namespace))
        assert "ownerReferences" not in about
        assert about["annotations"] == {TRACKING: ID, **SHIELD}

    def test_need_no_shield_if_nobody_tracks_the_instance(self) -> None:
        assert stamped(instance(), deployment("city"))["annotations"] == {}

    def test_get_no_label_unless_the_platform_wants_it(self) -> None:
        parent = tracked(labels={INSTANCE_LABEL: "web"})
        about = stamped(parent, deployment("city"), BY_LABEL)
        assert "labels" not in about
        assert about["annotations"] == {}

    def test_get_label_and_shield_if_the_platform_wants_it(self) -> None:
        parent = instance(labels={INSTANCE_LABEL: "web"})
        policy = Policy(argocd=BY_LABEL.argocd, labels_out_of_reach=True)
        about = stamped(parent, deployment("city"), policy)
        assert about["labels"] == {INSTANCE_LABEL: "web"}
        assert about["annotations"] == SHIELD

    def test_keep_the_options_of_their_template_beside_the_shield(self) -> None:
        written = {SYNC: "ServerSideApply=true, Prune=confirm", COMPARE: "IgnoreExtraneous"}
        about = stamped(tracked(), deployment("city", annotations=written))
        assert about["annotations"] == {
            TRACKING: ID,
            SYNC: "ServerSideApply=true,Prune=confirm,Delete=false",
            COMPARE: "IgnoreExtraneous",
        }

    def test_are_shielded_too_if_only_their_template_marks_them(self) -> None:
        foreign = "other:apps/Deployment:elsewhere/thing"
        about = stamped(instance(), deployment("city", annotations={TRACKING: foreign}))
        assert about["annotations"] == {TRACKING: foreign, **SHIELD}


@pytest.mark.parametrize("role", [Role.EXTERNAL, Role.SHARED])
def test_what_is_not_the_instances_own_is_never_touched(role: Role) -> None:
    parent = tracked(labels={"team": "a"})
    child = Child.of(deployment(), role)
    assert stamp(parent, child, Policy()) == Stamp()
    assert Stamp().onto(deployment()) == deployment()


class TestNativeMode:
    def test_has_owner_references_and_our_own_keys_only(self) -> None:
        parent = tracked(labels={INSTANCE_LABEL: "web"})
        for argocd in (ArgoCD(), BY_LABEL.argocd):
            about = stamped(parent, deployment(), Policy(Mode.NATIVE, argocd))
            assert about["ownerReferences"] == [REFERENCE]
            assert about["annotations"] == {}
            assert "labels" not in about


class TestTheTemplate:
    def test_wins_with_a_warning(self) -> None:
        own = "other:apps/Deployment:town/other"
        obj = deployment(annotations={TRACKING: own})
        found = stamp(tracked(annotations={INSTALLATION: "blue"}), Child.of(obj), Policy())
        # The installation id belongs to the instance's id, so it is not copied alone.
        assert found.onto(obj)["metadata"]["annotations"].keys() == {TRACKING}
        assert found.onto(obj)["metadata"]["annotations"][TRACKING] == own
        assert [(w.code, w.spot.path) for w in found.warnings] == [
            ("tracking-overridden", ("metadata", "annotations", TRACKING))
        ]

    def test_that_says_the_same_is_no_reason_to_warn(self) -> None:
        obj = deployment(annotations={TRACKING: ID})
        assert stamp(tracked(), Child.of(obj), Policy()).warnings == ()

    def test_wins_over_the_label(self) -> None:
        parent = instance(labels={INSTANCE_LABEL: "web"})
        obj = deployment(labels={INSTANCE_LABEL: "mine"})
        found = stamp(parent, Child.of(obj), BY_LABEL)
        assert found.onto(obj)["metadata"]["labels"] == {INSTANCE_LABEL: "mine"}
        assert [w.code for w in found.warnings] == ["tracking-overridden"]

    def test_may_have_owners_of_its_own(self) -> None:
        about = stamped(instance(), deployment(ownerReferences=[{"uid": "u-9"}]))
        assert about["ownerReferences"] == [{"uid": "u-9"}, REFERENCE]

    @pytest.mark.parametrize("section", ["labels", "annotations"])
    def test_must_not_set_keys_of_ours(self, section: str) -> None:
        obj = deployment()
        obj["metadata"][section] = {"gitops.kro.run/anything": "x"}
        with pytest.raises(RefusedError, match=f"Deployment town/web: {section} with prefix"):
            stamp(instance(), Child.of(obj), Policy())

    def test_must_not_claim_that_an_ownerless_child_is_in_git(self) -> None:
        claim = {TRACKING: "web:apps/Deployment:city/web"}
        with pytest.raises(RefusedError, match="Argo CD would prune it") as caught:
            stamp(instance(), Child.of(deployment("city", annotations=claim)), Policy())
        assert caught.value.code == "KG-T01"

    def test_may_claim_it_for_an_owned_child_which_is_safe(self) -> None:
        claim = {TRACKING: "web:apps/Deployment:town/web"}
        about = stamped(instance(), deployment(annotations=claim))
        assert about["annotations"] == claim


class TestLabels:
    def test_of_the_instance_flow_and_the_template_wins(self) -> None:
        parent = instance(labels={"team": "a", "tier": "b", "kro.run/owned": "true"})
        about = stamped(parent, deployment(labels={"tier": "mine"}))
        assert about["labels"] == {"team": "a", "tier": "mine"}

    def test_do_not_flow_if_the_platform_says_so(self) -> None:
        parent = instance(labels={"team": "a"})
        assert "labels" not in stamped(parent, deployment(), Policy(flowing=()))

    def test_never_reach_selectors_or_pod_templates(self) -> None:
        obj = deployment()
        obj["spec"] = {"selector": {}, "template": {"metadata": {"labels": {"app": "web"}}}}
        parent = instance(labels={"team": "a"})
        assert stamp(parent, Child.of(obj), Policy()).onto(obj)["spec"] == obj["spec"]


def test_children_say_which_instance_they_belong_to_and_where_it_came_from() -> None:
    parent = instance(
        annotations={
            "gitops.kro.run/source": "team/repo",
            "gitops.kro.run/path": "shops/corner.yaml",
            "gitops.kro.run/revision": "abc",
            "example.com/note": "x",
        }
    )
    assert stamp(parent, Child.of(deployment()), Policy()).annotations == {
        "gitops.kro.run/source": "team/repo",
        "gitops.kro.run/path": "shops/corner.yaml",
    }


def test_an_object_is_stamped_without_being_changed() -> None:
    obj = deployment(labels={"a": "b"})
    stamp(tracked(labels={"team": "a"}), Child.of(obj), Policy()).onto(obj)
    assert obj == deployment(labels={"a": "b"})


class Server:
    """As much of server-side apply as one field manager's annotations need."""

    def __init__(self, **foreign: str) -> None:
        self.live = dict(foreign)
        self._ours: set[str] = set()

    def apply(self, parent: Parent) -> dict[str, str]:
        written = stamp(parent, Child.of(deployment()), Policy()).annotations
        for key in self._ours - set(written):
            del self.live[key]
        self.live |= written
        self._ours = set(written)
        return dict(self.live)


def test_ids_follow_the_instance_and_go_with_it() -> None:
    server = Server(foreign="kept")
    moved = "shop:shops.example.com/Shop:town/corner"
    assert server.apply(tracked()) == {"foreign": "kept", TRACKING: ID}
    parent = tracked(annotations={TRACKING: moved, INSTALLATION: "blue"})
    assert server.apply(parent) == {"foreign": "kept", TRACKING: moved, INSTALLATION: "blue"}
    assert server.apply(instance()) == {"foreign": "kept"}
