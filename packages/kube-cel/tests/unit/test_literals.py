import math

import pytest

from kube_cel.issues import ParseError
from kube_cel.parser import parse
from kube_cel.syntax_tree import Literal


def value(text: str) -> tuple[str, object]:
    node = parse(text)
    assert isinstance(node, Literal)
    return node.kind, node.value


def error(text: str) -> str:
    with pytest.raises(ParseError) as caught:
        parse(text)
    return caught.value.issues[0].message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", ("bool", True)),
        ("false", ("bool", False)),
        ("null", ("null_type", None)),
        ("0", ("int", 0)),
        ("007", ("int", 7)),
        ("0xFf", ("int", 255)),
        ("-0x10", ("int", -16)),
        ("9223372036854775807", ("int", 2**63 - 1)),
        ("-9223372036854775808", ("int", -(2**63))),
        ("0" * 9000 + "5", ("int", 5)),
        ("12u", ("uint", 12)),
        ("0xFU", ("uint", 15)),
        ("18446744073709551615u", ("uint", 2**64 - 1)),
        ("1.5", ("double", 1.5)),
        (".5", ("double", 0.5)),
        ("1e3", ("double", 1000.0)),
        ("1.5E-2", ("double", 0.015)),
        ("-2.5", ("double", -2.5)),
        ("1e-999", ("double", 0.0)),
    ],
)
def test_numbers_and_words(text: str, expected: tuple[str, object]) -> None:
    found = value(text)
    assert found == expected
    assert type(found[1]) is type(expected[1])


def test_minus_zero_keeps_its_sign() -> None:
    number = value("-0.0")[1]
    assert isinstance(number, float)
    assert math.copysign(1, number) == -1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("9223372036854775808", "invalid int literal"),
        ("-9223372036854775809", "invalid int literal"),
        ("0x8000000000000000", "invalid int literal"),
        ("9" * 9000, "invalid int literal"),
        ("18446744073709551616u", "invalid uint literal"),
        ("1e999", "invalid double literal"),
        ("-1e999", "invalid double literal"),
    ],
)
def test_numbers_out_of_range_are_refused(text: str, message: str) -> None:
    assert error(text) == message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("''", "", id="empty"),
        pytest.param("'a\"b'", 'a"b', id="single quotes"),
        pytest.param('"a\'b"', "a'b", id="double quotes"),
        pytest.param("'''a'b\n\"c'''", "a'b\n\"c", id="three single quotes"),
        pytest.param('"""a"b\n\'c"""', "a\"b\n'c", id="three double quotes"),
        pytest.param("''''''", "", id="three quotes and nothing between"),
        pytest.param("'''a\r\nb\rc'''", "a\nb\nc", id="line ends become newlines"),
        pytest.param(r"r'a\nb'", r"a\nb", id="raw"),
        pytest.param(r"R'''a\'''", "a\\", id="raw with three quotes"),
        pytest.param(r"r'\'", "\\", id="a raw string may end in a backslash"),
        pytest.param(r"'\a\b\f\n\r\t\v'", "\a\b\f\n\r\t\v", id="letters"),
        pytest.param(r"""'\\\'\"\`\?'""", "\\'\"`?", id="marks"),
        pytest.param(r"'\x41\XfF\101\377'", "AÿAÿ", id="bytes are code points in a string"),
        pytest.param(r"'\u00e9\U0001F600'", "é😀", id="code points"),
        pytest.param("'é世😀'", "é世😀", id="beyond ASCII"),
    ],
)
def test_strings(text: str, expected: str) -> None:
    assert value(text) == ("string", expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("b''", b"", id="empty"),
        pytest.param("B'abc'", b"abc", id="letters"),
        pytest.param("b'é'", "é".encode(), id="UTF-8"),
        pytest.param(r"b'a\xff\000\377é\n'", b"a\xff\x00\xff\xc3\xa9\n", id="escapes are bytes"),
        pytest.param(r"br'\xff'", rb"\xff", id="raw"),
        pytest.param('b"""a\r\nb"""', b"a\nb", id="three quotes"),
    ],
)
def test_bytes(text: str, expected: bytes) -> None:
    assert value(text) == ("bytes", expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (r"'\ud800'", "invalid unicode code point"),
        (r"'\U00110000'", "invalid unicode code point"),
        (r"b'\u0041'", "unable to unescape string"),
        (r"'a\q'", r"Syntax error: token recognition error at: ''a\q'"),
        (r"'\08'", r"Syntax error: token recognition error at: ''\08'"),
        (r"'\u12'", r"Syntax error: token recognition error at: ''\u12''"),
        ("'abc", "Syntax error: token recognition error at: ''abc'"),
        ("'a\nb'", "Syntax error: token recognition error at: ''a\n'"),
        ('"""ab', "Syntax error: token recognition error at: '\"ab'"),
        ("x.`a$`", "Syntax error: token recognition error at: '`a$'"),
    ],
)
def test_broken_strings_are_refused_with_what_was_read(text: str, message: str) -> None:
    assert error(text) == message


def test_half_a_surrogate_pair_in_the_text_does_no_harm() -> None:
    assert value("b'\ud800'")[0] == "bytes"
