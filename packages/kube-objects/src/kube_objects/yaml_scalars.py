"""
What an unquoted YAML scalar means to Kubernetes.

Kubernetes converts YAML to JSON with a parser of its own dialect: the booleans of YAML 1.1 (`yes`,
`on`, `n` …), octal with a leading zero, no sexagesimal numbers, no dates. Numbers then pass through
JSON text, so `1.0` and `1e3` become integers, and an integer beyond 64 bits a float. This module
resolves scalars exactly as that chain does; it knows nothing of documents.
"""

import math
import re
from decimal import Decimal

Scalar = str | int | float | bool | None

_KEYWORDS: dict[str, bool | None] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), False),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_NOT_FINITE = frozenset(
    f"{sign}{word}" for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")
) | {".nan", ".NaN", ".NAN"}

_KEYWORD_STARTS = frozenset(word[:1] for word in _KEYWORDS)
_NUMBER_STARTS = frozenset("+-.0123456789")

_INTEGER = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[oO]?(?P<octal>[0-7]+)"
    r"|0[bB](?P<binary>[01]+)|(?P<decimal>0|[1-9][0-9]*))"
)
_BASES = {"hex": 16, "octal": 8, "binary": 2, "decimal": 10}
# A sign inside a binary number is an accident of the parser that others may rely on.
_BINARY_WITH_INNER_SIGN = re.compile(r"0b(?P<digits>[-+][01]+)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
# A float that begins with its point is read by other rules: underscores only between digits.
_POINT_FLOAT = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?")

_MAX_DIGITS = 20  # of a decimal number below 2**64
_MAX_EXACT_FLOAT = 2**53


class NotFiniteError(ValueError):
    """Infinity or not-a-number: YAML can represent them, JSON cannot."""


def resolve(text: str) -> Scalar:
    """
    Return the value of an unquoted scalar.

    Raises `NotFiniteError` for infinity and not-a-number.
    """
    start = text[:1]
    if start in _KEYWORD_STARTS:
        return _KEYWORDS.get(text, text)
    if start in _NUMBER_STARTS:
        if text in _NOT_FINITE:
            raise NotFiniteError(text)
        if text.startswith("."):
            return _float(text, text) if _POINT_FLOAT.fullmatch(text) else text
        digits = text.replace("_", "")
        integer = _integer(digits)
        if integer is not None:
            return integer
        return _float(digits, text) if _FLOAT.fullmatch(digits) else text
    return text


def resolve_as(kind: str, text: str) -> Scalar:
    """
    Return the value of a scalar with an explicit tag: str, int, float, bool or null.

    Raises `ValueError` if the text is not of that type.
    """
    if kind == "str":
        return text
    value = _integer(text.replace("_", "")) if kind == "int" else resolve(text)
    if not isinstance(value, _TAGGED[kind]) or (isinstance(value, bool) and kind != "bool"):
        raise ValueError(text)
    return value


_TAGGED: dict[str, tuple[type, ...]] = {
    "int": (int, float),
    "float": (int, float),
    "bool": (bool,),
    "null": (type(None),),
}


def _integer(digits: str) -> int | float | None:
    match = _INTEGER.fullmatch(digits)
    if match is None:
        match = _BINARY_WITH_INNER_SIGN.fullmatch(digits)
        number = int(match["digits"], 2) if match else None
        return number if number is not None and -(2**63) <= number < 2**63 else None
    base = match.lastgroup or ""
    if base == "decimal" and len(match["decimal"]) > _MAX_DIGITS:
        return None
    number = int(match["sign"] + match[base], _BASES[base])
    if -(2**63) <= number < 2**63:
        return number
    # The range of uint64 is accepted, without a sign; JSON makes a float of it.
    return float(number) if number < 2**64 and not match["sign"] else None


def _float(digits: str, text: str) -> int | float | str:
    number = float(digits)
    return text if math.isinf(number) else json_number(number)


def json_number(number: float) -> int | float:
    """Return a number as it is after Go has written it as JSON and parsed it again."""
    if not math.isfinite(number) or not float(number).is_integer():
        return number
    # Go prints a float with the fewest digits that identify it, and reads them as an integer.
    is_exact = isinstance(number, int) or abs(number) < _MAX_EXACT_FLOAT
    whole = int(number) if is_exact else int(Decimal(repr(number)))
    return whole if -(2**63) <= whole < 2**63 else float(number)
