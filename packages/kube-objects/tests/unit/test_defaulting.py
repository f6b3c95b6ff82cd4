from copy import deepcopy
from typing import Any

import pytest

from kube_objects.defaulting import apply_defaults
from kube_objects.schemas import Schema


def schema(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


ONE: Schema = {"type": "integer", "default": 1}
NESTED = {**schema(n=ONE), "default": {}}
NO_DEFAULT: Schema = {"type": "integer"}
NULLABLE: Schema = {"type": "integer", "default": 1, "nullable": True}


@pytest.mark.parametrize(
    ("shape", "before", "after"),
    [
        pytest.param(schema(n=ONE), {}, {"n": 1}, id="absent"),
        pytest.param(schema(n=ONE), {"n": 5}, {"n": 5}, id="present"),
        pytest.param(schema(n=ONE), {"n": None}, {"n": 1}, id="null"),
        pytest.param(schema(n=NULLABLE), {"n": None}, {"n": None}, id="null that is a value"),
        pytest.param(schema(n=NO_DEFAULT), {"n": None}, {}, id="null without a default"),
        pytest.param(schema(o=schema(n=ONE)), {}, {}, id="below what is absent"),
        pytest.param(schema(o=schema(n=ONE)), {"o": {}}, {"o": {"n": 1}}, id="below what is there"),
        pytest.param(schema(o=NESTED), {}, {"o": {"n": 1}}, id="below a default"),
        pytest.param(schema(o=NESTED), {"o": None}, {"o": {"n": 1}}, id="below a replaced null"),
        pytest.param(
            schema(l={"type": "array", "items": schema(n=ONE)}),
            {"l": [{}, {"n": 2}]},
            {"l": [{"n": 1}, {"n": 2}]},
            id="in items",
        ),
        pytest.param(
            schema(l={"type": "array", "items": ONE}), {"l": [None, 2]}, {"l": [1, 2]}, id="items"
        ),
        pytest.param(
            schema(l={"type": "array", "items": NO_DEFAULT}),
            {"l": [None]},
            {"l": [None]},
            id="a null item without a default stays",
        ),
        pytest.param(
            schema(m={"type": "object", "additionalProperties": schema(n=ONE)}),
            {"m": {"x": {}}},
            {"m": {"x": {"n": 1}}},
            id="in maps",
        ),
        pytest.param(
            schema(m={"type": "object", "additionalProperties": ONE}),
            {"m": {"x": None}},
            {"m": {"x": 1}},
            id="null in a map",
        ),
        pytest.param(
            schema(m={"type": "object", "additionalProperties": NO_DEFAULT}),
            {"m": {"x": None, "y": 1}},
            {"m": {"y": 1}},
            id="null in a map without a default",
        ),
        pytest.param(schema(n=ONE), {"z": None}, {"z": None, "n": 1}, id="unknown nulls stay"),
        pytest.param(schema(n={"default": None}), {}, {}, id="null is no default"),
        pytest.param(schema(n=ONE), "text", "text", id="a scalar has no fields"),
    ],
)
def test_defaults_are_filled_in_as_the_api_server_does(
    shape: Schema, before: Any, after: Any
) -> None:
    original = deepcopy(before)
    assert apply_defaults(before, shape) == after
    assert before == original


def test_the_argument_can_be_changed_without_the_result() -> None:
    shape = schema(a=schema(n=ONE), b={"x-kubernetes-preserve-unknown-fields": True})
    value: dict[str, Any] = {"a": {"n": 2}, "b": [{"n": 3}]}
    filled = apply_defaults(value, shape)
    value["a"]["n"] = value["b"][0]["n"] = 4
    assert filled == {"a": {"n": 2}, "b": [{"n": 3}]}


def test_defaults_are_copies() -> None:
    shape = schema(l={"type": "array", "default": [1]})
    apply_defaults({}, shape)["l"].append(2)
    assert apply_defaults({}, shape) == {"l": [1]}


def test_metadata_of_objects_is_left_alone() -> None:
    metadata = schema(finalizers={"type": "array", "default": []}, uid={"type": "string"})
    shape = schema(metadata=metadata, spec=schema(n=ONE))
    assert apply_defaults({"metadata": {"uid": None}}, shape) == {"metadata": {"uid": None}}
    embedded = schema(template={**shape, "x-kubernetes-embedded-resource": True})
    value: dict[str, Any] = {"template": {"metadata": {"uid": None}, "spec": {}}}
    filled = {"template": {"metadata": {"uid": None}, "spec": {"n": 1}}}
    assert apply_defaults(value, embedded) == filled


def test_a_part_of_an_object_may_have_a_field_called_metadata() -> None:
    shape = schema(metadata=schema(n=ONE))
    assert apply_defaults({"metadata": {}}, shape, whole=False) == {"metadata": {"n": 1}}
