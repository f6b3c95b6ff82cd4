"""
Bodies as Go holds them: decoded into a struct of their kind and encoded again.

On the way unknown fields are lost, `null` becomes absent, a zero is dropped from a field with
omitempty, and structs that are not pointers appear even if the client left them out. The data file
beside this module describes every struct (see `tools/package_data/typed_form.py`).

A value of the wrong type is a `StatusError` 400; what only strict decoding rejects is a list of
texts (`unknown field "spec.foo"`). A strategic merge patch and a server-side apply end with a map
of values instead of JSON: `conversion_error` has the messages of that path. Of several wrong values
Go's decoder reports the first, but a value that decodes itself (a time, a quantity) ends decoding
at once: `decoding_error` finds which one is reported.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/runtime/serializer/json/json.go Serializer.Decode,
Serializer.unmarshal; k8s.io/apimachinery/pkg/runtime/converter.go
unstructuredConverter.FromUnstructured, fromUnstructured; go 1.25 encoding/json/decode.go
decodeState.saveError, decodeState.addErrorContext.
"""

from functools import cache
from typing import Any

from kube_objects.refs import Kind, KubeObject
from kube_sandbox.api_errors import StatusError, bad_request
from kube_sandbox.registry.builtin.go_codec.readers import DecodeTypeError, reader_of
from kube_sandbox.registry.builtin.go_codec.strict_decoding import MAX_STRICT_ERRORS, strict_errors
from kube_sandbox.registry.builtin.go_codec.struct_types import node_of, types

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
_CUSTOM_UNMARSHALERS = frozenset(("time", "micro", "duration", "quantity", "intstr"))


class GoRoundTrip:
    """How the objects of one kind are read."""

    def __init__(self, kind: Kind, node: int) -> None:
        self.kind = kind
        self._node = node
        self._read = reader_of(node)

    def read(self, body: KubeObject) -> tuple[KubeObject, list[str]]:
        """
        Return the object in its normal form, and its unknown fields as strict decoding tells them.

        Raise a StatusError for a value of the wrong type. The body is not changed and shares
        nothing with the result that anyone would change.
        """
        strict: list[str] = []
        try:
            found: KubeObject = self._read(body, strict)
        except DecodeTypeError as error:
            message = decoding_error(self._node, body) or error
            raise self.refusal(str(message)) from None
        return found, [f'unknown field "{each}"' for each in dict.fromkeys(strict)][
            :MAX_STRICT_ERRORS
        ]

    def normal(self, body: KubeObject) -> KubeObject:
        """Return the object in its normal form, whatever strict decoding minds."""
        return self.read(body)[0]

    def refusal(self, why: str) -> StatusError:
        """Say that a body cannot be decoded."""
        name = self.kind.kind
        return bad_request(
            f'{name} in version "{self.kind.version}" cannot be handled as a {name}: {why}'
        )

    def conversion_error(self, body: KubeObject) -> str:
        """Return why a body cannot be converted from a map of values; empty if it can."""
        return conversion_error(self._node, body)

    def strict_errors(self, raw: bytes) -> list[str]:
        """Return all that strict decoding minds in a body's text, in the order of the text."""
        return strict_errors(self._node, raw)


@cache
def round_trip_of(kind: Kind) -> GoRoundTrip | None:
    """Return the codec of a built-in kind, or `None`; the same object every time."""
    node = types()["kinds"].get(f"{kind.api_version} {kind.kind}")
    return None if node is None else GoRoundTrip(kind, node)


def strict_refusal(texts: list[str]) -> str:
    """Return the message of a body that strict decoding rejects."""
    return f"strict decoding error: {', '.join(texts)}"


def conversion_error(index: int, value: Any) -> str:
    """Return the error of the first value that cannot be converted; empty if all can."""
    if value is None:
        return ""
    node = node_of(index)
    kind = node[0]
    if kind == "pointer":
        return conversion_error(node[2], value)
    if kind in _SCALARS:
        shown, given = node[1], _KINDS[type(value)]
        if given == kind or (given == "int64" and kind in _NUMBERS):
            return ""
        if given == "float64" and kind in _NUMBERS:
            return "" if value.is_integer() else f"cannot convert float64 to {shown}"
        if given == "int64" and kind == "string":
            return f"cannot convert int64 to {shown}"
        return f"unrecognized type: {kind}"
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
    except DecodeTypeError as error:
        return f"error decoding from json: {error}" if node[0] == "bytes" else str(error)
    return ""


def _first(parts: Any) -> str:
    return next((said for index, each in parts if (said := conversion_error(index, each))), "")


def decoding_error(index: int, value: Any) -> DecodeTypeError | None:
    """Return what ends the reading of a value, or `None`."""
    if value is None:
        return None
    node = node_of(index)
    if node[0] in _CUSTOM_UNMARSHALERS:
        try:
            reader_of(index)(value, [])
        except DecodeTypeError as error:
            return error
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
