import contextlib
import time

import pytest

from kube_cel.interpolation import (
    Expression,
    NestedExpression,
    Template,
    Text,
    concatenation,
    go_quote,
    locate,
    scan,
)
from kube_cel.lexer import STRING, literal_value


def written(template: Template) -> list[str]:
    """Show expressions in brackets, and text as it is."""
    return [
        f"<{piece.text}>" if isinstance(piece, Expression) else piece.text
        for piece in template.pieces
    ]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("plain", ["plain"], id="text"),
        pytest.param("${a}", ["<a>"], id="one expression"),
        pytest.param("${}", ["<>"], id="an empty expression"),
        pytest.param("x-${a}-y", ["x-", "<a>", "-y"], id="text around"),
        pytest.param("${a}${b}", ["<a>", "<b>"], id="side by side"),
        pytest.param("${a}\n", ["<a>", "\n"], id="the newline of a block scalar"),
        pytest.param("${ a\n + b }", ["< a\n + b >"], id="several lines"),
        pytest.param("${{'k': {}}}", ["<{'k': {}}>"], id="braces are counted"),
        pytest.param('${"}"}', ['<"}">'], id="a brace in double quotes does not count"),
        pytest.param("${'}'}", ["<'>", "'}"], id="a brace in single quotes does"),
        pytest.param("${'{}'}", ["<'{}'>"], id="a pair in single quotes is balanced"),
        pytest.param('${"\\"}"}', ['<"\\"}">'], id="an escaped quote goes on"),
        pytest.param('${\\"}"}', ['<\\"}">'], id="a backslash outside strings escapes nothing"),
        pytest.param('${"\\\\"}', ['<"\\\\">'], id="an escaped backslash ends"),
        pytest.param('${"${HOME}"}', ['<"${HOME}">'], id="an opening in double quotes is text"),
        pytest.param('${"a"${b}}', ['<"a"${b}>'], id="an opening right behind a quote passes"),
        pytest.param("$${x}", ["$", "<x>"], id="a dollar does not escape"),
        pytest.param("$x $(cmd) } {", ["$x $(cmd) } {"], id="no opening at all"),
        pytest.param("${a", ["${a"], id="never closed"),
        pytest.param("${a} ${b", ["<a>", " ${b"], id="the last one never closed"),
        pytest.param("${'\"'}", ["${'\"'}"], id="a double quote in single quotes hides the end"),
        pytest.param('${" ${b}', ['${" ', "<b>"], id="text up to the opening that is closed"),
        pytest.param("${é}ü${ö}", ["<é>", "ü", "<ö>"], id="beyond ASCII"),
    ],
)
def test_scanning(text: str, pieces: list[str]) -> None:
    assert written(scan(text)) == pieces


def test_pieces_know_where_they_begin() -> None:
    assert scan("é-${a}-${b}").pieces == (
        Text("é-", 0),
        Expression("a", 4),
        Text("-", 6),
        Expression("b", 9),
    )


@pytest.mark.parametrize(
    ("text", "literal", "standalone", "expressions"),
    [
        pytest.param("", True, False, (), id="nothing"),
        pytest.param("a", True, False, (), id="text"),
        pytest.param("${a", True, False, (), id="never closed"),
        pytest.param("${a}", False, True, (Expression("a", 2),), id="one expression"),
        pytest.param(" ${a}", False, False, (Expression("a", 3),), id="a blank before"),
        pytest.param("${a}\n", False, False, (Expression("a", 2),), id="a newline behind"),
        pytest.param(
            "${a}${b}", False, False, (Expression("a", 2), Expression("b", 6)), id="two of them"
        ),
    ],
)
def test_a_value_is_literal_standalone_or_a_template(
    text: str, literal: bool, standalone: bool, expressions: tuple[Expression, ...]
) -> None:
    template = scan(text)
    assert template.is_literal is literal
    assert template.is_standalone is standalone
    assert template.expressions == expressions


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        pytest.param("${a + ${b}}", 6, id="inside"),
        pytest.param("${${a}}", 2, id="at once"),
        pytest.param("x ${a} ${b ${c}}", 11, id="in a later one"),
        pytest.param("${a ${b", 4, id="although nothing is closed"),
        pytest.param("${'${a}'}", 3, id="single quotes do not hide it"),
    ],
)
def test_an_opening_inside_an_expression_is_refused_with_its_place(text: str, offset: int) -> None:
    with pytest.raises(NestedExpression) as caught:
        scan(text)
    assert caught.value.offset == offset
    assert str(caught.value) == "nested expressions are not allowed unless inside string literals"
    assert caught.value.code == "nested-expression"


