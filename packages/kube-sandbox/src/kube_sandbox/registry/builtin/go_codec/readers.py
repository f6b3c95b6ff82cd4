"""
Readers of values: structs, lists, scalars, as Go's decoder accepts and its encoder writes them.

A type is compiled into a reader on first use. A value of the wrong type raises `DecodeTypeError`,
which collects its path while it unwinds; unknown fields are appended to a list.

Follows go 1.25 encoding/json/decode.go decodeState.object, decodeState.array,
decodeState.literalStore; encoding/json/encode.go structEncoder.encode.
"""

from binascii import b2a_base64
from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import orjson

from kube_objects.quantity import QuantityError, canonical_quantity
from kube_sandbox.registry.builtin.go_codec import scalar_values
from kube_sandbox.registry.builtin.go_codec.struct_types import node_of

# Reads a value that is not null; what strict decoding minds is appended to the list.
Reader = Callable[[Any, list[str]], Any]

_Empty = Literal["omit", "keep", "null"]  # what becomes of an empty value
# Kinds of Go types whose values are never empty.
_KEPT = frozenset(("pointer", "struct", "quantity", "intstr", "time", "micro", "duration", "any"))
_RANGES = {"int32": (-(2**31), 2**31), "int64": (-(2**63), 2**63)}
# What null becomes inside a list or a map, where nothing cannot be left out.
_NOTHING: dict[str, Any] = {
    **dict.fromkeys(("string", "bytes"), ""),
    **dict.fromkeys(("int32", "int64", "float64", "intstr"), 0),
    "bool": False,
    "quantity": "0",
}


class DecodeTypeError(Exception):
    """A value is of a type that its field cannot hold; unwinding adds where."""

    def __init__(self, message: str, shown: str = "") -> None:
        super().__init__(message)
        self.message = message  # all of it, or the given type if `shown` is the expected one
        self.shown = shown
        self.struct = ""
        self.steps: list[str] = []

    def inside(self, step: str, struct: str) -> None:
        """Note that it is in a field of a struct; the innermost struct is reported."""
        self.steps.append(step)
        self.struct = self.struct or struct.rpartition(".")[2]

    def __str__(self) -> str:
        if not self.shown:
            return self.message
        if not self.struct:
            return f"json: cannot unmarshal {self.message} into Go value of type {self.shown}"
        where = f"{self.struct}.{'.'.join(reversed(self.steps))}"
        field = f"Go struct field {where} of type {self.shown}"
        return f"json: cannot unmarshal {self.message} into {field}"


@cache
def reader_of(index: int) -> Reader:
    """Return the reader of a type by its number."""
    node = node_of(index)
    kind, shown = node[0], node[1]
    if kind == "struct":
        return _struct_reader(index)
    if kind == "pointer":
        return reader_of(node[2])
    if kind == "list":
        return _list_reader(node[2], shown)
    if kind == "map":
        map_index = node[2]
        read_item = _lazy_reader(map_index)
        nothing = _nothing(map_index)

        def map_reader(value: Any, strict: list[str]) -> dict[str, Any]:
            if type(value) is not dict:
                raise DecodeTypeError(scalar_values.type_name_of(value), shown)
            found = {}
            for key, item in value.items():
                message = len(strict)
                found[key] = nothing() if item is None else read_item(item, strict)
                if len(strict) > message:
                    strict[message:] = [f"{key}.{each}" for each in strict[message:]]
            return found

        return map_reader
    if kind == "any":
        any_index = node[2] if len(node) > 2 else None
        if any_index is None:
            return lambda value, strict: value
        read_schema = _lazy_reader(any_index)

        def read(value: Any, strict: list[str]) -> Any:
            # These read themselves: strict decoding does not look inside.
            if isinstance(value, dict):
                return read_schema(value, [])
            if isinstance(value, list) and all(isinstance(each, dict) for each in value):
                return [read_schema(each, []) for each in value]
            return value

        return read
    return _scalar_reader(kind, shown)


def _scalar_reader(kind: str, shown: str) -> Reader:
    if kind == "string":
        return _typed_reader(shown, str)
    if kind == "bool":
        return _typed_reader(shown, bool)
    if kind in _RANGES:
        least, beyond = _RANGES[kind]

        def read(value: Any, strict: list[str]) -> int:
            if type(value) is int and least <= value < beyond:
                return value
            word = scalar_values.type_name_of(value)
            raise DecodeTypeError(f"number {value}" if word == "number" else word, shown)

        return read
    return _SPECIAL[kind](shown)


def _typed_reader(shown: str, *accepted: type) -> Reader:
    def read(value: Any, strict: list[str]) -> Any:
        if type(value) in accepted:
            return value
        raise DecodeTypeError(scalar_values.type_name_of(value), shown)

    return read


def _converting(convert: Callable[[Any], Any]) -> Callable[[str], Reader]:
    def read(value: Any, strict: list[str]) -> Any:
        try:
            return convert(value)
        except scalar_values.GoTypeError as error:
            raise DecodeTypeError(error.given, error.shown) from None
        except (scalar_values.GoValueError, QuantityError) as error:
            raise DecodeTypeError(str(error)) from None

    return lambda _: read


