"""JSON Patch and merge patch, replayed against what a real API server answered."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sandbox_testing.patch_recordings import recorded

from kube_sandbox.api_errors import StatusError
from kube_sandbox.patch.json_patch import json_patch, merge_patch, operations_of

REJECTED = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": "the server rejected our request due to an error in our request",
    "reason": "Invalid",
    "details": {},
    "code": 422,
}


def as_go(value: Any) -> Any:
    """Write whole numbers as Go does: without a fraction."""
    if isinstance(value, dict):
        return {key: as_go(each) for key, each in value.items()}
    if isinstance(value, list):
        return [as_go(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def answered(kind: str, case: Any) -> Any:
    """Patch the recorded object; return the object or the refusal, as it was recorded."""
    patch = json_patch if kind == "json" else merge_patch
    try:
        found = patch(recorded()["objects"]["thing"], case["patch"], checked=case["checked"])
    except StatusError as error:
        status = error.status()
        return {name: status.get(name) for name in ("code", "message", "reason", "details")}
    if isinstance(found, dict) and not found.get("metadata", {}).get("labels", 1):
        found = {**found, "metadata": {k: v for k, v in found["metadata"].items() if v}}
    return as_go(found)


def expected(case: Any) -> Any:
    """Return what a case should lead to."""
    if "object" in case:
        return case["object"]
    return {name: case.get(name) for name in ("code", "message", "reason", "details")}


@pytest.mark.parametrize("kind", ["json", "merge"])
def test_patches_end_as_on_a_real_api_server(kind: str) -> None:
    before = copy.deepcopy(recorded()["objects"])
    cases = recorded()[kind]
    assert len(cases) > 150
    for case in cases:
        found = answered(kind, case)
        if "object" not in case and "message" not in found:
            # The patch was done; what came of it is no valid object, which others find out.
            assert case["message"] != REJECTED["message"]
            continue
        assert json.dumps(found, sort_keys=True) == json.dumps(expected(case), sort_keys=True), case
    assert recorded()["objects"] == before


def test_a_patch_that_does_not_fit_is_refused_without_saying_why() -> None:
    with pytest.raises(StatusError) as caught:
        json_patch({"a": 1}, [{"op": "test", "path": "/a", "value": 2}])
    assert caught.value.status() == REJECTED
    assert list(caught.value.status()) == list(REJECTED)


def test_too_many_operations_are_refused() -> None:
    step = {"op": "test", "path": "/a", "value": 1}
    assert json_patch({"a": 1}, [step] * 10_000) == {"a": 1}
    with pytest.raises(StatusError) as caught:
        json_patch({"a": 1}, [step] * 10_001)
    assert (caught.value.code, caught.value.message) == (
        413,
        "Request entity too large: "
        "The allowed maximum operations in a JSON patch is 10000, got 10001",
    )


def test_strict_decoding_tells_of_unknown_fields_of_operations() -> None:
    _, said = operations_of([{"op": "add", "path": "/a", "foo": 1}], checked=True)
    assert said == ['json patch unknown field "[0].foo"']
    assert operations_of([{"op": "add", "foo": 1}], checked=False)[1] == []


def test_a_part_copied_and_then_changed_is_changed_in_one_place() -> None:
    before = {"a": {"x": [1]}}
    after = json_patch(
        before,
        [
            {"op": "add", "path": "/a/x/-", "value": 2},
            {"op": "copy", "from": "/a", "path": "/b"},
            {"op": "add", "path": "/b/x/-", "value": 3},
        ],
    )
    assert after == {"a": {"x": [1, 2]}, "b": {"x": [1, 2, 3]}}
    assert before == {"a": {"x": [1]}}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab/~", max_size=2), inner),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), VALUES)


def has_null(value: Any) -> bool:
    """Say whether an object has a key that is null."""
    if isinstance(value, dict):
        return None in value.values() or any(map(has_null, value.values()))
    return isinstance(value, list) and any(map(has_null, value))


def lists_and_objects(value: Any) -> Iterator[Any]:
    """Give every list and object within a value."""
    if isinstance(value, dict | list):
        yield value
        for each in value.values() if isinstance(value, dict) else value:
            yield from lists_and_objects(each)


@given(OBJECTS, OBJECTS)
def test_a_merge_patch_is_idempotent_and_leaves_its_arguments_alone(obj: Any, patch: Any) -> None:
    kept = copy.deepcopy((obj, patch))
    once = merge_patch(obj, patch)
    # In place of an object the nulls within a list stay the first time, as in the real one.
    if not any(isinstance(each, list) and has_null(each) for each in lists_and_objects(patch)):
        assert merge_patch(once, patch) == once
    assert (obj, patch) == kept
    assert not any(once.get(name, 1) is None for name in patch)


@given(OBJECTS)
def test_a_merge_patch_of_nothing_changes_nothing(obj: Any) -> None:
    assert merge_patch(obj, {}) == obj


@given(OBJECTS, st.sampled_from("abc"), VALUES)
def test_what_was_added_is_tested_and_removed(obj: Any, key: str, value: Any) -> None:
    added = [{"op": "add", "path": f"/{key}", "value": value}]
    tested = [{"op": "test", "path": f"/{key}", "value": value}]
    removed = [{"op": "remove", "path": f"/{key}"}]
    rest = {name: each for name, each in obj.items() if name != key}
    assert json_patch(obj, [*added, *tested]) == {**rest, key: value}
    assert json_patch(obj, [*added, *removed]) == rest
