from typing import Any

import pytest

from kube_cel.library.formatting import MEMBERS, Clause, clauses, text_of
from kube_cel.values import (
    OMIT,
    Duration,
    EvaluationError,
    MapView,
    OptionalValue,
    Timestamp,
    TypeValue,
    UInt,
)

NAN, INFINITY = float("nan"), float("inf")
MOMENT = Timestamp(1704164645_123456789)
UNREADABLE = "could not parse formatting clause"


def formatted(template: str, *arguments: Any) -> Any:
    return MEMBERS["format", "string"](template, list(arguments))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("a b", "a b", id="a string"),
        pytest.param(-7, "-7", id="an int"),
        pytest.param(UInt(2**64 - 1), "18446744073709551615", id="a uint"),
        pytest.param(True, "true", id="a bool"),
        pytest.param(None, "null", id="null"),
        pytest.param(1.0, "1", id="a whole double"),
        pytest.param(1e21, "1000000000000000000000", id="a large double has no exponent"),
        pytest.param(1e-10, "0.0000000001", id="a small double has none either"),
        pytest.param(-0.0, "-0", id="minus zero"),
        pytest.param(NAN, "NaN", id="not a number"),
        pytest.param(INFINITY, "Infinity", id="infinity"),
        pytest.param(-INFINITY, "-Infinity", id="minus infinity"),
        pytest.param(b"abc\xff", "abc\ufffd", id="bytes"),
        pytest.param(Duration(1_500_000_000), "1.5s", id="a duration"),
        pytest.param(Duration(-3), "-0.000000003s", id="a short duration"),
        pytest.param(Duration(0), "0s", id="no duration"),
        pytest.param(MOMENT, "2024-01-02T03:04:05.123456789Z", id="a timestamp"),
        pytest.param(Timestamp(0, 7200), "1970-01-01T00:00:00Z", id="a timestamp in UTC"),
        pytest.param(TypeValue("int"), "int", id="a type"),
        pytest.param([], "[]", id="an empty list"),
        pytest.param([1, [2.5, "x"], None], "[1, [2.5, x], null]", id="a list"),
        pytest.param({}, "{}", id="an empty map"),
        pytest.param({"b": [1], "a": {"c": 2}}, "{a: {c: 2}, b: [1]}", id="keys are sorted"),
        pytest.param({2: 1, 10: 2, True: 3}, "{10: 2, 2: 1, true: 3}", id="sorted as texts"),
        pytest.param(MapView({"a": 1}, lambda n: n + 1), "{a: 2}", id="data by its schema"),
    ],
)
def test_values_as_text(value: Any, text: str) -> None:
    assert formatted("%s", value) == text


@pytest.mark.parametrize(
    ("template", "arguments", "text"),
    [
        pytest.param("no clause", (), "no clause", id="no clause"),
        pytest.param("100%% of %s", ("it",), "100% of it", id="percent signs"),
        pytest.param("%s-%d", ("web", 3), "web-3", id="two clauses"),
        pytest.param("%s", ("a", "b"), "a", id="an argument too many"),
        pytest.param("%d %d %d", (-5, UInt(5), 2.5), "-5 5 2.5", id="%d"),
        pytest.param("%d", (1e20,), "100000000000000000000", id="%d of a large double"),
        pytest.param("%f %f", (2.5, 3), "2.500000 3.000000", id="%f"),
        pytest.param("%.0f %.0f", (2.5, 3.5), "2 4", id="%f rounds to even"),
        pytest.param("%.3f", (1.23456,), "1.235", id="%f with a precision"),
        pytest.param("%.40f", (0.1,), "0.1000000000000000055511151231257827021182", id="%f exact"),
        pytest.param("%e %.2e", (1234.5, UInt(7)), "1.234500e+03 7.00e+00", id="%e"),
        pytest.param("%e", (1e100,), "1.000000e+100", id="%e with a long exponent"),
        pytest.param("%f %e %d", (NAN, INFINITY, -INFINITY), "NaN Infinity -Infinity", id="odd"),
        pytest.param("%b %b %b", (True, -5, UInt(5)), "1 -101 101", id="%b"),
        pytest.param("%o %o", (-8, UInt(8)), "-10 10", id="%o"),
        pytest.param("%x %X %x", (-255, UInt(255), "hü"), "-ff FF 68c3bc", id="%x"),
        pytest.param("%X", (b"\xffz",), "FF7A", id="%X of bytes"),
        pytest.param("%.3s", ("abcdef",), "abcdef", id="%s has no precision"),
    ],
)
def test_clauses_are_filled(template: str, arguments: tuple[Any, ...], text: str) -> None:
    assert formatted(template, *arguments) == text


