"""The metadata of any object; what most kinds meet is in the recorded cases of built-in kinds."""

from typing import Any

import pytest

from kube_sandbox.registry import object_meta
from kube_sandbox.registry.name_validation import name_is_subdomain


def new(**meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", "namespace": "n", **meta}}


def live(**meta: Any) -> dict[str, Any]:
    fixed = {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z", "resourceVersion": "5"}
    return new(**{**fixed, **meta})


def told(errors: object_meta.Errors) -> list[str]:
    return [str(each) for each in errors]


def test_a_good_object_is_let_through() -> None:
    obj = new(labels={"a": "b"}, annotations={"X/y": "z"}, finalizers=["a.b/c", "orphan"])
    assert object_meta.validate_create(obj, True, name_is_subdomain) == []
    assert object_meta.common_create(obj, True) == []


def test_an_object_needs_a_name_and_a_namespace() -> None:
    errors = object_meta.common_create({"metadata": {}}, True)
    assert told(errors) == [
        "metadata.name: Required value: name or generateName is required",
        "metadata.namespace: Required value",
    ]


def test_an_object_of_the_cluster_has_no_namespace() -> None:
    errors = object_meta.common_create(new(), False)
    assert told(errors) == ["metadata.namespace: Forbidden: not allowed on this type"]


def test_finalizers_of_built_in_kinds_are_known_or_have_a_domain() -> None:
    obj = new(finalizers=["abc"])
    assert object_meta.validate_object_meta(obj, True, name_is_subdomain) == []
    assert told(object_meta.validate_create(obj, True, name_is_subdomain)) == [
        'metadata.finalizers[0]: Invalid value: "abc": '
        "name is neither a standard finalizer name nor is it fully qualified"
    ]


def test_annotations_have_a_size_together() -> None:
    obj = new(annotations={"a": "x" * 200_000, "b": "y" * 70_000})
    assert told(object_meta.common_create(obj, True)) == [
        "metadata.annotations: Too long: may not be more than 262144 bytes"
    ]


def test_owners_are_shown_in_the_order_of_their_fields() -> None:
    owner = {"uid": "u", "kind": "Event", "name": "e", "apiVersion": "v1"}
    assert told(object_meta.common_create(new(ownerReferences=[owner]), True)) == [
        'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"e",'
        '"uid":"u"}: /v1, Kind=Event is disallowed from being an owner'
    ]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        pytest.param(
            {"uid": "v"},
            'metadata.uid: Invalid value: "v": field is immutable',
            id="another uid",
        ),
        pytest.param(
            {"resourceVersion": ""},
            'metadata.resourceVersion: Invalid value: "": must be specified for an update',
            id="no version",
        ),
        pytest.param(
            {"deletionGracePeriodSeconds": 5},
            "metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable",
            id="a grace period",
        ),
    ],
)
def test_some_fields_never_change(change: dict[str, Any], error: str) -> None:
    assert told(object_meta.validate_update(live(**change), live())) == [error]


def test_what_is_being_deleted_gets_no_new_finalizers() -> None:
    before = live(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["a.b/c"])
    after = live(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["a.b/d", "a.b/c"])
    assert told(object_meta.validate_update(after, before)) == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being "
        'deleted, found new finalizers []string{"a.b/d"}'
    ]


def test_the_generation_does_not_go_back() -> None:
    errors = object_meta.validate_update(live(generation=1), live(generation=2))
    assert told(errors) == ["metadata.generation: Invalid value: 1: must not be decremented"]


def test_a_manager_is_printable_and_short() -> None:
    assert object_meta.field_manager("kubectl", "fieldManager") == []
    assert told(object_meta.field_manager("a\n", "fieldManager")) == [
        'fieldManager: Invalid value: "a\\n": invalid character U+000A (at position 1)'
    ]
    assert told(object_meta.field_manager("x" * 129, "fieldManager")) == [
        "fieldManager: Too long: may not be more than 128 bytes"
    ]
