"""
Literals as Go reads them.

kro is written in Go and its messages carry Go's: a number is what `strconv` takes for one,
a pattern what `regexp` compiles, blank what `unicode.IsSpace` says. Errors hold Go's text.
"""

import math
import re
from typing import Any

import re2

from kube_objects.go_text import quote

BLANKS = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)

_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))

_INTEGER = re.compile(r"[+-]?[0-9]+")
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
_MAX_LENGTH = 64  # digits; what is longer is out of range, and slow to convert

_DIGITS = "[0-9](?:_?[0-9])*"
_HEX_DIGITS = "[0-9a-fA-F](?:_?[0-9a-fA-F])*"
_DECIMAL = re.compile(
    rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?"
)
_HEX = re.compile(
    rf"[+-]?0[xX](?:_?{_HEX_DIGITS}(?:\.(?:{_HEX_DIGITS})?)?|\.{_HEX_DIGITS})[pP][+-]?{_DIGITS}"
)
_SPECIAL = re.compile(r"[+-]?inf(?:inity)?|nan", re.IGNORECASE | re.ASCII)

# What the two engines call the same mistake: RE2's words, Go's words.
_PATTERN_ERRORS = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid character class": "invalid character class",
    "invalid character class range": "invalid character class range",
    "invalid escape sequence": "invalid escape sequence",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "unexpected )": "unexpected )",
}
_TOO_LARGE = "pattern too large"
_ESCAPES = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.", re.DOTALL)
_ANY_BYTE, _UNKNOWN = r"\C", r"\k"  # the first is known to RE2 but not to Go, the second to neither


class LiteralError(ValueError):
    """A text that Go does not read; the message is Go's."""


def trim(text: str) -> str:
    """Cut blanks off both ends."""
    return text.strip(BLANKS)


def parse_bool(text: str) -> bool:
    """Read a boolean."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise _invalid("ParseBool", text)


def parse_int(text: str) -> int:
    """Read a decimal 64-bit integer."""
    if not _INTEGER.fullmatch(text):
        raise _invalid("ParseInt", text)
    digits = text.lstrip("+-").lstrip("0")
    value = int(text) if len(digits) <= _MAX_LENGTH else _LARGEST + 1
    if not _SMALLEST <= value <= _LARGEST:
        raise _out_of_range("ParseInt", text)
    return value


def parse_float(text: str) -> float:
    """Read a floating-point number: decimal, hexadecimal, infinite or none."""
    if _SPECIAL.fullmatch(text):
        return float(text)
    if _DECIMAL.fullmatch(text):
        value = float(text)
    elif _HEX.fullmatch(text):
        try:
            value = float.fromhex(text.replace("_", ""))
        except OverflowError:
            value = math.inf
    else:
        raise _invalid("ParseFloat", text)
    if math.isinf(value):
        raise _out_of_range("ParseFloat", text)
    return value


def compile_pattern(pattern: str) -> Any | None:
    """
    Compile a pattern; raise if Go's `regexp` would not.

    Nothing comes back for one that is right but too large for RE2's memory.
    """
    options = re2.Options()
    options.log_errors = False
    portable = _ESCAPES.sub(lambda m: _UNKNOWN if m[0] == _ANY_BYTE else m[0], pattern)
    try:
        return re2.compile(portable, options)
    except re2.error as error:
        mistake = str(error.args[0], "utf-8", "replace")
    if mistake.startswith(_TOO_LARGE):
        return None
    what, _, where = mistake.partition(": ")
    if what == "trailing \\":
        what = "trailing backslash at end of expression"
    elif where.startswith("(?<"):
        # A look-behind is a misspelt group name to Go, which shows it up to its end.
        rest = pattern[pattern.find(where) :]
        what, where = "invalid named capture", rest[: rest.find(">") + 1] or rest
    if _UNKNOWN not in pattern:
        where = where.replace(_UNKNOWN, _ANY_BYTE)
    raise LiteralError(f"error parsing regexp: {_PATTERN_ERRORS.get(what, what)}: `{where}`")


def type_name(value: object) -> str:
    """Name the Go type a decoded JSON value has."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "bool"
        case int():
            return "int64" if _SMALLEST <= value <= _LARGEST else "float64"
        case float():
            return "float64"
        case list() | tuple():
            return "[]interface {}"
        case dict():
            return "map[string]interface {}"
        case _:
            return "string" if isinstance(value, str) else type(value).__name__


def _invalid(function: str, text: str) -> LiteralError:
    return LiteralError(f"strconv.{function}: parsing {quote(text)}: invalid syntax")


def _out_of_range(function: str, text: str) -> LiteralError:
    return LiteralError(f"strconv.{function}: parsing {quote(text)}: value out of range")
