"""
What is wrong with a value, by its schema: a flaw for each rule of OpenAPI that it breaks.

A flaw knows where it is relative to the value that was checked; `field_errors` puts it into the
object. The words are those of the library the API server checks custom objects with. They do not
always fit what Kubernetes says elsewhere: the text repeats the path, a type is told as a value.

Follows kubernetes 1.35 k8s.io/apiextensions-apiserver/pkg/apiserver/validation/validation.go
kubeOpenAPIResultToFieldErrors; kube-openapi 589584f1c912 pkg/validation/errors/schema.go
InvalidType, EnumFail, TooLong, Required.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from kube_objects.go_numbers import format_double
from kube_objects.go_text import quote
from kube_sandbox.registry.field_errors import ErrorType, FieldError, too_many

NOWHERE = "<nil>"


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule; `path` is None for one that is told of no field at all."""

    sort: ErrorType
    path: str | None
    value: Any
    detail: str = ""


def format_number(value: Any) -> Any:
    """Return a value so that errors print a number with a point as Go does."""
    return orjson.Fragment(format_double(value)) if isinstance(value, float) else value


def type_violation(path: str, wanted: str, found: str) -> Violation:
    """Return the error that a value is of another type, or a text in another format."""
    message = f"{path} in body must be of type {wanted}: {quote(found)}"
    return Violation(ErrorType.TYPE_INVALID, path, found, message)


def required_violation(path: str) -> Violation:
    """Return the error that a field must be there."""
    return Violation(ErrorType.REQUIRED, path, None)


def enum_violation(path: str, value: Any, choices: Iterable[Any]) -> Violation:
    """Return the error that a value is none of those listed."""
    texts = (each if isinstance(each, str) else orjson.dumps(each).decode() for each in choices)
    return Violation(
        ErrorType.NOT_SUPPORTED,
        path,
        format_number(value),
        f"supported values: {', '.join(map(quote, texts))}",
    )


def length_violation(path: str, most: int) -> Violation:
    """Return the error that a text is too long."""
    unit = "byte" if most == 1 else "bytes"
    message = f"may not be more than {most} {unit}" if most >= 0 else "value is too long"
    return Violation(ErrorType.TOO_LONG, path, None, message)


def count_violation(path: str, count: int, most: int) -> Violation:
    """Return the error that a list or an object has too many parts."""
    error = too_many("", count, most)
    return Violation(error.sort, path, error.value, error.detail)


def rule_violation(path: str, value: Any, rule: str) -> Violation:
    """Return which rule a value breaks: `should be at least 3 chars long`."""
    return Violation(ErrorType.INVALID, path, format_number(value), f"{path} in body {rule}")


def forbidden_violation(path: str, key: str) -> Violation:
    """Return the error that a field may not be there."""
    return Violation(ErrorType.INVALID, path, key, f"{path}.{key} in body is a forbidden property")


def combination_violation(path: str, message: str) -> Violation:
    """Return which combination of schemas a value fails."""
    return Violation(ErrorType.INVALID, None, "", f"{quote(path)} must {message}")


def as_field_errors(violations: Iterable[Violation], prefix: str = "") -> list[FieldError]:
    """Tell flaws of the value at a path, each only once."""
    message: dict[str, FieldError] = {}
    for violation in violations:
        path = violation.path
        if path in (None, "", "."):
            field_path = prefix or NOWHERE
        else:
            below = path.removeprefix(".") if path else ""
            field_path = f"{prefix}.{below}" if prefix else below
        found = FieldError(violation.sort, field_path, violation.value, violation.detail)
        message.setdefault(str(found), found)
    return list(message.values())
