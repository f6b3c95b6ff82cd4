"""
What values are called: the names `type(x)` gives and error texts use.
"""

from typing import Any

from kube_cel.containers import ListView, MapView, MixedMap, ObjectView, PartialMap
from kube_cel.errors import EvaluationError, MissingData
from kube_cel.scalars import (
    Condition,
    Duration,
    Omit,
    OptionalValue,
    Runtime,
    Timestamp,
    TypeValue,
    UInt,
)
from kube_objects.go_numbers import format_double

KINDS: dict[type, str] = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    ListView: "list",
    dict: "map",
    MapView: "map",
    ObjectView: "map",
    PartialMap: "map",
    MixedMap: "map",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    OptionalValue: "optional_type",
    TypeValue: "type",
    Omit: Omit.KIND,
    Condition: Condition.KIND,
    Runtime: Runtime.KIND,
}


def kind_of(value: Any) -> str:
    """Return the CEL type name of a value: `int`, `map`, `kubernetes.Quantity` …."""
    kind = KINDS.get(type(value))
    return kind if kind is not None else getattr(value, "KIND", type(value).__name__)


def no_such_overload(function: str = "", *arguments: Any) -> EvaluationError:
    """
    Return the error for a call without a matching signature.

    cel-go says a bare `no such overload` where a function itself rejects its arguments, and
    `no such overload: getFullYear(string)` where none is found; pass the name for the latter.
    """
    if not function:
        return EvaluationError("no such overload")
    kinds = ", ".join(kind_of(argument) for argument in arguments)
    return EvaluationError(f"no such overload: {function}({kinds})")


def conversion_failed(value: Any, target: str) -> EvaluationError:
    """Make `type conversion error from 'string' to 'int'`."""
    return EvaluationError(f"type conversion error from '{kind_of(value)}' to '{target}'")


def no_such_key(key: Any) -> EvaluationError:
    """Return the error `no such key: k` with the key as Go prints it, or of a wrong key type."""
    if type(key) in KEY_TYPES:
        return MissingData(f"no such key: {key_text(key)}")
    return EvaluationError(f"invalid qualifier type: {go_type(key)}")


def key_text(key: Any) -> str:
    """Print a map's key as Go does."""
    if type(key) is bool:
        return "true" if key else "false"
    return format_double(key) if type(key) is float else str(key)


def not_iterable(value: Any, *, pairs: bool = False) -> EvaluationError:
    """Make the error for a loop over something that has no elements."""
    if pairs:
        return EvaluationError(f"unsupported comprehension range type: {go_type(value)}")
    return EvaluationError(f"got '{go_type(value)}', expected iterable type")


def go_type(value: Any) -> str:
    """Name the Go type of a value; those of libraries are Kubernetes' own, in a package `cel`."""
    return _GO_TYPES.get(type(value)) or f"cel.{kind_of(value).rpartition('.')[2]}"


KEY_TYPES = frozenset({str, int, UInt, float, bool})
"""Types of keys that are allowed in brackets; other keys can only be used with `in`."""

_GO_TYPES: dict[type, str] = {
    bool: "types.Bool",
    int: "types.Int",
    UInt: "types.Uint",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    type(None): "types.Null",
    Timestamp: "types.Timestamp",
    Duration: "types.Duration",
    OptionalValue: "*types.Optional",
    TypeValue: "*types.Type",
    list: "*types.baseList",
    ListView: "*unstructured.unstructuredList",
    dict: "*types.baseMap",
    MixedMap: "*types.baseMap",
    MapView: "*unstructured.unstructuredMap",
    ObjectView: "*unstructured.unstructuredMap",
    Omit: "*library.omitVal",
    Runtime: "*library.runtimeValue",
}
