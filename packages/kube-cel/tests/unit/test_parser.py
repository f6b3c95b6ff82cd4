import inspect
import sys

import pytest

from kube_cel.issues import NO_OFFSET, ParseError
from kube_cel.parser import MAX_EXPRESSION_LENGTH, parse
from kube_cel.syntax_tree import (
    Call,
    Entry,
    Has,
    Ident,
    ListLiteral,
    Literal,
    Macro,
    MapLiteral,
    Message,
    Node,
    Select,
    children,
)

OPERAND = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT,"
    " STRING, BYTES, IDENTIFIER}"
)


def show(node: Node) -> str:
    """Write a tree with every operation in parentheses, its name first."""
    match node:
        case Literal(value=value):
            return repr(value)
        case Ident(name=name, absolute=absolute):
            return f".{name}" if absolute else name
        case Select(operand=operand, name=name):
            return f"{show(operand)}.{name}"
        case Has(operand=operand, name=name):
            return f"has({show(operand)}.{name})"
        case Call(target=target, function=function, arguments=arguments):
            before = [] if target is None else [show(target)]
            name = function if target is None else f".{function}"
            return f"({' '.join((name, *before, *map(show, arguments)))})"
        case ListLiteral(elements=elements, optional=optional):
            shown = [("?" if i in optional else "") + show(e) for i, e in enumerate(elements)]
            return f"[{', '.join(shown)}]"
        case MapLiteral(entries=entries):
            return f"{{{', '.join(map(show_entry, entries))}}}"
        case Macro(name=name, operand=operand, variables=variables, bodies=bodies):
            return f"({name} {show(operand)} {' '.join(variables)}: {', '.join(map(show, bodies))})"
        case _:
            raise AssertionError(f"no such node: {node!r}")


def show_entry(entry: Entry) -> str:
    return f"{'?' if entry.optional else ''}{show(entry.key)}: {show(entry.value)}"


def errors(text: str) -> list[str]:
    """Parse a text that is wrong, and list the first lines of its errors."""
    with pytest.raises(ParseError) as caught:
        parse(text)
    lines = str(caught.value).split("\n")
    return [line.removeprefix("ERROR: <input>:") for line in lines if line.startswith("ERROR")]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("1 + 2 * 3", "(_+_ 1 (_*_ 2 3))"),
        ("1 * 2 + 3", "(_+_ (_*_ 1 2) 3)"),
        ("1 - 2 - 3", "(_-_ (_-_ 1 2) 3)"),
        ("8 / 4 % 3", "(_%_ (_/_ 8 4) 3)"),
        ("(1 + 2) * 3", "(_*_ (_+_ 1 2) 3)"),
        ("1 + 2 < 3 * 4", "(_<_ (_+_ 1 2) (_*_ 3 4))"),
        ("a < b == c", "(_==_ (_<_ a b) c)"),
        ("a in b", "(@in a b)"),
        ("a && b || c && d", "(_||_ (_&&_ a b) (_&&_ c d))"),
        ("a || b == c && d", "(_||_ a (_&&_ (_==_ b c) d))"),
        ("!a && -b > c", "(_&&_ (!_ a) (_>_ (-_ b) c))"),
        ("a ? b : c", "(_?_:_ a b c)"),
        ("a ? b : c ? d : e", "(_?_:_ a b (_?_:_ c d e))"),
        ("a ? (b ? c : d) : e", "(_?_:_ a (_?_:_ b c d) e)"),
        ("a || b ? c + 1 : d", "(_?_:_ (_||_ a b) (_+_ c 1) d)"),
        ("{a ? b : c : d}", "{(_?_:_ a b c): d}"),
        ("!a.b", "(!_ a.b)"),
        ("-a[0]", "(-_ (_[_] a 0))"),
    ],
)
def test_operators_bind_as_in_cel(text: str, tree: str) -> None:
    assert show(parse(text)) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("!!a", "a"),
        ("!!!a", "(!_ a)"),
        ("--a", "a"),
        ("-1", "-1"),
        ("- 1.5", "-1.5"),
        ("--1", "1"),
        ("---1", "(-_ 1)"),
        ("!-1", "(!_ -1)"),
        ("-1u", "(-_ 1)"),
        ("2 -1", "(_-_ 2 1)"),
        ("-1.f()", "(.f -1)"),
        ("-(1)", "(-_ 1)"),
    ],
)
def test_signs_and_negations(text: str, tree: str) -> None:
    assert show(parse(text)) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a.b.c", "a.b.c"),
        ("a . b", "a.b"),
        (".a.b", ".a.b"),
        ("a.`x-y/z.w v`", "a.x-y/z.w v"),
        ("a.?b", "(_?._ a 'b')"),
        ("a.?`b-c`.d", "(_?._ a 'b-c').d"),
        ("a[0][b]", "(_[_] (_[_] a 0) b)"),
        ("a[?0]", "(_[?_] a 0)"),
        ("f()", "(f)"),
        ("f(a, b + 1)", "(f a (_+_ b 1))"),
        (".f(a)", "(.f a)"),
        ("a.f(b).g()", "(.g (.f a b))"),
        ("hash.sha256(a)", "(.sha256 hash a)"),
        ("f // why\n (a)", "(f a)"),
        ("a.namespace.for.in_", "a.namespace.for.in_"),
        ("1.f()", "(.f 1)"),
        ("'a'.b", "'a'.b"),
    ],
)
def test_members_and_calls(text: str, tree: str) -> None:
    assert show(parse(text)) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("[]", "[]"),
        ("[,]", "[]"),
        ("[1, 'a',]", "[1, 'a']"),
        ("[?a, b, ?c]", "[?a, b, ?c]"),
        ("{}", "{}"),
        ("{,}", "{}"),
        ("{'a': 1, b: [2],}", "{'a': 1, b: [2]}"),
        ("{?'a': b, 'c': d}", "{?'a': b, 'c': d}"),
        ("[[1], {1: {2: 3}}]", "[[1], {1: {2: 3}}]"),
    ],
)
def test_lists_and_maps(text: str, tree: str) -> None:
    assert show(parse(text)) == tree


