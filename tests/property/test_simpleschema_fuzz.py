"""Whatever people write: an answer, soon, and every problem with a place inside the text."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from objects_testing.budgets import examples

from kro_gitops.engine.simpleschema.grammar import (
    Atomic,
    ListType,
    MapType,
    Named,
    TypeExpression,
    parse_type,
)
from kro_gitops.engine.simpleschema.markers import MARKERS, read_markers
from kro_gitops.engine.simpleschema.openapi import build_schema
from kube_objects.errors import SchemaError
from kube_objects.problems import Problem, Spot

NAMES = ("string", "integer", "boolean", "float", "object", "T", "U", "V")
SCRAPS = (
    *(f"{name}=" for name in MARKERS),
    *("[]", "map[string]", "map[", "|", "=", '"', "\\", "'", "{", "}", "[", "]", ",", ":"),
    *(" ", "\t", "\n", "\u00a0", "true", "1", "-2.5", "1e9", "null", "a", '"k"', "é", "😀"),
    *("set", "map", "atomic", "(", "*", "NaN", "007"),
    *NAMES,
)

scraps = st.lists(st.sampled_from(SCRAPS), max_size=12).map("".join)
type_texts = st.builds(
    str.__add__,
    st.lists(st.sampled_from(("[]", "map[string]")), max_size=3).map("".join),
    st.sampled_from(NAMES),
)
marker_texts = st.builds(
    "{}={}".format, st.sampled_from(sorted(MARKERS)), st.sampled_from(SCRAPS) | st.text(max_size=5)
)
likely = st.builds("{} | {}".format, type_texts, st.lists(marker_texts, max_size=3).map(" ".join))
texts = st.text(max_size=20) | scraps | likely | type_texts
definitions = st.recursive(
    texts | st.none() | st.booleans() | st.integers() | st.floats() | st.lists(st.text()),
    lambda inner: st.dictionaries(st.sampled_from(("a", "b", "c", "")), inner, max_size=3),
    max_leaves=6,
)

fields = st.dictionaries(st.sampled_from(("f", "g", "h")), definitions, max_size=3)
types = st.dictionaries(st.sampled_from(("T", "U", "V", "string")), definitions, max_size=4)


def is_inside(spot: Spot, text: str) -> bool:
    end = len(text) if spot.end is None else spot.end
    return 0 <= spot.start <= end <= len(text)


def has_its_place(problem: Problem, written: Any) -> bool:
    for step in problem.spot.path:
        written = written[step]
    return not isinstance(written, str) or is_inside(problem.spot, written)


def error_of(text: str) -> SchemaError | None:
    try:
        parse_type(text)
    except SchemaError as error:
        return error
    return None


@given(texts)
@settings(max_examples=examples(200))
def test_every_text_is_a_type_or_an_error_with_a_place(text: str) -> None:
    error = error_of(text)
    assert error is None or is_inside(error.spot, text)


@given(texts)
@settings(max_examples=examples(200))
def test_markers_and_their_problems_have_a_place(text: str) -> None:
    markers = read_markers(text)
    for marker in markers.found:
        assert text[marker.start : marker.end].endswith(text[marker.value_start : marker.end])
        assert "=" in text[marker.start : marker.value_start]
    assert all(is_inside(problem.spot, text) for problem in markers.problems)


@given(fields, types)
@settings(max_examples=examples(200))
def test_every_schema_is_built_or_explained(spec: dict[str, Any], custom: dict[str, Any]) -> None:
    result = build_schema(spec, custom)
    assert (result.schema is None) == bool(result.problems)
    written = {"spec": spec, "types": custom}
    assert all(has_its_place(problem, written) for problem in result.problems)


@given(fields, types)
@settings(max_examples=examples(50))
def test_the_answer_depends_on_nothing_but_the_question(
    spec: dict[str, Any], custom: dict[str, Any]
) -> None:
    assert build_schema(spec, custom) == build_schema(spec, custom)


expressions: st.SearchStrategy[TypeExpression] = st.recursive(
    st.sampled_from(("string", "integer", "boolean", "float", "object")).map(Atomic)
    | st.sampled_from(("Port", "a b")).map(Named),
    lambda inner: st.builds(ListType, inner) | st.builds(MapType, inner),
    max_leaves=8,
)


def written(expression: TypeExpression) -> str:
    match expression:
        case ListType(inner):
            return f"[]{written(inner)}"
        case MapType(inner):
            return f"map[string]{written(inner)}"
        case Atomic(name) | Named(name):
            return name


@given(expressions)
@settings(max_examples=examples(100))
def test_a_type_that_is_written_out_is_read_back(expression: TypeExpression) -> None:
    assert parse_type(written(expression)) == expression


@given(st.text())
@settings(max_examples=examples(100))
def test_any_text_can_be_quoted(text: str) -> None:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    [marker] = read_markers(f'string | description="{escaped}"').found
    assert marker.value == text
