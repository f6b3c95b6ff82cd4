"""Which instances went without our leave, and what their children remember of them."""

from typing import Any

import pytest

from kro_gitops.engine.applyset import GroupKind, validate_inventory
from kro_gitops.engine.lost_instances import (
    instance_uid_of,
    parents_of,
    was_deleted_without_cleanup,
)
from kro_gitops.engine.plan.children import Family, Rules
from kro_gitops.metadata import FINALIZER, INSTANCE_NAMESPACE, SOURCE
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.builders import config_map, instance

KIOSK = Kind("kro.run", "v1", "Kiosk")
GOING = "2026-01-01T00:00:00Z"


def child(parent: KubeObject, name: str, namespace: str = "town") -> KubeObject:
    body = config_map(name)
    body["metadata"]["namespace"] = namespace
    return Family(parent, Rules()).child(body, "cm", 0)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param({"finalizers": [FINALIZER]}, True, id="held, and gone all the same"),
        pytest.param({"finalizers": ["x", FINALIZER]}, True, id="held by others, too"),
        pytest.param(
            {"finalizers": [FINALIZER], "deletionTimestamp": GOING}, False, id="let go by somebody"
        ),
        pytest.param({}, False, id="never held"),
    ],
)
def test_an_instance_that_was_held_must_be_marked_before_it_goes(
    metadata: dict[str, Any], expected: bool
) -> None:
    assert was_deleted_without_cleanup(instance(**metadata)) is expected


def test_children_remember_what_it_takes_to_find_them() -> None:
    long = "corner-" + "x" * 80  # longer than a label
    parent = instance(name=long, uid="u-1")
    family = [child(parent, "a"), child(parent, "b", "country")]
    found = parents_of(KIOSK, family)
    (last,) = found.values()
    assert list(found) == [ObjectRef(KIOSK, "town", long)]
    assert last["metadata"]["uid"] == "u-1" == instance_uid_of(family[0])
    inventory = validate_inventory(last)
    assert inventory.group_kinds == {GroupKind("ConfigMap")}
    assert inventory.namespaces == {"country"}


def test_children_remember_the_source_of_their_instance() -> None:
    parent = instance(uid="u-1", annotations={SOURCE: "town/apps"})
    (last,) = parents_of(KIOSK, [child(parent, "a")]).values()
    assert last["metadata"]["annotations"][SOURCE] == "town/apps"


def test_an_owner_reference_in_another_namespace_is_no_evidence() -> None:
    """Only somebody else can have written it, to have children deleted that were left in place."""
    left = child(instance(uid="u-1"), "left", "country")
    forged = child(instance(uid="u-1", namespace="den"), "forged", "den")
    forged["metadata"]["labels"][INSTANCE_NAMESPACE] = "town"
    assert parents_of(KIOSK, [left, forged]) == {}


def test_each_instance_is_remembered_by_its_own() -> None:
    parents = [instance(name=name, uid=f"u-{name}") for name in ("one", "two")]
    found = parents_of(KIOSK, [child(each, f"of-{each['metadata']['name']}") for each in parents])
    assert {ref.name: last["metadata"]["uid"] for ref, last in found.items()} == {
        "one": "u-one",
        "two": "u-two",
    }


def test_children_that_were_orphaned_tell_of_nobody() -> None:
    orphan = child(instance(uid="u-1"), "a")
    del orphan["metadata"]["ownerReferences"]
    assert parents_of(KIOSK, [orphan]) == {}


def test_children_of_another_kind_are_left_to_it() -> None:
    assert parents_of(Kind("kro.run", "v1", "Stall"), [child(instance(uid="u-1"), "a")]) == {}


def test_a_reference_to_somebody_else_is_none_to_the_instance() -> None:
    theirs = child(instance(uid="u-1"), "a")
    theirs["metadata"]["ownerReferences"][0]["uid"] = "u-2"
    assert parents_of(KIOSK, [theirs]) == {}
