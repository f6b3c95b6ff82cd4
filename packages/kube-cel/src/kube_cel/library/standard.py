"""
What every CEL environment has: conversions, `size`, `type`, `dyn`.

A conversion is a table from the Python type of a value to the function that converts it; types that
are not in the table do not convert. Operators are in `operators`, times in `timestamps`.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from kube_cel.containers import LISTS, MAPS
from kube_cel.errors import EvaluationError
from kube_cel.library.operators import int_in_range, overload_error, uint_in_range
from kube_cel.scalars import Duration, Opaque, Timestamp, TypeValue, UInt
from kube_cel.time_formats import SECOND, format_timestamp
from kube_cel.type_names import conversion_failed, kind_of, no_such_overload
from kube_objects.go_numbers import format_double, format_seconds
from kube_objects.go_text import encode

Conversion = Callable[[Any], Any]

ANY = "*"
"""In place of a receiver's kind: the function accepts all receivers and checks them itself."""

_INT = re.compile(r"([+-]?)0*([0-9]{1,19})")  # leading zeros apart: Python limits digits
_UINT = re.compile(r"0*([0-9]{1,20})")
_DOUBLE = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_HEX_DOUBLE = re.compile(r"[+-]?0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+")
_NOT_FINITE = re.compile(r"nan|[+-]?inf(inity)?", re.IGNORECASE)
_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


def _same(value: Any) -> Any:
    return value


_CONVERSIONS: dict[str, dict[type, Conversion]] = {
    "bool": {bool: _same},
    "bytes": {bytes: _same, str: encode},
    "double": {float: _same, int: float, UInt: float},
    "int": {
        int: _same,
        UInt: lambda value: int_in_range(int(value)),
        Timestamp: lambda value: value.nanos // SECOND,
        Duration: lambda value: value.nanos,
    },
    "string": {
        str: _same,
        bool: lambda value: "true" if value else "false",
        int: str,
        UInt: lambda value: str(int(value)),
        float: format_double,
        Timestamp: format_timestamp,
        Duration: lambda value: format_seconds(value.nanos),
    },
    "uint": {UInt: _same, int: uint_in_range},
}


def _conversion(source: type, name: str) -> Callable[[Conversion], Conversion]:
    """Register a function that converts values of a Python type to the CEL type `name`."""

    def register(conversion: Conversion) -> Conversion:
        _CONVERSIONS[name][source] = conversion
        return conversion

    return register


@_conversion(float, "int")
def _int_of_double(value: float) -> int:
    # The bounds themselves are rejected, too: as doubles they also stand for larger integers.
    if not -(2.0**63) < value < 2.0**63:
        raise EvaluationError("integer overflow")
    return int(value)


@_conversion(str, "int")
def _int_of_text(value: str) -> int:
    """Parse an int: an optional sign and digits, within 64 bits; nothing else."""
    parts = _INT.fullmatch(value)
    number = int(parts[1] + parts[2]) if parts else 2**63
    if not -(2**63) <= number < 2**63:
        raise conversion_failed(value, "int")
    return number


@_conversion(float, "uint")
def _uint_of_double(value: float) -> UInt:
    if not 0 <= value < 2.0**64:
        raise EvaluationError("unsigned integer overflow")
    return UInt(value)


@_conversion(str, "uint")
def _uint_of_text(value: str) -> UInt:
    """Parse a uint: digits within 64 bits, without a sign."""
    parts = _UINT.fullmatch(value)
    number = int(parts[1]) if parts else 2**64
    if number >= 2**64:
        raise conversion_failed(value, "uint")
    return UInt(number)


@_conversion(str, "double")
def _double_of_text(value: str) -> float:
    if _NOT_FINITE.fullmatch(value):
        return float(value)
    try:
        if _DOUBLE.fullmatch(value):
            number = float(value)
        elif _HEX_DOUBLE.fullmatch(value):
            number = float.fromhex(value)
        else:
            number = math.inf
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise conversion_failed(value, "double")
    return number


@_conversion(str, "bool")
def _bool_of_text(value: str) -> bool:
    if value not in _BOOLS:
        raise conversion_failed(value, "bool")
    return _BOOLS[value]


@_conversion(bytes, "string")
def _text_of_bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def _converter(name: str, table: Mapping[type, Conversion]) -> Conversion:
    def convert(value: Any) -> Any:
        step = table.get(type(value))
        if step is None:
            raise no_such_overload(name, value)
        return step(value)

    return convert


def string(value: Any) -> str:
    """`string(x)`; values of a library have one if their class defines `__str__`."""
    step = _CONVERSIONS["string"].get(type(value))
    if step is not None:
        return str(step(value))
    if isinstance(value, Opaque) and type(value).__str__ is not object.__str__:
        return str(value)
    raise no_such_overload("string", value)


def size(value: Any) -> int:
    """`size(x)`: code points, bytes, elements or entries."""
    kind = type(value)
    if kind is str or kind is bytes or kind in LISTS or kind in MAPS:
        return len(value)
    raise overload_error("size", kind)


def type_name(value: Any) -> TypeValue:
    """`type(x)`."""
    return TypeValue(kind_of(value))


def contains(text: Any, part: Any) -> bool:
    """`text.contains(part)`."""
    _require_texts(text, part)
    return part in text


def starts_with(text: Any, prefix: Any) -> bool:
    """`text.startsWith(prefix)`."""
    _require_texts(text, prefix)
    return bool(text.startswith(prefix))


def ends_with(text: Any, suffix: Any) -> bool:
    """`text.endsWith(suffix)`."""
    _require_texts(text, suffix)
    return bool(text.endswith(suffix))


def _require_texts(text: Any, part: Any) -> None:
    if type(text) is not str or type(part) is not str:
        raise no_such_overload()


GLOBALS: Mapping[str, Callable[..., Any]] = {
    **{name: _converter(name, table) for name, table in _CONVERSIONS.items()},
    "dyn": _same,
    "size": size,
    "string": string,  # which also prints the values of libraries
    "type": type_name,
}

MEMBERS: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("size", ANY): size,
    ("contains", ANY): contains,
    ("startsWith", ANY): starts_with,
    ("endsWith", ANY): ends_with,
}
