import pytest

from kube_cel.checker import check
from kube_cel.environment import Environment, Schema
from kube_cel.hints import hint_for_field, suggest_name
from kube_cel.issues import CheckError
from kube_cel.parser import parse
from kube_cel.types import object_of, optional_of

SCHEMA: Schema = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer"},
        "name": {"type": "string"},
        "weight": {"type": "number"},
        "my-field": {"type": "string"},
        "a__b": {"type": "string"},
        "amount": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    },
}
ENV = Environment.kro().extend({"schema": SCHEMA})


def hint(expression: str) -> str:
    with pytest.raises(CheckError) as caught:
        check(parse(expression), ENV, expression)
    return caught.value.issues[0].hint


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("replcas", "replicas"),
        ("repilcas", "replicas"),
        ("replicass", "replicas"),
        ("nane", "name"),
        ("replicas", "replicas"),
        ("port", None),
        ("n", None),
        ("", None),
    ],
)
def test_the_nearest_name_within_two_edits_is_suggested(written: str, meant: str | None) -> None:
    assert suggest_name(["name", "replicas"], written) == meant


def test_nothing_is_suggested_from_nothing() -> None:
    assert suggest_name([], "name") is None


def test_fields_are_suggested_below_optionals_too() -> None:
    owner = object_of("__type_schema")
    assert hint_for_field(ENV, owner, "replcas") == "did you mean 'replicas'?"
    assert hint_for_field(ENV, optional_of(owner), "replcas") == "did you mean 'replicas'?"
    assert hint_for_field(ENV, object_of("kubernetes.Quantity"), "replcas") == ""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("schema.replcas", "did you mean 'replicas'?"),
        ("has(schema.replcas)", "did you mean 'replicas'?"),
        ("schema.?replcas", "did you mean 'replicas'?"),
        ("schema.entirelyUnknown", ""),
        ("schema.amount", "'amount' has no type in the schema, so expressions cannot read it"),
        ("schema.a__b", "write .a__underscores__b to read 'a__b'"),
        ("shcema.replicas", "did you mean 'schema'?"),
        ("[1].map(element, elemnt)", "did you mean 'element'?"),
        ("schema.name.lowerASCII()", ""),
        ("schema.name.lowerAsci()", "did you mean 'lowerAscii'?"),
        ("hash.sha25('a')", ""),
        ("siez('a')", "did you mean 'size'?"),
        ("[1].exist(x, x)", "did you mean 'exists'?"),
        ("[1].map(1)", "used as list.map(x, value) or list.map(x, condition, value)"),
        ("'a' + schema.replicas", "convert the int with string(…)"),
        ("schema.weight + 'a'", "convert the double with string(…)"),
        ("'a' + [1]", ""),
        ("schema.replicas + 1.0", "+ takes numbers of one type; convert one with int(…)"),
        ("1 == 1.0", "== takes numbers of one type; convert one with int(…)"),
        (
            "schema['name']",
            "fields of an object are selected with a dot; only maps and lists take [ ]",
        ),
        (
            "schema.?replicas > 1",
            "take the value out of the optional first, with .orValue(…)",
        ),
        ("quantity('1') < quantity('2')", ""),
    ],
)
def test_a_mistake_comes_with_a_hint_where_one_is_known(expression: str, expected: str) -> None:
    assert hint(expression) == expected