@pytest.mark.parametrize("blank", [" ", "\t", "\n", "\r\n", "\f", " // a comment, with 'quotes\n"])
def test_blanks_and_comments_separate_tokens(blank: str) -> None:
    words = ["a", ".", "b", "(", "1", ",", "[", "?", "c", "]", ")", "?", "x", ":", "{", "}", "in"]
    text = blank + blank.join((*words, "y")) + blank
    assert show(parse(text)) == "(_?_:_ (.b a 1 [?c]) x (@in {} y))"


@pytest.mark.parametrize("terms", [2, 3, 7, 600])
def test_chains_of_and_are_balanced(terms: int) -> None:
    tree = parse(" && ".join(f"a{number}" for number in range(terms)))
    depths = {ident.name: depth for ident, depth in leaves(tree)}
    assert list(depths) == [f"a{number}" for number in range(terms)]
    assert max(depths.values()) == (terms - 1).bit_length()


def leaves(tree: Node) -> list[tuple[Ident, int]]:
    found, waiting = [], [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        if isinstance(node, Ident):
            found.append((node, depth))
        waiting += [(child, depth + 1) for child in reversed(children(node))]
    return found


def test_a_chain_of_three_is_balanced_as_cel_go_does() -> None:
    assert show(parse("a && b && c")) == "(_&&_ (_&&_ a b) c)"
    assert show(parse("a || b || c || d")) == "(_||_ (_||_ a b) (_||_ c d))"


def test_parentheses_keep_their_own_chain() -> None:
    assert show(parse("a && (b && c)")) == "(_&&_ a (_&&_ b c))"


@pytest.mark.parametrize(
    ("text", "pointed", "underlined"),
    [
        pytest.param("ab.cd", ".", "cd", id="a field: the dot, its name"),
        pytest.param("ab.?cd", ".", "cd", id="an optional field: the dot, its name"),
        pytest.param("ab.`c d`", ".", "`c d`", id="a quoted field"),
        pytest.param("ab(cd)", "(", "ab", id="a function: the parenthesis, its name"),
        pytest.param("ab.cd(ef)", "(", "cd", id="a method: the parenthesis, its name"),
        pytest.param("ab[cd]", "[", "[cd]", id="an index: the bracket, all of it"),
        pytest.param("ab >= cd", ">= cd", ">=", id="an operator: itself"),
        pytest.param("ab in cd", "in cd", "in", id="the operator in"),
        pytest.param("ab ? cd : ef", "? cd", "?", id="a conditional: its question mark"),
        pytest.param("!ab", "!", "!", id="a negation"),
        pytest.param("-ab", "-", "-", id="a minus"),
        pytest.param("ab.map(c, c)", "(", "map", id="a macro: the parenthesis, its name"),
        pytest.param("cel.bind(a, b, c)", "(", "bind", id="a binding"),
        pytest.param("has(ab.cd)", "(", "cd", id="a presence test: the parenthesis, the field"),
        pytest.param("[1, 2]", "[", "[1, 2]", id="a list: the bracket, all of it"),
        pytest.param("{1: 2}", "{", "{1: 2}", id="a map: the brace, all of it"),
        pytest.param("  ab", "ab", "ab", id="a name"),
        pytest.param(" .ab", "ab", ".ab", id="a name with a leading dot: the name, all of it"),
        pytest.param(" 'ab'", "'ab'", "'ab'", id="a literal"),
        pytest.param(" - 12", "- 12", "- 12", id="a negative literal"),
    ],
)
def test_nodes_know_where_cel_go_points_and_what_to_underline(
    text: str, pointed: str, underlined: str
) -> None:
    node = parse(text)
    assert node.offset == text.index(pointed)
    assert text[node.start : node.end] == underlined


def test_the_name_of_an_optional_field_is_a_literal_in_its_place() -> None:
    node = parse("ab.?cd")
    assert isinstance(node, Call)
    assert (node.arguments[1].offset, node.arguments[1].start, node.arguments[1].end) == (4, 4, 6)


def test_positions_count_code_points() -> None:
    node = parse("'😀é' + b")
    assert node.offset == 5


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("", ["1:0: Syntax error: mismatched input '<EOF>' expecting " + OPERAND]),
        ("a +", ["1:4: Syntax error: mismatched input '<EOF>' expecting " + OPERAND]),
        ("1 +* 2", ["1:4: Syntax error: extraneous input '*' expecting " + OPERAND]),
        ("a + * f(b)", ["1:5: Syntax error: extraneous input '*' expecting " + OPERAND]),
        ("1 2", ["1:3: Syntax error: extraneous input '2' expecting <EOF>"]),
        ("1 2 3", ["1:3: Syntax error: mismatched input '2' expecting <EOF>"]),
        ("(a", ["1:3: Syntax error: missing ')' at '<EOF>'"]),
        ("f((a", ["1:5: Syntax error: mismatched input '<EOF>' expecting ')'"]),
        ("[(a]", ["1:4: Syntax error: missing ')' at ']'"]),
        ("(a b)", ["1:4: Syntax error: extraneous input 'b' expecting ')'"]),
        ("f(a,)", ["1:5: Syntax error: mismatched input ')' expecting " + OPERAND]),
        ("[a b]", ["1:4: Syntax error: extraneous input 'b' expecting {']', ','}"]),
        ("[a,,b]", ["1:4: Syntax error: mismatched input ',' expecting ']'"]),
        ("[a", ["1:3: Syntax error: mismatched input '<EOF>' expecting {']', ','}"]),
        ("{a}", ["1:3: Syntax error: mismatched input '}' expecting ':'"]),
        ("{a b}", ["1:4: Syntax error: missing ':' at 'b'"]),
        ("{a: b", ["1:6: Syntax error: mismatched input '<EOF>' expecting {'}', ','}"]),
        ("a[b", ["1:4: Syntax error: missing ']' at '<EOF>'"]),
        ("a ? b", ["1:6: Syntax error: mismatched input '<EOF>' expecting ':'"]),
        ("a ? b ? c : d : e", ["1:7: Syntax error: mismatched input '?' expecting ':'"]),
        ("a.", ["1:3: Syntax error: no viable alternative at input '.'"]),
        ("a..b", ["1:3: Syntax error: no viable alternative at input '..'"]),
        ("a.?1", ["1:4: Syntax error: mismatched input '1' expecting"
                  " {IDENTIFIER, ESC_IDENTIFIER}"]),
        ("a.true", ["1:3: Syntax error: mismatched input 'true' expecting IDENTIFIER"]),
        (".x.`y`(z)", ["1:7: Syntax error: mismatched input '(' expecting <EOF>"]),
        ("-)", ["1:2: Syntax error: no viable alternative at input '-)'"]),
        ("!)", ["1:2: Syntax error: extraneous input ')' expecting " + OPERAND]),
        ("!-x", ["1:3: Syntax error: no viable alternative at input '-x'"]),
        (".", ["1:2: Syntax error: no viable alternative at input '.'"]),
        ("a.\nin", ["2:1: Syntax error: no viable alternative at input '.\\nin'",
                    "2:3: Syntax error: mismatched input '<EOF>' expecting " + OPERAND]),
    ],
)  # fmt: skip
def test_syntax_errors_are_worded_as_cel_go_does(text: str, messages: list[str]) -> None:
    assert errors(text) == messages


