from typing import Any

import pytest

from kube_cel.checker import check
from kube_cel.environment import Environment, Schema
from kube_cel.issues import CheckError, Issue
from kube_cel.parser import parse
from kube_cel.syntax_tree import Call, ListLiteral, Macro, Node, Select, children
from kube_cel.types import DYN, STRING, list_of

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}


def an_object(**properties: Any) -> Schema:
    return {"type": "object", "properties": properties}


SPEC = an_object(
    **{"my-dash": TEXT, "in": TEXT, "for": NUMBER},
    name=TEXT,
    count=NUMBER,
    ratio={"type": "number"},
    on={"type": "boolean"},
    when={"type": "string", "format": "date-time"},
    port={"x-kubernetes-int-or-string": True},
    free={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    bare={"type": "object"},
    labels={"type": "object", "additionalProperties": TEXT},
    names={"type": "array", "items": TEXT},
    ports={"type": "array", "items": an_object(name=TEXT, port=NUMBER)},
    hidden={"oneOf": []},
)
ENV = Environment.kro().extend({"schema": an_object(spec=SPEC)}, {"any": DYN})


def type_of(expression: str, env: Environment = ENV) -> str:
    return str(check(parse(expression), env, expression))


def issues_of(expression: str, env: Environment = ENV) -> tuple[Issue, ...]:
    with pytest.raises(CheckError) as caught:
        check(parse(expression), env, expression)
    return caught.value.issues


def messages_of(expression: str, env: Environment = ENV) -> list[str]:
    """Column and text of all issues."""
    return [f"{issue.offset + 1}: {issue.message}" for issue in issues_of(expression, env)]


def no_overload(function: str, arguments: str) -> str:
    return f"found no matching overload for '{function}' applied to '{arguments}'"


def undeclared(name: str) -> str:
    return f"undeclared reference to '{name}' (in container '')"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("true", "bool"),
        ("1", "int"),
        ("1u", "uint"),
        ("1.0", "double"),
        ("'a'", "string"),
        ("b'a'", "bytes"),
        ("null", "null_type"),
        ("[1, 2]", "list(int)"),
        ("[1, 'a', 2.0]", "list(dyn)"),
        ("[[1], []]", "list(list(int))"),
        ("[[], [1]]", "list(list(int))"),
        ("[[1], ['a']]", "list(dyn)"),
        ("[null, 1]", "list(dyn)"),
        ("[null, duration('1s')]", "list(google.protobuf.Duration)"),
        ("[duration('1s'), null]", "list(null_type)"),
        ("[]", "list(dyn)"),
        ("{}", "map(dyn, dyn)"),
        ("{'a': 1, 'b': 2}", "map(string, int)"),
        ("{'a': 1, 'b': 'x'}", "map(string, dyn)"),
        ("{1: 'a', 'b': 2}", "map(dyn, dyn)"),
        ("[?optional.of(1), 2]", "list(int)"),
        ("{?'a': optional.none(), 'b': 1}", "map(string, int)"),
    ],
)
def test_literals_have_the_type_their_parts_have_in_common(expression: str, expected: str) -> None:
    assert type_of(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1 + 2 * 3", "int"),
        ("'a' + 'b'", "string"),
        ("[1] + []", "list(int)"),
        ("timestamp('x') - timestamp('y')", "google.protobuf.Duration"),
        ("timestamp('x') + duration('y')", "google.protobuf.Timestamp"),
        ("-1.5", "double"),
        ("!true || 1 < 2 && 'a' == 'b'", "bool"),
        ("1 in [1]", "bool"),
        ("'a' in {'a': 1}", "bool"),
        ("true ? 1 : 2", "int"),
        ("true ? [] : [1]", "list(int)"),
        ("true ? null : duration('1s')", "null_type"),
        ("[1][0]", "int"),
        ("{'a': 1}['a']", "int"),
        ("[1][?0]", "optional_type(int)"),
        ("optional.of([1])[0]", "optional_type(int)"),
        ("optional.of({'a': 1}).a", "optional_type(int)"),
        ("{'a': optional.of(1)}.?a", "optional_type(optional_type(int))"),
        ("optional.of(1).orValue(2)", "int"),
        ("null == optional.none()", "bool"),
        ("dyn(1) == 1.0", "bool"),
        ("type(1)", "type(int)"),
        ("type(1) == int", "bool"),
        ("type(any) == google.protobuf.Timestamp", "bool"),
        ("type", "type(type)"),
        ("list", "type(list(any))"),
        ("[1].first()", "optional_type(int)"),
        ("[[1]].flatten()", "list(int)"),
        ("[].min()", "int"),
        ("lists.removeAtIndex([], 0)", "list(dyn)"),
        ("lists.range(3)", "list(int)"),
        ("{}.merge({'a': 1})", "map(string, int)"),
        ("{'a': 1}.merge({'a': dyn(1)})", "map(string, dyn)"),
        ("{'a': 1}.deepMerge({'b': 2})", "dyn"),
        ("url('http://a').getQuery()", "map(string, list(string))"),
        ("quantity('1').add(quantity('2')).isLessThan(quantity('3'))", "bool"),
        ("cidr('10.0.0.0/8').ip()", "net.IP"),
        ("semver('1.2.3').major()", "int"),
        ("hash.sha256('a')", "bytes"),
        (".hash.sha256('a')", "bytes"),
        (".size([1])", "int"),
        ("json.unmarshal('1').a.b", "dyn"),
        ("runtime.condition(schema, 'Ready').status", "string"),
        ("[runtime.newCondition({type: 'T', status: 'True'})]", "list(kro.run.Condition)"),
        ("omit()", "dyn"),
    ],
)
def test_calls_return_what_their_overload_says(expression: str, expected: str) -> None:
    assert type_of(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("schema", "__type_schema"),
        ("schema.spec", "__type_schema.spec"),
        ("schema.spec.name", "string"),
        ("schema.spec.my__dash__dash", "string"),
        ("schema.spec.for", "int"),
        ("schema.spec.__for__", "int"),
        ("schema.spec.__in__", "string"),
        ("schema.spec.when.getFullYear()", "int"),
        ("schema.spec.port", "dyn"),
        ("schema.spec.free.a.b[0]", "dyn"),
        ("schema.spec.labels.app", "string"),
        ("schema.spec.labels['a/b']", "string"),
        ("schema.spec.ports[0]", "__type_schema.spec.ports.@idx"),
        ("schema.spec.ports[0].port", "int"),
        ("schema.spec.?name", "optional_type(string)"),
        ("schema.?spec.name", "optional_type(string)"),
        ("schema.spec.?labels['a'].orValue('')", "string"),
        ("has(schema.spec.name)", "bool"),
        ("has(schema.spec.labels.anything)", "bool"),
        ("schema.spec.ports == schema.spec.ports", "bool"),
        ("schema.spec == null", "bool"),
    ],
)
def test_fields_have_the_types_of_their_schemas(expression: str, expected: str) -> None:
    assert type_of(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("schema.spec.foo", ["12: undefined field 'foo'"]),
        ("schema.spec.hidden", ["12: undefined field 'hidden'"]),
        ("schema.spec.bare.a", ["17: undefined field 'a'"]),
        ("has(schema.spec.foo)", ["4: undefined field 'foo'"]),
        ("schema.spec.?foo", ["12: undefined field 'foo'"]),
        ("schema.status.a.b", ["7: undefined field 'status'"]),
        ("'a'.b", ["4: type 'string' does not support field selection"]),
        ("[].b", ["3: type 'list(dyn)' does not support field selection"]),
        ("timestamp('x').b", ["15: type 'timestamp' does not support field selection"]),
        ("ip('::1').b", ["10: type 'net.IP' does not support field selection"]),
        ("quantity('1').b", ["14: unexpected failed resolution of 'kubernetes.Quantity'"]),
        ("runtime.b", ["8: unexpected failed resolution of 'kro.run.Runtime'"]),
        (
            "runtime.condition(any, 'T').since",
            ["28: undefined field 'since'"],
        ),
        ("optional.of(1).a", ["15: type 'int' does not support field selection"]),
    ],
)
def test_a_field_that_is_not_there_is_reported(expression: str, expected: list[str]) -> None:
    assert messages_of(expression) == expected


