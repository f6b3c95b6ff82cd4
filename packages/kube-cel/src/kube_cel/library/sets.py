"""
Lists as sets: order and repetition do not count.

`ValueSet` holds values by CEL's equality. Values are put into buckets by what equal values must
share, so that a long list need not be compared with itself element by element; within a bucket `==`
decides.
"""

from collections.abc import Iterable
from typing import Any

from kube_cel.budget import estimate_work
from kube_cel.library.dispatch import Function, global_functions
from kube_cel.library.operators import not_equal
from kube_cel.values import (
    LISTS,
    MAPS,
    MAX_PARTS,
    NUMBERS,
    EvaluationStopped,
    kind_of,
)

_CONTAINERS = frozenset({*LISTS, *MAPS})


class ValueSet:
    """A set of values, in the order they came."""

    __slots__ = ("_buckets", "_work")

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self._buckets: dict[Any, list[Any]] = {}
        self._work = 0
        for value in values:
            self.add(value)

    def add(self, value: Any) -> bool:
        """Take a value in; return False if an equal one is there already."""
        self._charge(1 + (len(value) if type(value) in _CONTAINERS else 0))
        bucket = self._buckets.setdefault(_bucket(value), [])
        if bucket and self._is_one_of(value, bucket):
            return False
        bucket.append(value)
        return True

    def __contains__(self, value: Any) -> bool:
        return self._is_one_of(value, self._buckets.get(_bucket(value), []))

    def _is_one_of(self, value: Any, bucket: list[Any]) -> bool:
        weight = 1 + estimate_work(value, MAX_PARTS)
        for other in bucket:
            self._charge(weight)  # for many values may be made to fall into one bucket
            if not not_equal(value, other):
                return True
        return False

    def _charge(self, work: int) -> None:
        self._work += work
        if self._work > MAX_PARTS:
            raise EvaluationStopped(f"more than {MAX_PARTS} comparisons of values")


def _bucket(value: Any) -> Any:
    """Return something hashable that equal values have in common."""
    kind = type(value)
    if kind in LISTS:
        return (list, len(value), frozenset(map(_sketch, value)))  # some lists have no order
    if kind in MAPS:
        return (dict, frozenset((_sketch(key), _sketch(held)) for key, held in value.items()))
    return _sketch(value)


def _sketch(value: Any) -> Any:
    """Do the same without looking into containers."""
    kind = type(value)
    if kind is str or kind is bytes:
        return value
    if kind is bool:
        return (bool, value)
    if kind in NUMBERS:
        return float(value)  # beside a double, integers are compared as doubles
    return (kind_of(value), len(value) if kind in _CONTAINERS else 0)


def contains(elements: Any, wanted: Any) -> bool:
    """Return whether the elements contain all values of `wanted`."""
    members = ValueSet(elements)
    return all(value in members for value in wanted)


def equivalent(left: Any, right: Any) -> bool:
    """Return whether each list contains the other."""
    return contains(left, right) and contains(right, left)


def intersects(left: Any, right: Any) -> bool:
    """Return whether the lists share a value."""
    members = ValueSet(right)
    return any(value in members for value in left)


GLOBALS = global_functions(
    {
        "sets.contains(list, list)": contains,
        "sets.equivalent(list, list)": equivalent,
        "sets.intersects(list, list)": intersects,
    }
)

MEMBERS: dict[tuple[str, str], Function] = {}
