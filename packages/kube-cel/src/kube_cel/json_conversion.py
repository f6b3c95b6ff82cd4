"""
From CEL values back to JSON data.

A map of the input data is returned as it came: copied, with dates, nulls and key names unchanged.
Everything the expression created is converted element by element.

Nothing here recurses, because data may be nested deeper than Python's stack: containers still to be
filled wait on a list, and created nodes are counted.
"""

from collections.abc import Iterable
from typing import Any

from kube_cel.containers import (
    LISTS,
    MAPS,
    ListView,
    MapView,
    MixedMap,
    ObjectView,
    PartialMap,
)
from kube_cel.errors import ConversionError
from kube_cel.scalars import OMIT, Duration, Omit, OptionalValue, Timestamp, UInt
from kube_cel.time_formats import MIN_SECONDS, SECOND, format_timestamp_utc
from kube_cel.type_names import kind_of
from kube_objects.go_numbers import format_duration

_JSON_TYPES = frozenset({str, int, float, bool, type(None)})
_GO_KEYS: dict[type, str] = {
    int: "int64",
    UInt: "uint64",
    float: "float64",
    bool: "bool",
    type(None): "<nil>",
    **dict.fromkeys(LISTS, "[]interface {}"),
    **dict.fromkeys(MAPS, "map[string]interface {}"),
    Omit: "sentinels.Omit",
}
_BYTES = (
    "unsupported type: bytes value cannot be used directly in a resource template or status "
    "field; encode it explicitly, e.g. base64.encode(...)"
)
_YEAR_ONE = MIN_SECONDS * SECOND


MAX_NODES = 1_000_000
MAX_DEPTH = 10_000

_Waiting = list[tuple[Any, Iterable[tuple[Any, Any]], int]]
"""A container, what goes into it, and how deep it sits."""


def to_json(
    value: Any, *, strict: bool = True, max_nodes: int = MAX_NODES, max_depth: int = MAX_DEPTH
) -> Any:
    """
    Convert a value to JSON, with `OMIT` left in place.

    `strict` rejects what an object cannot hold: bytes, and integers beyond signed 64 bits.
    Otherwise both are left as they are, for encoders that have their own way with them.
    """
    if type(value) in _JSON_TYPES:
        return value
    waiting: _Waiting = []
    result = _begin(value, 1, waiting, strict)
    nodes = 0
    while waiting:
        made, children, depth = waiting.pop()
        for key, child in children:
            if type(child) in _JSON_TYPES:
                made[key] = child
            else:
                made[key] = _begin(child, depth + 1, waiting, strict)
        nodes += len(made)
        if nodes > max_nodes:
            raise ConversionError(f"the result has more than {max_nodes} values")
        if depth > max_depth:
            raise ConversionError(f"the result is nested more than {max_depth} levels deep")
    return result


def _begin(value: Any, depth: int, waiting: _Waiting, strict: bool) -> Any:
    """Convert a scalar, or make a container and note what must go into it."""
    while type(value) is OptionalValue:
        value = value.value if value.present else None
    kind = type(value)
    if kind is ObjectView or kind is MapView:
        value, kind = value.raw, type(value.raw)
    if kind is dict:
        flat = _JSON_TYPES.issuperset(map(type, value.values()))
        made = value.copy() if flat else {}
        waiting.append((made, () if flat else value.items(), depth))
        return made
    if kind is list or kind is ListView:
        elements = list(value)
        flat = _JSON_TYPES.issuperset(map(type, elements))
        waiting.append((elements, () if flat else enumerate(elements), depth))
        return elements
    if kind is MixedMap:
        entries = []
        for key, child in value.items():
            # Convert a key, of which only a text will do.
            while type(key) is OptionalValue:
                key = key.value if key.present else None
            if type(key) is Timestamp or type(key) is Duration:
                key = _scalar(key, strict=True)
            if type(key) is str:
                text_key: Any = key
            else:
                found = _GO_KEYS.get(type(key))
                if found is not None:
                    raise ConversionError(f"map key must be string, got {found}")
                raise ConversionError(
                    f"failed to convert map key: unsupported type: {kind_of(key)}"
                )
            entries.append((text_key, child))
        made = {}
        waiting.append((made, entries, depth))
        return made
    if kind is PartialMap:
        raise value.unknown()
    return _scalar(value, strict=strict)


def _scalar(value: Any, *, strict: bool) -> Any:
    kind = type(value)
    if kind in _JSON_TYPES or value is OMIT:
        return value
    if kind is UInt:
        if strict and value >= 2**63:
            raise ConversionError(
                f"unsupported type: uint value {int(value)} overflows int64; "
                "convert it explicitly, e.g. string(...)"
            )
        return int(value)
    if kind is Timestamp:
        # Kubernetes writes the zero time as null.
        return None if value.nanos == _YEAR_ONE else format_timestamp_utc(value)
    if kind is Duration:
        return format_duration(value.nanos)
    if kind is bytes and not strict:
        return value
    raise ConversionError(_BYTES if kind is bytes else f"unsupported type: {kind_of(value)}")
