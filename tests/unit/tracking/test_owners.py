import pytest

from kro_gitops.tracking.owners import (
    OwnerReference,
    Relation,
    merge_owners,
    owner_reference,
    relation,
)
from kube_objects.errors import RefusedError
from kube_objects.refs import Kind, ObjectRef

SHOP = Kind("shops.example.com", "v2", "Shop")
NAMESPACED = ObjectRef(SHOP, "town", "corner")
CLUSTER = ObjectRef(SHOP, "", "corner")
DEPLOYMENT = Kind("apps", "v1", "Deployment")
HERE = ObjectRef(DEPLOYMENT, "town", "web")
ELSEWHERE = ObjectRef(DEPLOYMENT, "city", "web")
ROLE = ObjectRef(Kind("rbac.authorization.k8s.io", "v1", "ClusterRole"), "", "reader")

SCOPES = [
    pytest.param(NAMESPACED, HERE, Relation.SAME_NAMESPACE, id="same namespace"),
    pytest.param(NAMESPACED, ELSEWHERE, Relation.OTHER_NAMESPACE, id="other namespace"),
    pytest.param(NAMESPACED, ROLE, Relation.CLUSTER_CHILD, id="cluster-scoped child"),
    pytest.param(CLUSTER, HERE, Relation.CLUSTER_INSTANCE, id="cluster-scoped instance"),
    pytest.param(CLUSTER, ROLE, Relation.CLUSTER_INSTANCE, id="both cluster-scoped"),
]


@pytest.mark.parametrize(("owner", "child", "expected"), SCOPES)
def test_children_lie_to_their_instance_as_their_scopes_say(
    owner: ObjectRef, child: ObjectRef, expected: Relation
) -> None:
    assert relation(owner, child) is expected


@pytest.mark.parametrize(("owner", "child", "found"), SCOPES)
def test_a_reference_is_written_only_where_kubernetes_finds_the_owner(
    owner: ObjectRef, child: ObjectRef, found: Relation
) -> None:
    if found in (Relation.SAME_NAMESPACE, Relation.CLUSTER_INSTANCE):
        assert owner_reference(owner, "u-1", child).uid == "u-1"
    else:
        with pytest.raises(RefusedError, match=r"cannot have Shop town/corner as owner"):
            owner_reference(owner, "u-1", child)


def test_a_reference_has_the_instances_own_kind_and_never_controls() -> None:
    assert owner_reference(NAMESPACED, "u-1", HERE).to_json() == {
        "apiVersion": "shops.example.com/v2",
        "kind": "Shop",
        "name": "corner",
        "uid": "u-1",
        "controller": False,
        "blockOwnerDeletion": True,
    }


def test_an_owner_without_a_uid_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="has no uid"):
        OwnerReference.to(NAMESPACED, "")


OURS = OwnerReference.to(NAMESPACED, "u-1")


@pytest.mark.parametrize(
    ("written", "uids"),
    [
        pytest.param(None, ["u-1"], id="none in the template"),
        pytest.param([{"uid": "u-2"}], ["u-2", "u-1"], id="another owner stays"),
        pytest.param([{"uid": "u-1", "controller": True}], ["u-1"], id="the template's entry wins"),
        pytest.param("odd", ["u-1"], id="no list"),
        pytest.param(["odd"], ["u-1"], id="no references"),
    ],
)
def test_our_reference_joins_those_of_the_template(written: object, uids: list[str]) -> None:
    assert [each["uid"] for each in merge_owners(written, [OURS])] == uids


def test_the_templates_entry_is_kept_as_it_is() -> None:
    theirs = {"uid": "u-1", "controller": True}
    assert merge_owners([theirs], [OURS]) == [theirs]
