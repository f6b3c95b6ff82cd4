import pytest

from kube_cel.parser import parse
from kube_cel.references import (
    ConditionLookup,
    DeclaredCondition,
    LiteralText,
    References,
    Span,
    condition_literals,
    find_references,
)

KNOWN = frozenset(("schema", "vpc", "deployment", "json", "runtime", "list"))
FUNCTIONS = frozenset(("size", "json.marshal", "hash.sha256", "optional.none", "a.b.c", "omit"))


def references(text: str) -> References:
    return find_references(parse(text), KNOWN, FUNCTIONS)


@pytest.mark.parametrize(
    ("text", "identifiers"),
    [
        ("1", ()),
        ("vpc", ("vpc",)),
        ("vpc.a + schema.b + vpc.c", ("vpc", "schema")),
        ("size(deployment.x) > 0 ? [vpc] : {schema.a: 1}", ("deployment", "vpc", "schema")),
        ("vpc.?a[?schema.b].c", ("vpc", "schema")),
        ("has(vpc.a.b)", ("vpc",)),
        ("!vpc.a && -schema.b < 1", ("vpc", "schema")),
    ],
)
def test_known_names_in_order_of_appearance(text: str, identifiers: tuple[str, ...]) -> None:
    found = references(text)
    assert found.identifiers == identifiers
    assert found.unknown == ()


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("vpc.status.id", ("vpc.status.id",)),
        ("has(vpc.status.id)", ("vpc.status.id",)),
        ("vpc", ("vpc",)),
        ("vpc.a[0].b", ("vpc.a",)),
        ("vpc.?status.id", ("vpc",)),
        ("vpc.a.size()", ("vpc.a",)),
        ("vpc.a.map(x, x.b).c", ("vpc.a",)),
        ("vpc.a + schema.b + vpc.a + vpc.a.c", ("vpc.a", "schema.b", "vpc.a.c")),
        ("(vpc.a).b", ("vpc.a.b",)),
    ],
)
def test_paths_go_as_far_as_dots_do(text: str, paths: tuple[str, ...]) -> None:
    assert references(text).paths == paths


@pytest.mark.parametrize(
    ("text", "identifiers", "unknown"),
    [
        pytest.param("vpc.a.map(x, x.b)", ("vpc",), (), id="a loop variable is no reference"),
        pytest.param("vpc.a.map(x, y)", ("vpc",), ("y",), id="another name is unknown"),
        pytest.param("[1].map(x, x) + [x]", (), ("x",), id="behind the loop it is unknown"),
        pytest.param("[1].map(vpc, vpc.a)", (), (), id="a loop variable hides a known name"),
        pytest.param("vpc.items.map(vpc, vpc.x)", ("vpc",), (), id="what it runs over is outside"),
        pytest.param("x.filter(x, true)", (), ("x",), id="also of an unknown name"),
        pytest.param("{}.transformMap(k, v, k + v + w)", (), ("w",), id="two variables"),
        pytest.param("cel.bind(x, vpc.a, x + x)", ("vpc",), (), id="a binding"),
        pytest.param("cel.bind(x, x, x)", (), ("x",), id="a binding's value is outside"),
        pytest.param("vpc.?a.optMap(v, v + schema.b)", ("vpc", "schema"), (), id="optMap"),
        pytest.param("[[1]].map(x, x.map(y, x + y + z))", (), ("z",), id="loops in loops"),
        pytest.param("[1].map(x, [2].map(x, x) + [x])", (), (), id="an inner loop hides, then not"),
    ],
)
def test_names_have_a_scope(text: str, identifiers: tuple[str, ...], unknown: tuple[str]) -> None:
    found = references(text)
    assert found.identifiers == identifiers
    assert found.unknown == unknown


@pytest.mark.parametrize(
    ("text", "identifiers", "unknown"),
    [
        pytest.param("hash.sha256(vpc.a)", ("vpc",), (), id="a namespace"),
        pytest.param("a.b.c(1)", (), (), id="a namespace with a dot"),
        pytest.param("json.marshal(1)", (), (), id="a namespace called like a known name"),
        pytest.param("json.status", ("json",), (), id="the known name itself"),
        pytest.param("json.nothing(1)", ("json",), (), id="no such function: the known name"),
        pytest.param("hash.nothing(1)", (), ("hash",), id="no such function: an unknown name"),
        pytest.param("[1].map(hash, hash.sha256(1))", (), (), id="a variable called like one"),
        pytest.param("optional.none().x", (), (), id="a field of its result"),
    ],
)
def test_namespaces_are_no_references(
    text: str, identifiers: tuple[str, ...], unknown: tuple[str, ...]
) -> None:
    found = references(text)
    assert found.identifiers == identifiers
    assert found.unknown == unknown
    assert found.unknown_functions == ()