def test_a_syntax_error_is_printed_in_full() -> None:
    with pytest.raises(ParseError) as caught:
        parse("schema.spec.$ref")
    assert str(caught.value) == (
        "ERROR: <input>:1:13: Syntax error: token recognition error at: '$'\n"
        " | schema.spec.$ref\n"
        " | ............^"
    )


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("a @ b", ["1:3: Syntax error: token recognition error at: '@'",
                   "1:5: Syntax error: extraneous input 'b' expecting <EOF>"]),
        ("a === b", ["1:5: Syntax error: token recognition error at: '= '"]),
        ("[for, 99999999999999999999, f(a b)]", [
            "1:2: reserved identifier: for",
            "1:7: invalid int literal",
            "1:33: Syntax error: extraneous input 'b' expecting ')'"]),
        ("has(x) && y.all(1, z)", [
            "1:5: invalid argument to has() macro",
            "1:17: argument must be a simple name"]),
        ("{:b}", [
            "1:2: Syntax error: extraneous input ':' expecting {'[', '{', '}', '(', '.', ',', '-',"
            " '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES,"
            " IDENTIFIER}",
            "1:4: Syntax error: mismatched input '}' expecting ':'"]),
    ],
)  # fmt: skip
def test_several_mistakes_are_found_in_one_go(text: str, messages: list[str]) -> None:
    assert errors(text) == messages


