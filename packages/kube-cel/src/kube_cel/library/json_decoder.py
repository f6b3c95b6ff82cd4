"""
JSON text → values, with the results and error messages of Go's `encoding/json`.

All numbers become doubles; of equal keys the last one wins. Most texts go through Python's decoder.
What it rejects, and what is nested deeply, is parsed here, without recursion and with Go's error
messages. Go reads bytes: of a character beyond ASCII it names the first byte, and it reports a
truncated keyword or number as followed by a space. That is slow, and limited to texts of reasonable
length.
"""

import json
import math
import re
from itertools import accumulate
from typing import Any, Final, NoReturn

from kube_objects import go_text

MAX_DEPTH = 10_000

# As many levels as Python's decoder, which calls itself for each of them, may always be given.
_MAX_FAST_DEPTH = 200
_MAX_FAST_LENGTH = 200_000
_BLANKS: Final = re.compile(r"[ \t\n\r]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_BRACKET: Final = re.compile(r"[\[\]{}]")
_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}
_SPECIAL_IN_STRING: Final = re.compile(r'["\\\x00-\x1f]')
_HALF_PAIR: Final = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_LONE_HALF: Final = re.compile(
    r"\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]"
    r"|[\ud800-\udfff]"
    r"|\\\\u[dD][89a-fA-F]"  # which only looks like an escape: the backslash is escaped itself
)
_MAY_BE_TOO_LARGE: Final = re.compile(r"[0-9]{300}|[eE]\+?[0-9]{3}")
_HALVES: Final = re.compile("[\ud800-\udfff]")
_HEX = frozenset("0123456789abcdefABCDEF")
_ESCAPED = frozenset('bfnrt\\/"')
_KEYWORDS: Final[dict[str, tuple[str, bool | None]]] = {
    "t": ("true", True),
    "f": ("false", False),
    "n": ("null", None),
}


class JsonError(ValueError):
    """Text that is not JSON, or a number that is too large."""


def decode_json(text: str) -> Any:
    """Parse one JSON document; raises `JsonError` with Go's message."""
    is_shallow = text.count("[") + text.count("{") <= _MAX_FAST_DEPTH
    if not is_shallow:
        steps = map(_STEPS.__getitem__, _BRACKET.findall(_STRING.sub("", text)))
        is_shallow = max(accumulate(steps), default=0) <= _MAX_FAST_DEPTH
    if is_shallow and not (_HALF_PAIR.search(text) and _LONE_HALF.search(text)):
        decoder = _STRICT_DECODER if _MAY_BE_TOO_LARGE.search(text) else _FAST_DECODER
        try:
            return decoder.decode(text)
        except ValueError:
            pass  # `_Reader` finds the error message of Go
    if len(text) > _MAX_FAST_LENGTH:
        reasons = (
            f"is not JSON, nests more than {_MAX_FAST_DEPTH} levels or has half a surrogate pair"
        )
        raise JsonError(f"a text of {len(text)} characters {reasons}")
    return _Reader(text).document()


