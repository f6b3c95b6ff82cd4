"""Objects brought into form, whatever they are."""

from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kube_sandbox.apiextensions.schema.prune_and_default import Reader, normalize_object
from kube_sandbox.apiextensions.schema.ratcheting import is_equal, is_unchanged
from kube_sandbox.apiextensions.schema.value_validation import SchemaValidator

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
    reader = Reader(schema, root=True)
    normalize_object(obj, reader)
    again = deepcopy(obj)
    assert normalize_object(again, reader) == []
    assert is_equal(again, obj)


@given(OBJECTS, SCHEMAS)
def test_what_did_not_change_is_forgiven(obj: dict[str, Any], schema: dict[str, Any]) -> None:
    normalize_object(obj, Reader(schema, root=True))
    checker = SchemaValidator(schema)
    forgiven = checker.flaws(obj, deepcopy(obj))
    assert len(forgiven) <= len(checker.flaws(obj))
    if is_unchanged(obj, obj, schema):
        assert forgiven == []


@given(OBJECTS, SCHEMAS)
def test_defaults_are_copies(obj: dict[str, Any], schema: dict[str, Any]) -> None:
    before = deepcopy(schema)
    normalize_object(obj, Reader(schema, root=True))
    normalize_object(obj, Reader({}, root=True))
    assert schema == before
