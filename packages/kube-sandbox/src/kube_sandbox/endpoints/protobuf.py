"""
Bodies that Go clients send as protobuf → objects.

Typed clients, and kubectl where it uses them, send protobuf whatever the server speaks; they take
JSON for an answer. So it is read here and never written. Which field has which number is data
(`documents/messages.json.xz`). An optional field with the zero value is left out, as in JSON.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/runtime/serializer/protobuf/protobuf.go
Serializer.Decode.
"""

import lzma
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from kube_objects.refs import KubeObject
from kube_objects.times import format_micro_time, format_time
from kube_sandbox import api_errors
from kube_sandbox.nesting import is_too_deep

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"

_MAGIC = b"k8s\x00"
_META = "k8s.io.apimachinery.pkg.apis.meta.v1"
_DEFINITIONS = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_SIGN = 1 << 63

Field = tuple[str, str, str, bool]  # name, type, how many, whether zero is nothing


class _MalformedError(Exception):
    """A body is not what it claims to be."""


def decoded(body: bytes) -> KubeObject:
    """Decode a body; raise if it is malformed or of an unknown kind."""
    try:
        # Take apart what is around every object: its kind, and its content.
        if not body.startswith(_MAGIC):
            raise _MalformedError("it does not begin with k8s")
        parts = {number: value for number, _, value in _fields(memoryview(body)[len(_MAGIC) :])}
        envelope_kind = {
            number: bytes(value).decode() for number, _, value in _fields(_view(parts.get(1)))
        }
        api_version, kind, raw = (
            envelope_kind.get(1, ""),
            envelope_kind.get(2, ""),
            bytes(_view(parts.get(2))),
        )
        known = _known()
        # Options have a kind in every group.
        for package in (known["packages"].get(api_version), _META):
            if f"{package}.{kind}" in known["messages"]:
                name = f"{package}.{kind}"
                break
        else:
            raise _MalformedError(f"there is no {kind} in {api_version}")
        content = _message(name, memoryview(raw))
        if is_too_deep(content):
            raise _MalformedError("exceeded max depth")
    except (_MalformedError, ValueError, RecursionError) as error:
        raise api_errors.bad_request(f"the body is no object in protobuf: {error}") from None
    return {"apiVersion": api_version, "kind": kind, **content}


def _message(name: str, view: memoryview) -> Any:
    """Read a message."""
    special = _SPECIAL.get(name)
    if special is not None:
        return special(view)
    fields: Mapping[str, Field] = _known()["messages"][name]
    found: dict[str, Any] = {}
    for number, wire, value in _fields(view):
        field = fields.get(str(number))
        if field is not None:
            # Add what a field says to the message it is in.
            put_name, kind, many, is_zero_nothing = field
            if many == "%":
                entry = {number: (part, item) for number, part, item in _fields(_view(value))}
                key = bytes(_view(entry.get(1, (0, b""))[1])).decode()
                wire, item = entry.get(2, (_BYTES, memoryview(b"")))
                found.setdefault(put_name, {})[key] = _value(kind, wire, item)
            elif many == "*":
                found.setdefault(put_name, []).append(_value(kind, wire, value))
            elif not put_name:
                found.update(_message(kind, _view(value)))
            else:
                read = _value(kind, wire, value)
                if not is_zero_nothing or read or isinstance(read, dict):
                    found[put_name] = read
    if "1" in fields and fields["1"][0] == "[]":
        return found.get("[]", [])
    return {key: value for key, value in found.items() if value is not None}


def _value(kind: str, wire: int, value: Any) -> Any:
    match kind:
        case "string":
            return bytes(_view(value)).decode()
        case "bytes":
            return b64encode(_view(value)).decode()
        case "bool":
            return bool(value)
        case "int32" | "int64" | "uint32" | "uint64":
            if wire != _VARINT:
                raise _MalformedError("a number is written as something else")
            return value - 2 * _SIGN if value >= _SIGN and kind.startswith("int") else value
        case "double":
            return memoryview(_view(value)).cast("d")[0]
        case _:
            return _message(kind, _view(value))