@pytest.mark.parametrize("word", ["for", "namespace", "as", "while", "package"])
def test_reserved_words_are_no_names(word: str) -> None:
    assert errors(word) == [f"1:1: reserved identifier: {word}"]
    assert errors(f"x + .{word}(1)") == [f"1:5: reserved identifier: {word}"]
    assert show(parse(f"a.{word}")) == f"a.{word}"
    assert show(parse(f"a.{word}()")) == f"(.{word} a)"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a = b", "CEL compares with =="),
        ("a and b", "CEL writes && for and"),
        ("a | b", "CEL writes || for or"),
        ("a.in", "a field of this name is written .__in__"),
        ("a.true", "a field of this name is written .__true__"),
        ("${a}", "inside an expression names need no ${}"),
        ("x 'abc", "a string ends with its quote on the same line; a backslash is \\\\"),
    ],
)
def test_hints_are_given_where_a_fix_is_near(text: str, hint: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert hint in [issue.hint for issue in caught.value.issues]


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        ("a.b.C{d: 1, e: x}", "a.b.C", ["1", "x"]),
        (".C{}", ".C", []),
        ("C {\n}", "C", []),
        ("C{,}", "C", []),
        ("C{?a: x, `b-c`: y,}", "C", ["x", "y"]),
        ("C{for: 1}", "C", ["1"]),
    ],
)
def test_message_literals_are_read(text: str, name: str, values: list[str]) -> None:
    node = parse(text)
    assert isinstance(node, Message)
    assert node.name == name
    assert [show(value) for value in node.values] == values
    assert node.offset == text.index("{")


def test_a_message_has_fields_like_anything() -> None:
    assert isinstance(parse("C{a: 1}.b"), Select)
    assert isinstance(parse("C{a: 1}.b()"), Call)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("C{a}", "1:4: Syntax error: mismatched input '}' expecting ':'"),
        ("C{a 1}", "1:5: Syntax error: missing ':' at '1'"),
        (
            "C{'a': 1}",
            "1:3: Syntax error: mismatched input ''a'' expecting"
            " {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}",
        ),
        ("C{a: 1", "1:7: Syntax error: mismatched input '<EOF>' expecting {'}', ','}"),
        ("C{?}", "1:4: Syntax error: mismatched input '}' expecting {IDENTIFIER, ESC_IDENTIFIER}"),
        ("C{a: 1}{b: 2}", "1:8: Syntax error: mismatched input '{' expecting <EOF>"),
    ],
)
def test_mistakes_in_message_literals(text: str, message: str) -> None:
    assert errors(text) == [message]


