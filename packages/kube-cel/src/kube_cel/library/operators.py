"""
The operators, for operands of any type.

Arithmetic never mixes numbers of different types and never wraps around. cel-go has two messages
for a wrong operand: `no such overload` if the type of the left operand has the operator but not for
the right one, and one with the operator's name if it does not have it. For strings and times, which
have methods, the name is always left out.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from kube_cel.containers import (
    ABSENT,
    LISTS,
    MAPS,
    ListView,
    MapView,
    MixedMap,
    ObjectView,
    find_key,
)
from kube_cel.equality import NUMBERS, compare, equals, merge_key
from kube_cel.errors import (
    DeferredError,
    EvaluationError,
    MissingData,
    UnknownValue,
    raise_if_deferred,
)
from kube_cel.scalars import NONE, Condition, Duration, OptionalValue, Timestamp, UInt
from kube_cel.time_formats import MAX_SECONDS, MIN_SECONDS, SECOND
from kube_cel.type_names import KEY_TYPES, kind_of, no_such_key, no_such_overload
from kube_objects.go_numbers import format_double

Binary = Callable[[Any, Any], Any]

MIN_INT = -(2**63)
MAX_INT = 2**63 - 1
MAX_UINT = 2**64 - 1


def int_in_range(number: int) -> int:
    """Return a number that fits 64 bits signed, or fail."""
    if MIN_INT <= number <= MAX_INT:
        return number
    raise EvaluationError("integer overflow")


def uint_in_range(number: int) -> UInt:
    """Return a number that fits 64 bits unsigned, or fail."""
    if 0 <= number <= MAX_UINT:
        return UInt(number)
    raise EvaluationError("unsigned integer overflow")


def add(left: Any, right: Any) -> Any:
    """`left + right`."""
    kind = type(left)
    if kind is type(right):
        if kind is str or kind is float or kind is bytes or kind is list:
            return left + right
        if kind is int:
            return int_in_range(left + right)
        if kind is UInt:
            return uint_in_range(int(left) + int(right))
        if kind is Duration:
            return Duration(int_in_range(left.nanos + right.nanos))
    if kind in LISTS and type(right) in LISTS:
        if type(left) is not ListView or not left.merge:
            return [*left, *right]
        merged = list(left)
        places = {merge_key(left, element): place for place, element in enumerate(merged)}
        for element in right:
            place = places.setdefault(merge_key(left, element), len(merged))
            if place == len(merged):
                merged.append(element)
            elif left.merge == "map":
                merged[place] = element
        return ListView(merged, lambda element: element, left.merge, left.keys)
    if kind is Timestamp and type(right) is Duration:
        return _moment(left.nanos + right.nanos, left.offset)
    if kind is Duration and type(right) is Timestamp:
        return _moment(left.nanos + right.nanos, right.offset)
    raise overload_error("_+_", kind, _ADDERS)


def subtract(left: Any, right: Any) -> Any:
    """`left - right`."""
    kind = type(left)
    if kind is type(right):
        if kind is int:
            return int_in_range(left - right)
        if kind is float:
            return left - right
        if kind is UInt:
            return uint_in_range(int(left) - int(right))
        if kind is Duration or kind is Timestamp:
            return Duration(int_in_range(left.nanos - right.nanos))
    if kind is Timestamp and type(right) is Duration:
        return _moment(left.nanos - right.nanos, left.offset)
    raise overload_error("_-_", kind, _SUBTRACTORS)


def multiply(left: Any, right: Any) -> Any:
    """`left * right`."""
    kind = type(left)
    if kind is type(right):
        if kind is int:
            return int_in_range(left * right)
        if kind is float:
            return left * right
        if kind is UInt:
            return uint_in_range(int(left) * int(right))
    raise overload_error("_*_", kind, NUMBERS)


def divide(left: Any, right: Any) -> Any:
    """`left / right`, integers towards zero."""
    kind = type(left)
    if kind is not type(right) or kind not in NUMBERS:
        raise overload_error("_/_", kind, NUMBERS)
    if kind is float:
        if right:
            return left / right
        if left == 0 or left != left or right != right:
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1.0, right)
    if right == 0:
        raise EvaluationError("division by zero")
    quotient = abs(int(left)) // abs(int(right))
    if kind is UInt:
        return UInt(quotient)
    return int_in_range(quotient if (left < 0) == (right < 0) else -quotient)


def modulo(left: Any, right: Any) -> Any:
    """`left % right`, with the sign of the left."""
    kind = type(left)
    if kind is not type(right) or (kind is not int and kind is not UInt):
        raise overload_error("_%_", kind, _INTEGERS)
    if right == 0:
        raise EvaluationError("modulus by zero")
    if kind is int and right == -1:
        int_in_range(-left)  # the quotient must fit, although it is not used
    rest = abs(int(left)) % abs(int(right))
    if kind is UInt:
        return UInt(rest)
    return -rest if left < 0 else rest


def negate(value: Any) -> Any:
    """`-value`."""
    if type(value) is int:
        return int_in_range(-value)
    if type(value) is float:
        return -value
    if type(value) is Duration:
        return Duration(int_in_range(-value.nanos))
    raise overload_error("-_", type(value), _BOOLS)


def _ordering(name: str, holds: Callable[[int], bool]) -> Callable[[Any, Any], bool]:
    """Return a comparison, which is false with NaN."""

    def ordered(left: Any, right: Any) -> bool:
        # NaN is neither before nor after anything, so every comparison with it is false.
        if type(left) not in _COMPARERS:
            raise EvaluationError(f"no such overload: {name}")
        return not (
            (type(left) is float and left != left) or (type(right) is float and right != right)
        ) and holds(compare(left, right))

    return ordered


def equal(left: Any, right: Any) -> bool:
    """`left == right`; data that comes with a schema is compared with its own kind only."""
    if equals(left, right):
        return True
    partners = _PARTNERS.get(type(left))
    if partners is not None and right is not None and type(right) not in partners:
        raise no_such_overload()
    return False


def not_equal(left: Any, right: Any) -> bool:
    """`left != right`; what cannot be compared differs, because it does in cel-go."""
    try:
        return not equals(left, right)
    except UnknownValue:
        raise
    except EvaluationError:
        return True


def contained(element: Any, container: Any) -> bool:
    """`element in container`: an element of a list, a key of a map."""
    if type(container) in MAPS:
        return find_key(container, element) is not ABSENT
    if type(container) not in LISTS:
        raise no_such_overload()
    unreadable: DeferredError | None = None
    for held in container:
        if equals(element, held):
            return True
        if type(held) is DeferredError:
            unreadable = unreadable or held
    if unreadable is not None:
        unreadable.raise_error()
    return False


def index(container: Any, key: Any) -> Any:
    """`container[key]`."""
    kind = type(container)
    if kind in MAPS:
        value = find_key(container, key)
        if value is ABSENT or type(key) not in KEY_TYPES:
            raise no_such_key(key)
        return value
    if kind in LISTS:
        position = list_position(key)
        if 0 <= position < len(container):
            return raise_if_deferred(container[position])
        raise MissingData(f"index out of bounds: {position}")
    if kind is OptionalValue:
        return optional_index(container, key)
    return select(container, key)


def optional_index(container: Any, key: Any) -> OptionalValue:
    """`container[?key]`: none where there is nothing."""
    if type(container) is OptionalValue:
        if not container.present:
            return NONE
        container = container.value
    value = find_at(container, key)
    return NONE if value is ABSENT else OptionalValue(value)


def find_at(container: Any, key: Any) -> Any:
    """Return what is at a key or position of any value, or `ABSENT`."""
    if type(key) not in KEY_TYPES:
        raise no_such_key(key)
    kind = type(container)
    if kind in MAPS:
        return find_key(container, key)
    if kind in LISTS:
        position = list_position(key)
        return raise_if_deferred(container[position]) if 0 <= position < len(container) else ABSENT
    if kind is Condition and key in Condition.__slots__:
        return getattr(container, key)
    return ABSENT


def select(holder: Any, name: Any) -> Any:
    """`holder.name` on anything that is no ordinary map."""
    kind = type(holder)
    if kind is OptionalValue:
        return optional_index(holder, name)
    if kind is MixedMap and name in holder:
        return holder.find(name)
    if kind is Condition and name in Condition.__slots__:
        return getattr(holder, name)
    if kind in LISTS:
        list_position(name)  # raises: a list has no fields
    raise no_such_key(name)


def list_position(key: Any) -> int:
    """Read a number of any type as a position in a list."""
    if type(key) is int:
        return key
    if type(key) is UInt or (type(key) is float and key.is_integer()):
        return int(key)
    if type(key) is float:
        raise EvaluationError(f"unsupported index value {format_double(key)} in list")
    if type(key) not in KEY_TYPES:
        raise no_such_key(key)
    raise EvaluationError(f"unsupported index type '{kind_of(key)}' in list")


def _moment(nanos: int, offset: int) -> Timestamp:
    if MIN_SECONDS <= nanos // SECOND <= MAX_SECONDS:
        return Timestamp(nanos, offset)
    raise EvaluationError("timestamp overflow")


def overload_error(
    operator: str, left: type, able: frozenset[type] = frozenset()
) -> EvaluationError:
    """Make the error for operands that do not go together; `able` types know the operator."""
    if left in able or left in RECEIVERS:
        return no_such_overload()
    return EvaluationError(f"no such overload: {operator}")


RECEIVERS = frozenset({str, Timestamp, Duration})
"""Types with methods of their own in cel-go, whose error messages differ."""

_PARTNERS: Mapping[type, tuple[type, ...]] = {ListView: LISTS, MapView: MAPS, ObjectView: MAPS}
_BOOLS = frozenset({bool})
_COMPARERS = frozenset({bool, bytes, str, Timestamp, Duration}) | NUMBERS
_INTEGERS = frozenset({int, UInt})
_SUBTRACTORS = NUMBERS | {Duration, Timestamp}
_ADDERS = _SUBTRACTORS | {str, bytes, list, ListView}

BINARY: Mapping[str, Binary] = {
    "_+_": add,
    "_-_": subtract,
    "_*_": multiply,
    "_/_": divide,
    "_%_": modulo,
    "_==_": equal,
    "_!=_": not_equal,
    "_<_": _ordering("_<_", lambda order: order < 0),
    "_<=_": _ordering("_<=_", lambda order: order <= 0),
    "_>_": _ordering("_>_", lambda order: order > 0),
    "_>=_": _ordering("_>=_", lambda order: order >= 0),
    "@in": contained,
    "_[_]": index,
    "_[?_]": optional_index,
}
