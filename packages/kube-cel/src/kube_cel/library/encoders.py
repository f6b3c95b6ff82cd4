"""
Base64, and `json.encode`.

`json.encode` is cel-go's. It follows protobuf's JSON mapping, in which integers that a double
cannot represent become strings and an absent optional has no value. Unlike `json.marshal` of the
kro library, it also encodes data with a schema.
"""

import base64
import math
import re
from typing import Any, Final

from kube_cel.library.dispatch import Function, global_functions
from kube_cel.library.json_encoder import NotEncodable, encode_json
from kube_cel.time_formats import format_timestamp
from kube_cel.values import (
    OMIT,
    DeferredError,
    Duration,
    EvaluationError,
    ListView,
    MapView,
    MixedMap,
    ObjectView,
    OptionalValue,
    Timestamp,
    TypeValue,
    UInt,
    check_size,
    kind_of,
)
from kube_objects import go_text
from kube_objects.go_numbers import format_double, format_seconds

_PADDED: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_FOREIGN: Final = re.compile(rb"[^A-Za-z0-9+/\r\n]")
_LINE_ENDS = str.maketrans("", "", "\r\n")

_TYPE = "type conversion not supported for 'type'"
_KEY_NAMES = {float: "Double", bool: "bool", list: "list", ListView: "list"}

_MAX_EXACT = 2**53 - 1


def base64_encode(data: bytes) -> str:
    """Encode with the standard alphabet and padding."""
    check_size((len(data) + 2) // 3 * 4)
    return base64.b64encode(data).decode("ascii")


def base64_decode(text: str) -> bytes:
    """Decode the standard alphabet; padding may be left out, line ends are skipped."""
    plain = text.translate(_LINE_ENDS)
    if not _PADDED.fullmatch(plain):
        length = len(plain)
        data = go_text.encode(text)
        foreign = _FOREIGN.search(data)
        if foreign:
            raise EvaluationError(f"illegal base64 data at input byte {foreign.start()}")
        if length % 4 == 1:
            raise EvaluationError(f"illegal base64 data at input byte {len(data) - 1}")
        plain += "=" * (-len(plain) % 4)
    return base64.b64decode(plain)


def json_encode(value: Any) -> str:
    """Write a value as JSON by protobuf's rules."""
    try:
        return encode_json(value, _SUBSTITUTES)
    except NotEncodable as error:
        culprit = error.value
        if type(culprit) is TypeValue:
            message = _TYPE
        elif type(culprit) is DeferredError:
            message = "type conversion error from list to '*structpb.Value'"
        elif culprit is OMIT:
            message = "unsupported native conversion from omit to *structpb.Value"
        else:
            name = kind_of(culprit).rpartition(".")[2]
            message = f"type conversion error from '{name}' to '*structpb.Value'"
        raise EvaluationError(message) from None


def _exact(number: int) -> Any:
    return int(number) if -_MAX_EXACT <= number <= _MAX_EXACT else str(number)


def _finite(number: float) -> float:
    if not math.isfinite(number):
        shown = format_double(number)
        raise EvaluationError(f"proto: google.protobuf.Value.number_value: invalid {shown} value")
    return number


def _with_text_keys(entries: MixedMap) -> dict[str, Any]:
    for key in entries:
        if type(key) is not str:
            if type(key) is int or type(key) is UInt:
                message = f"unsupported type conversion from '{kind_of(key)}' to string"
            elif type(key) is TypeValue:
                message = _TYPE
            else:
                name = _KEY_NAMES.get(type(key)) or f"'{kind_of(key).rpartition('.')[2]}'"
                message = f"type conversion error from {name} to 'string'"
            raise EvaluationError(message)
    return dict(entries.items())


def _unwrapped(optional: OptionalValue) -> Any:
    value: Any = optional
    while type(value) is OptionalValue:
        if not value.present:
            raise EvaluationError("optional.none() dereference")
        value = value.value
    substitute = _SUBSTITUTES.get(type(value))
    return substitute(value) if substitute else value


_SUBSTITUTES: dict[type, Any] = {
    int: _exact,
    UInt: _exact,
    float: _finite,
    bytes: base64_encode,
    Timestamp: format_timestamp,
    Duration: lambda duration: format_seconds(duration.nanos),
    OptionalValue: _unwrapped,
    MixedMap: _with_text_keys,
    # Data leaves as it came, as everywhere: names unescaped, dates untouched.
    ObjectView: lambda view: view.raw,
    MapView: lambda view: view.raw,
}

GLOBALS = global_functions(
    {
        "base64.encode(bytes)": base64_encode,
        "base64.decode(string)": base64_decode,
        "json.encode(dyn)": json_encode,
    }
)

MEMBERS: dict[tuple[str, str], Function] = {}
