"""
Readers of values: a struct, a list, a number, as Go's decoder takes and its encoder writes them.

A type is compiled when it is first met. A value that does not fit raises `DecodeTypeError`, which
gathers on its way out where it was; fields nobody knows are told in a list that is handed down.
"""

from binascii import b2a_base64
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import orjson

from kube_objects.quantity import QuantityError, canonical_quantity
from kube_sandbox.registry.builtin.go_codec import scalar_values
from kube_sandbox.registry.builtin.go_codec.struct_types import Node, node_of

# Reads a value that is not null; what strict decoding minds is appended to the list.
Reader = Callable[[Any, list[str]], Any]

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

    def __init__(self, told: str, shown: str = "") -> None:
        super().__init__(told)
        self.told = told  # the whole message, or what was given if `shown` is the type it met
        self.shown = shown
        self.struct = ""
        self.steps: list[str] = []

    def inside(self, step: str, struct: str) -> None:
        """Note that it is in a field of a struct; the innermost struct is told."""
        self.steps.append(step)
        self.struct = self.struct or struct.rpartition(".")[2]

    def __str__(self) -> str:
        if not self.shown:
            return self.told
        if not self.struct:
            return f"json: cannot unmarshal {self.told} into Go value of type {self.shown}"
        where = f"{self.struct}.{'.'.join(reversed(self.steps))}"
        return (
            f"json: cannot unmarshal {self.told} into Go struct field {where} of type {self.shown}"
        )


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
        return _map_reader(node[2], shown)
    if kind == "any":
        return _any_reader(node[2] if len(node) > 2 else None)
    return _scalar_reader(kind, shown)


def _scalar_reader(kind: str, shown: str) -> Reader:
    if kind == "string":
        return _typed_reader(str, shown)
    if kind == "bool":
        return _typed_reader(bool, shown)
    if kind in _RANGES:
        return _integer_reader(kind, shown)
    return _SPECIAL[kind](shown)


def _typed_reader(wanted: type, shown: str) -> Reader:
    def read(value: Any, strict: list[str]) -> Any:
        if type(value) is wanted:
            return value
        raise DecodeTypeError(scalar_values.type_name_of(value), shown)

    return read


def _integer_reader(kind: str, shown: str) -> Reader:
    least, beyond = _RANGES[kind]

    def read(value: Any, strict: list[str]) -> int:
        if type(value) is int and least <= value < beyond:
            return value
        word = scalar_values.type_name_of(value)
        raise DecodeTypeError(f"number {value}" if word == "number" else word, shown)

    return read


def _float_reader(shown: str) -> Reader:
    def read(value: Any, strict: list[str]) -> Any:
        if type(value) is int or type(value) is float:
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


def _quantity(value: Any) -> str:
    if isinstance(value, str):
        return canonical_quantity(value.strip())
    return canonical_quantity(orjson.dumps(value).decode())


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
            return _listed_bytes(value)
        if not isinstance(value, str):
            raise DecodeTypeError(scalar_values.type_name_of(value), shown)
        try:
            return scalar_values.base64(value)
        except scalar_values.GoValueError as error:
            raise DecodeTypeError(str(error)) from None

    return read


def _listed_bytes(value: list[Any]) -> str:
    """Read bytes that are written one by one, which nobody does."""
    for item in value:
        if type(item) is not int or not 0 <= item < 256:
            word = scalar_values.type_name_of(item)
            raise DecodeTypeError(f"number {item}" if word == "number" else word, "uint8")
    return b2a_base64(bytes(value), newline=False).decode()


_SPECIAL: dict[str, Callable[[str], Reader]] = {
    "float64": _float_reader,
    "bytes": _bytes_reader,
    "time": _converting(scalar_values.time),
    "micro": _converting(scalar_values.micro_time),
    "duration": _converting(scalar_values.duration),
    "quantity": _converting(_quantity),
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
        return _text_list_reader(node[1], shown)

    def read(value: Any, strict: list[str]) -> list[Any]:
        if type(value) is not list:
            raise DecodeTypeError(scalar_values.type_name_of(value), shown)
        found = []
        for place, item in enumerate(value):
            told = len(strict)
            found.append(nothing() if item is None else read_item(item, strict))
            if len(strict) > told:
                strict[told:] = [f"[{place}].{each}" for each in strict[told:]]
        return found

    return read


def _text_list_reader(item_shown: str, shown: str) -> Reader:
    def read(value: Any, strict: list[str]) -> list[str]:
        if type(value) is not list:
            raise DecodeTypeError(scalar_values.type_name_of(value), shown)
        for item in value:
            if type(item) is not str and item is not None:
                raise DecodeTypeError(scalar_values.type_name_of(item), item_shown)
        return [item or "" for item in value]

    return read


def _map_reader(index: int, shown: str) -> Reader:
    read_item = _lazy_reader(index)
    nothing = _nothing(index)

    def read(value: Any, strict: list[str]) -> dict[str, Any]:
        if type(value) is not dict:
            raise DecodeTypeError(scalar_values.type_name_of(value), shown)
        found = {}
        for key, item in value.items():
            told = len(strict)
            found[key] = nothing() if item is None else read_item(item, strict)
            if len(strict) > told:
                strict[told:] = [f"{key}.{each}" for each in strict[told:]]
        return found

    return read


def _any_reader(index: int | None) -> Reader:
    if index is None:
        return lambda value, strict: value
    read_schema = _lazy_reader(index)

    def read(value: Any, strict: list[str]) -> Any:
        # These read themselves: strict decoding does not look inside.
        if isinstance(value, dict):
            return read_schema(value, [])
        if isinstance(value, list) and all(isinstance(each, dict) for each in value):
            return [read_schema(each, []) for each in value]
        return value

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
    fields = dict(_fields(node))
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
                    told = len(strict)
                    item = field[0](item, strict)
                    if item or field[1] is not _omit_empty:
                        found[key] = item or field[1](item)
                    if len(strict) > told:
                        strict[told:] = [_joined(key, each) for each in strict[told:]]
        except DecodeTypeError as misfit:
            misfit.inside(fields[key][2], shown)
            raise
        for key, zero in zeros:
            found.setdefault(key, _copied(zero))
        return found

    return read


def _joined(key: str, rest: str) -> str:
    return f"{key}{rest}" if rest.startswith("[") else f"{key}.{rest}"


def _omit_empty(value: Any) -> None:
    """Stand for a field that is left out when it is empty."""


def _keep_value(value: Any) -> Any:
    return value


def _empty_list_as_null(value: Any) -> None:
    """Write an empty list as null: that is what is left of it in a real store."""


_Field = tuple[Reader, Callable[[Any], Any], str]


def _fields(node: Node) -> Iterator[tuple[str, _Field]]:
    """Yield each field: its reader, what is done with an empty value, how an error names it."""
    for name, index, omit, *where in node[2]:
        kind = node_of(index)[0]
        empty: Callable[[Any], Any] = _keep_value
        if omit == "zero" or (omit == "empty" and kind not in _KEPT):
            empty = _omit_empty
        elif kind in ("list", "map") and not omit:
            empty = _empty_list_as_null
        yield name, (_lazy_reader(index), empty, f"{where[0]}{name}" if where else name)


# Kinds of Go types whose values are never empty.
_KEPT = frozenset(("pointer", "struct", "quantity", "intstr", "time", "micro", "duration", "any"))
