"""
Sizes and costs with saturating arithmetic, and paths to values that have a size.

A cost is a plain number, the worst case. A size has a lower and an upper bound, because the
shortest pattern causes the most replacements.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

MAX_COST = 2**64 - 1
PER_CHARACTER = 0.1
PER_PATTERN_CHARACTER = 0.25


def plus(left: int, right: int) -> int:
    """Add."""
    return min(left + right, MAX_COST)


def times(left: int, right: int) -> int:
    """Multiply."""
    return min(left * right, MAX_COST)


def scaled(number: int, factor: float) -> int:
    """Multiply by a fraction, rounding up."""
    exact = float(number)
    if exact > 0 and factor > 0 and exact > MAX_COST / factor:
        return MAX_COST
    return min(math.ceil(exact * factor), MAX_COST)


@dataclass(frozen=True, slots=True)
class Size:
    """How many characters, bytes, elements or entries a value has: at least, at most."""

    least: int
    most: int

    def plus(self, other: "Size") -> "Size":
        """Return the size of both, one after the other."""
        return Size(plus(self.least, other.least), plus(self.most, other.most))

    def times(self, other: "Size") -> "Size":
        """Return the product of two sizes."""
        return Size(times(self.least, other.least), times(self.most, other.most))

    def or_else(self, other: "Size") -> "Size":
        """Return the size of a value that is one of the two."""
        return Size(min(self.least, other.least), max(self.most, other.most))


UNKNOWN = Size(0, MAX_COST)
ONE = Size(1, 1)
NOTHING = Size(0, 0)

SizeAt = Callable[[Sequence[str]], int | None]
"""
The maximum size of the value at a path, or None if it is unknown.

A path is a variable's name, then names of fields, `@items`, `@values`, `@keys` or `@indices`.
"""


@dataclass(frozen=True, slots=True)
class Entries:
    """The sizes of what is in a list or a map; keys of a list are its indices."""

    kind: str
    key: Size
    value: Size

    def or_else(self, other: "Entries | None") -> "Entries | None":
        """Return what is in a value that is one of the two."""
        if other is None:
            return None
        return Entries(self.kind, self.key.or_else(other.key), self.value.or_else(other.value))


class Path:
    """
    A path that grows as a slice does in Go.

    Two paths that grew from one share their room as long as there is any, and the later overwrites
    the end of the earlier. In the real estimate this happens to fields of a loop's variable: in
    `list.all(x, x.texts[x.index] == 'a')` the text is sought below `index`, not found, and taken
    to be as long as can be.
    """

    __slots__ = ("_length", "_room")

    def __init__(self, room: list[str], length: int) -> None:
        self._room = room
        self._length = length

    @staticmethod
    def of(*names: str) -> "Path":
        """Make a path without room to grow."""
        return Path(list(names), len(names))

    def below(self, name: str) -> "Path":
        """Return the path one step further."""
        length, room = self._length, self._room
        if length == len(room):
            room = [*room, *[""] * max(1, length)]
        room[length] = name
        return Path(room, length + 1)

    @property
    def names(self) -> list[str]:
        """The steps of the path, as they are now."""
        return self._room[: self._length]