@pytest.mark.parametrize(
    "text", ["type(1) == int", "[string, type, null_type]", "google.protobuf.Timestamp", "net.IP"]
)
def test_names_of_types_are_neither_known_nor_unknown(text: str) -> None:
    found = find_references(parse(text), KNOWN, {"type"})
    assert found.identifiers == found.unknown == found.unknown_functions == ()


def test_a_known_name_wins_over_a_type() -> None:
    assert references("list.items").identifiers == ("list",)


def test_a_part_of_a_type_name_is_unknown() -> None:
    assert references("google.protobuf").unknown == ("google",)


def test_a_leading_dot_makes_a_name_unknown() -> None:
    assert references(".vpc.a").unknown == (".vpc",)
    assert references("[1].map(x, .x)").unknown == (".x",)


@pytest.mark.parametrize(
    ("text", "functions"),
    [
        ("size(vpc) + foo(bar(1))", ("foo", "bar")),
        ("vpc.foo(1)", ()),
        ("foo(1) + foo(2)", ("foo",)),
        (".size(1)", (".size",)),
        ("-(1 + 2) < 3 || !true", ()),
    ],
)
def test_unknown_functions(text: str, functions: tuple[str, ...]) -> None:
    assert references(text).unknown_functions == functions


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("omit()", True),
        ("vpc.a ? [1].map(x, omit()) : 1", True),
        ("vpc.omit()", False),
        ("vpc.omit", False),
    ],
)
def test_the_use_of_omit(text: str, uses: bool) -> None:
    assert references(text).uses_omit is uses


def test_spans_show_the_first_use() -> None:
    text = "foo(x, vpc.a) + vpc.b + foo(x) + omit()"
    found = references(text)
    assert found.spans == {"vpc": Span(7, 10), "x": Span(4, 5)}
    start = text.index("omit")
    assert found.function_spans == {"foo": Span(0, 3), "omit": Span(start, start + 4)}


def test_deep_trees_are_no_problem() -> None:
    text = "!f(a && " * 240 + "vpc" + ")" * 240
    assert references(text).identifiers == ("vpc",)


def literal(text: str, word: str) -> LiteralText:
    start = text.index(word)
    return LiteralText(word.strip("'"), Span(start, start + len(word)))


def test_literal_types_and_statuses_of_declared_conditions() -> None:
    text = "vpc.a ? runtime.newCondition({type: 'A', status: 'True', reason: 'x'}) : 1"
    (declared,) = condition_literals(parse(text))
    assert declared == DeclaredCondition(
        literal(text, "'A'"), literal(text, "'True'"), Span(16, 28)
    )


def test_computed_types_and_statuses_are_left_out() -> None:
    (declared,) = condition_literals(
        parse("runtime.newCondition({type: 'A' + 'B', status: vpc.ok ? 'True' : 'False'})")
    )
    assert isinstance(declared, DeclaredCondition)
    assert declared.type is None
    assert declared.status is None


@pytest.mark.parametrize(
    ("text", "object_name", "wanted"),
    [
        ("runtime.condition(schema, 'Ready').status", "schema", "'Ready'"),
        ("runtime.condition(vpc, 'Ready')", "vpc", "'Ready'"),
        ("runtime.condition(schema, vpc.t)", "schema", None),
        ("runtime.condition(vpc[0], 'Ready')", None, "'Ready'"),
    ],
)
def test_conditions_looked_up(text: str, object_name: str | None, wanted: str | None) -> None:
    (lookup,) = condition_literals(parse(text))
    assert lookup == ConditionLookup(
        object_name, literal(text, wanted) if wanted else None, Span(8, 17)
    )


def test_conditions_are_found_anywhere_from_the_outside_in() -> None:
    text = (
        "[runtime.newCondition({type: 'A', status: runtime.condition(schema, 'B').status})]"
        ".map(c, runtime.condition(schema, 'C'))"
    )
    types = [use.type.text for use in condition_literals(parse(text)) if use.type]
    assert types == ["A", "B", "C"]


@pytest.mark.parametrize(
    "text", ["vpc.condition(schema, 'A')", "condition(schema, 'A')", "runtime.condition('A')"]
)
def test_other_calls_are_no_conditions(text: str) -> None:
    assert condition_literals(parse(text)) == ()
