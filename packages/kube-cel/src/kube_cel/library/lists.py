"""
Functions on lists: cel-go's own and those Kubernetes adds.

Where an order is needed, the first element decides the type of the list. `sort` requires elements
of one type; `min`, `max` and `isSorted` skip pairs without an order.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from kube_cel.errors import raise_if_deferred
from kube_cel.library.dispatch import global_functions, member_functions
from kube_cel.library.operators import add, not_equal
from kube_cel.library.sets import ValueSet
from kube_cel.values import (
    LISTS,
    NONE,
    Duration,
    EvaluationError,
    OptionalValue,
    Timestamp,
    UInt,
    check_size,
    compare,
    no_such_overload,
)

_COMPARABLE = frozenset({bool, int, UInt, float, str, bytes, Duration, Timestamp})
_HASHED_AS_COMPARED = frozenset({str, int})
_MAX_RANGE = 1_000_000
_SUMMABLE = frozenset({int, UInt, float, Duration})


def slice_list(elements: Any, start: int, end: int) -> list[Any]:
    """Return the elements from `start` up to, not including, `end`."""
    size = len(elements)
    if start < 0 or end < 0:
        reason = "negative indexes not supported"
    elif start > end:
        reason = "start index must be less than or equal to end index"
    elif end > size:
        reason = f"list is length {size}"
    else:
        return list(elements)[start:end]
    raise EvaluationError(f"cannot slice({start}, {end}), {reason}")


def flatten(elements: Any, depth: int = 1) -> list[Any]:
    """Put the elements of inner lists in their place, `depth` levels down."""
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat: list[Any] = []
    opened = 0  # empty lists make no result, but looking into them takes time
    inside = [iter(elements)]
    while inside:
        for element in inside[-1]:
            if type(element) in LISTS and len(inside) <= depth:
                inside.append(iter(element))
                break
            flat.append(element)
        else:
            inside.pop()
        opened += 1
        check_size(len(flat) + opened)
    return flat


def distinct(elements: Any) -> list[Any]:
    """Keep the first of equal elements; numbers are equal across their types."""
    kinds = set(map(type, elements))
    if len(kinds) == 1 and kinds <= _HASHED_AS_COMPARED:
        return list(dict.fromkeys(elements))
    members = ValueSet()
    return [element for element in elements if members.add(element)]


def reverse(elements: Any) -> list[Any]:
    """Return the elements from last to first."""
    return list(elements)[::-1]


def range_list(count: int) -> list[int]:
    """Return 0, 1, … up to, not including, `count`."""
    if count < 0:
        raise EvaluationError(f"lists.range: size must be non-negative, got {count}")
    if count > _MAX_RANGE:
        limit = f"exceeds maximum allowed ({_MAX_RANGE})"
        raise EvaluationError(f"lists.range: size {count} {limit}")
    return list(range(count))


def sort(elements: Any) -> list[Any]:
    """Sort elements of one comparable type."""
    known = list(elements)
    kinds = set(map(type, known))
    if len(kinds) == 1 and kinds <= _COMPARABLE:
        return sorted(known)
    return sort_by([(element, element) for element in known])


def sort_by(pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
    """Order elements by their keys: (key, element) pairs in, elements out."""
    if not pairs:
        return []
    kind = type(pairs[0][0])
    if kind not in _COMPARABLE:
        raise EvaluationError("list elements must be comparable")
    if any(type(key) is not kind for key, _ in pairs):
        raise EvaluationError("list elements must have the same type")
    return [element for _, element in sorted(pairs, key=lambda pair: pair[0])]


def is_sorted(elements: Any) -> bool:
    """Return whether no element is greater than the next."""
    previous: Any = None
    for position, element in enumerate(elements):
        if type(element) not in _COMPARABLE:
            raise _not_comparable("isSorted", elements, position)
        if position and _order(previous, element) > 0:
            return False
        previous = element
    return True


def least(elements: Any) -> Any:
    """Return the smallest element."""
    return _extreme("min", elements, lambda best, other: _order(best, other) > 0)


def greatest(elements: Any) -> Any:
    """Return the greatest element."""
    return _extreme("max", elements, lambda best, other: _order(best, other) < 0)


def total(elements: Any) -> Any:
    """Add numbers or durations up; nothing adds up to 0."""
    kind = type(elements[0]) if len(elements) else int
    if kind not in _SUMMABLE:
        raise no_such_overload("sum", elements)
    return reduce(add, elements, kind(0))


def index_of(elements: Any, wanted: Any) -> int:
    """Return where the first equal element is, or -1."""
    return next((i for i, element in enumerate(elements) if not not_equal(element, wanted)), -1)


def last_index_of(elements: Any, wanted: Any) -> int:
    """Return where the last equal element is, or -1."""
    known = list(elements)
    positions = range(len(known) - 1, -1, -1)
    return next((i for i in positions if not not_equal(known[i], wanted)), -1)


def first(elements: Any) -> OptionalValue:
    """Return the first element, if there is one."""
    return OptionalValue(elements[0]) if len(elements) else NONE


def last(elements: Any) -> OptionalValue:
    """Return the last element, if there is one."""
    return OptionalValue(elements[len(elements) - 1]) if len(elements) else NONE


def _not_comparable(function: str, elements: Any, position: int) -> EvaluationError:
    raise_if_deferred(list(elements)[position])  # raises the error of the element, if it has one
    return no_such_overload() if position else no_such_overload(function, elements)


def _extreme(name: str, elements: Any, is_worse: Callable[[Any, Any], bool]) -> Any:
    known = list(elements)
    for position, element in enumerate(known):
        if type(element) not in _COMPARABLE:
            raise _not_comparable(name, known, position)
    if not known:
        raise EvaluationError(f"{name} called on empty list")
    best = known[0]
    for element in known[1:]:
        if is_worse(best, element):
            best = element
    return best


def _order(left: Any, right: Any) -> int:
    """Compare; values without an order count as equal."""
    try:
        return compare(left, right)
    except EvaluationError:
        return 0


GLOBALS = global_functions({"lists.range(int)": range_list})

MEMBERS = member_functions(
    {
        "slice(list, int, int)": slice_list,
        "flatten(list)": flatten,
        "flatten(list, int)": flatten,
        "distinct(list)": distinct,
        "reverse(list)": reverse,
        "sort(list)": sort,
        "isSorted(list)": is_sorted,
        "min(list)": least,
        "max(list)": greatest,
        "sum(list)": total,
        "indexOf(list, dyn)": index_of,
        "lastIndexOf(list, dyn)": last_index_of,
        "first(list)": first,
        "last(list)": last,
    }
)