@pytest.mark.parametrize(
    ("expression", "column", "function", "arguments"),
    [
        ("1 < 2.0", 3, "_<_", "(int, double)"),
        ("1 == null", 3, "_==_", "(int, null)"),
        ("1 in [1.0]", 3, "@in", "(int, list(double))"),
        ("-'a'", 1, "-_", "(string)"),
        ("!1", 1, "!_", "(int)"),
        ("'a' ? 1 : 2", 5, "_?_:_", "(string, int, int)"),
        ("any ? 1 : 'a'", 5, "_?_:_", "(dyn, int, string)"),
        ("1 - duration('1s')", 3, "_-_", "(int, duration)"),
        ("'a'.startsWith(1)", 15, "startsWith", "string.(int)"),
        ("1.size()", 7, "size", "int.()"),
        ("size()", 5, "size", "()"),
        ("size(1)", 5, "size", "(int)"),
        ("[] == {}", 4, "_==_", "(list(dyn), map(dyn, dyn))"),
        ("schema.spec['name']", 12, "_[_]", "(__type_schema.spec, string)"),
        (
            "schema.spec.ports + [{'port': 1}]",
            19,
            "_+_",
            "(list(__type_schema.spec.ports.@idx), list(map(string, int)))",
        ),
        ("quantity('1').sign()", 19, "sign", "kubernetes.Quantity.()"),
        ("semver('1.0.0', true)", 7, "semver", "(string, bool)"),
        ("lists.setAtIndex([1], 0, 'a')", 17, "lists.setAtIndex", "(list(int), int, string)"),
        ("optional.of(1).orValue('a')", 23, "orValue", "optional_type(int).(string)"),
        ("{'a': 1}.merge({'a': 'b'})", 15, "merge", "map(string, int).(map(string, string))"),
    ],
)
def test_a_call_no_overload_takes_is_reported(
    expression: str, column: int, function: str, arguments: str
) -> None:
    assert messages_of(expression) == [f"{column}: {no_overload(function, arguments)}"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("unknown", ["1: " + undeclared("unknown")]),
        (".unknown", ["2: " + undeclared(".unknown")]),
        ("unknown.a.b", ["1: " + undeclared("unknown")]),
        ("unknown(1)", ["8: " + undeclared("unknown")]),
        ("'a'.unknown(1)", ["12: " + undeclared("unknown")]),
        ("math.greatest(1, 2)", ["1: " + undeclared("math"), "14: " + undeclared("greatest")]),
        ("kubernetes.Quantity", ["1: " + undeclared("kubernetes")]),
    ],
)
def test_names_nobody_declared_are_reported(expression: str, expected: list[str]) -> None:
    assert messages_of(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1 && true", ["1: expected type 'bool' but found 'int'"]),
        (
            "true || 1 || 'b'",
            [
                "9: expected type 'bool' but found 'int'",
                "14: expected type 'bool' but found 'string'",
            ],
        ),
        ("[?1]", ["3: expected type 'optional_type(int)' but found 'int'"]),
        ("{?'a': 1}", ["8: expected type 'optional_type(int)' but found 'int'"]),
    ],
)
def test_a_value_of_another_type_than_demanded_is_reported(
    expression: str, expected: list[str]
) -> None:
    assert messages_of(expression) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "unknown.a.b + 'x'",
        "size(unknown) > 1",
        "unknown.map(x, x.a).filter(y, y.z)",
        "[unknown, 1]",
        "[?unknown]",
        "unknown.optMap(x, x + 1).orValue(2)",
        "(1 && true) || false ? 1 : 2",
        "schema.spec.foo.bar.baz",
        "'%d'.format([unknown])",
    ],
)
def test_one_mistake_is_reported_once(expression: str) -> None:
    assert len(issues_of(expression)) == 1


