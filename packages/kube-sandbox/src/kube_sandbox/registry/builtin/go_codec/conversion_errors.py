"""
What a real API server says of an object that cannot be converted from a map of values.

A strategic merge patch and a server-side apply end with such a map, not with JSON: the struct is
filled from it directly, and that has other words than a decoder for a value that does not fit.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/runtime/converter.go
unstructuredConverter.FromUnstructured, fromUnstructured.
"""

from typing import Any

from kube_sandbox.registry.builtin.go_codec.readers import DecodeTypeError, reader_of
from kube_sandbox.registry.builtin.go_codec.struct_types import Node, node_of

_KINDS: dict[type, str] = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    list: "slice",
    dict: "map",
}
_SCALARS = frozenset(("string", "bool", "int32", "int64", "float64"))
_NUMBERS = frozenset(("int32", "int64", "float64"))


def conversion_error(index: int, value: Any) -> str:
    """Return what is told of the first value that does not fit; empty if all do."""
    if value is None:
        return ""
    node = node_of(index)
    kind = node[0]
    if kind == "pointer":
        return conversion_error(node[2], value)
    if kind in _SCALARS:
        return _scalar(node, value)
    if kind == "struct":
        if not isinstance(value, dict):
            return f"cannot restore struct from: {_KINDS[type(value)]}"
        return _first((each[1], value.get(each[0])) for each in node[2])
    if kind == "map":
        if not isinstance(value, dict):
            return f"cannot restore map from {_KINDS[type(value)]}"
        return _first((node[2], each) for each in value.values())
    if kind == "list":
        if not isinstance(value, list):
            return f"cannot restore slice from {_KINDS[type(value)]}"
        return _first((node[2], each) for each in value)
    if node[0] == "bytes" and not isinstance(value, str):
        return f"cannot restore slice from {_KINDS[type(value)]}"
    try:
        reader_of(index)(value, [])
    except DecodeTypeError as misfit:
        return f"error decoding from json: {misfit}" if node[0] == "bytes" else str(misfit)
    return ""


def _scalar(node: Node, value: Any) -> str:
    kind, shown, given = node[0], node[1], _KINDS[type(value)]
    if given == kind or (given == "int64" and kind in _NUMBERS):
        return ""
    if given == "float64" and kind in _NUMBERS:
        return "" if value.is_integer() else f"cannot convert float64 to {shown}"
    if given == "int64" and kind == "string":
        return f"cannot convert int64 to {shown}"
    return f"unrecognized type: {kind}"


def _first(parts: Any) -> str:
    return next((said for index, each in parts if (said := conversion_error(index, each))), "")
