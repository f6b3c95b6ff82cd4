"""Ids and hashes below were computed by kro v0.9.4; so were the texts."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kro_gitops.engine.applyset import (
    GroupKind,
    Inventory,
    applyset_id,
    has_inventory,
    member_labels,
    parent_labels,
    parse_inventory,
    reject_duplicates,
    reject_foreign_member,
    validate_inventory,
)
from kube_objects.errors import RefusedError
from kube_objects.refs import Kind, ObjectRef

ID = "applyset.kubernetes.io/id"
PART_OF = "applyset.kubernetes.io/part-of"
TOOLING = "applyset.kubernetes.io/tooling"
KINDS = "applyset.kubernetes.io/contains-group-kinds"
NAMESPACES = "applyset.kubernetes.io/additional-namespaces"
HASH = "internal.kro.run/applyset-inventory-hash"

SHOP = ObjectRef(Kind("kro.run", "v1alpha1", "Shop"), "town", "corner")
CLUSTER_SHOP = ObjectRef(Kind("shops.example.com", "v2", "Shop"), "", "corner")
SHOP_ID = "applyset-SpWknx-_r3clGqesjAq0hmtOjy9kauDBmU7dsnTsl6Q-v1"
CLUSTER_SHOP_ID = "applyset-kyTHldHQ9kepcxRdY56JRZpMLSLcvflQpVNolhPRqO8-v1"

CONFIG_MAP = Kind("", "v1", "ConfigMap")
DEPLOYMENT = Kind("apps", "v1", "Deployment")
INVENTORY = Inventory(
    frozenset((GroupKind("Service"), GroupKind("ConfigMap"), GroupKind("Deployment", "apps"))),
    frozenset(("b", "a")),
)


@pytest.mark.parametrize(
    ("parent", "expected"),
    [
        pytest.param(SHOP, SHOP_ID, id="namespaced"),
        pytest.param(CLUSTER_SHOP, CLUSTER_SHOP_ID, id="cluster-scoped"),
        pytest.param(
            ObjectRef(Kind("kro.run", "v9", "Shop"), "town", "corner"), SHOP_ID, id="any version"
        ),
    ],
)
def test_ids_are_kros(parent: ObjectRef, expected: str) -> None:
    assert applyset_id(parent) == expected
    assert parent_labels(parent) == {ID: expected}
    assert member_labels(parent) == {PART_OF: expected}


def test_the_parent_carries_the_inventory() -> None:
    assert INVENTORY.annotations(SHOP, "v0.9.4") == {
        TOOLING: "kro/v0.9.4",
        KINDS: "ConfigMap,Deployment.apps,Service",
        NAMESPACES: "a,b",
        HASH: "sha256:p64IBW5LdVUJi5FVN3toSCr30M26vWRT36I-HwMUSW0",
    }


def test_the_hash_depends_on_the_parent() -> None:
    digest = INVENTORY.annotations(CLUSTER_SHOP, "v0.9.4")[HASH]
    assert digest == "sha256:WyvugATS328OW_GNsVxf_xaoqGA4ghfipHTjM0ABeGQ"


def test_an_empty_inventory_is_written_too() -> None:
    written = Inventory().annotations(SHOP, "v0.9.4")
    assert (written[KINDS], written[NAMESPACES]) == ("", "")
    assert parse_inventory(written) == Inventory()


@pytest.mark.parametrize(
    ("parent", "namespaces", "searched"),
    [
        pytest.param(SHOP, {"city"}, {"city", "town"}, id="namespaced"),
        pytest.param(CLUSTER_SHOP, {"city", "town"}, {"city", "town", "default"}, id="cluster"),
    ],
)
def test_stock_is_taken_of_kinds_and_of_namespaces_that_are_not_the_parents(
    parent: ObjectRef, namespaces: set[str], searched: set[str]
) -> None:
    members = [
        ObjectRef(CONFIG_MAP, "town", "a"),
        ObjectRef(DEPLOYMENT, "city", "b"),
        ObjectRef(Kind("apps", "v1beta1", "Deployment"), "city", "c"),
        ObjectRef(Kind("rbac.authorization.k8s.io", "v1", "ClusterRole"), "", "d"),
    ]
    found = Inventory.of(members, parent)
    assert found.kinds_text == "ClusterRole.rbac.authorization.k8s.io,ConfigMap,Deployment.apps"
    assert found.namespaces == namespaces
    assert found.searched_namespaces(parent) == searched


def test_inventories_are_joined_and_compared() -> None:
    small = Inventory(frozenset((GroupKind("Secret"),)))
    joined = INVENTORY | small
    assert small <= joined
    assert joined >= INVENTORY
    assert not joined <= INVENTORY
    assert not Inventory(namespaces=frozenset(("c",))) <= joined


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        (KINDS, "ConfigMap,", "contains an empty group-kind"),
        (KINDS, ".apps", 'invalid kind ""'),
        (KINDS, "Config Map", 'invalid kind "Config Map"'),
        (KINDS, "Deployment.", 'invalid group "": a lowercase RFC 1123 subdomain must consist'),
        (KINDS, "Deployment.Apps", 'invalid group "Apps": a lowercase RFC 1123 subdomain must'),
        (NAMESPACES, "a,", 'invalid namespace "": a lowercase RFC 1123 label must consist'),
        (NAMESPACES, "A", 'invalid namespace "A": a lowercase RFC 1123 label must consist'),
        (NAMESPACES, "x" * 64, f'invalid namespace "{"x" * 64}": must be no more than 63'),
    ],
)
def test_what_cannot_be_an_inventory_is_refused(key: str, text: str, message: str) -> None:
    with pytest.raises(RefusedError) as caught:
        parse_inventory({key: text})
    assert str(caught.value).startswith(f"invalid {key} annotation: {message}")


def test_blanks_around_entries_do_not_matter() -> None:
    written = {KINDS: " Deployment.apps , ConfigMap", NAMESPACES: " a ,b"}
    assert parse_inventory(written) == Inventory(
        frozenset((GroupKind("ConfigMap"), GroupKind("Deployment", "apps"))), frozenset("ab")
    )


def parent(without: str = "", labels: dict[str, str] | None = None, **changes: str) -> Any:
    annotations = INVENTORY.annotations(SHOP, "v0.9.4")
    annotations |= {globals()[name.upper()]: text for name, text in changes.items()}
    annotations.pop(without, None)
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "Shop",
        "metadata": {
            "name": "corner",
            "namespace": "town",
            "labels": {ID: SHOP_ID} if labels is None else labels,
            "annotations": annotations,
        },
    }


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(parent(), id="as written"),
        pytest.param(parent(without=HASH), id="no hash, as older versions of kro wrote it"),
        pytest.param(parent(tooling="kro/devel"), id="another version"),
        pytest.param(
            parent(kinds="Service, Deployment.apps,ConfigMap"), id="the same, written otherwise"
        ),
    ],
)
def test_an_inventory_that_can_be_trusted(obj: Any) -> None:
    assert validate_inventory(obj) == INVENTORY


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        pytest.param(
            parent(labels={}), f'invalid {ID} label: got "", want "{SHOP_ID}"', id="no id"
        ),
        pytest.param(
            parent(labels={ID: "x"}),
            f'invalid {ID} label: got "x", want "{SHOP_ID}"',
            id="another's id",
        ),
        pytest.param(
            parent(tooling="kubectl/v1.35"),
            f'invalid {TOOLING} annotation: "kubectl/v1.35" is not owned by kro',
            id="another tool's",
        ),
        pytest.param(
            parent(without=TOOLING),
            f'invalid {TOOLING} annotation: "" is not owned by kro',
            id="no tool's",
        ),
        pytest.param(parent(without=KINDS), f"missing required {KINDS} annotation", id="no kinds"),
        pytest.param(
            parent(without=NAMESPACES),
            f"missing required {NAMESPACES} annotation",
            id="no namespaces",
        ),
        pytest.param(
            parent(kinds=","),
            f"invalid {KINDS} annotation: contains an empty group-kind",
            id="unreadable",
        ),
        pytest.param(
            parent(hash="?"),
            f'invalid {HASH} annotation: got "?", '
            'want "sha256:p64IBW5LdVUJi5FVN3toSCr30M26vWRT36I-HwMUSW0"',
            id="a wrong hash",
        ),
    ],
)
def test_an_inventory_that_cannot_be_trusted(obj: Any, message: str) -> None:
    with pytest.raises(RefusedError) as caught:
        validate_inventory(obj)
    assert str(caught.value) == message


def test_a_kind_taken_out_of_the_inventory_is_noticed() -> None:
    with pytest.raises(RefusedError, match="inventory-hash annotation: got"):
        validate_inventory(parent(kinds="ConfigMap,Service"))


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, False),
        ({"labels": {"a": "b"}, "annotations": {"c": "d"}}, False),
        ({"labels": {ID: "x"}}, True),
        ({"annotations": {NAMESPACES: ""}}, True),
    ],
)
def test_whether_an_instance_carries_an_inventory(metadata: Any, expected: bool) -> None:
    assert has_inventory({"metadata": metadata}) is expected


class TestMembersOfAnotherSet:
    def member(self, part_of: str, **metadata: str) -> Any:
        about = {"name": "web", "labels": {PART_OF: part_of}, **metadata}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": about}

    @pytest.mark.parametrize("part_of", ["", SHOP_ID], ids=["nobody's", "ours"])
    def test_are_not_those_of_nobody_or_ours(self, part_of: str) -> None:
        reject_foreign_member(self.member(part_of, namespace="town"), SHOP)

    @pytest.mark.parametrize(
        ("metadata", "name"), [({"namespace": "town"}, "town/web"), ({}, "web")]
    )
    def test_are_refused(self, metadata: dict[str, str], name: str) -> None:
        with pytest.raises(RefusedError) as caught:
            reject_foreign_member(self.member("theirs", **metadata), SHOP)
        assert str(caught.value) == (
            f"resource belongs to a different ApplySet: {name} (/v1, Kind=ConfigMap) "
            f'belongs to ApplySet "theirs", cannot reassign to "{SHOP_ID}"'
        )


class TestDuplicates:
    def test_are_refused_whatever_their_version(self) -> None:
        old = ObjectRef(Kind("apps", "v1beta1", "Deployment"), "town", "web")
        members = [
            ("a", ObjectRef(DEPLOYMENT, "town", "web")),
            ("b", old),
            ("c", old),
            ("d", ObjectRef(DEPLOYMENT, "city", "web")),
        ]
        with pytest.raises(RefusedError) as caught:
            reject_duplicates(members)
        assert str(caught.value) == (
            "found resources with conflicts: resourceID: b conflicts with resourceID: a, "
            "resourceID: c conflicts with resourceID: b"
        )

    def test_are_not_objects_that_differ_in_one_thing(self) -> None:
        reject_duplicates(
            [
                ("a", ObjectRef(DEPLOYMENT, "town", "web")),
                ("b", ObjectRef(DEPLOYMENT, "city", "web")),
                ("c", ObjectRef(DEPLOYMENT, "town", "api")),
                ("d", ObjectRef(CONFIG_MAP, "town", "web")),
            ]
        )


labels = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?", fullmatch=True)
group_kinds = st.builds(
    GroupKind,
    st.from_regex(r"[A-Z][a-zA-Z]{0,8}", fullmatch=True),
    st.just("") | st.lists(labels, min_size=1, max_size=3).map(".".join),
)
inventories = st.builds(Inventory, st.frozensets(group_kinds), st.frozensets(labels))


@settings(max_examples=200)
@given(inventories)
def test_an_inventory_survives_being_written_and_read(inventory: Inventory) -> None:
    assert parse_inventory(inventory.annotations(SHOP, "v0.9.4")) == inventory


@settings(max_examples=100)
@given(inventories, inventories)
def test_a_changed_inventory_is_always_noticed(before: Inventory, after: Inventory) -> None:
    same = before.digest(SHOP_ID) == after.digest(SHOP_ID)
    assert same == (before == after)
