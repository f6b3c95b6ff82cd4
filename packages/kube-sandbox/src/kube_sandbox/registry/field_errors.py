"""
Constructors of field errors, in the words of the API server.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/util/validation/field/errors.go Error.ErrorBody;
k8s.io/apimachinery/pkg/util/validation/field/path.go Path.String.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kube_objects.go_text import quote as quoted
from kube_objects.problems import Path
from kube_sandbox.api_errors import OMITTED, ErrorType, FieldError, format_field_value

__all__ = [
    "ErrorType",
    "FieldError",
    "duplicate",
    "forbidden",
    "format_field_value",
    "internal",
    "invalid",
    "not_found",
    "not_supported",
    "path",
    "path_of",
    "quoted",
    "required",
    "too_long",
    "too_many",
    "type_invalid",
]


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
    """Return the error that a value is missing."""
    return FieldError(ErrorType.REQUIRED, field, detail=detail)


def invalid(field: str, value: Any, detail: str) -> FieldError:
    """Return the error that a value is malformed."""
    return FieldError(ErrorType.INVALID, field, value, detail)


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    """Return the error that a value is of the wrong type."""
    return FieldError(ErrorType.TYPE_INVALID, field, value, detail)


def duplicate(field: str, value: Any) -> FieldError:
    """Return the error that a value stands twice where it may only once."""
    return FieldError(ErrorType.DUPLICATE, field, value)


def not_found(field: str, value: Any) -> FieldError:
    """Return the error that what a value names is not there."""
    return FieldError(ErrorType.NOT_FOUND, field, value)


def not_supported(field: str, value: Any, supported: Iterable[str] = ()) -> FieldError:
    """Return the error that a value is not supported; supported ones are named in order."""
    choices = ", ".join(map(quoted, supported))
    return FieldError(
        ErrorType.NOT_SUPPORTED, field, value, f"supported values: {choices}" if choices else ""
    )


def forbidden(field: str, detail: str) -> FieldError:
    """Return the error that a value may not be given here."""
    return FieldError(ErrorType.FORBIDDEN, field, detail=detail)


def too_long(field: str, most: int) -> FieldError:
    """Return the error that a text is too long."""
    unit = "byte" if most == 1 else "bytes"
    detail = f"may not be more than {most} {unit}" if most >= 0 else "value is too long"
    return FieldError(ErrorType.TOO_LONG, field, detail=detail)


def too_many(field: str, count: int, most: int) -> FieldError:
    """Return the error that a list has too many items."""
    unit = "item" if most == 1 else "items"
    detail = f"must have at most {most} {unit}" if most >= 0 else "has too many items"
    return FieldError(ErrorType.TOO_MANY, field, count if count >= 0 else OMITTED, detail)


def internal(field: str, detail: str) -> FieldError:
    """Return the error that something could not be checked."""
    return FieldError(ErrorType.INTERNAL, field, detail=detail)