def test_several_mistakes_are_reported_together_in_order() -> None:
    assert messages_of("[unknown, 'a'.b, 1 + 'a']") == [
        "2: " + undeclared("unknown"),
        "14: type 'string' does not support field selection",
        "20: " + no_overload("_+_", "(int, string)"),
    ]


def test_the_text_of_a_problem_is_in_the_layout_of_cel_go() -> None:
    with pytest.raises(CheckError) as caught:
        check(parse("'é' + schema.spec.foo"), ENV, "'é' + schema.spec.foo")
    assert str(caught.value) == (
        "ERROR: <input>:1:18: undefined field 'foo'\n"
        " | 'é' + schema.spec.foo\n"
        " | .．...............^"
    )


def test_an_undefined_field_is_underlined_without_its_dot() -> None:
    [issue] = issues_of("schema.spec.foo")
    assert "schema.spec.foo"[issue.start : issue.end] == "foo"


def test_every_node_gets_a_type_and_no_variable_is_left() -> None:
    tree = parse("[[], [1]].map(x, x.size() + {}.size()) + lists.range(schema.spec.count)")
    check(tree, ENV, "")
    stack: list[Node] = [tree]
    while stack:
        node = stack.pop()
        assert node.type is not None
        assert not node.type.is_open
        stack.extend(children(node))


def test_an_empty_literal_learns_its_type_from_its_surroundings() -> None:
    tree = parse("true ? [] : [1]")
    check(tree, ENV, "")
    assert isinstance(tree, Call)
    assert isinstance(tree.arguments[1], ListLiteral)
    assert str(tree.arguments[1].type) == "list(int)"


def test_a_namespaced_function_is_rewritten_in_place() -> None:
    tree = parse("hash.sha256('a')")
    check(tree, ENV, "")
    assert isinstance(tree, Call)
    assert (tree.target, tree.function) == (None, "hash.sha256")
    assert check(tree, ENV, "") == tree.type


def test_a_namespace_wins_over_a_variable_of_its_name() -> None:
    env = ENV.extend(types={"hash": STRING})
    assert type_of("hash.sha256(hash)", env) == "bytes"
    assert type_of("hash.size()", env) == "int"


def test_a_variable_wins_over_the_name_of_a_type() -> None:
    assert type_of("list[0]", ENV.extend(types={"list": list_of(STRING)})) == "string"


