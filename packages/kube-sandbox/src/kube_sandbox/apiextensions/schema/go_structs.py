"""
JSON as Go reads it into its structs, and writes it back.

A `Struct` is a table: a reader for each field. What is null is dropped, what is empty is dropped
where Go would omit it, what is unknown is dropped and named; what is of the wrong type is an error
in the words of Go's decoder.

Follows go 1.25 encoding/json/decode.go decodeState.object, decodeState.literalStore.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kube_objects.refs import KubeObject
from kube_objects.times import format_time, parse_time


class MalformedError(Exception):
    """JSON that cannot be read; the message is the decoder's."""


@dataclass(frozen=True, slots=True)
class DecodePosition:
    """
    Where something is read.

    `struct` is the innermost, `fields` the names of fields down to here, as errors tell them;
    `path` has indices and keys, too. Fields that are unknown are added to `unknown`.
    """

    struct: str = ""
    fields: str = ""
    path: str = ""
    unknown: list[str] = field(default_factory=list)


Read = Callable[[Any, DecodePosition], Any]

DROPPED: Any = object()
_JSON_TYPES: Mapping[type, str] = {
    str: "string",
    bool: "bool",
    int: "number",
    float: "number",
    dict: "object",
    list: "array",
}
_MAX_INTEGER = 2**63
_TIME_LAYOUT = "2006-01-02T15:04:05Z07:00"
_TIME_PARTS = (
    (r"\d{4}", "2006"),
    ("-", "-"),
    (r"\d{2}", "01"),
    ("-", "-"),
    (r"\d{2}", "02"),
    ("T", "T"),
    (r"\d{2}", "15"),
    (":", ":"),
    (r"\d{2}", "04"),
    (":", ":"),
    (r"\d{2}(?:[.,]\d+)?", "05"),
    (r"Z|[+-]\d{2}:\d{2}", "Z07:00"),
)


def mismatch(value: Any, spot: DecodePosition, wanted: str) -> MalformedError:
    """Return the error that a value is of the wrong type."""
    found = _JSON_TYPES[type(value)]
    if found == "number" and wanted.startswith("int"):
        found = f"number {value}"
    place = f"Go struct field {spot.struct}.{spot.fields}" if spot.fields else "Go value"
    return MalformedError(f"json: cannot unmarshal {found} into {place} of type {wanted}")


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct: its name, how its fields are read, and those that are always written."""

    name: str
    readers: Mapping[str, Read]
    always: Mapping[str, Any] = field(default_factory=dict)

    def read(self, value: Any, spot: DecodePosition) -> KubeObject:
        """Read an object."""
        if not isinstance(value, dict):
            raise mismatch(value, spot, f"v1.{self.name}")
        kept: KubeObject = {**self.always} if self.always else {}
        readers, name, unknown = self.readers, self.name, spot.unknown
        fields = f"{spot.fields}." if spot.fields else ""
        path = f"{spot.path}." if spot.path else ""
        for key, part in value.items():
            reader = readers.get(key)
            if reader is None:
                unknown.append(path + key)
            elif part is not None:
                found = reader(part, DecodePosition(name, fields + key, path + key, unknown))
                if found is not DROPPED:
                    kept[key] = found
        return kept


def text(value: Any, spot: DecodePosition) -> Any:
    """Read a text that is omitted if it is empty."""
    return kept_text(value, spot) or DROPPED


def kept_text(value: Any, spot: DecodePosition) -> Any:
    """Read a text."""
    if not isinstance(value, str):
        raise mismatch(value, spot, "string")
    return value


def uid(value: Any, spot: DecodePosition) -> Any:
    """Read a uid, which is a text of a type of its own."""
    if not isinstance(value, str):
        raise mismatch(value, spot, "types.UID")
    return value or DROPPED


def flag(value: Any, spot: DecodePosition) -> Any:
    """Read a boolean that is omitted if it is false."""
    return kept_flag(value, spot) or DROPPED


def kept_flag(value: Any, spot: DecodePosition) -> Any:
    """Read a boolean."""
    if not isinstance(value, bool):
        raise mismatch(value, spot, "bool")
    return value


def integer(bits: int = 64) -> Read:
    """Create a reader of integers."""
    most = 2 ** (bits - 1)

    def read(value: Any, spot: DecodePosition) -> Any:
        if isinstance(value, bool) or not isinstance(value, int) or not -most <= value < most:
            raise mismatch(value, spot, f"int{bits}")
        return value

    return read


def omitting(read: Read) -> Read:
    """Create a reader that omits what is empty or nought."""
    return lambda value, spot: read(value, spot) or DROPPED


def number(value: Any, spot: DecodePosition) -> Any:
    """Read a number; whole ones are written without a point."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise mismatch(value, spot, "float64")
    return whole_numbers(value)


