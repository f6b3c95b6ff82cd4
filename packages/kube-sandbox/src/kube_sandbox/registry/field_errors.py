"""
What is wrong with a field of an object, in the API server's own words.

People and programs read these texts, so they are the same to the letter: the sort of error, the
value as the API server prints it, what was expected.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/util/validation/field/errors.go Error.ErrorBody;
k8s.io/apimachinery/pkg/util/validation/field/path.go Path.String.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import orjson

from kube_objects.problems import Path


class ErrorType(Enum):
    """The sorts of errors: how a cause names them, and how they are told."""

    NOT_FOUND = ("FieldValueNotFound", "Not found")
    REQUIRED = ("FieldValueRequired", "Required value")
    DUPLICATE = ("FieldValueDuplicate", "Duplicate value")
    INVALID = ("FieldValueInvalid", "Invalid value")
    NOT_SUPPORTED = ("FieldValueNotSupported", "Unsupported value")
    FORBIDDEN = ("FieldValueForbidden", "Forbidden")
    TOO_LONG = ("FieldValueTooLong", "Too long")
    TOO_MANY = ("FieldValueTooMany", "Too many")
    INTERNAL = ("InternalError", "Internal error")
    TYPE_INVALID = ("FieldValueTypeInvalid", "Invalid value")


_WITHOUT_VALUE = frozenset(
    (ErrorType.REQUIRED, ErrorType.FORBIDDEN, ErrorType.TOO_LONG, ErrorType.INTERNAL)
)
_OMITTED: Any = object()


@dataclass(frozen=True, slots=True)
class FieldError:
    """One error; `field` is a path as the API server writes it: `spec.ports[0].name`."""

    sort: ErrorType
    field: str
    value: Any = _OMITTED
    detail: str = ""

    @property
    def body(self) -> str:
        """Return the message without the field."""
        text = self.sort.value[1]
        if self.sort not in _WITHOUT_VALUE and self.value is not _OMITTED:
            text = f"{text}: {format_field_value(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"

    def cause(self) -> dict[str, str]:
        """Return it as one of the causes in a Status."""
        return {"reason": self.sort.value[0], "message": self.body, "field": self.field}


def format_field_value(value: Any) -> str:
    """Print a value as Go does in such messages."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    # Go escapes these three in JSON, and sorts the keys of maps.
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def quoted(text: str) -> str:
    """Quote a text as Go's %q does."""
    escaped = json.dumps(text, ensure_ascii=False)
    return escaped.replace("\x7f", "\\x7f")


def path(*steps: str | int | Mapping[str, str]) -> str:
    """Print a path: names with dots, indices in brackets; a key of a map as `{"key": k}`."""
    found = ""
    for step in steps:
        if isinstance(step, int):
            found += f"[{step}]"
        elif isinstance(step, str):
            found += f".{step}" if found else step
        else:
            found += f"[{step['key']}]"
    return found


def path_of(steps: Path) -> str:
    """Print a path of names and indices."""
    return path(*steps)


def required(field: str, detail: str = "") -> FieldError:
    """Say that a value is missing."""
    return FieldError(ErrorType.REQUIRED, field, detail=detail)


def invalid(field: str, value: Any, detail: str) -> FieldError:
    """Say that a value is malformed."""
    return FieldError(ErrorType.INVALID, field, value, detail)


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    """Say that a value is of the wrong type."""
    return FieldError(ErrorType.TYPE_INVALID, field, value, detail)


def duplicate(field: str, value: Any) -> FieldError:
    """Say that a value stands twice where it may only once."""
    return FieldError(ErrorType.DUPLICATE, field, value)


def not_found(field: str, value: Any) -> FieldError:
    """Say that what a value names is not there."""
    return FieldError(ErrorType.NOT_FOUND, field, value)


def not_supported(field: str, value: Any, supported: Iterable[str] = ()) -> FieldError:
    """Say that a value is none of those there are; they are named in the order given."""
    choices = ", ".join(map(quoted, supported))
    return FieldError(
        ErrorType.NOT_SUPPORTED, field, value, f"supported values: {choices}" if choices else ""
    )


def forbidden(field: str, detail: str) -> FieldError:
    """Say that a value may not be given here."""
    return FieldError(ErrorType.FORBIDDEN, field, detail=detail)


def too_long(field: str, most: int) -> FieldError:
    """Say that a text is too long."""
    unit = "byte" if most == 1 else "bytes"
    detail = f"may not be more than {most} {unit}" if most >= 0 else "value is too long"
    return FieldError(ErrorType.TOO_LONG, field, detail=detail)


def too_many(field: str, count: int, most: int) -> FieldError:
    """Say that a list has too many items."""
    unit = "item" if most == 1 else "items"
    detail = f"must have at most {most} {unit}" if most >= 0 else "has too many items"
    return FieldError(ErrorType.TOO_MANY, field, count if count >= 0 else _OMITTED, detail)


def internal(field: str, detail: str) -> FieldError:
    """Say that something could not be checked."""
    return FieldError(ErrorType.INTERNAL, field, detail=detail)
