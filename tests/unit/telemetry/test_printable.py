import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kro_gitops.telemetry.printable import columns, printable, printable_lines, to_json


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain ü 日本 😀", "plain ü 日本 😀", id="letters stay"),
        pytest.param("a\tb\nc\r\nd", "a b c  d", id="blanks of any kind are blanks"),
        pytest.param("\x1b[31m\x07", "�[31m�", id="control characters"),
        pytest.param("\x9b", "�", id="those above ASCII"),
        pytest.param("a\u202eb\u2066c", "a�b�c", id="those that turn the direction"),
        pytest.param("\ud800", "�", id="half a character"),
        pytest.param("\u2028\u200b", "��", id="breaks and nothings"),
    ],
)
def test_what_is_not_printable_is_replaced_one_for_one(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert len(shown) == len(text)


@given(st.text())
def test_the_result_is_one_line_of_printable_text(text: str) -> None:
    assert printable(text).isprintable()
    assert len(printable(text)) == len(text)


def test_lines_can_be_kept() -> None:
    assert printable_lines("a\x1b\nb\tc\n") == "a�\nb c\n"


@pytest.mark.parametrize(
    ("text", "width"),
    [("abc", 3), ("日本", 4), ("😀", 2), ("e\u0301", 1), ("ü", 1), ("Ａ", 2), ("", 0)],
)
def test_columns_are_counted_as_terminals_do(text: str, width: int) -> None:
    assert columns(text) == width


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)
    )
)
def test_json_is_printable_and_says_the_same(value: object) -> None:
    text = to_json(value)
    assert json.loads(text) == value
    assert text.replace("\n", "").isprintable()


def test_json_has_no_word_for_infinity() -> None:
    with pytest.raises(ValueError, match="JSON"):
        to_json([math.inf])
