import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube_objects.go_text import decode, encode, quote


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        pytest.param("plain text", '"plain text"', id="plain"),
        pytest.param('say "hi"\\', r'"say \"hi\"\\"', id="quotes and backslashes"),
        pytest.param("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"', id="short escapes"),
        pytest.param("\x00\x1f\x7f", r'"\x00\x1f\x7f"', id="control characters"),
        pytest.param("ü😀", '"ü😀"', id="letters beyond ASCII stay"),
        pytest.param("\u200b\u00a0\ufeff", r'"\u200b\u00a0\ufeff"', id="invisible ones do not"),
        pytest.param("\U000e0001", r'"\U000e0001"', id="beyond sixteen bits"),
        pytest.param("\ud800", '"\ufffd"', id="half a pair"),
    ],
)
def test_text_is_quoted_as_go_quotes_it(text: str, quoted: str) -> None:
    assert quote(text) == quoted


def test_half_a_surrogate_pair_becomes_the_replacement_character() -> None:
    assert encode("a\ud83dz") == b"a\xef\xbf\xbdz"


def test_every_byte_that_is_no_text_is_replaced_by_itself() -> None:
    assert decode(b"a\xff\xe2\x82z") == "a\ufffd\ufffd\ufffdz"


@settings(max_examples=100)
@given(st.text())
def test_text_survives_encoding(text: str) -> None:
    assert decode(encode(text)) == text
