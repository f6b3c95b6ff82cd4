from typing import Any

import pytest

from kube_objects.defaulting import unknown_fields
from kube_objects.problems import Path
from kube_objects.schemas import Schema

N: Schema = {"type": "integer"}


def schema(keeps: bool = False, **properties: Schema) -> Schema:
    keeping = {"x-kubernetes-preserve-unknown-fields": True} if keeps else {}
    return {"type": "object", "properties": properties, **keeping}


@pytest.mark.parametrize(
    ("shape", "value", "unknown"),
    [
        pytest.param(schema(a=N), {"a": 1, "b": 2}, [("b",)], id="not described"),
        pytest.param(schema(a=N), {"kind": "X", "metadata": {"x": 1}}, [], id="an object's own"),
        pytest.param(
            schema(o=schema(a=N)),
            {"o": {"b": 1, "kind": 1}},
            [("o", "b"), ("o", "kind")],
            id="below",
        ),
        pytest.param(schema(keeps=True), {"b": {"c": 1}}, [], id="kept"),
        pytest.param(
            schema(keeps=True, o=schema(a=N)), {"o": {"b": 1}}, [("o", "b")], id="kept, not below"
        ),
        pytest.param(schema(o={"type": "object"}), {"o": {"b": 1}}, [("o", "b")], id="no fields"),
        pytest.param(
            schema(m={"type": "object", "additionalProperties": schema(a=N)}),
            {"m": {"x": {"b": 1}}},
            [("m", "x", "b")],
            id="in a map",
        ),
        pytest.param(
            schema(m={"type": "object", "additionalProperties": True}),
            {"m": {"x": 1, "y": {"z": 2}}},
            [("m", "y", "z")],
            id="in a map of anything",
        ),
        pytest.param(
            schema(l={"type": "array", "items": schema(a=N)}),
            {"l": [{"a": 1}, {"b": 1}]},
            [("l", 1, "b")],
            id="in a list",
        ),
        pytest.param(
            schema(l={"type": "array"}), {"l": [{"b": 1}]}, [("l", 0, "b")], id="in a bare list"
        ),
        pytest.param(
            schema(l={"items": schema(a=N), "x-kubernetes-preserve-unknown-fields": True}),
            {"l": [{"b": 1}]},
            [],
            id="in a list that keeps",
        ),
        pytest.param(
            schema(t={**schema(a=N), "x-kubernetes-embedded-resource": True}),
            {"t": {"apiVersion": "v1", "metadata": {"x": 1}, "b": 1}},
            [("t", "b")],
            id="in an embedded object",
        ),
    ],
)
def test_fields_that_would_be_pruned_are_listed(
    shape: Schema, value: Any, unknown: list[Path]
) -> None:
    assert unknown_fields(value, shape) == unknown


METADATA = schema(name={"type": "string"}, labels={"type": "object", "additionalProperties": {}})


def test_metadata_is_checked_where_it_is_described_in_full() -> None:
    value = {"metadata": {"name": "x", "lables": {}, "labels": {"any": "y"}}}
    assert unknown_fields(value, schema(metadata=METADATA)) == [("metadata", "lables")]
    assert unknown_fields(value, schema(metadata=schema(name={"type": "string"}))) == []


def test_kinds_of_the_server_itself_have_objects_of_free_form() -> None:
    shape = schema(raw={"type": "object"}, spec=schema(a=N))
    value = {"raw": {"x": {"y": 1}}, "spec": {"b": 1}}
    assert unknown_fields(value, shape, built_in=True) == [("spec", "b")]


def test_a_part_of_an_object_has_no_fields_of_its_own() -> None:
    assert unknown_fields({"kind": "X"}, schema(a=N), whole=False) == [("kind",)]
