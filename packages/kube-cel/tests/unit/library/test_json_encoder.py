from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube_cel.library.json_decoder import decode_json
from kube_cel.library.json_encoder import NotEncodable, encode_json, quote_json
from kube_cel.values import EvaluationError, ListView


@pytest.mark.parametrize(
    ("text", "written"),
    [
        pytest.param("plain", '"plain"', id="plain"),
        pytest.param('"\\/', r'"\"\\/"', id="quotes and slashes"),
        pytest.param("\b\f\n\r\t\a\x00\x1f", r'"\b\f\n\r\t\u0007\u0000\u001f"', id="controls"),
        pytest.param("<a href='x'>&", r'''"\u003ca href='x'\u003e\u0026"''', id="HTML"),
        pytest.param("\u2028\u2029\u007fé😀", '"\\u2028\\u2029\u007fé😀"', id="beyond ASCII"),
        pytest.param("\ud800", r'"\ufffd"', id="half a pair"),
    ],
)
def test_strings_are_escaped_as_go_escapes_them(text: str, written: str) -> None:
    assert quote_json(text) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        pytest.param(None, "null", id="null"),
        pytest.param([True, False, 1, -2.5], "[true,false,1,-2.5]", id="scalars"),
        pytest.param(
            [2.0, 1e20, 1e21, 1e-6, 1e-7], "[2,100000000000000000000,1e+21,0.000001,1e-7]"
        ),
        pytest.param(
            {"z": 1, "ü": 2, "a": {"y": [], "x": {}}}, '{"a":{"x":{},"y":[]},"z":1,"ü":2}'
        ),
        pytest.param(ListView(["a"], str.upper), '["A"]', id="a view"),
    ],
)
def test_values_are_written_without_blanks_and_sorted(value: Any, written: str) -> None:
    assert encode_json(value, {}) == written


def test_a_substitute_is_not_substituted_again_but_its_children_are() -> None:
    assert encode_json([1], {int: lambda number: number + 1}) == "[2]"
    assert encode_json({"a": b"\x01\x02"}, {bytes: list, int: str}) == '{"a":["1","2"]}'


def test_what_has_no_form_is_handed_back() -> None:
    with pytest.raises(NotEncodable) as caught:
        encode_json([1, b"x"], {})
    assert caught.value.value == b"x"


def test_deep_values_are_written_and_endless_ones_stopped() -> None:
    deep: list[Any] = []
    wide: list[Any] = ["text" * 25_000]
    for _ in range(9_000):
        deep = [deep]
    for _ in range(40):
        wide = [wide, wide]
    assert len(encode_json(deep, {})) == 2 * 9_001
    with pytest.raises(EvaluationError, match="are allowed"):
        encode_json(wide, {})


@settings(max_examples=100)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_what_is_written_is_read_back(value: Any) -> None:
    assert decode_json(encode_json(value, {})) == value
