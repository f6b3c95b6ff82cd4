from typing import Any

import pytest

from kube_cel.errors import EvaluationError
from kube_cel.library.addresses import parse_ip
from kube_cel.library.standard import ANY, GLOBALS, MEMBERS
from kube_cel.scalars import Duration, Timestamp, TypeValue, UInt


def call(name: str, value: Any) -> Any:
    return GLOBALS[name](value)


@pytest.mark.parametrize(
    ("name", "value", "result"),
    [
        ("int", 1.9, 1),
        ("int", -1.9, -1),
        ("int", UInt(7), 7),
        ("int", "+042", 42),
        ("int", "-9223372036854775808", -(2**63)),
        ("int", "0" * 5000 + "1", 1),
        ("int", Timestamp(1_999_999_999), 1),
        ("int", Timestamp(-1), -1),
        ("int", Duration(5), 5),
        ("uint", 7, UInt(7)),
        ("uint", 1.9, UInt(1)),
        ("uint", "18446744073709551615", UInt(2**64 - 1)),
        ("double", 3, 3.0),
        ("double", UInt(3), 3.0),
        ("double", "1e3", 1000.0),
        ("double", ".5", 0.5),
        ("double", "0x1p-2", 0.25),
        ("double", "-Infinity", float("-inf")),
        ("bool", "T", True),
        ("bool", "False", False),
        ("string", True, "true"),
        ("string", 1.0, "1"),
        ("string", UInt(7), "7"),
        ("string", b"h\xc3\xa9", "hé"),
        ("string", Timestamp(1_500_000_000), "1970-01-01T00:00:01.5Z"),
        ("string", Duration(90 * 10**9), "90s"),
        ("bytes", "hé", b"h\xc3\xa9"),
        ("bytes", "\ud800", b"\xef\xbf\xbd"),
        ("size", "é😀", 2),
        ("size", b"abc", 3),
        ("size", [1, 2], 2),
        ("size", {"a": 1}, 1),
        ("type", 1, TypeValue("int")),
        ("type", None, TypeValue("null_type")),
        ("dyn", "x", "x"),
    ],
)
def test_conversions(name: str, value: Any, result: Any) -> None:
    made = call(name, value)
    assert made == result
    assert type(made) is type(result)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("int", "a", "type conversion error from 'string' to 'int'"),
        ("int", " 1", "type conversion error from 'string' to 'int'"),
        ("int", "0x1", "type conversion error from 'string' to 'int'"),
        ("int", "1_000", "type conversion error from 'string' to 'int'"),
        ("int", "٣", "type conversion error from 'string' to 'int'"),
        ("int", "9223372036854775808", "type conversion error from 'string' to 'int'"),
        ("int", "9" * 100_000, "type conversion error from 'string' to 'int'"),
        ("int", 1e19, "integer overflow"),
        ("int", float("nan"), "integer overflow"),
        ("int", UInt(2**63), "integer overflow"),
        ("int", [], "no such overload: int(list)"),
        ("uint", -1, "unsigned integer overflow"),
        ("uint", -0.5, "unsigned integer overflow"),
        ("uint", "+1", "type conversion error from 'string' to 'uint'"),
        ("double", "1e999", "type conversion error from 'string' to 'double'"),
        ("double", "1_0", "type conversion error from 'string' to 'double'"),
        ("double", "", "type conversion error from 'string' to 'double'"),
        ("bool", "yes", "type conversion error from 'string' to 'bool'"),
        ("string", b"\xff", "invalid UTF-8 in bytes, cannot convert to string"),
        ("string", {}, "no such overload: string(map)"),
        ("size", 1, "no such overload: size"),
        ("size", Duration(1), "no such overload"),
    ],
)
def test_what_does_not_convert_says_why(name: str, value: Any, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        call(name, value)
    assert str(caught.value) == message


def test_a_librarys_value_converts_to_text_if_it_can_be_printed() -> None:
    assert call("string", parse_ip("10.0.0.1")) == "10.0.0.1"


@pytest.mark.parametrize(
    ("name", "part"), [("contains", "b"), ("startsWith", "ab"), ("endsWith", "bc")]
)
def test_texts_are_searched(name: str, part: str) -> None:
    search = MEMBERS[name, ANY]
    assert search("abc", part) is True
    assert search("abc", "x") is False
    with pytest.raises(EvaluationError, match=r"^no such overload$"):
        search("abc", 1)