def _fields(view: memoryview) -> Iterator[tuple[int, int, Any]]:
    """Yield number, way of writing and value of each field; numbers as such, the rest as bytes."""
    place, end = 0, len(view)
    while place < end:
        tag, place = _varint(view, place)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, place = _varint(view, place)
            yield number, wire, value
            continue
        if wire == _BYTES:
            length, place = _varint(view, place)
        elif wire in (_FIXED64, _FIXED32):
            length = 8 if wire == _FIXED64 else 4
        else:
            raise _MalformedError(f"illegal wire type {wire}")
        if place + length > end:
            raise _MalformedError("unexpected end")
        yield number, wire, view[place : place + length]
        place += length


def _varint(view: memoryview, place: int) -> tuple[int, int]:
    found = shift = 0
    while place < len(view) and shift < 70:
        byte = view[place]
        place += 1
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return found, place
        shift += 7
    raise _MalformedError("unexpected end")


def _view(value: Any) -> memoryview:
    """Return the bytes of a length-delimited field; a missing field is empty."""
    if value is None:
        return memoryview(b"")
    if isinstance(value, int):
        raise _MalformedError("a number stands where bytes are expected")
    return memoryview(value)


def _by_number(view: memoryview) -> dict[int, Any]:
    return {number: value for number, _, value in _fields(view)}


def _time(view: memoryview, write: Callable[[datetime], str]) -> str | None:
    parts = _by_number(view)
    if not parts:
        return None
    seconds = parts.get(1, 0)
    seconds = seconds - 2 * _SIGN if seconds >= _SIGN else seconds
    try:
        moment = _EPOCH + timedelta(seconds=seconds, microseconds=parts.get(2, 0) // 1000)
    except OverflowError:
        raise _MalformedError("a time is out of range") from None
    return write(moment)


def _quantity(view: memoryview) -> str:
    return bytes(_view(_by_number(view).get(1))).decode()


def _int_or_string(view: memoryview) -> int | str:
    """Decode `intstr.IntOrString`: field 1 says which of the other two is meant."""
    parts = _by_number(view)
    if parts.get(1, 0) == 0:
        number: int = _value("int32", _VARINT, parts.get(2, 0))
        return number
    return bytes(_view(parts.get(3))).decode()


def _json(view: memoryview) -> Any:
    raw = bytes(_view(_by_number(view).get(1)))
    return orjson.loads(raw) if raw else None


def _schema_or_list(view: memoryview) -> Any:
    schemas = [_schema(_view(value)) for number, _, value in _fields(view) if number == 2]
    return schemas or _schema_or_bool(view)


def _schema_or_bool(view: memoryview) -> Any:
    parts = {number: value for number, wire, value in _fields(view) if wire == _VARINT}
    schema = next((value for _, wire, value in _fields(view) if wire == _BYTES), None)
    return _schema(_view(schema)) if schema is not None else bool(parts.get(1))


def _schema(view: memoryview) -> Any:
    return _message(f"{_DEFINITIONS}.JSONSchemaProps", view)


_SPECIAL: Mapping[str, Callable[[memoryview], Any]] = {
    f"{_META}.Time": lambda view: _time(view, format_time),
    f"{_META}.MicroTime": lambda view: _time(view, format_micro_time),
    f"{_META}.FieldsV1": _json,
    "k8s.io.apimachinery.pkg.api.resource.Quantity": _quantity,
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
    "k8s.io.apimachinery.pkg.runtime.RawExtension": _json,
    f"{_DEFINITIONS}.JSON": _json,
    f"{_DEFINITIONS}.JSONSchemaPropsOrArray": _schema_or_list,
    f"{_DEFINITIONS}.JSONSchemaPropsOrBool": _schema_or_bool,
}


@cache
def _known() -> dict[str, Any]:
    file = files("kube_sandbox") / "documents" / "messages.json.xz"
    content: dict[str, Any] = orjson.loads(lzma.decompress(file.read_bytes()))
    return content
