import pytest

from kube_cel.issues import ParseError
from kube_cel.parser import parse
from kube_cel.syntax_tree import Call, Has, Ident, Literal, Macro, MapLiteral


@pytest.mark.parametrize(
    ("text", "name", "variables", "bodies"),
    [
        ("a.all(x, b)", "all", ["x"], 1),
        ("a.exists(x, b)", "exists", ["x"], 1),
        ("a.exists_one(x, b)", "exists_one", ["x"], 1),
        ("a.map(x, b)", "map", ["x"], 1),
        ("a.map(x, b, c)", "map", ["x"], 2),
        ("a.filter(x, b)", "filter", ["x"], 1),
        ("a.all(k, v, b)", "all", ["k", "v"], 1),
        ("a.exists(k, v, b)", "exists", ["k", "v"], 1),
        ("a.exists_one(k, v, b)", "exists_one", ["k", "v"], 1),
        ("a.existsOne(k, v, b)", "existsOne", ["k", "v"], 1),
        ("a.transformList(k, v, b)", "transformList", ["k", "v"], 1),
        ("a.transformList(k, v, b, c)", "transformList", ["k", "v"], 2),
        ("a.transformMap(k, v, b)", "transformMap", ["k", "v"], 1),
        ("a.transformMap(k, v, b, c)", "transformMap", ["k", "v"], 2),
        ("a.transformMapEntry(k, v, b)", "transformMapEntry", ["k", "v"], 1),
        ("a.transformMapEntry(k, v, b, c)", "transformMapEntry", ["k", "v"], 2),
        ("a.sortBy(x, b)", "sortBy", ["x"], 1),
        ("a.optMap(x, b)", "optMap", ["x"], 1),
        ("a.optFlatMap(x, b)", "optFlatMap", ["x"], 1),
        ("cel.bind(x, a, b)", "cel.bind", ["x"], 1),
    ],
)
def test_macros_that_bind_names(text: str, name: str, variables: list[str], bodies: int) -> None:
    node = parse(text)
    assert isinstance(node, Macro)
    assert (node.name, node.variables, len(node.bodies)) == (name, variables, bodies)
    assert isinstance(node.operand, Ident)
    assert node.operand.name == "a"


@pytest.mark.parametrize(
    "text",
    [
        "all(x, b)",
        "a.all(x)",
        "a.existsOne(x, b)",
        "a.map(x)",
        "a.filter(x, b, c)",
        "a.has(b.c)",
        "has(a.b, c)",
        ".has(a.b)",
        "x.bind(a, b, c)",
        ".cel.bind(a, b, c)",
        "cel.bind(a, b)",
        "x.newCondition({})",
        "runtime.newCondition({}, 1)",
    ],
)
def test_other_calls_of_these_names_are_ordinary(text: str) -> None:
    assert isinstance(parse(text), Call)


def test_a_presence_test_holds_object_and_field() -> None:
    node = parse("has(a.b.c)")
    assert isinstance(node, Has)
    assert node.name == "c"


def test_a_presence_test_of_a_presence_test_is_one() -> None:
    node = parse("has(has(a.b))")
    assert isinstance(node, Has)
    assert isinstance(node.operand, Ident)


SORT = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
ACCUMULATOR = "iteration variable overwrites accumulator variable"


@pytest.mark.parametrize(
    ("text", "message", "culprit"),
    [
        ("has(a)", "invalid argument to has() macro", "a)"),
        ("has(a.?b)", "invalid argument to has() macro", ".?b"),
        ("a.all(1, b)", "argument must be a simple name", "1"),
        ("a.exists(x.y, b)", "argument must be a simple name", ".y"),
        ("a.map(1, b)", "argument is not an identifier", "1"),
        ("a.filter(.x, b)", "argument is not an identifier", "x"),
        ("a.all(.k, .k, b)", "duplicate variable name: .k", "k, b"),
        ("a.filter('x', b)", "argument is not an identifier", "'x'"),
        ("a.all(k, 2, b)", "argument must be a simple name", "2"),
        ("a.all(k, k, b)", "duplicate variable name: k", "k, b"),
        ("a.map(__result__, b)", ACCUMULATOR, "__result__"),
        ("a.all(k, __result__, b)", ACCUMULATOR, "__result__"),
        ("a.sortBy(1, b)", "argument is not an identifier", "1"),
        ("'a'.sortBy(x, b)", SORT, "'a'"),
        ("{}.sortBy(x, b)", SORT, "{}"),
        ("a.optMap(1, b)", "optMap() variable name must be a simple identifier", "1"),
        ("a.optFlatMap(1, b)", "optFlatMap() variable name must be a simple identifier", "1"),
        ("cel.bind(1, a, b)", "cel.bind() variable names must be simple identifiers", "1"),
    ],
)
def test_misuse_is_reported_at_the_argument(text: str, message: str, culprit: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    (issue,) = caught.value.issues
    assert issue.message == message
    assert issue.offset == text.index(culprit)


@pytest.mark.parametrize("text", ["a.map(.x, b)", "a.all(.x, b)", "a.transformList(.x, .y, b)"])
def test_with_a_leading_dot_a_loop_has_a_name_nobody_can_read(text: str) -> None:
    node = parse(text)
    assert isinstance(node, Macro)
    assert node.variables[0] == ".x"


@pytest.mark.parametrize("text", ["a.optMap(__result__, b)", "cel.bind(__result__, a, b)"])
def test_what_is_no_loop_may_use_any_name(text: str) -> None:
    assert isinstance(parse(text), Macro)


def test_the_keys_of_a_condition_become_strings() -> None:
    text = "runtime.newCondition({type: 'T', ?status: s, message: 'm'})"
    node = parse(text)
    assert isinstance(node, Call)
    assert node.function == "newCondition"
    (fields,) = node.arguments
    assert isinstance(fields, MapLiteral)
    keys = [entry.key for entry in fields.entries]
    assert all(isinstance(key, Literal) for key in keys)
    assert [text[key.start : key.end] for key in keys] == ["type", "status", "message"]
    # cel-go makes map and keys anew, in the place of the call.
    assert {key.offset for key in keys} == {fields.offset} == {text.index("(")}
    assert not any(entry.optional for entry in fields.entries)


KEYS = (
    "keys must be bare identifiers (type, status, reason, message);"
    " quoted or computed keys are not allowed"
)


@pytest.mark.parametrize(
    ("argument", "message", "culprit"),
    [
        ("x", "argument must be a map literal", "x"),
        ("{'type': 'T', status: 'True'}", KEYS, "'type'"),
        ("{type: 'T', status + 1: 'True'}", KEYS, "+"),
        (
            "{type: 'T', state: 'True'}",
            'unknown key "state" (allowed: type, status, reason, message)',
            "state",
        ),
        ("{type: 'T', status: 's', type: 'U'}", 'duplicate key "type"', "type: 'U'"),
        ("{status: 'True'}", "'type' is required", "{"),
        ("{type: 'T'}", "'status' is required", "{"),
        ("{}", "'type' is required", "{"),
    ],
)
def test_conditions_are_checked_while_parsing(argument: str, message: str, culprit: str) -> None:
    text = f"[runtime.newCondition({argument})]"
    with pytest.raises(ParseError) as caught:
        parse(text)
    (issue,) = caught.value.issues
    assert issue.message == f"runtime.newCondition: {message}"
    assert issue.offset == text.index(culprit, text.index("(") + 1)
