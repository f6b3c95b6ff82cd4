"""The reader of protocol buffers' text format."""

import pytest
from cel_testing.textproto import Message, TextProtoError, parse


def plain(message: Message) -> dict[str, object]:
    return {
        name: [plain(value) if isinstance(value, Message) else value for value in values]
        for name, values in message.fields.items()
    }


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        pytest.param("", {}, id="nothing"),
        pytest.param("# only\n# comments", {}, id="comments"),
        pytest.param("a: 1 a: -2", {"a": ["1", "-2"]}, id="a field again is one value more"),
        pytest.param("a: - inf, b: true;", {"a": ["-inf"], "b": ["true"]}, id="words and commas"),
        pytest.param("a: [1, 2]", {"a": ["1", "2"]}, id="a list is several values"),
        pytest.param("a { b: 1 }", {"a": [{"b": ["1"]}]}, id="a message without colon"),
        pytest.param("a: < b: 1 >", {"a": [{"b": ["1"]}]}, id="a message in angles"),
        pytest.param("a: 'x' \"y\"", {"a": [b"xy"]}, id="neighbouring strings are one"),
        pytest.param(r"a: '\n\'\"\\\377\x41'", {"a": [b"\n'\"\\\xffA"]}, id="escapes"),
        pytest.param(r"a: '\u00e9\U0001F600'", {"a": ["é😀".encode()]}, id="code points"),
        pytest.param("a: 'é # no comment'", {"a": ["é # no comment".encode()]}, id="plain text"),
        pytest.param("[t.co/a.B] {}", {"t.co/a.B": [{}]}, id="a message of any type"),
    ],
)
def test_fields_are_read_by_name(text: str, fields: dict[str, object]) -> None:
    assert plain(parse(text)) == fields


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("a: 'x", "line 1: cannot read", id="string without end"),
        pytest.param("a {", "expected a field's name, found ''", id="message without end"),
        pytest.param("a: }", "expected a value, found '}'", id="no value"),
        pytest.param(r"a: '\q'", "unknown escape", id="escape nobody knows"),
    ],
)
def test_a_text_in_another_format_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(TextProtoError, match=complaint):
        parse(text)
