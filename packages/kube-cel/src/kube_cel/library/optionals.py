"""
Values that may be absent: `optional.of(x)`, `optional.none()` and what can be asked of them.

`or` and `orValue` evaluate their argument only when it is needed, so they are no functions:
the compiler knows them.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kube_cel.containers import LISTS, MAPS
from kube_cel.errors import EvaluationError
from kube_cel.scalars import NONE, Duration, OptionalValue, Timestamp, UInt
from kube_cel.time_formats import MIN_SECONDS, SECOND
from kube_cel.type_names import no_such_overload

_EMPTY_OR_ZERO = frozenset({bool, int, UInt, float, str, bytes, *LISTS, *MAPS})


def of_non_zero(value: Any) -> OptionalValue:
    """`optional.ofNonZeroValue(x)`: none for null, false, zero and everything empty."""
    if type(value) in _EMPTY_OR_ZERO:
        is_zero = not value
    elif type(value) is Timestamp:
        is_zero = value.nanos == MIN_SECONDS * SECOND  # Go's zero time, not 1970
    else:
        is_zero = value is None or (type(value) is Duration and value.nanos == 0)
    return NONE if is_zero else OptionalValue(value)


def unwrap(values: Any) -> list[Any]:
    """`optional.unwrap(list)`: the values that are there."""
    if type(values) not in LISTS or any(type(value) is not OptionalValue for value in values):
        raise no_such_overload("unwrapOpt", values)
    return [value.value for value in values if value.present]


def value_of(optional: OptionalValue) -> Any:
    """`o.value()`."""
    if not optional.present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def has_value(optional: OptionalValue) -> bool:
    """`o.hasValue()`."""
    return optional.present


GLOBALS: Mapping[str, Callable[..., Any]] = {
    "optional.of": OptionalValue,
    "optional.none": lambda: NONE,
    "optional.ofNonZeroValue": of_non_zero,
    "optional.unwrap": unwrap,
}

MEMBERS: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("value", "optional_type"): value_of,
    ("hasValue", "optional_type"): has_value,
    ("unwrapOpt", "list"): unwrap,
}
