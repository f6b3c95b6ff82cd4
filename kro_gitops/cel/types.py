"""
CEL types: values that print, parse and compare.

A type is a name and its parameters; `list(int)` is `Type("list", (INT,))`. Object types made
from schemas are nominal: they carry only their name (`__type_schema.spec`) and equal nothing
but themselves; their fields are the environment's to know. Which type accepts which is the
checker's business (`check`), because it depends on what type variables are bound to.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Type:
    """
    One type.

    `kind` is a primitive's name (`int`, `dyn`, `null_type` …), a constructor (`list`, `map`,
    `optional_type`, `type`), `object` (then `name` says which; opaque types such as
    `kubernetes.Quantity` are objects too), `param` (a signature's `<T>`), `var` (the
    checker's stand-in for a parameter) or `error`.
    """

    kind: str
    parameters: tuple["Type", ...] = ()
    name: str = ""

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
    """Print a type as kro's messages name it: `map(string, dyn)`, `__type_schema.spec`."""
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
    return f"{shown.kind}({', '.join(format_type(p) for p in shown.parameters)})"