class _Reader:
    """A text and how far it is read; what is open lies on a stack."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.open: list[list[Any] | dict[str, Any]] = []
        self.keys: list[str] = []  # of the open objects, the key whose value is being read
        self.too_large = ""  # the first number that no double can hold: syntax comes first

    def document(self) -> Any:
        """Read everything."""
        while True:
            closed, value = self._begin_value()
            if closed:
                done, value = self._end_value(value)
                if done:
                    break
        if self._peek():
            self._refuse("after top-level value")
        if self.too_large:
            kind = "into Go value of type float64"
            raise JsonError(f"json: cannot unmarshal number {self.too_large} {kind}")
        return value

    def _begin_value(self) -> tuple[bool, Any]:
        """Read a scalar or an empty container, or open one and report it as not closed yet."""
        char = self._peek()
        if char == "[":
            return self._open([], "]")
        if char == "{":
            closed, value = self._open({}, "}")
            if not closed:
                self.keys.append(self._key())
            return closed, value
        if char == '"':
            return True, self._string()
        if char in _KEYWORDS:
            return True, self._word(*_KEYWORDS[char])
        if char != "-" and not "0" <= char <= "9":
            self._refuse("looking for beginning of value")
        match = _NUMBER.match(self.text, self.position)
        if match is None:
            self.position += 1  # the minus
            self._refuse_here("in numeric literal")
        self.position = match.end()
        following = self.text[self.position : self.position + 1]
        if following == "." and not match[1] and not match[2]:
            self.position += 1
            self._refuse_here("after decimal point in numeric literal")
        if following and following in "eE" and not match[2]:
            self.position += 1 + self.text.startswith(("+", "-"), self.position + 1)
            self._refuse_here("in exponent of numeric literal")
        number = float(match[0])
        if math.isinf(number):
            self.too_large = self.too_large or match[0]
        return True, number

    def _open(self, holder: list[Any] | dict[str, Any], bracket: str) -> tuple[bool, Any]:
        if len(self.open) == MAX_DEPTH:
            self._refuse("exceeded max depth")
        self.position += 1
        if self._peek() == bracket:
            self.position += 1
            return True, holder
        self.open.append(holder)
        return False, None

    def _end_value(self, value: Any) -> tuple[bool, Any]:
        """Put a value where it belongs and close what ends with it; True after the last."""
        while self.open:
            holder = self.open[-1]
            if isinstance(holder, list):
                holder.append(value)
                char = self._peek()
                if char != "," and char != "]":
                    self._refuse("after array element")
                self.position += 1
            else:
                holder[self.keys.pop()] = value
                char = self._peek()
                if char != "," and char != "}":
                    self._refuse("after object key:value pair")
                self.position += 1
                if char == ",":
                    self.keys.append(self._key())
            if char == ",":
                return False, None
            value = self.open.pop()
        return True, value

    def _key(self) -> str:
        if self._peek() != '"':
            self._refuse("looking for beginning of object key string")
        key = self._string()
        if self._peek() != ":":
            self._refuse("after object key")
        self.position += 1
        return key

    def _string(self) -> str:
        """Read a string; halves of surrogate pairs become U+FFFD, as in Go."""
        try:
            value, self.position = _FAST_DECODER.raw_decode(self.text, self.position)
        except ValueError:
            self._refuse_string()
        return _HALVES.sub("\ufffd", value)

    def _word(self, word: str, value: bool | None) -> bool | None:
        """Read `true`, `false` or `null`; an error names the first wrong character."""
        for char in word:
            if not self.text.startswith(char, self.position):
                self._refuse_here(f"in literal {word} (expecting '{char}')")
            self.position += 1
        return value

    def _peek(self) -> str:
        """Skip blanks and return the next character, empty at the end."""
        match = _BLANKS.match(self.text, self.position)
        self.position = match.end() if match else self.position
        return self.text[self.position : self.position + 1]

    def _refuse(self, context: str) -> NoReturn:
        """Raise where whitespace is allowed; at the end of the text, for the missing rest."""
        if self.position >= len(self.text):
            raise JsonError("unexpected end of JSON input")
        self._refuse_here(context)

    def _refuse_here(self, context: str) -> NoReturn:
        char = self.text[self.position : self.position + 1] or " "
        if char == "'":
            quoted = r"'\''"
        elif char == '"':
            quoted = "'\"'"
        else:
            quoted = f"'{go_text.quote(chr(go_text.encode(char)[0]))[1:-1]}'"
        raise JsonError(f"invalid character {quoted} {context}")

    def _refuse_string(self) -> NoReturn:
        """Raise the error of the invalid string that begins here."""
        self.position += 1
        while match := _SPECIAL_IN_STRING.search(self.text, self.position):
            self.position = match.start()
            if match[0] != "\\":
                self._refuse_here("in string literal")
            self.position += 1
            escaped = self.text[self.position : self.position + 1]
            if escaped != "u" and escaped not in _ESCAPED:
                self._refuse_here("in string escape code")
            self.position += 1
            if escaped == "u":
                for _ in range(4):
                    if self.text[self.position : self.position + 1] not in _HEX:
                        self._refuse_here("in \\u hexadecimal character escape")
                    self.position += 1
        raise JsonError("unexpected end of JSON input")


def _double(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(digits)
    return number


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)  # Python would read NaN and Infinity


_FAST_DECODER = json.JSONDecoder(parse_float=float, parse_int=float, parse_constant=_no_constant)
_STRICT_DECODER = json.JSONDecoder(
    parse_float=_double, parse_int=_double, parse_constant=_no_constant
)
