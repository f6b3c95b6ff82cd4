"""
When a value breaks a keyword of its schema: the comparisons, without any words.

They follow kube-openapi's pkg/validation/validate and pkg/validation/strfmt as vendored by
Kubernetes 1.35, oddities included: bounds are cut to integers for integers, and a number is whole
but for an error of calculation.
"""

import math
from functools import lru_cache
from typing import Any

import re2

from kube_objects.schemas import Schema

_MAX_SAFE_INTEGER = 2**53 - 1
_TOLERANCE = 1e-9


def is_whole(number: float) -> bool:
    """Return whether a number passes for an integer: whole but for an error of calculation."""
    if not math.isfinite(number) or abs(number) > _MAX_SAFE_INTEGER:
        return False
    whole = math.trunc(number)
    if number == whole:
        return True
    return whole != 0 and abs(number - whole) / (abs(number) + abs(whole)) < _TOLERANCE


def is_choice(value: Any, choice: Any) -> bool:
    """Compare as Go does after it has converted a value to the type of the choice."""
    if value is None or choice is None:
        return False
    if isinstance(value, bool) or isinstance(choice, bool):
        return value is choice
    if isinstance(choice, str) and isinstance(value, int):
        return 0 <= value < 0x110000 and chr(value) == choice
    if isinstance(choice, int) and isinstance(value, float):
        return int(value) == choice
    return bool(value == choice)


def bound_for(number: float, bound: float) -> float:
    """Return the bound a number is compared with: an integer for an integer."""
    return int(bound) if isinstance(number, int) else bound


def breaks_minimum(schema: Schema, number: float) -> bool:
    """Return whether a number breaks `minimum`, with `exclusiveMinimum`."""
    bound = bound_for(number, schema["minimum"])
    return number < bound or (number == bound and schema.get("exclusiveMinimum") is True)


def breaks_maximum(schema: Schema, number: float) -> bool:
    """Return whether a number breaks `maximum`, with `exclusiveMaximum`."""
    bound = bound_for(number, schema["maximum"])
    return number > bound or (number == bound and schema.get("exclusiveMaximum") is True)


def breaks_multiple_of(schema: Schema, number: float) -> bool:
    """Return whether a number breaks `multipleOf`; any does if the factor is not positive."""
    factor = bound_for(number, schema["multipleOf"])
    if factor <= 0:
        return True
    if isinstance(number, int):
        return number % factor != 0
    return not is_whole(1 / factor * number if factor < 1 else number / factor)


@lru_cache(maxsize=1024)
def compile_pattern(text: str) -> Any:
    """Compile a user's regular expression, in Go's dialect; None if it is not valid."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text, options=options)
    except re2.error:
        return None
