"""
Values that Python has no class for.

Where Python has one it is used as it is: `int`, `float`, `str`, `bytes`, `bool`, `None`,
`list`, `dict`. Times are whole nanoseconds, because CEL's are and Python's are not. Types of
a library (quantities, addresses, versions) derive from `Opaque` in the library's own file.

None of these may be compared with `==` by code that does not know the operands' types:
`True == 1` holds in Python and not in CEL. `equality.equals` knows.
"""

from dataclasses import dataclass
from typing import Any, ClassVar


class UInt(int):
    """An unsigned 64-bit integer."""

    __slots__ = ()


class _Nanoseconds:
    """A number of nanoseconds that compares with its own kind only."""

    __slots__ = ("nanos",)

    def __init__(self, nanos: int) -> None:
        self.nanos = nanos

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.nanos == self.nanos

    def __lt__(self, other: Any) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return bool(self.nanos < other.nanos)

    def __hash__(self) -> int:
        return hash((type(self), self.nanos))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.nanos})"


class Timestamp(_Nanoseconds):
    """
    A point in time: nanoseconds since 1970-01-01T00:00:00Z.

    `offset` (seconds east) is the zone it was written in. Only `string()` shows it.
    """

    __slots__ = ("offset",)

    def __init__(self, nanos: int, offset: int = 0) -> None:
        self.nanos = nanos
        self.offset = offset


class Duration(_Nanoseconds):
    """A span of time in nanoseconds."""

    __slots__ = ()


class OptionalValue:
    """`optional.of(value)`, or none when not `present`."""

    __slots__ = ("present", "value")

    def __init__(self, value: Any = None, present: bool = True) -> None:
        self.value = value
        self.present = present

    def __repr__(self) -> str:
        return f"OptionalValue({self.value!r})" if self.present else "NONE"


NONE = OptionalValue(None, present=False)


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type's name used as a value: what `type(x)` gives."""

    name: str


class Opaque:
    """
    Base of a library's own values: `KIND` is the CEL type name.

    Two of them are equal if they are of one class and equal by Python's `==`.
    """

    __slots__ = ()
    KIND: ClassVar[str]


class Omit(Opaque):
    """The sentinel of `omit()`: the field it would fill is left out."""

    __slots__ = ()
    KIND = "kro.omit"

    def __repr__(self) -> str:
        return "OMIT"


OMIT = Omit()


@dataclass(frozen=True, slots=True)
class Condition(Opaque):
    """A status condition as `runtime.newCondition` makes it; empty texts when not found."""

    KIND = "kro.run.Condition"

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class Runtime(Opaque):
    """The variable `runtime`: a receiver for its functions, nothing more."""

    __slots__ = ()
    KIND = "kro.run.Runtime"


RUNTIME = Runtime()
