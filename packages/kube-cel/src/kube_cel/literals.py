"""
From the text of a literal to its value.

The tokenizer has already refused malformed escapes and numbers; what is left to go wrong is
a value that does not exist: an integer beyond 64 bits, half a surrogate pair.
"""

import math
import re

from kube_cel.lexer import BYTES, DOUBLE, INT, STRING, UINT

Value = bool | int | float | str | bytes | None

_MAX_DIGITS = 20  # of the largest 64-bit number; more need not be converted to be refused

_ESCAPE = re.compile(
    r"\\(?:[xX](?P<byte>[0-9a-fA-F]{2})|u(?P<short>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{8})"
    r"|(?P<octal>[0-3][0-7]{2})|(?P<letter>.))",
    re.DOTALL,
)
_LETTER_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13}


class InvalidLiteral(ValueError):  # noqa: N818 - the parser's word for it
    """A literal without a value; the text is cel-go's."""


def literal_value(kind: str, text: str, *, negative: bool = False) -> tuple[str, Value]:
    """Return the CEL type and the value of a literal token."""
    if kind == STRING:
        return "string", _string(text)
    if kind == BYTES:
        return "bytes", _bytes(text[1:])
    if kind == INT:
        return "int", _integer(text, negative=negative)
    if kind == DOUBLE:
        return "double", _double(text, negative=negative)
    if kind == UINT:
        return "uint", _unsigned(text[:-1])
    return ("null_type", None) if kind == "null" else ("bool", kind == "true")


def _integer(text: str, *, negative: bool) -> int:
    magnitude = _magnitude(text)
    if magnitude >= 2**63 + negative:
        raise InvalidLiteral("invalid int literal")
    return -magnitude if negative else magnitude


def _unsigned(text: str) -> int:
    magnitude = _magnitude(text)
    if magnitude >= 2**64:
        raise InvalidLiteral("invalid uint literal")
    return magnitude


def _magnitude(text: str) -> int:
    """Read digits; anything too long to be a 64-bit number counts as just beyond them."""
    base = 16 if text.startswith("0x") else 10
    digits = text.removeprefix("0x").lstrip("0")
    return int(digits or "0", base) if len(digits) <= _MAX_DIGITS else 2**64


def _double(text: str, *, negative: bool) -> float:
    value = float(text)
    if math.isinf(value):
        raise InvalidLiteral("invalid double literal")
    return -value if negative else value


def _string(text: str) -> str:
    body, raw = _body(text)
    return body if raw or "\\" not in body else _ESCAPE.sub(_character, body)


def _bytes(text: str) -> bytes:
    body, raw = _body(text)
    if raw or "\\" not in body:
        return _encode(body)
    parts: list[bytes] = []
    done = 0
    for escape in _ESCAPE.finditer(body):
        parts += (_encode(body[done : escape.start()]), bytes([_byte(escape)]))
        done = escape.end()
    return b"".join((*parts, _encode(body[done:])))


def _body(text: str) -> tuple[str, bool]:
    """Strip prefix and quotes, and say whether backslashes are ordinary characters."""
    raw = text[0] in "rR"
    quoted = text[1:] if raw else text
    width = 3 if quoted[:3] in ('"""', "'''") and len(quoted) >= 6 else 1
    return quoted[width:-width].replace("\r\n", "\n").replace("\r", "\n"), raw


def _character(escape: re.Match[str]) -> str:
    digits = escape["short"] or escape["long"]
    code = int(digits, 16) if digits else _byte(escape)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise InvalidLiteral("invalid unicode code point")
    return chr(code)


def _byte(escape: re.Match[str]) -> int:
    """Read an escape that stands for one byte; only strings know those of code points."""
    match escape.lastgroup:
        case "byte":
            return int(escape["byte"], 16)
        case "octal":
            return int(escape["octal"], 8)
        case "letter":
            return _LETTER_ESCAPES.get(escape["letter"]) or ord(escape["letter"])
        case _:
            raise InvalidLiteral("unable to unescape string")


def _encode(text: str) -> bytes:
    # Half a surrogate pair cannot come from a file, but must not bring the parser down.
    return text.encode(errors="surrogatepass")