@pytest.mark.parametrize(
    ("text", "column"), [("f(){}", 4), ("(C){}", 4), ("(a).b{}", 6), ("a[0]{}", 5)]
)
def test_a_brace_after_anything_but_a_name_is_just_unexpected(text: str, column: int) -> None:
    assert errors(text) == [f"1:{column}: Syntax error: mismatched input '{{' expecting <EOF>"]


NESTED = "-1:0: expression recursion limit exceeded: 250"
DEEP = "-1:0: max recursion depth exceeded"


@pytest.mark.parametrize(
    ("head", "tail", "most", "message"),
    [
        pytest.param("(", ")", 249, NESTED, id="parentheses"),
        pytest.param("!(", ")", 249, NESTED, id="negated parentheses"),
        pytest.param("f(", ")", 249, NESTED, id="calls"),
        pytest.param(".f(", ")", 249, NESTED, id="calls with a leading dot"),
        pytest.param("a.f(", ")", 249, NESTED, id="methods"),
        pytest.param("a.map(x, ", ")", 249, NESTED, id="macros"),
        pytest.param("a[", "]", 249, NESTED, id="indices"),
        pytest.param("[", "]", 249, NESTED, id="lists"),
        pytest.param("{1: ", "}", 249, NESTED, id="maps"),
        pytest.param("a && (", ")", 249, NESTED, id="parentheses behind and"),
        pytest.param("1 + (", ")", 124, NESTED, id="sums count twice"),
        pytest.param("1 + 1 * (", ")", 83, NESTED, id="products in sums count three times"),
        pytest.param("1 < (", ")", 124, NESTED, id="relations count twice"),
        pytest.param("a ? b : ", "", 249, NESTED, id="conditionals"),
        pytest.param("", ".b", 250, DEEP, id="a chain of fields"),
        pytest.param("", ".?b", 250, DEEP, id="a chain of optional fields"),
        pytest.param("", "[0]", 250, DEEP, id="a chain of indices"),
        pytest.param("", ".f()", 250, DEEP, id="a chain of methods"),
        pytest.param("", " + 1", 250, DEEP, id="a chain of additions"),
        pytest.param("", " == a", 250, DEEP, id="a chain of comparisons"),
    ],
)
def test_nesting_has_the_limits_of_cel_go(head: str, tail: str, most: int, message: str) -> None:
    parse(head * most + "a" + tail * most)
    assert errors(head * (most + 1) + "a" + tail * (most + 1)) == [message]


def test_depth_adds_up_over_different_kinds() -> None:
    parse("a" + ".b" * 100 + " + 1" * 149 + " < 2")
    assert errors("a" + ".b" * 100 + " + 1" * 150 + " < 2") == [DEEP]


@pytest.mark.parametrize("text", ["!" * 3001 + "a", "a" + " && a" * 5000, "[" + "a, " * 9999 + "]"])
def test_what_is_long_but_not_deep_is_fine(text: str) -> None:
    parse(text)


@pytest.mark.parametrize("unit", ["(", "[", "{", "!(", "f(", "a.f(", "a ? (", "1 + (", "{1: ["])
def test_endless_nesting_is_refused_quickly(unit: str) -> None:
    assert errors((unit * MAX_EXPRESSION_LENGTH)[:MAX_EXPRESSION_LENGTH]) == [NESTED]


def test_a_caller_deep_in_the_stack_gets_an_error_too() -> None:
    def call_at_depth(frames: int) -> list[str]:
        return call_at_depth(frames - 1) if frames else errors("(" * 240 + "a" + ")" * 240)

    used = len(inspect.stack(0))
    assert call_at_depth(sys.getrecursionlimit() - used - 200) == [NESTED]


def test_the_length_is_limited() -> None:
    parse("'" + "a" * (MAX_EXPRESSION_LENGTH - 2) + "'")
    text = "'" + "é" * (MAX_EXPRESSION_LENGTH - 1) + "'"
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert str(caught.value) == (
        "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000"
    )
    assert caught.value.issues[0].offset == NO_OFFSET


@pytest.mark.parametrize("text", ["$" * 5000, "[" + "for," * 5000 + "]", "f(a b)." * 5000 + "c"])
def test_looking_for_mistakes_ends_after_a_hundred(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert len(caught.value.issues) == 101
