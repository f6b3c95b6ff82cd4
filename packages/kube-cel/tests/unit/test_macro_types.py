import pytest

from kube_cel.checker import check
from kube_cel.environment import Environment, Schema
from kube_cel.issues import CheckError
from kube_cel.parser import parse
from kube_cel.types import DYN

ITEM: Schema = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
}
ENV = Environment.kro().extend(
    {
        "items": {"type": "array", "items": ITEM},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "item": ITEM,
    },
    {"any": DYN},
)


def type_of(expression: str) -> str:
    return str(check(parse(expression), ENV, expression))


def messages_of(expression: str) -> list[str]:
    with pytest.raises(CheckError) as caught:
        check(parse(expression), ENV, expression)
    return [f"{issue.offset + 1}: {issue.message}" for issue in caught.value.issues]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("items.all(x, x.size > 1)", "bool"),
        ("items.exists(i, x, i > 1 && x.size > 1)", "bool"),
        ("items.exists_one(x, x.name == 'a')", "bool"),
        ("items.existsOne(i, x, x.name == 'a')", "bool"),
        ("items.map(x, x.size)", "list(int)"),
        ("items.map(x, x.size > 1, x.name)", "list(string)"),
        ("items.filter(x, x.size > 1)", "list(__type_items.@idx)"),
        ("labels.filter(k, k == 'a')", "list(string)"),
        ("labels.map(k, labels[k].size())", "list(int)"),
        ("items.transformList(i, x, i)", "list(int)"),
        ("labels.transformList(k, v, v == 'a', k)", "list(string)"),
        ("items.transformMap(i, x, x.name)", "map(int, string)"),
        ("labels.transformMap(k, v, k == 'a', v.size())", "map(string, int)"),
        ("items.transformMapEntry(i, x, {x.name: x.size})", "map(string, int)"),
        ("items.transformMapEntry(i, x, x.size > 1, {x.name: i})", "map(string, int)"),
        ("items.transformMapEntry(i, x, any)", "map(dyn, dyn)"),
        ("items.sortBy(x, x.name)", "list(__type_items.@idx)"),
        ("[].sortBy(x, x)", "list(int)"),
        ("[].filter(x, x > 1)", "list(int)"),
        ("any.map(x, x)", "list(dyn)"),
        ("any.map(x, x + 1)", "list(int)"),
        ("any.sortBy(x, x)", "dyn"),
        ("any.filter(x, x)", "list(dyn)"),
        ("any.all(k, v, k == v)", "bool"),
        ("cel.bind(x, items[0], x.name + x.name)", "string"),
        ("optional.of(1).optMap(x, string(x))", "optional_type(string)"),
        ("optional.of(1).optFlatMap(x, optional.of('a'))", "optional_type(string)"),
        ("any.optMap(x, x)", "optional_type(dyn)"),
        ("items.map(items, items.name)", "list(string)"),
        ("items.map(x, [1].map(x, x))", "list(list(int))"),
        ("items.map(item, .item.size)", "list(int)"),
    ],
)
def test_macros_return_what_their_expansion_would(expression: str, expected: str) -> None:
    assert type_of(expression) == expected


def no_range(shown: str) -> str:
    return (
        f"expression of type '{shown}' cannot be range of a comprehension"
        " (must be list, map, or dynamic)"
    )


def no_overload(function: str, arguments: str) -> str:
    return f"found no matching overload for '{function}' applied to '{arguments}'"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("item.map(k, k)", "1: " + no_range("__type_item")),
        ("items[0].name.all(c, c)", "9: " + no_range("string")),
        ("[1].all(x, 1)", "12: expected type 'bool' but found 'int'"),
        ("[1].exists(i, x, 'a')", "18: expected type 'bool' but found 'string'"),
        ("[1].exists_one(x, 'a')", "15: " + no_overload("_?_:_", "(string, int, int)")),
        ("[1].filter(x, 1)", "11: " + no_overload("_?_:_", "(int, list(int), list(int))")),
        ("[1].map(x, 1, x)", "8: " + no_overload("_?_:_", "(int, list(int), list(int))")),
        (
            "[1].transformMap(i, x, 'a', x)",
            "17: " + no_overload("_?_:_", "(string, map(int, int), map(int, int))"),
        ),
        (
            "[1].transformMapEntry(i, x, x)",
            "22: " + no_overload("cel.@mapInsert", "(map(dyn, dyn), int)"),
        ),
        (
            "[1].sortBy(x, [x])",
            "11: " + no_overload("@sortByAssociatedKeys", "list(int).(list(list(int)))"),
        ),
        ("[1].optMap(x, x)", "11: " + no_overload("hasValue", "list(int).()")),
        (
            "optional.of(1).optFlatMap(x, x)",
            "26: " + no_overload("_?_:_", "(bool, int, optional_type(dyn))"),
        ),
        ("cel.bind(x, 1, x + 'a')", "18: " + no_overload("_+_", "(int, string)")),
        ("items.map(x, x.zzz)", "15: undefined field 'zzz'"),
        ("[1].map(x, x) == x", "18: undeclared reference to 'x' (in container '')"),
        ("x.map(x, x)", "1: undeclared reference to 'x' (in container '')"),
    ],
)
def test_misused_macros_are_reported_as_their_expansion_would_be(
    expression: str, expected: str
) -> None:
    assert messages_of(expression) == [expected]


def test_validation_rules_have_no_bindings() -> None:
    with pytest.raises(CheckError, match="undeclared reference to 'bind'"):
        check(parse("cel.bind(x, 1, x)"), Environment.rules(), "cel.bind(x, 1, x)")
