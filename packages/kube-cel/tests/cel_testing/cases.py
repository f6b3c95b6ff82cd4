"""
The cases of the CEL specification, in our engine's terms.

Their files are not part of this project: they are read from the folder that the environment
variable CEL_SPEC_DATA names. What a case is about decides whether it applies to us at all:
kro's expressions see JSON, never protocol buffers.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cel_testing.textproto import Message, TextProtoError, parse

from kube_cel.signatures import Overload
from kube_cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    map_of,
    optional_of,
    type_of,
)
from kube_cel.values import Duration, Timestamp, TypeValue, UInt

ROOT = Path(__file__).parents[4]
DEFAULT_FOLDER = "../shared/data/cel-spec"

NANOSECONDS = 1_000_000_000

_PRIMITIVES = {
    "BOOL": BOOL,
    "BYTES": BYTES,
    "DOUBLE": DOUBLE,
    "INT64": INT,
    "STRING": STRING,
    "UINT64": UINT,
}
_WELL_KNOWN = {"ANY": DYN, "DURATION": DURATION, "TIMESTAMP": TIMESTAMP}
_MESSAGE_TYPES = {
    b"google.protobuf.Duration": DURATION,
    b"google.protobuf.Timestamp": TIMESTAMP,
}
_TIMES: dict[str, type[Duration] | type[Timestamp]] = {
    "type.googleapis.com/google.protobuf.Duration": Duration,
    "type.googleapis.com/google.protobuf.Timestamp": Timestamp,
}

FAILS = object()
"""The expected result of a case that must end in an evaluation error."""

UNSTATED = object()
"""The expected result of a case that says nothing about it."""


@dataclass(frozen=True, slots=True)
class Case:
    """One case: what is given and what must come out."""

    name: str
    expression: str
    message: Message

    @property
    def is_checked(self) -> bool:
        """Whether the checker must see the expression before it runs."""
        return self.message.word("disable_check") != "true"

    @property
    def is_run(self) -> bool:
        """Whether the expression must run after it was checked."""
        return self.message.word("check_only") != "true"

    @property
    def variables(self) -> dict[str, Type]:
        """The declared variables."""
        declared = [one for one in self.message.messages("type_env") if "ident" in one]
        return {one.text("name"): type_in(one.message("ident").message("type")) for one in declared}

    @property
    def functions(self) -> dict[str, tuple[Overload, ...]]:
        """The functions this case declares for itself."""
        declared = [one for one in self.message.messages("type_env") if "function" in one]
        return {
            one.text("name"): tuple(
                _overload(one.text("name"), overload)
                for overload in one.message("function").messages("overloads")
            )
            for one in declared
        }

    @property
    def data(self) -> dict[str, Any]:
        """The values of variables."""
        return {
            one.text("key"): value_in(one.message("value").message("value"))
            for one in self.message.messages("bindings")
        }

    @property
    def expected(self) -> Any:
        """The value that must come out, or `FAILS`, or `UNSTATED`."""
        if "eval_error" in self.message:
            return FAILS
        if "typed_result" in self.message:
            typed = self.message.message("typed_result")
            return value_in(typed.message("result")) if "result" in typed else UNSTATED
        return value_in(self.message.message("value"))

    @property
    def deduced(self) -> Type | None:
        """The type the checker must find, where the case states it."""
        typed = self.message.message("typed_result")
        return type_in(typed.message("deduced_type")) if "deduced_type" in typed else None


def folder() -> Path:
    """Return where the specification's files should be."""
    return (ROOT / os.environ.get("CEL_SPEC_DATA", DEFAULT_FOLDER)).resolve()


def read_cases(source: Path) -> Iterator[Case]:
    """Read every case of every file, applicable or not."""
    for file in sorted(source.glob("*.textproto")):
        try:
            contents = parse(file.read_bytes().decode())
        except TextProtoError as error:
            raise TextProtoError(f"{file}: {error}") from error
        for section in contents.messages("section"):
            for test in section.messages("test"):
                name = "/".join((file.stem, section.text("name"), test.text("name")))
                yield Case(name, test.text("expr"), test)


# In an expression: a message is made (`Name{…}`), or a type or enum of theirs is named.
_MESSAGES = re.compile(
    r"TestAllTypes|NestedTestAllTypes|GlobalEnum|NestedEnum|\bproto[23]\b"
    r"|google\.protobuf\.(?!Timestamp\b|Duration\b)|google\.protobuf\.\w+\s*\{"
)
_LIBRARIES_OFF = re.compile(r"\bmath\.\w+\(|\bproto\.(?:getExt|hasExt)\(|\bsets\.\w+\(")


