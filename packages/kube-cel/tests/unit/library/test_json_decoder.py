import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube_cel.library.json_decoder import MAX_DEPTH, JsonError, decode_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param(" null\n", None, id="null"),
        pytest.param("[true, false]", [True, False], id="booleans"),
        pytest.param("7", 7.0, id="whole numbers are doubles"),
        pytest.param("-1.5e+3", -1500.0, id="an exponent"),
        pytest.param("1e-999", 0.0, id="a number too small"),
        pytest.param(f"[1{'0' * 305}]", [1e305], id="a number of many digits"),
        pytest.param('{"a": 1, "a": 2}', {"a": 2.0}, id="the last of equal keys"),
        pytest.param('{"a": {}, "b": [[], {}]}', {"a": {}, "b": [[], {}]}, id="empty containers"),
        pytest.param(r'"\"\\\/\b\f\n\r\tü\u00fc"', '"\\/\b\f\n\r\tüü', id="escapes"),
        pytest.param(r'"\ud83d\ude00"', "😀", id="a surrogate pair"),
        pytest.param(r'"\ud83dx"', "\ufffdx", id="half a pair"),
        pytest.param(r'["\ude00\ud83d"]', ["\ufffd\ufffd"], id="a pair the wrong way round"),
        pytest.param(r'{"\ud800": 1}', {"\ufffd": 1.0}, id="half a pair in a key"),
        pytest.param('"\u007f"', "\u007f", id="a control character that is allowed"),
    ],
)
def test_documents(text: str, value: Any) -> None:
    assert decode_json(text) == value


def test_every_number_is_a_double() -> None:
    assert type(decode_json("7")) is float
    assert math.copysign(1, decode_json("-0")) == -1
    assert decode_json("9" * 400 + "e-400") == pytest.approx(1.0)


AT_VALUE = "looking for beginning of value"
AT_KEY = "looking for beginning of object key string"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "unexpected end of JSON input", id="nothing"),
        pytest.param("[1,", "unexpected end of JSON input", id="an open array"),
        pytest.param('{"a"', "unexpected end of JSON input", id="an open object"),
        pytest.param('"a', "unexpected end of JSON input", id="an open string"),
        pytest.param("[1,]", f"invalid character ']' {AT_VALUE}", id="a comma too many"),
        pytest.param("[}", f"invalid character '}}' {AT_VALUE}", id="the wrong bracket"),
        pytest.param("NaN", f"invalid character 'N' {AT_VALUE}", id="not a number"),
        pytest.param("Infinity", f"invalid character 'I' {AT_VALUE}", id="infinity"),
        pytest.param("+1", f"invalid character '+' {AT_VALUE}", id="a plus"),
        pytest.param(".5", f"invalid character '.' {AT_VALUE}", id="no digit before the point"),
        pytest.param("'a'", rf"invalid character '\'' {AT_VALUE}", id="single quotes"),
        pytest.param("\\", rf"invalid character '\\' {AT_VALUE}", id="a backslash"),
        pytest.param("\x00", rf"invalid character '\x00' {AT_VALUE}", id="a zero byte"),
        pytest.param("ü", f"invalid character 'Ã' {AT_VALUE}", id="beyond ASCII"),
        pytest.param("\ufeff1", f"invalid character 'ï' {AT_VALUE}", id="a byte order mark"),
        pytest.param("{a: 1}", f"invalid character 'a' {AT_KEY}", id="a bare key"),
        pytest.param('{"a": 1,}', f"invalid character '}}' {AT_KEY}", id="a comma in an object"),
        pytest.param("{1: 2}", f"invalid character '1' {AT_KEY}", id="a number as key"),
        pytest.param('{"a" 1}', "invalid character '1' after object key", id="no colon"),
        pytest.param(
            '{"a": 1 "b": 2}',
            "invalid character '\"' after object key:value pair",
            id="no comma in an object",
        ),
        pytest.param("[1 2]", "invalid character '2' after array element", id="no comma"),
        pytest.param("1 2", "invalid character '2' after top-level value", id="two documents"),
        pytest.param("01", "invalid character '1' after top-level value", id="a leading zero"),
        pytest.param("1.5.2", "invalid character '.' after top-level value", id="two points"),
        pytest.param("-", "invalid character ' ' in numeric literal", id="only a minus"),
        pytest.param("-a", "invalid character 'a' in numeric literal", id="a minus and a letter"),
        pytest.param(
            "1.x", "invalid character 'x' after decimal point in numeric literal", id="a fraction"
        ),
        pytest.param(
            "[1e]", "invalid character ']' in exponent of numeric literal", id="no exponent"
        ),
        pytest.param(
            "1e+", "invalid character ' ' in exponent of numeric literal", id="only its sign"
        ),
        pytest.param(
            "nul", "invalid character ' ' in literal null (expecting 'l')", id="half a word"
        ),
        pytest.param(
            "trve", "invalid character 'v' in literal true (expecting 'u')", id="a wrong word"
        ),
        pytest.param(
            "[fals]", "invalid character ']' in literal false (expecting 'e')", id="a cut word"
        ),
        pytest.param('"a\nb"', r"invalid character '\n' in string literal", id="a line end"),
        pytest.param(r'"\x"', "invalid character 'x' in string escape code", id="an escape"),
        pytest.param('"\\', "invalid character ' ' in string escape code", id="a cut escape"),
        pytest.param(
            r'"\u12g4"',
            r"invalid character 'g' in \u hexadecimal character escape",
            id="not hexadecimal",
        ),
        pytest.param(
            r'["ok", "\u12"]',
            "invalid character '\"' in \\u hexadecimal character escape",
            id="too few digits",
        ),
        pytest.param(
            "[1e999, 2]",
            "json: cannot unmarshal number 1e999 into Go value of type float64",
            id="a number too large",
        ),
        pytest.param("[1e999, 2", "unexpected end of JSON input", id="syntax comes first"),
        pytest.param(
            '["\\ud800", 1 2]', "invalid character '2' after array element", id="behind half a pair"
        ),
    ],
)
def test_complaints_are_those_of_go(text: str, message: str) -> None:
    with pytest.raises(JsonError) as caught:
        decode_json(text)
    assert str(caught.value) == message


