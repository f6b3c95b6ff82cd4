"""
Which values have been met before, by CEL's idea of equality.

Values are put into buckets by what equal values must share, so that a long list need not be
compared with itself element by element. Within a bucket `equals` decides.
"""

from collections.abc import Iterable
from typing import Any

from kro_gitops.cel.values import LISTS, MAPS, NUMBERS, equals, kind_of

_BY_THEMSELVES = NUMBERS | {str, bytes}


class Members:
    """A set of values, in the order they came."""

    __slots__ = ("_buckets",)

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self._buckets: dict[Any, list[Any]] = {}
        for value in values:
            self.add(value)

    def add(self, value: Any) -> bool:
        """Take a value in; return False if an equal one is there already."""
        bucket = self._buckets.setdefault(_bucket(value), [])
        if any(equals(value, other) for other in bucket):
            return False
        bucket.append(value)
        return True

    def __contains__(self, value: Any) -> bool:
        bucket = self._buckets.get(_bucket(value), ())
        return any(equals(value, other) for other in bucket)


def _bucket(value: Any) -> Any:
    """Return something hashable that equal values have in common."""
    kind = type(value)
    if kind in _BY_THEMSELVES:
        return value  # Python, too, takes 1 and 1.0 for the same key
    if kind is bool:
        return (bool, value)
    if kind in LISTS:
        return (list, len(value))
    if kind in MAPS:
        texts = frozenset(item for item in value.items() if type(item[1]) is str)
        return (dict, len(value), texts)
    return kind_of(value)