def test_a_dotted_type_name_is_one_value() -> None:
    tree = parse("google.protobuf.Duration")
    assert str(check(tree, ENV, "")) == "type(google.protobuf.Duration)"
    assert isinstance(tree, Select)


@pytest.mark.parametrize(
    "expression",
    [
        "any.slice(0, 1).map(e, -e).sum() + 1",
        "cel.bind(l, any.slice(0, 1), l[0] == 'a' && l[1] == 1)",
        "json.unmarshal('[]').filter(e, e > 1).map(e, e + 'a')",
        "any.distinct().all(e, e == 1 || e == 'a')",
    ],
)
def test_elements_of_untyped_lists_may_be_anything(expression: str) -> None:
    type_of(expression)


def test_numbers_of_different_types_are_ordered_only_from_the_first_macro_on() -> None:
    assert type_of("schema.spec.ports.exists(p, p.port > 80.5)") == "bool"
    assert type_of("[1].map(x, x) == [1] && 1 > 0.5") == "bool"
    assert messages_of("1 > 0.5 && [1].map(x, x) == [1]") == [
        "3: " + no_overload("_>_", "(int, double)")
    ]
    assert messages_of("[1].exists(x, x == 1.0)") == ["17: " + no_overload("_==_", "(int, double)")]


@pytest.mark.parametrize(
    "expression",
    [
        "any" + ".a" * 240,
        "[" * 240 + "]" * 240,
        "-(" * 200 + "1" + ")" * 200,
        "any ? 1 : " * 200 + "2",
        " + ".join(["'a'"] * 240),
        "any" + ".map(x, x)" * 100,
        "[" * 200 + "1" + "]" * 200 + " == " + "[" * 200 + "]" * 200,
    ],
    ids=["selections", "lists", "negations", "ternaries", "sum", "macros", "comparison"],
)
def test_deep_expressions_are_checked(expression: str) -> None:
    type_of(expression)


def test_a_tree_too_deep_for_the_stack_is_a_problem_not_a_crash() -> None:
    tree: Node = parse("1")
    for _ in range(5000):
        tree = Call(0, 0, 1, None, "-_", [tree])
    with pytest.raises(CheckError, match="max recursion depth exceeded"):
        check(tree, ENV, "1")


def test_a_type_that_grows_out_of_hand_is_a_problem() -> None:
    bindings = "".join(f"cel.bind(a{i + 1}, {{a{i}: a{i}}}, " for i in range(40))
    expression = f"cel.bind(a0, 1, {bindings}a40{')' * 41}"
    assert messages_of(expression) == ["9: type has more than 1000 parts"]


def test_macros_are_typed_in_the_tree() -> None:
    tree = parse("schema.spec.ports.map(p, p.port)")
    check(tree, ENV, "")
    assert isinstance(tree, Macro)
    assert str(tree.bodies[0].type) == "int"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("Foo{a: 1}", [f"4: {undeclared('Foo')}"]),
        ("a.b.Foo{a: nope}", [f"8: {undeclared('a.b.Foo')}"]),
        (".Foo{}.b + 1", [f"5: {undeclared('.Foo')}"]),
        ("schema{}", [f"7: {undeclared('schema')}"]),
        ("Foo{}.f()", [f"4: {undeclared('Foo')}", f"8: {undeclared('f')}"]),
        ("google.protobuf.Duration{}", ["25: message literals are not supported"]),
    ],
)
def test_there_are_no_messages(expression: str, expected: list[str]) -> None:
    assert messages_of(expression) == expected
    assert issues_of(expression)[0].hint.startswith("write a map, {'field': value}, instead of ")


@pytest.mark.parametrize(
    ("expression", "column", "shown"),
    [
        ("map.x", 4, "map(any, any)"),
        ("list.x", 5, "list(any)"),
        ("duration.x", 9, "duration"),
        ("timestamp.x.y", 10, "timestamp"),
        ("google.protobuf.Duration.x", 25, "duration"),
        ("net.IP.x", 7, "net.IP"),
    ],
)
def test_types_have_no_fields(expression: str, column: int, shown: str) -> None:
    message = f"type 'type({shown})' does not support field selection"
    assert messages_of(expression) == [f"{column}: {message}"]


@pytest.mark.parametrize("expression", ["map.x", "duration.x"])
def test_without_schemas_fewer_names_of_types_are_known(expression: str) -> None:
    (message,) = messages_of(expression, Environment.kro())
    assert "any" not in message


def test_a_loop_variable_with_a_leading_dot_cannot_be_read() -> None:
    assert type_of("[1].map(.e, 'a')") == "list(string)"
    assert messages_of("[1].map(.e, e)") == [f"13: {undeclared('e')}"]
    assert messages_of("[1].map(.e, .e)") == [f"14: {undeclared('.e')}"]