def test_depth_is_limited_as_in_go() -> None:
    deepest = decode_json("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    levels = 1
    while deepest:
        deepest = deepest[0]
        levels += 1
    assert levels == MAX_DEPTH


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_too_many_brackets_are_refused(opening: str) -> None:
    with pytest.raises(JsonError, match=r"^invalid character '.' exceeded max depth$"):
        decode_json(opening * 30_000)


@pytest.mark.parametrize(
    "text",
    ["[" + "1, " * 100_000, "[" * 300_000, '["\\ud800",' * 30_000, '"' + "\\n" * 150_000],
    ids=["open", "deep", "half pairs", "an open string"],
)
def test_what_is_long_and_bad_is_refused_without_a_reading(text: str) -> None:
    with pytest.raises(JsonError, match=rf"^a text of {len(text)} characters is not JSON, "):
        decode_json(text)


def test_what_is_long_and_good_is_read() -> None:
    assert decode_json(json.dumps(["😀", "\\ue", 1] * 100_000)) == ["😀", "\\ue", 1.0] * 100_000


@pytest.mark.parametrize("text", [r'"\\ud83d\ude00"', r'"\ud83d\ude00\ude00"'])
def test_half_a_pair_is_told_from_what_looks_like_one(text: str) -> None:
    assert decode_json(text).endswith("\ufffd")


def test_brackets_in_strings_do_not_count() -> None:
    text = json.dumps(["]" * 300 + "[" * 300 + '"{'] * 3)
    assert decode_json(text) == json.loads(text)


DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(max_examples=100)
@given(DOCUMENTS, st.booleans())
def test_what_python_writes_is_read_back(document: Any, is_deep: bool) -> None:
    levels = 300 if is_deep else 0  # deep texts are read without Python's decoder
    text = "[" * levels + json.dumps(document, ensure_ascii=False) + "]" * levels
    value = decode_json(text)
    for _ in range(levels):
        [value] = value
    assert value == document
