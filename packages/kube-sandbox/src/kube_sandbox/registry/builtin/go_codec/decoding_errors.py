"""
Which of several values that do not fit is told.

Go's decoder notes the first value of a wrong type and reads on; a value that reads itself (a time,
a quantity) and cannot ends the reading at once, and is what is told. This is asked only when
something is wrong already.

Follows go 1.25 encoding/json/decode.go decodeState.saveError, decodeState.addErrorContext.
"""

from typing import Any

from kube_sandbox.registry.builtin.go_codec.readers import DecodeTypeError, reader_of
from kube_sandbox.registry.builtin.go_codec.struct_types import node_of

_CUSTOM_UNMARSHALERS = frozenset(("time", "micro", "duration", "quantity", "intstr"))


def decoding_error(index: int, value: Any) -> DecodeTypeError | None:
    """Return what ends the reading of a value, or `None`."""
    if value is None:
        return None
    node = node_of(index)
    if node[0] in _CUSTOM_UNMARSHALERS:
        try:
            reader_of(index)(value, [])
        except DecodeTypeError as misfit:
            return misfit
        return None
    if node[0] == "pointer":
        return decoding_error(node[2], value)
    if node[0] == "struct" and isinstance(value, dict):
        fields = {name: (inner, where) for name, inner, _, *where in node[2]}
        for key, item in value.items():
            if key not in fields:
                continue
            inner, where = fields[key]
            in_struct = decoding_error(inner, item)
            if in_struct is not None:
                in_struct.inside(f"{where[0]}{key}" if where else key, node[1])
                return in_struct
        return None
    items: Any = ()
    if node[0] == "list" and isinstance(value, list):
        items = value
    elif node[0] == "map" and isinstance(value, dict):
        items = value.values()
    found = (decoding_error(node[2], item) for item in items)
    return next((each for each in found if each is not None), None)
