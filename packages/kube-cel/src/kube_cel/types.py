"""
CEL types: values that print, parse and compare.

A type is a name and its parameters; `list(int)` is `Type("list", (INT,))`. Object types made
from schemas are nominal: they carry only their name (`__type_schema.spec`) and equal nothing
but themselves; the environment knows their fields. Which type accepts which is decided by
`unification`, because it depends on what type variables are bound to.
"""

import re
from dataclasses import dataclass, field

MAX_TYPE_SIZE = 1000  # parts; `cel.bind` can double a type with every line of an expression


class TypeTooLarge(ValueError):  # noqa: N818 - describes the type
    """A type with too many parts to be written in good faith."""


@dataclass(frozen=True, slots=True)
class Type:
    """
    One type.

    `kind` is a primitive's name (`int`, `dyn`, `null_type` …), a constructor (`list`, `map`,
    `optional_type`, `type`), `object` (then `name` says which; opaque types such as
    `kubernetes.Quantity` are objects too), `param` (a signature's `<T>`), `var` (the
    checker's stand-in for a parameter) or `error`.

    `is_open` says that a parameter or variable occurs somewhere inside: only then can the
    type mean something else once variables are bound.
    """

    kind: str
    parameters: tuple["Type", ...] = ()
    name: str = ""
    is_open: bool = field(init=False, compare=False, repr=False)
    _size: int = field(init=False, compare=False, repr=False)
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        is_open = self.kind == "var" or self.kind == "param"
        size = 1
        for parameter in self.parameters:
            is_open = is_open or parameter.is_open
            size += parameter._size
        if size > MAX_TYPE_SIZE:
            raise TypeTooLarge(f"type has more than {MAX_TYPE_SIZE} parts")
        object.__setattr__(self, "is_open", is_open)
        object.__setattr__(self, "_size", size)
        object.__setattr__(self, "_hash", hash((self.kind, self.parameters, self.name)))

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return format_type(self)


DYN = Type("dyn")
BOOL = Type("bool")
INT = Type("int")
UINT = Type("uint")
DOUBLE = Type("double")
STRING = Type("string")
BYTES = Type("bytes")
NULL = Type("null_type")
TIMESTAMP = Type("google.protobuf.Timestamp")
DURATION = Type("google.protobuf.Duration")
ERROR = Type("error")

PRIMITIVES = {
    primitive.kind: primitive
    for primitive in (
        *(DYN, BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, TIMESTAMP, DURATION),
        Type("type"),  # of a type about which nothing is known
    )
}

# Object types that cel-go knows to be opaque; of others without fields, such as
# `kubernetes.Quantity`, it only says that it cannot resolve them.
OPAQUE_NAMES = frozenset({"net.IP", "net.CIDR"})

CONSTRUCTORS = frozenset({"list", "map", "optional_type", "type"})

# What signatures and the checker's own messages call these, as cel-go does.
_SHORT_NAMES = {
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
    "null": "null_type",
}
_MESSAGE_NAMES = {long: short for short, long in _SHORT_NAMES.items()}


def list_of(element: Type) -> Type:
    """Make `list(element)`."""
    return Type("list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """Make `map(key, value)`."""
    return Type("map", (key, value))


def optional_of(value: Type) -> Type:
    """Make `optional_type(value)`."""
    return Type("optional_type", (value,))


def type_of(described: Type) -> Type:
    """Make `type(described)`, the type of a type's name used as a value."""
    return Type("type", (described,))


def object_of(name: str) -> Type:
    """Make the nominal type `name`."""
    return Type("object", (), name)


def format_type(shown: Type) -> str:
    """Print a type as messages name it: `map(string, dyn)`, `__type_schema.spec`."""
    if shown.kind == "object":
        return shown.name
    if shown.kind == "param":
        return f"<{shown.name}>"
    if shown.kind == "var":
        return "dyn"
    if shown.kind == "error":
        return "!error!"
    if not shown.parameters:
        return shown.kind
    return f"{shown.kind}({', '.join(map(format_type, shown.parameters))})"


def format_for_message(shown: Type) -> str:
    """Print a type as cel-go's own messages do: `null`, `timestamp`, `duration`."""
    if shown.parameters:
        return f"{shown.kind}({', '.join(map(format_for_message, shown.parameters))})"
    return _MESSAGE_NAMES.get(shown.kind) or format_type(shown)


def parse_type(text: str) -> Type:
    """Read a type: the inverse of `format_type`, with `timestamp`, `duration` and `null` too."""
    found, rest = _parse(text.strip())
    if rest:
        raise ValueError(f"unexpected {rest!r} in type {text!r}")
    return found


_NAME = re.compile(r"[\w.@]+")


def _parse(text: str) -> tuple[Type, str]:
    """Read one type off the front of `text`; return it and what is left."""
    if text.startswith("<"):
        name, _, rest = text[1:].partition(">")
        return Type("param", (), name), rest.lstrip()
    matched = _NAME.match(text)
    if matched is None:
        raise ValueError(f"expected a type, found {text!r}")
    name, rest = matched[0], text[matched.end() :].lstrip()
    if name in CONSTRUCTORS and rest.startswith("("):
        parameters: list[Type] = []
        separator, rest = ",", rest[1:]
        while separator == ",":
            parameter, rest = _parse(rest.lstrip())
            parameters.append(parameter)
            separator, rest = rest[:1], rest[1:].lstrip()
        if separator != ")":
            raise ValueError(f"expected ')' before {separator + rest!r}")
        return Type(name, tuple(parameters)), rest
    name = _SHORT_NAMES.get(name, name)
    return PRIMITIVES.get(name) or object_of(name), rest
