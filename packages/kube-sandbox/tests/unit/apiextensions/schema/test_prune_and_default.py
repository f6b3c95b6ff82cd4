"""Objects brought into form, whatever they are."""

from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kube_objects.defaulting import SchemaReader
from kube_objects.ratcheting import is_equal, is_unchanged
from kube_objects.schema_validator import SchemaValidator
from kube_sandbox.apiextensions.schema.prune_and_default import normalize_object

KEYS = st.sampled_from(("a", "b", "c", "spec"))
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(("", "x", "yy"))
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)
LEAVES = st.sampled_from(
    (
        {"type": "string"},
        {"type": "integer", "default": 1, "minimum": 0},
        {"type": "string", "nullable": True, "enum": ["x", None]},
        {"x-kubernetes-preserve-unknown-fields": True},
        {"type": "object", "additionalProperties": True},
        {"x-kubernetes-int-or-string": True},
    )
)


def _around(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    fields = st.dictionaries(KEYS, inner, min_size=1, max_size=3)
    return (
        fields.map(lambda found: {"type": "object", "properties": found})
        | inner.map(lambda found: {"type": "array", "items": found})
        | inner.map(lambda found: {"type": "object", "additionalProperties": found})
    )


SCHEMAS = st.dictionaries(KEYS, st.recursive(LEAVES, _around, max_leaves=6), max_size=3).map(
    lambda fields: {"type": "object", "properties": fields}
)


@given(OBJECTS, SCHEMAS)
def test_what_is_in_form_stays_as_it_is(obj: dict[str, Any], schema: dict[str, Any]) -> None:
    reader = SchemaReader(schema, is_object=True)
    normalize_object(obj, reader)
    again = deepcopy(obj)
    assert normalize_object(again, reader) == []
    assert is_equal(again, obj)


@given(OBJECTS, SCHEMAS)
def test_what_did_not_change_is_forgiven(obj: dict[str, Any], schema: dict[str, Any]) -> None:
    normalize_object(obj, SchemaReader(schema, is_object=True))
    checker = SchemaValidator(schema)
    forgiven = checker.violations(obj, deepcopy(obj))
    assert len(forgiven) <= len(checker.violations(obj))
    if is_unchanged(obj, obj, schema):
        assert forgiven == []


@given(OBJECTS, SCHEMAS)
def test_defaults_are_copies(obj: dict[str, Any], schema: dict[str, Any]) -> None:
    before = deepcopy(schema)
    normalize_object(obj, SchemaReader(schema, is_object=True))
    normalize_object(obj, SchemaReader({}, is_object=True))
    assert schema == before


def test_a_null_in_a_list_or_a_map_gets_the_default_of_its_items() -> None:
    number = {"type": "integer", "default": 1}
    item = {
        "type": "object",
        "default": {"a": {}},
        "properties": {"a": {"type": "object", "properties": {"b": number}}},
    }
    schema = {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": number},
            "map": {"type": "object", "additionalProperties": number},
            "objects": {"type": "array", "items": item},
        },
    }
    obj: dict[str, Any] = {
        "list": [None, 2],
        "map": {"x": None, "y": 2},
        "objects": [None, {}],
    }
    normalize_object(obj, SchemaReader(schema, is_object=True))
    assert obj == {
        "list": [1, 2],
        "map": {"x": 1, "y": 2},
        "objects": [{"a": {"b": 1}}, {}],
    }
