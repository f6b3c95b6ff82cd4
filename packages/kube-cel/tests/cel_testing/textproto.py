"""
Protocol buffers' text format, as far as test files use it.

A message is its fields by name, each with all the values it was given, because without the
schema nobody knows which fields repeat. For the same reason scalars stay what they look
like: quoted text is bytes, everything else (numbers, enum names, true) is the word written.
"""

import re
from collections.abc import Iterator
from typing import Union

Value = Union[bytes, str, "Message"]

_TOKEN = re.compile(
    r"""
    (?P<blank>    (?: \s+ | \#[^\n]* )+ )
  | (?P<quoted>   " (?: [^"\\\n] | \\. )* " | ' (?: [^'\\\n] | \\. )* ' )
  | (?P<word>     -? \s* [\w.+-]+ )
  | (?P<url>      \[ [^\]\s"'{,]* / [^\]\s]* \] )
  | (?P<sign>     [{}\[\]:,;<>] )
    """,
    re.VERBOSE,
)
_ESCAPE = re.compile(
    rb"""\\(?: (?P<octal>[0-7]{1,3}) | x(?P<hex>[0-9a-fA-F]{1,2})
             | u(?P<short>[0-9a-fA-F]{4}) | U(?P<long>[0-9a-fA-F]{8}) | (?P<letter>.) )""",
    re.VERBOSE | re.DOTALL,
)
_LETTERS = {
    **{b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"},
    **{char: char for char in (b"\\", b"'", b'"', b"?")},
}
_CLOSING = {"{": "}", "<": ">"}

Token = tuple[str, str]
_END: Token = ("end", "")


class Message:
    """The fields of a message, with what reading them usually asks."""

    def __init__(self) -> None:
        self.fields: dict[str, list[Value]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.fields

    def message(self, name: str) -> "Message":
        """Return the one message in a field; an empty one if the field is not set."""
        value = self.fields.get(name, [Message()])[-1]
        if not isinstance(value, Message):
            raise TextProtoError(f"{name} holds {value!r}, not a message")
        return value

    def messages(self, name: str) -> list["Message"]:
        """Return the messages of a repeated field."""
        return [value for value in self.fields.get(name, []) if isinstance(value, Message)]

    def text(self, name: str) -> str:
        """Return the string in a field; empty if the field is not set."""
        return self.data(name).decode()

    def data(self, name: str) -> bytes:
        """Return the bytes in a field; empty if the field is not set."""
        value = self.fields.get(name, [b""])[-1]
        if not isinstance(value, bytes):
            raise TextProtoError(f"{name} holds {value!r}, not quoted text")
        return value

    def word(self, name: str) -> str:
        """Return the number, enum name or truth value in a field, as written."""
        value = self.fields.get(name, [""])[-1]
        if not isinstance(value, str):
            raise TextProtoError(f"{name} holds {value!r}, not a word")
        return value


class TextProtoError(ValueError):
    """A text that is not in the format, or not of the expected shape."""


def parse(text: str) -> Message:
    """Read a whole file."""
    return _Reader(text).fields_until("end", "")


class _Reader:
    """The tokens of a text, one ahead."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._next = next(self._tokens, _END)

    def fields_until(self, kind: str, closing: str) -> Message:
        message = Message()
        while self._next != (kind, closing):
            name = self._take()
            if name[0] not in ("word", "url"):
                raise TextProtoError(f"expected a field's name, found {name[1]!r}")
            self._skip(":")
            message.fields.setdefault(name[1].strip("[]"), []).extend(self._values())
            self._skip(",", ";")
        self._take()
        return message

    def _values(self) -> list[Value]:
        if not self._skip("["):
            return [self._value()]
        values: list[Value] = []
        while not self._skip("]"):
            values.append(self._value())
            self._skip(",")
        return values

    def _value(self) -> Value:
        kind, text = self._take()
        if kind == "sign" and text in _CLOSING:
            return self.fields_until("sign", _CLOSING[text])
        if kind == "word":
            return text.replace(" ", "")
        if kind != "quoted":
            raise TextProtoError(f"expected a value, found {text!r}")
        parts = [text]
        while self._next[0] == "quoted":  # neighbours are one string
            parts.append(self._take()[1])
        return b"".join(_unquote(part) for part in parts)

    def _take(self) -> Token:
        taken, self._next = self._next, next(self._tokens, _END)
        return taken

    def _skip(self, *signs: str) -> bool:
        found = self._next[0] == "sign" and self._next[1] in signs
        if found:
            self._take()
        return found


def _tokens(text: str) -> Iterator[Token]:
    place = 0
    while place < len(text):
        matched = _TOKEN.match(text, place)
        if matched is None:
            line = text.count("\n", 0, place) + 1
            raise TextProtoError(f"line {line}: cannot read {text[place : place + 20]!r}")
        place = matched.end()
        if matched.lastgroup != "blank":
            yield str(matched.lastgroup), matched[0]


def _unquote(quoted: str) -> bytes:
    return _ESCAPE.sub(_unescape, quoted[1:-1].encode())


def _unescape(matched: re.Match[bytes]) -> bytes:
    if matched["octal"]:
        return bytes([int(matched["octal"], 8)])
    if matched["hex"]:
        return bytes([int(matched["hex"], 16)])
    code = matched["short"] or matched["long"]
    if code:
        return chr(int(code, 16)).encode()
    try:
        return _LETTERS[matched["letter"]]
    except KeyError:
        raise TextProtoError(f"unknown escape {matched[0]!r}") from None