def _int_or_string(value: Any) -> Any:
    least, beyond = _RANGES["int32"]
    if isinstance(value, str) or (type(value) is int and least <= value < beyond):
        return value
    word = scalar_values.type_name_of(value)
    word = f"number {value}" if word == "number" else word
    raise scalar_values.GoTypeError(word, "int32")


def _bytes_reader(shown: str) -> Reader:
    def read(value: Any, strict: list[str]) -> str:
        if isinstance(value, list):
            # Bytes as a list of numbers, as Go accepts them.
            for item in value:
                if type(item) is not int or not 0 <= item < 256:
                    word = scalar_values.type_name_of(item)
                    raise DecodeTypeError(f"number {item}" if word == "number" else word, "uint8")
            return b2a_base64(bytes(value), newline=False).decode()
        if not isinstance(value, str):
            raise DecodeTypeError(scalar_values.type_name_of(value), shown)
        try:
            return scalar_values.base64(value)
        except scalar_values.GoValueError as error:
            raise DecodeTypeError(str(error)) from None

    return read


_SPECIAL: dict[str, Callable[[str], Reader]] = {
    "float64": lambda shown: _typed_reader(shown, int, float),
    "bytes": _bytes_reader,
    "time": _converting(scalar_values.time),
    "micro": _converting(scalar_values.micro_time),
    "duration": _converting(scalar_values.duration),
    "quantity": _converting(
        lambda value: canonical_quantity(
            value.strip() if isinstance(value, str) else orjson.dumps(value).decode()
        )
    ),
    "intstr": _converting(_int_or_string),
    "raw": lambda _: lambda value, strict: value,
}


def _nothing(index: int) -> Callable[[], Any]:
    """Return what null becomes where nothing cannot be left out."""
    node = node_of(index)
    if node[0] == "struct":
        return lambda: _copied(node[3])
    return lambda: _NOTHING.get(node[0])


def _list_reader(index: int, shown: str) -> Reader:
    node = node_of(index)
    read_item = _lazy_reader(index)
    nothing = _nothing(index)
    if node[0] == "string":
        item_shown = node[1]

        def text_list_reader(value: Any, strict: list[str]) -> list[str]:
            if type(value) is not list:
                raise DecodeTypeError(scalar_values.type_name_of(value), shown)
            for item in value:
                if type(item) is not str and item is not None:
                    raise DecodeTypeError(scalar_values.type_name_of(item), item_shown)
            return [item or "" for item in value]

        return text_list_reader

    def read(value: Any, strict: list[str]) -> list[Any]:
        if type(value) is not list:
            raise DecodeTypeError(scalar_values.type_name_of(value), shown)
        found = []
        for place, item in enumerate(value):
            message = len(strict)
            found.append(nothing() if item is None else read_item(item, strict))
            if len(strict) > message:
                strict[message:] = [f"[{place}].{each}" for each in strict[message:]]
        return found

    return read


def _lazy_reader(index: int) -> Reader:
    """Return a reader that is compiled when it is first used: structs may contain themselves."""
    if node_of(index)[0] not in ("struct", "pointer"):
        return reader_of(index)
    compiled: list[Reader] = []

    def read(value: Any, strict: list[str]) -> Any:
        if not compiled:
            compiled.append(reader_of(index))
        return compiled[0](value, strict)

    return read


def _copied(value: Any) -> Any:
    if type(value) is dict:
        return {key: _copied(item) for key, item in value.items()}
    return value


def _struct_reader(index: int) -> Reader:
    node = node_of(index)
    shown = node[1]
    # Each field: its reader, what is done with an empty value, how an error names it.
    fields: dict[str, tuple[Reader, _Empty, str]] = {}
    for name, field_index, omit, *where in node[2]:
        kind = node_of(field_index)[0]
        empty: _Empty = "keep"
        if omit == "zero" or (omit == "empty" and kind not in _KEPT):
            empty = "omit"
        elif kind in ("list", "map") and not omit:
            empty = "null"  # that is what a real store keeps of an empty list
        fields[name] = _lazy_reader(field_index), empty, f"{where[0]}{name}" if where else name
    zeros = [(key, value) for key, value in node[3].items()]

    def read(value: Any, strict: list[str]) -> dict[str, Any]:
        if type(value) is not dict:
            raise DecodeTypeError(scalar_values.type_name_of(value), shown)
        found: dict[str, Any] = {}
        key = ""
        try:
            for key, item in value.items():
                field = fields.get(key)
                if field is None:
                    strict.append(key)
                elif item is not None:
                    message = len(strict)
                    item = field[0](item, strict)
                    if item or field[1] != "omit":
                        found[key] = None if not item and field[1] == "null" else item
                    if len(strict) > message:
                        strict[message:] = [
                            f"{key}{rest}" if rest.startswith("[") else f"{key}.{rest}"
                            for rest in strict[message:]
                        ]
        except DecodeTypeError as error:
            error.inside(fields[key][2], shown)
            raise
        for key, zero in zeros:
            found.setdefault(key, _copied(zero))
        return found

    return read
