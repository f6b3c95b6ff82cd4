import math

import pytest

from kro_gitops.engine.simpleschema.go_literals import (
    LiteralError,
    compile_pattern,
    parse_bool,
    parse_float,
    parse_int,
    type_name,
)


@pytest.mark.parametrize("text", ["1", "t", "T", "TRUE", "true", "True"])
def test_what_go_takes_for_true(text: str) -> None:
    assert parse_bool(text)


@pytest.mark.parametrize("text", ["0", "f", "F", "FALSE", "false", "False"])
def test_what_go_takes_for_false(text: str) -> None:
    assert not parse_bool(text)


@pytest.mark.parametrize("text", ["yes", "tRUE", "", " true"])
def test_what_go_takes_for_no_boolean(text: str) -> None:
    with pytest.raises(LiteralError) as caught:
        parse_bool(text)
    assert str(caught.value) == f'strconv.ParseBool: parsing "{text}": invalid syntax'


@pytest.mark.parametrize(
    ("text", "value"), [("+5", 5), ("007", 7), ("-0", 0), ("-9223372036854775808", -(2**63))]
)
def test_integers_as_go_reads_them(text: str, value: int) -> None:
    assert parse_int(text) == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("2.5", "invalid syntax"),
        ("1_0", "invalid syntax"),
        ("٣", "invalid syntax"),
        ("", "invalid syntax"),
        ("9223372036854775808", "value out of range"),
        ("9" * 9000, "value out of range"),
    ],
    ids=["a fraction", "underscores", "other digits", "nothing", "2^63", "far out"],
)
def test_no_integers(text: str, problem: str) -> None:
    with pytest.raises(LiteralError, match=problem):
        parse_int(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1_0", 10.0),
        ("0x1p-2", 0.25),
        ("-Infinity", -math.inf),
        ("1e-400", 0.0),
    ],
)
def test_numbers_as_go_reads_them(text: str, value: float) -> None:
    assert parse_float(text) == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("+nan", "invalid syntax"),
        ("0x1", "invalid syntax"),
        ("1e400", "value out of range"),
        ("0x1p2000", "value out of range"),
    ],
)
def test_no_numbers(text: str, problem: str) -> None:
    with pytest.raises(LiteralError, match=problem):
        parse_float(text)


def test_a_pattern_too_large_for_us_is_no_mistake() -> None:
    assert compile_pattern(r"\pL{1000}") is None


@pytest.mark.parametrize("pattern", ["^(A|B)-\\d{3}$", "(?i)x", "\\Q\\C\\E", "(?P<n>a)", "\\pL"])
def test_patterns_that_go_compiles(pattern: str) -> None:
    assert compile_pattern(pattern) is not None


@pytest.mark.parametrize(
    ("pattern", "mistake"),
    [
        ("(?=x)", "invalid or unsupported Perl syntax: `(?=`"),
        ("x(?<=a)b", "invalid named capture: `(?<=a)b`"),
        ("(?P<a-b>x)", "invalid named capture: `(?P<a-b>`"),
        ("[a", "missing closing ]: `[a`"),
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("\\8", "invalid escape sequence: `\\8`"),
        ("a\\C", "invalid escape sequence: `\\C`"),
        ("a\\", "trailing backslash at end of expression: ``"),
    ],
)
def test_patterns_that_go_does_not_compile(pattern: str, mistake: str) -> None:
    with pytest.raises(LiteralError) as caught:
        compile_pattern(pattern)
    assert str(caught.value) == f"error parsing regexp: {mistake}"


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "<nil>"),
        (True, "bool"),
        (7, "int64"),
        (2**70, "float64"),
        (1.5, "float64"),
        ([], "[]interface {}"),
        ({}, "map[string]interface {}"),
        ("x", "string"),
    ],
)
def test_types_have_the_names_go_gives_them(value: object, name: str) -> None:
    assert type_name(value) == name
