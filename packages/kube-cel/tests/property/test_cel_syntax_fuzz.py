"""Whatever is written, scanner and parser answer: with a tree, or with an error and its place."""

import pytest
from hypothesis import assume, example, given, reject, settings
from hypothesis import strategies as st
from objects_testing.budgets import examples

from kube_cel.interpolation import (
    Expression,
    NestedExpression,
    Template,
    concatenation,
    locate,
    scan,
)
from kube_cel.issues import NO_OFFSET, ParseError
from kube_cel.parser import parse
from kube_cel.references import condition_literals, find_references
from kube_cel.syntax_tree import Node, children

BUDGET = settings(max_examples=examples(200))

PIECES = (
    *("a", "b.c", "x", "f", "has", "map", "all", "cel", "bind", "runtime", "newCondition", "type"),
    *("for", "in", "true", "null", "1", "2u", "1.5", ".5", "0x1F", "'s'", '"t"', "b'q'", 'r"\\"'),
    *(".", ".?", "(", ")", "[", "]", "[?", "{", "{?", "}", "?", ":", ",", "+", "-", "*", "/", "%"),
    *("!", "&&", "||", "==", "!=", "<", ">=", " ", "\n", "//", "$", "&", "=", "|", "@", "`f g`"),
    *('"', "'", '"""', "'''", "\\", "`", "é", "😀", "\0", "\r", "\t", "\ud800"),
)

token_soup = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)

names = st.sampled_from(("a", "b", "schema"))
atoms = names | st.sampled_from(("1", "2u", "1.5", "'s'", "b'q'", "true", "null", "[]", "{}"))


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.sampled_from(("+", "-", "*", "/", "%", "<", "==", "in", "&&", "||"))
    return st.one_of(
        st.builds("({} {} {})".format, inner, binary, inner),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
        st.builds("!{}".format, names),
        st.builds("-({})".format, inner),
        st.builds("{}.f".format, names),
        st.builds("({}).?f".format, inner),
        st.builds("({})[{}]".format, inner, inner),
        st.builds("f({}, {})".format, inner, inner),
        st.builds("({}).g({})".format, inner, inner),
        st.builds("[{}, ?{},]".format, inner, inner),
        st.builds("{{{}: {}}}".format, inner, inner),
        st.builds("({}).map({}, {})".format, inner, names, inner),
        st.builds("has({}.f)".format, names),
    )


expressions = st.recursive(atoms, larger, max_leaves=25)


def nodes(tree: Node) -> list[Node]:
    found, waiting = [], [tree]
    while waiting:
        found.append(waiting.pop())
        waiting += children(found[-1])
    return found


def check_places(text: str, tree: Node) -> None:
    for node in nodes(tree):
        assert 0 <= node.offset < len(text)
        assert 0 <= node.start < node.end <= len(text)


@BUDGET
@given(token_soup | st.text(max_size=60))
@example("'''" * 3)
@example("a.`")
def test_every_text_gives_a_tree_or_errors_with_places(text: str) -> None:
    try:
        tree = parse(text)
    except ParseError as problem:
        found = problem
    else:
        check_places(text, tree)
        return
    check_issues(text, found)


def check_issues(text: str, problem: ParseError) -> None:
    assert problem.issues
    assert str(problem).startswith("ERROR: <input>:")
    for issue in problem.issues:
        assert issue.message
        assert issue.offset == NO_OFFSET or 0 <= issue.offset <= len(text)
        assert 0 <= issue.start <= issue.end <= len(text)


@BUDGET
@given(expressions)
def test_every_well_formed_expression_has_a_tree(text: str) -> None:
    tree = parse(text)
    check_places(text, tree)
    found = find_references(tree, {"schema"}, {"f"})
    assert set(found.identifiers) <= {"schema"}
    assert set(found.unknown) <= {"a", "b"}
    assert condition_literals(tree) == ()


@BUDGET
@given(expressions, st.data())
def test_a_damaged_expression_is_reported_inside_its_text(text: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(text)))
    damaged = text[:cut] + data.draw(st.sampled_from(PIECES)) + text[cut + 1 :]
    try:
        tree = parse(damaged)
    except ParseError as problem:
        found = problem
    else:
        check_places(damaged, tree)
        return
    check_issues(damaged, found)


values = st.lists(
    st.sampled_from(("${", "$", "{", "}", '"', "\\", "'", "a", "é", "\n", " ")), max_size=30
).map("".join)


@BUDGET
@given(values | st.text(max_size=40))
def test_scanned_pieces_add_up_to_the_value(text: str) -> None:
    pieces = scan_or_refuse(text).pieces
    shown = [f"${{{p.text}}}" if isinstance(p, Expression) else p.text for p in pieces]
    assert "".join(shown) == text
    for piece in pieces:
        assert text[piece.start :].startswith(piece.text)


def scan_or_refuse(text: str) -> Template:
    """Scan a value; check the place of a nested expression, and drop such values."""
    try:
        return scan(text)
    except NestedExpression as nested:
        place = nested.offset
    assert text.startswith("${", place)
    return reject()


def slow_scan(text: str) -> list[str] | None:
    """Scan as kro words it: every opening on its own, None for a nested one."""
    found, start = [], 0
    while (opening := text.find("${", start)) >= 0:
        end = find_end(text, opening + 2)
        if end is None:
            return None
        if end:
            found.append(text[opening + 2 : end])
        start = max(end, opening) + 1
    return found


def find_end(text: str, at: int) -> int | None:
    depth, quoted = 1, False
    while at < len(text):
        character = text[at]
        if quoted and character == "\\":
            at += 1
        elif character == '"':
            quoted = not quoted
        elif not quoted:
            depth += (character == "{") - (character == "}")
            if depth == 0:
                return at
            if text.startswith("${", at) and text[at - 1] != '"':
                return None
        at += 1
    return 0


@BUDGET
@given(values)
def test_the_quick_scanner_agrees_with_the_obvious_one(text: str) -> None:
    try:
        found: list[str] | None = [expression.text for expression in scan(text).expressions]
    except NestedExpression:
        found = None
    assert found == slow_scan(text)


@BUDGET
@given(st.lists(st.text(max_size=6) | expressions.map("${{{}}}".format), max_size=5).map("".join))
def test_a_template_of_good_expressions_is_a_good_expression(text: str) -> None:
    template = scan_or_refuse(text)
    assume(not template.is_literal)
    assume(all(parses(expression.text) for expression in template.expressions))
    built = concatenation(template)
    parse(built)
    places = [locate(template, offset) for offset in range(len(built) + 1)]
    assert places == sorted(places)
    assert 0 <= places[0] <= places[-1] <= len(text)


def parses(text: str) -> bool:
    if "//" in text:  # a comment would swallow the parenthesis behind it, in kro as well
        return False
    try:
        parse(text)
    except ParseError:
        return False
    return True


@pytest.mark.parametrize("unit", [piece * 2 for piece in PIECES] + ["a.f(", "{a:", "[for,", "a?b:"])
def test_repetition_does_not_slow_the_parser_down(unit: str) -> None:
    try:
        parse((unit * 20_000)[:20_000])
    except ParseError as problem:
        assert len(problem.issues) <= 101  # noqa: PT017 - some units repeat to good expressions
