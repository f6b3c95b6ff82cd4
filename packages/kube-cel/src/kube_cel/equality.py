"""
Equality and order of values, by CEL's rules instead of Python's.

Numbers compare across types, all other values only within their type; values of different kinds are
unequal, which is not an error. Lists and maps compare deeply. The order of a list does not matter
if the list on the left is a set or a map by its schema.
"""

from typing import Any

from kube_cel.containers import ABSENT, LISTS, MAPS, ListView, find_key
from kube_cel.errors import EvaluationError, raise_if_deferred
from kube_cel.scalars import (
    OMIT,
    Duration,
    Opaque,
    OptionalValue,
    Timestamp,
    TypeValue,
    UInt,
)
from kube_cel.type_names import no_such_overload

NUMBERS = frozenset({int, UInt, float})
_SCALARS = frozenset(
    {str, int, bool, float, bytes, UInt, type(None), Timestamp, Duration, TypeValue}
)
_ORDERED = frozenset({str, bytes, bool, Timestamp, Duration})


def equals(left: Any, right: Any) -> bool:
    """Return whether two values are equal; raise where a comparison is an error."""
    left_type, right_type = type(left), type(right)
    if left_type is right_type and left_type in _SCALARS:
        return bool(left == right)
    if left_type in NUMBERS and right_type in NUMBERS:
        # Beside a double, integers become doubles first and lose what a double cannot hold.
        if type(left) is float or type(right) is float:
            return float(left) == float(right)
        return bool(left == right)
    if left is None or right is None:
        return False
    if left is OMIT:
        raise EvaluationError("omit() is a field-removal sentinel and cannot be compared")
    if left_type in LISTS:
        return right_type in LISTS and _equal_lists(left, right)
    if left_type in MAPS:
        return right_type in MAPS and _equal_maps(left, right)
    if left_type is OptionalValue and right_type is OptionalValue:
        if left.present and right.present:
            return equals(left.value, right.value)
        return bool(left.present == right.present)
    if left_type is right_type and isinstance(left, Opaque):
        return bool(left == right)
    raise_if_deferred(left)
    return False


def compare(left: Any, right: Any) -> int:
    """Return -1, 0 or 1; raise `no such overload` for values without an order."""
    left_type, right_type = type(left), type(right)
    comparable = left_type in NUMBERS and right_type in NUMBERS
    if not comparable and (left_type is not right_type or left_type not in _ORDERED):
        raise no_such_overload()
    if left != left or right != right:
        raise EvaluationError("NaN values cannot be ordered")
    return int(right < left) - int(left < right)


def _equal_lists(left: Any, right: Any) -> bool:
    if len(left) != len(right):
        return False
    if type(left) is ListView and left.merge:
        held = {merge_key(left, element): element for element in left}
        for element in right:
            twin = held.get(merge_key(left, element), ABSENT)
            if twin is ABSENT or not equals(twin, element):
                return False
        return True
    return all(equals(mine, other) for mine, other in zip(left, right, strict=True))


def merge_key(view: ListView, element: Any) -> Any:
    """Return what identifies an element of a set list or a map list: something hashable."""
    if view.merge == "set":
        return _hashable(element)
    if type(element) not in MAPS:
        return ABSENT
    return tuple(_hashable(find_key(element, key)) for key in view.keys)


def _hashable(value: Any) -> Any:
    """Return a hashable that distinguishes values as CEL does; containers by identity."""
    if type(value) in LISTS or type(value) in MAPS:
        return id(value)
    return (type(value) is bool, value)


def _equal_maps(left: Any, right: Any) -> bool:
    if len(left) != len(right):
        return False
    for key, value in left.items():
        other = find_key(right, key)
        if other is ABSENT or not equals(value, other):
            return False
    return True