def time(value: Any, spot: DecodePosition) -> Any:
    """Read a point in time; it is written in UTC, to the second."""
    if not isinstance(value, str):
        raise mismatch(value, spot, "string")
    rest = value
    for pattern, layout in _TIME_PARTS:
        match = re.match(pattern, rest)
        if match is None:
            message = f'cannot parse "{rest}" as "{layout}"'
            raise MalformedError(f'parsing time "{value}" as "{_TIME_LAYOUT}": {message}')
        rest = rest[match.end() :]
    if rest:
        raise MalformedError(f'parsing time "{value}": extra text: "{rest}"')
    moment = parse_time(value.replace(",", "."))
    if moment is None:
        raise MalformedError(f'parsing time "{value}": day out of range')
    return format_time(moment)


def texts_by_key(value: Any, spot: DecodePosition) -> Any:
    """Read a map of texts; null is an empty text."""
    if not isinstance(value, dict):
        raise mismatch(value, spot, "map[string]string")
    for part in value.values():
        if part is not None and not isinstance(part, str):
            raise mismatch(part, spot, "string")
    if None in value.values():
        return {key: part or "" for key, part in value.items()}
    return value or DROPPED


def texts(value: Any, spot: DecodePosition) -> Any:
    """Read a list of texts that is omitted if it is empty."""
    return kept_texts(value, spot) or DROPPED


def kept_texts(value: Any, spot: DecodePosition) -> Any:
    """Read a list of texts."""
    if not isinstance(value, list):
        raise mismatch(value, spot, "[]string")
    for part in value:
        if part is not None and not isinstance(part, str):
            raise mismatch(part, spot, "string")
    return [part or "" for part in value]


def any_value(value: Any, _spot: DecodePosition) -> Any:
    """Read any JSON; whole numbers are written without a point."""
    return whole_numbers(value)


def as_is(value: Any, _spot: DecodePosition) -> Any:
    """Take any JSON as it is."""
    return value


def list_of(struct: Struct) -> Read:
    """Create a reader of lists of structs."""

    def read(value: Any, spot: DecodePosition) -> Any:
        if not isinstance(value, list):
            raise mismatch(value, spot, f"[]v1.{struct.name}")
        return [
            struct.read(
                {} if part is None else part,
                DecodePosition(spot.struct, spot.fields, f"{spot.path}[{index}]", spot.unknown),
            )
            for index, part in enumerate(value)
        ]

    return read


def map_of(struct: Struct) -> Read:
    """Create a reader of maps of structs."""

    def read(value: Any, spot: DecodePosition) -> Any:
        if not isinstance(value, dict):
            raise mismatch(value, spot, f"map[string]v1.{struct.name}")
        return {
            key: struct.read(
                {} if part is None else part,
                DecodePosition(spot.struct, spot.fields, f"{spot.path}.{key}", spot.unknown),
            )
            for key, part in value.items()
        }

    return read


def whole_numbers(value: Any) -> Any:
    """Return JSON with numbers that are whole written without a point, as Go writes them."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _MAX_INTEGER else value
    if isinstance(value, dict):
        return {key: whole_numbers(part) for key, part in value.items()}
    if isinstance(value, list):
        return [whole_numbers(part) for part in value]
    return value
