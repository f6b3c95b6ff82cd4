"""
`'%s: %d'.format([…])`: the clauses of a format string, and values as text.

A format string is parsed once and cached. An invalid clause is an error only when it is reached,
because an earlier clause may fail first.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from operator import itemgetter
from typing import Any

from kube_cel.library.dispatch import Function, member_functions
from kube_cel.time_formats import format_timestamp
from kube_cel.values import (
    LISTS,
    MAPS,
    MAX_PARTS,
    Duration,
    EvaluationError,
    Timestamp,
    TypeValue,
    UInt,
    check_size,
    kind_of,
)
from kube_objects import go_text
from kube_objects.go_numbers import format_seconds

DEFAULT_PRECISION = 6
MAX_PRECISION = 100
VERBS = "sdfeboxX"

_UNREADABLE = "could not parse formatting clause"
_MAX_INT = 2**63 - 1
_DIGITS = frozenset("0123456789")


@dataclass(frozen=True, slots=True)
class Clause:
    """One `%…` of a format string; `problem` is its error message if it is invalid."""

    verb: str = ""
    precision: int = DEFAULT_PRECISION
    problem: str = ""


def format_string(template: str, arguments: Any) -> str:
    """Fill the clauses of a template, each with the next argument."""
    parts: list[str] = []
    total = 0
    position = 0
    for piece in clauses(template):
        if isinstance(piece, str):
            parts.append(piece)
        else:
            if position >= len(arguments):
                raise EvaluationError(f"index {position} out of range")
            value = arguments[position]
            if piece.problem:
                raise EvaluationError(piece.problem)
            parts.append(_FILLERS[piece.verb](piece, value))
            position += 1
        total += len(parts[-1])
        check_size(total)
    return "".join(parts)


Filler = Callable[[Clause, Any], str]
_FILLERS: dict[str, Filler] = {}


@lru_cache(maxsize=512)
def clauses(template: str) -> tuple[str | Clause, ...]:
    """Take a template apart into literal text and clauses; nothing follows a bad clause."""
    check_size(template.count("%"), MAX_PARTS)
    return tuple(_scan(template))


def text_of(value: Any) -> str:
    """Print a value as `%s` does."""
    # Walks without calling itself: data may be nested deeper than Python may call. What is
    # still to be printed lies on a stack, brackets and commas as strings among the values.
    parts: list[str] = []
    total = 0
    waiting = [value]
    while waiting:
        current = waiting.pop()
        kind = type(current)
        text = _TEXTS.get(kind)
        if text is not None:
            parts.append(text(current))
            total += len(parts[-1])
        elif kind in LISTS or kind in MAPS:
            check_size(len(parts) + len(current), MAX_PARTS)
            pieces: list[Any]
            if kind in LISTS:
                pieces = ["["]
                for element in current:
                    pieces += (element, ", ")
            else:
                pieces = ["{"]
                texts = ((text_of(key), part) for key, part in current.items())
                for key, part in sorted(texts, key=itemgetter(0)):
                    pieces += (f"{key}: ", part, ", ")
            if len(pieces) > 1:
                pieces.pop()  # the last comma
            waiting += ("]" if kind in LISTS else "}", *reversed(pieces))
        else:
            raise _unsuitable("s", current)
        check_size(total)
    return "".join(parts)


def format_positional(number: float) -> str:
    """Print a double without an exponent and with the fewest digits: `100`, `0.1`."""
    if not math.isfinite(number):
        return _not_finite(number)
    text = format(Decimal(repr(number)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _scan(template: str) -> Iterator[str | Clause]:
    start = 0
    while (mark := template.find("%", start)) >= 0:
        if template.startswith("%%", mark):
            yield template[start : mark + 1]
            start = mark + 2
            continue
        if mark > start:
            yield template[start:mark]
        start = mark + 1
        if start == len(template):
            yield Clause(problem="unexpected end of string")
            return
        precision, problem = DEFAULT_PRECISION, ""
        if template[start] == ".":
            end = start + 1
            while end < len(template) and template[end] in _DIGITS:
                end += 1
            precision, problem = _precision(template[start + 1 : end], end == len(template))
            start = end
        if problem:
            yield Clause(problem=f"{_UNREADABLE}: error while parsing precision: {problem}")
            return
        verb = template[start]
        if verb not in VERBS:
            # Go reads bytes: of a character beyond ASCII it names the first one.
            shown = chr(go_text.encode(verb)[0])
            yield Clause(problem=f'{_UNREADABLE}: unrecognized formatting clause "{shown}"')
            return
        yield Clause(verb, precision)
        start += 1
    if start < len(template):
        yield template[start:]


def _precision(digits: str, at_end: bool) -> tuple[int, str]:
    """Return the number, and an error if it is invalid."""
    if at_end:
        return 0, "could not find end of precision specifier"
    failed = f'error while converting precision to integer: strconv.Atoi: parsing "{digits}"'
    if not digits:
        return 0, f"{failed}: invalid syntax"
    significant = digits.lstrip("0") or "0"
    if len(significant) > 19 or int(significant) > _MAX_INT:
        return 0, f"{failed}: value out of range"
    precision = int(significant)
    if precision > MAX_PRECISION:
        return 0, f"precision {precision} exceeds maximum allowed precision {MAX_PRECISION}"
    return precision, ""


def _fills(*verbs: str) -> Callable[[Filler], Filler]:
    """Register a function that prints the values of clauses with these verbs."""

    def register(filler: Filler) -> Filler:
        _FILLERS.update(dict.fromkeys(verbs, filler))
        return filler

    return register


@_fills("s")
def _string(_: Clause, value: Any) -> str:
    return text_of(value)


@_fills("d")
def _decimal(clause: Clause, value: Any) -> str:
    """Format `%d`; a double is printed without an exponent."""
    if type(value) in (int, UInt):
        return str(value)
    if type(value) is float:
        return format_positional(value)
    raise _unsuitable(clause.verb, value)


@_fills("e", "f")
def _fraction(clause: Clause, value: Any) -> str:
    if type(value) not in (int, UInt, float):
        raise _unsuitable(clause.verb, value)
    number = float(value)
    if not math.isfinite(number):
        return _not_finite(number)
    return f"{number:.{clause.precision}{clause.verb}}"


@_fills("b")
def _binary(clause: Clause, value: Any) -> str:
    if type(value) in (bool, int, UInt):
        return f"{value:b}"
    raise _unsuitable(clause.verb, value)


@_fills("o")
def _octal(clause: Clause, value: Any) -> str:
    if type(value) in (int, UInt):
        return f"{value:o}"
    raise _unsuitable(clause.verb, value)


@_fills("x", "X")
def _hexadecimal(clause: Clause, value: Any) -> str:
    if type(value) in (int, UInt):
        text = f"{value:x}"
    elif type(value) is str:
        text = go_text.encode(value).hex()
    elif type(value) is bytes:
        text = value.hex()
    else:
        raise _unsuitable(clause.verb, value)
    return text.upper() if clause.verb == "X" else text


def _unsuitable(verb: str, value: Any) -> EvaluationError:
    return EvaluationError(
        f"error during formatting: {_SUITABLE[verb]}, was given {kind_of(value)}"
    )


def _not_finite(number: float) -> str:
    if number != number:
        return "NaN"
    return "Infinity" if number > 0 else "-Infinity"


_SUITABLE = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
    "types, durations, and timestamps",
    "d": "decimal clause can only be used on ints, uints, and doubles",
    "f": "fixed-point clause can only be used on ints, uints, and doubles",
    "e": "scientific clause can only be used on ints, uints, and doubles",
    "b": "only ints, uints, and bools can be formatted as binary",
    "o": "octal clause can only be used on ints and uints",
    "x": "only ints, uints, bytes, and strings can be formatted as hex",
    "X": "only ints, uints, bytes, and strings can be formatted as hex",
}

_TEXTS: dict[type, Callable[[Any], str]] = {
    str: str,
    int: str,
    UInt: str,
    bool: lambda value: "true" if value else "false",
    float: format_positional,
    bytes: go_text.decode,
    type(None): lambda _: "null",
    TypeValue: lambda value: str(value.name),
    Duration: lambda value: format_seconds(value.nanos),
    Timestamp: lambda value: format_timestamp(Timestamp(value.nanos)),  # in UTC
}

GLOBALS: dict[str, Function] = {}

MEMBERS = member_functions({"format(string, list)": format_string})