@pytest.mark.parametrize(
    ("text", "built"),
    [
        pytest.param("a-${x}-${y}", '"a-" + (x) + "-" + (y)', id="text and expressions"),
        pytest.param("${a}${b}", "(a) + (b)", id="expressions only"),
        pytest.param("${a}", "a", id="standalone"),
        pytest.param("${a}\n", '(a) + "\\n"', id="quoted text"),
        pytest.param("text", '"text"', id="no expression"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_a_value_becomes_one_expression(text: str, built: str) -> None:
    assert concatenation(scan(text)) == built


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        pytest.param('"\\', '"\\"\\\\"', id="quote and backslash"),
        pytest.param("\a\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"', id="named controls"),
        pytest.param("\0\x1f\x7f", '"\\x00\\x1f\\x7f"', id="other controls"),
        pytest.param("é'世😀", '"é\'世😀"', id="printable characters stay"),
        pytest.param("\x85\u200b\ufeff", '"\\u0085\\u200b\\ufeff"', id="invisible ones"),
        pytest.param("\U000e0001", '"\\U000e0001"', id="invisible ones beyond 16 bits"),
        pytest.param("\u00a0 ", '"\\u00a0 "', id="only the ordinary blank is printable"),
        pytest.param("\ud800", '"\\ufffd"', id="half a surrogate pair"),
    ],
)
def test_text_is_quoted_as_go_does(text: str, quoted: str) -> None:
    assert go_quote(text) == quoted


def test_quoted_text_reads_back_as_itself() -> None:
    text = "".join(map(chr, (*range(0x250), 0x2028, 0xFFFD, 0x1F600, 0xE0001)))
    assert literal_value(STRING, go_quote(text)) == ("string", text)


@pytest.mark.parametrize(
    ("text", "found", "meant"),
    [
        pytest.param("a-${x + y}", "y", "y", id="inside an expression"),
        pytest.param("a-${x}-${y}", "(y", "${y", id="a parenthesis stands for the opening"),
        pytest.param("a-${x}-b", ') + "-b', "}-b", id="a closing one for the brace"),
        pytest.param("a-${x}-${y}", " + (y", "${y", id="a plus for what follows it"),
        pytest.param('a"\n-${x}', "-", "-", id="behind escapes in text"),
        pytest.param("a-${x}", '"a', "a-", id="the quote that opens text"),
        pytest.param("${x + y}", "y", "y}", id="standalone"),
    ],
)
def test_places_in_the_built_text_lead_back_to_the_value(text: str, found: str, meant: str) -> None:
    template = scan(text)
    assert locate(template, concatenation(template).index(found)) == text.index(meant)


def test_the_end_of_the_built_text_is_the_end_of_the_last_piece() -> None:
    for text, end in (("${x}-b", len("${x}-b")), ("a-${x}", len("a-${x")), ("${x}", len("${x"))):
        template = scan(text)
        assert locate(template, len(concatenation(template))) == end


@pytest.mark.parametrize("unit", ["${", '${"', '"${', '${"${', "${a}", '${"\\', "${{"])
def test_scanning_takes_linear_time(unit: str) -> None:
    began = time.process_time()
    with contextlib.suppress(NestedExpression):
        scan(unit * 20_000)
    assert time.process_time() - began < 5  # trying every opening on its own: minutes
