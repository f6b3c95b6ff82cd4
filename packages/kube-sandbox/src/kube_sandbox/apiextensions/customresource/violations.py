"""
What is wrong with a value, by its schema: a flaw for each rule of OpenAPI that it breaks.

A flaw knows where it is relative to the value that was checked; `field_errors` puts it into the
object. The words are those of the library the API server checks custom objects with. They do not
always fit what Kubernetes says elsewhere: the text repeats the path, a type is told as a value.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import orjson

from kube_sandbox.registry.field_errors import FieldError, Sort, quoted, too_many

NOWHERE = "<nil>"
_LEAST_EXPONENT, _MOST_EXPONENT = -4, 6


@dataclass(frozen=True, slots=True)
class Flaw:
    """A broken rule; `path` is None for one that is told of no field at all."""

    sort: Sort
    path: str | None
    value: Any
    detail: str = ""


def go_number(number: float) -> str:
    """Print a number as Go's %v does: from a million on, and below a ten thousandth, as 1e+06."""
    if isinstance(number, int):
        return str(number)
    sign, digits, _ = (found := Decimal(repr(number))).normalize().as_tuple()
    exponent = found.adjusted() if number else 0
    if _LEAST_EXPONENT <= exponent < _MOST_EXPONENT:
        return str(int(number)) if number.is_integer() else repr(number)
    first, *rest = map(str, digits)
    mantissa = f"{first}.{''.join(rest)}" if rest else first
    return f"{'-' if sign else ''}{mantissa}e{exponent:+03d}"


def shown_number(value: Any) -> Any:
    """Return a value so that errors print a number with a point as Go does."""
    return orjson.Fragment(go_number(value)) if isinstance(value, float) else value


def is_whole(number: float) -> bool:
    """Say whether a number passes for an integer: whole but for an error of calculation."""
    if not math.isfinite(number) or abs(number) > 2**53 - 1:
        return False
    whole = math.trunc(number)
    if number == whole:
        return True
    return whole != 0 and abs(number - whole) / (abs(number) + abs(whole)) < 1e-9


def wrong_type(path: str, wanted: str, found: str) -> Flaw:
    """Say that a value is of another type, or a text in another format."""
    told = f"{path} in body must be of type {wanted}: {quoted(found)}"
    return Flaw(Sort.TYPE_INVALID, path, found, told)


def missing(path: str) -> Flaw:
    """Say that a field must be there."""
    return Flaw(Sort.REQUIRED, path, None)


def not_listed(path: str, value: Any, choices: Iterable[Any]) -> Flaw:
    """Say that a value is none of those listed."""
    texts = (each if isinstance(each, str) else orjson.dumps(each).decode() for each in choices)
    return Flaw(
        Sort.NOT_SUPPORTED,
        path,
        shown_number(value),
        f"supported values: {', '.join(map(quoted, texts))}",
    )


def too_long(path: str, most: int) -> Flaw:
    """Say that a text is too long."""
    unit = "byte" if most == 1 else "bytes"
    told = f"may not be more than {most} {unit}" if most >= 0 else "value is too long"
    return Flaw(Sort.TOO_LONG, path, None, told)


def too_many_parts(path: str, count: int, most: int) -> Flaw:
    """Say that a list or an object has too many parts."""
    error = too_many("", count, most)
    return Flaw(error.sort, path, error.value, error.detail)


def breaks(path: str, value: Any, rule: str) -> Flaw:
    """Say which rule a value breaks: `should be at least 3 chars long`."""
    return Flaw(Sort.INVALID, path, shown_number(value), f"{path} in body {rule}")


def forbidden_part(path: str, key: str) -> Flaw:
    """Say that a field may not be there."""
    return Flaw(Sort.INVALID, path, key, f"{path}.{key} in body is a forbidden property")


def fails_schemas(path: str, told: str) -> Flaw:
    """Say which combination of schemas a value fails."""
    return Flaw(Sort.INVALID, None, "", f"{quoted(path)} must {told}")


def as_field_errors(flaws: Iterable[Flaw], prefix: str = "") -> list[FieldError]:
    """Tell flaws of the value at a path, each only once."""
    told: dict[str, FieldError] = {}
    for flaw in flaws:
        found = FieldError(flaw.sort, _place(flaw.path, prefix), flaw.value, flaw.detail)
        told.setdefault(str(found), found)
    return list(told.values())


def _place(path: str | None, prefix: str) -> str:
    if path in (None, "", "."):
        return prefix or NOWHERE
    below = path.removeprefix(".") if path else ""
    return f"{prefix}.{below}" if prefix else below