@pytest.mark.parametrize(
    ("template", "arguments", "message"),
    [
        pytest.param("%s %s", ("a",), "index 1 out of range", id="an argument is missing"),
        pytest.param("%", (), "index 0 out of range", id="missing is said before anything else"),
        pytest.param("%", ("a",), "unexpected end of string", id="a lone percent sign"),
        pytest.param("%z", (1,), f'{UNREADABLE}: unrecognized formatting clause "z"', id="verb"),
        pytest.param(
            "%ü", (1,), f'{UNREADABLE}: unrecognized formatting clause "Ã"', id="verb, as bytes"
        ),
        pytest.param(
            "%.3",
            (1.0,),
            f"{UNREADABLE}: error while parsing precision: "
            "could not find end of precision specifier",
            id="a precision and no verb",
        ),
        pytest.param(
            "%.f",
            (1.0,),
            f"{UNREADABLE}: error while parsing precision: error while converting precision to "
            'integer: strconv.Atoi: parsing "": invalid syntax',
            id="a precision without digits",
        ),
        pytest.param(
            "%.101f",
            (1.0,),
            f"{UNREADABLE}: error while parsing precision: "
            "precision 101 exceeds maximum allowed precision 100",
            id="a precision too large",
        ),
        pytest.param(
            f"%.{'9' * 5000}f",
            (1.0,),
            f"{UNREADABLE}: error while parsing precision: error while converting precision to "
            f'integer: strconv.Atoi: parsing "{"9" * 5000}": value out of range',
            id="a precision beyond all bounds",
        ),
        pytest.param(
            "%d",
            ("a",),
            "error during formatting: decimal clause can only be used on ints, uints, and "
            "doubles, was given string",
            id="%d of a string",
        ),
        pytest.param(
            "%f",
            (True,),
            "error during formatting: fixed-point clause can only be used on ints, uints, and "
            "doubles, was given bool",
            id="%f of a bool",
        ),
        pytest.param(
            "%e",
            (None,),
            "error during formatting: scientific clause can only be used on ints, uints, and "
            "doubles, was given null_type",
            id="%e of null",
        ),
        pytest.param(
            "%b",
            (1.0,),
            "error during formatting: only ints, uints, and bools can be formatted as binary, "
            "was given double",
            id="%b of a double",
        ),
        pytest.param(
            "%o",
            (True,),
            "error during formatting: octal clause can only be used on ints and uints, "
            "was given bool",
            id="%o of a bool",
        ),
        pytest.param(
            "%x",
            (1.5,),
            "error during formatting: only ints, uints, bytes, and strings can be formatted as "
            "hex, was given double",
            id="%x of a double",
        ),
        pytest.param(
            "%s",
            ([OptionalValue(1)],),
            "error during formatting: string clause can only be used on strings, bools, bytes, "
            "ints, doubles, maps, lists, types, durations, and timestamps, "
            "was given optional_type",
            id="%s of an optional",
        ),
        pytest.param(
            "%s",
            (OMIT,),
            "error during formatting: string clause can only be used on strings, bools, bytes, "
            "ints, doubles, maps, lists, types, durations, and timestamps, was given kro.omit",
            id="%s of omit",
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    template: str, arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(EvaluationError) as caught:
        formatted(template, *arguments)
    assert caught.value.message == message


def test_a_template_is_taken_apart_up_to_the_first_bad_clause() -> None:
    assert clauses("a%%b %.2f %s.") == ("a%", "b ", Clause("f", 2), " ", Clause("s"), ".")
    *_, last = clauses("%s %y %s")
    assert isinstance(last, Clause)
    assert last.problem.endswith('"y"')


def test_the_arguments_must_be_a_list() -> None:
    with pytest.raises(EvaluationError, match=r"^no such overload: format\(string, int\)$"):
        MEMBERS["format", "string"]("%s", 1)


def test_deep_values_are_printed_and_endless_ones_stopped() -> None:
    deep: list[Any] = []
    wide: list[Any] = ["text" * 25_000]
    for _ in range(9_000):
        deep = [deep]
    for _ in range(40):
        wide = [wide, wide]
    assert text_of(deep) == "[" * 9_001 + "]" * 9_001
    with pytest.raises(EvaluationError, match="are allowed"):
        text_of(wide)