def _needs_messages(case: Case) -> bool:
    return _MESSAGES.search(case.expression) is not None or _holds(
        case.message,
        lambda name, value: (
            name in ("enum_value", "wrapper")
            or (name == "message_type" and value not in _MESSAGE_TYPES)
            or (name == "object_value" and not _is_time(value))
        ),
    )


def _holds(message: Message, wanted: Callable[[str, object], bool]) -> bool:
    return any(
        wanted(name, value) or (isinstance(value, Message) and _holds(value, wanted))
        for name, values in message.fields.items()
        for value in values
    )


def _is_time(value: object) -> bool:
    return isinstance(value, Message) and any(url in value for url in _TIMES)


_NOT_APPLICABLE: tuple[tuple[str, Callable[[Case], bool]], ...] = (
    ("protocol buffer messages, enums and wrappers", _needs_messages),
    ("names looked up in a container", lambda case: "container" in case.message),
    (
        "a library that kro has switched off",
        lambda case: _LIBRARIES_OFF.search(case.expression) is not None,
    ),
)


def reason_not_applicable(case: Case) -> str | None:
    """Say why a case cannot concern us, or None if it does."""
    return next((reason for reason, applies in _NOT_APPLICABLE if applies(case)), None)


def value_in(message: Message) -> Any:
    """Make our value of theirs."""
    [kind] = message.fields
    return _VALUES[kind](message)


def _list_in(message: Message) -> list[Any]:
    return [value_in(one) for one in message.message("list_value").messages("values")]


def _map_in(message: Message) -> dict[Any, Any]:
    entries = message.message("map_value").messages("entries")
    return {value_in(one.message("key")): value_in(one.message("value")) for one in entries}


def _time_in(message: Message) -> Duration | Timestamp:
    any_value = message.message("object_value")
    [url] = any_value.fields
    parts = any_value.message(url)
    seconds, nanos = int(parts.word("seconds") or 0), int(parts.word("nanos") or 0)
    return _TIMES[url](seconds * NANOSECONDS + nanos)


_VALUES: Mapping[str, Callable[[Message], Any]] = {
    "null_value": lambda message: None,
    "bool_value": lambda message: message.word("bool_value") == "true",
    "int64_value": lambda message: int(message.word("int64_value"), 0),
    "uint64_value": lambda message: UInt(int(message.word("uint64_value"), 0)),
    "double_value": lambda message: float(message.word("double_value")),
    "string_value": lambda message: message.text("string_value"),
    "bytes_value": lambda message: message.data("bytes_value"),
    "type_value": lambda message: TypeValue(message.text("type_value")),
    "list_value": _list_in,
    "map_value": _map_in,
    "object_value": _time_in,
}


def type_in(message: Message) -> Type:
    """Make our type of theirs."""
    [kind] = message.fields
    return _TYPES[kind](message)


def _abstract_in(message: Message) -> Type:
    described = message.message("abstract_type")
    parameters = tuple(type_in(one) for one in described.messages("parameter_types"))
    if described.text("name") == "optional_type":
        return optional_of(*parameters)
    return Type(described.text("name"), parameters)


def _map_type_in(message: Message) -> Type:
    described = message.message("map_type")
    return map_of(type_in(described.message("key_type")), type_in(described.message("value_type")))


_TYPES: Mapping[str, Callable[[Message], Type]] = {
    "dyn": lambda message: DYN,
    "error": lambda message: ERROR,
    "null": lambda message: NULL,
    "primitive": lambda message: _PRIMITIVES[message.word("primitive")],
    "well_known": lambda message: _WELL_KNOWN[message.word("well_known")],
    "message_type": lambda message: _MESSAGE_TYPES[message.data("message_type")],
    "type": lambda message: type_of(type_in(message.message("type"))),
    "type_param": lambda message: Type("param", (), message.text("type_param")),
    "list_type": lambda message: list_of(
        type_in(message.message("list_type").message("elem_type"))
    ),
    "map_type": _map_type_in,
    "abstract_type": _abstract_in,
}


def _overload(name: str, described: Message) -> Overload:
    parameters = tuple(type_in(one) for one in described.messages("params"))
    result = type_in(described.message("result_type"))
    return Overload(name, is_member=False, parameters=parameters, result=result)
