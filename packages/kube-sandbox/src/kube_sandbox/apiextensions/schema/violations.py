"""
Violations of a schema in the words of the library that the API server checks custom objects with.

They do not always fit what Kubernetes says elsewhere: the text repeats the path, a type is shown as
a value. Of several rules that a text breaks only the first is reported, and of several schemas of
which none fits the violations of that which came nearest.

Follows kubernetes 1.35 k8s.io/apiextensions-apiserver/pkg/apiserver/validation/validation.go
kubeOpenAPIResultToFieldErrors; kube-openapi 589584f1c912 pkg/validation/errors/schema.go
InvalidType, EnumFail, TooLong, TooShort, Required, FailedPattern, ExceedsMaximum, NotMultipleOf.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import orjson

from kube_objects.go_format import format_value
from kube_objects.go_numbers import format_double
from kube_objects.go_text import quote
from kube_objects.schema_validator import BESIDE_PROPERTIES, Attempts, Trail, Violation
from kube_sandbox.registry.field_errors import ErrorType, FieldError, too_many

NOWHERE = "<nil>"
_TEXT_RULES = frozenset(("maxLength", "minLength", "pattern"))
_COMBINATIONS = frozenset(("anyOf", "oneOf", "allOf", "not"))


def format_number(value: Any) -> Any:
    """Return a value so that errors print a number with a point as Go does."""
    return orjson.Fragment(format_double(value)) if isinstance(value, float) else value


def as_field_errors(violations: Iterable[Violation], prefix: str = "") -> list[FieldError]:
    """Describe violations of the value at a path, each only once."""
    found: dict[str, FieldError] = {}
    for error in _described(violations):
        below = error.field.removeprefix(".")
        path = ".".join(part for part in (prefix, below) if part) or NOWHERE
        named = FieldError(error.sort, path, error.value, error.detail)
        found.setdefault(str(named), named)
    return list(found.values())


def _described(violations: Iterable[Violation]) -> Iterator[FieldError]:
    """Yield errors with the paths below the value that was checked; empty: of no field at all."""
    before: Violation | None = None
    for violation in violations:
        if violation.keyword in _COMBINATIONS:
            # Which combination of schemas the value fails, and why.
            attempts: Attempts = violation.detail
            because: Iterable[Violation] = ()
            match violation.keyword:
                case "anyOf":
                    message = "validate at least one schema (anyOf)"
                    because = _nearest(attempts, violation.value)
                case "oneOf":
                    fitting = len(attempts.fitting)
                    found = f"Found {fitting} valid alternatives" if fitting else "Found none valid"
                    message = f"validate one and only one schema (oneOf). {found}"
                    because = _nearest(attempts, violation.value) if not fitting else ()
                case "allOf":
                    for tried in attempts.violations:
                        yield from _described(tried)
                    none = "" if attempts.fitting else ". None validated"
                    message = f"validate all the schemas (allOf){none}"
                case _:
                    message = "not validate the schema (not)"
            text = f"{quote(_text(violation.trail))} must {message}"
            yield FieldError(ErrorType.INVALID, "", "", text)
            yield from _described(because)
            continue
        if violation.keyword in _TEXT_RULES:
            if (
                before is not None
                and before.trail is violation.trail
                and before.schema is violation.schema
            ):
                continue
            before = violation
        yield _DESCRIPTIONS[violation.keyword](violation, _text(violation.trail))


def _nearest(attempts: Attempts, value: Any) -> list[Violation]:
    """Return the violations of the schema that came nearest; of the first of those that did."""
    counts = [each.count(value) for each in attempts.validators]
    return attempts.violations[counts.index(max(counts))]


def _text(trail: Trail) -> str:
    steps = []
    while trail is not None and trail is not BESIDE_PROPERTIES:
        trail, step = trail
        steps.append(f"[{step}]" if isinstance(step, int) else f".{step}")
    path = "".join(reversed(steps))
    # The library forgets that there is nothing before a key that is no property.
    return path if trail is BESIDE_PROPERTIES else path.removeprefix(".")


def _rule(path: str, value: Any, rule: str) -> FieldError:
    return FieldError(ErrorType.INVALID, path, format_number(value), f"{path} in body {rule}")


def _type(path: str, wanted: str, found: str) -> FieldError:
    message = f"{path} in body must be of type {wanted}: {quote(found)}"
    return FieldError(ErrorType.TYPE_INVALID, path, found, message)


def _bound(violation: Violation) -> str:
    """Print the bound that a number breaks, as Go prints it beside that number."""
    number, bound = violation.value, violation.schema[violation.keyword]
    return format_value(int(bound) if isinstance(number, int) else float(bound))


def _choices(violation: Violation, path: str) -> FieldError:
    choices = violation.schema["enum"]
    texts = (each if isinstance(each, str) else orjson.dumps(each).decode() for each in choices)
    detail = f"supported values: {', '.join(map(quote, texts))}"
    return FieldError(ErrorType.NOT_SUPPORTED, path, format_number(violation.value), detail)


def _too_long(violation: Violation, path: str) -> FieldError:
    most = violation.schema["maxLength"]
    unit = "byte" if most == 1 else "bytes"
    message = f"may not be more than {most} {unit}" if most >= 0 else "value is too long"
    return FieldError(ErrorType.TOO_LONG, path, None, message)


def _multiple_of(violation: Violation, path: str) -> FieldError:
    factor, shown = violation.schema["multipleOf"], _bound(violation)
    factor = int(factor) if isinstance(violation.value, int) else float(factor)
    if factor <= 0:
        message = f"factor MultipleOf declared for {path} must be positive: {shown}"
        return FieldError(ErrorType.INVALID, path, format_number(factor), message)
    return _rule(path, violation.value, f"should be a multiple of {shown}")


def _limit(violation: Violation, path: str) -> FieldError:
    word, exclusive = {
        "minimum": ("greater", "exclusiveMinimum"),
        "maximum": ("less", "exclusiveMaximum"),
    }[violation.keyword]
    equal = "" if violation.schema.get(exclusive) is True else " or equal to"
    return _rule(path, violation.value, f"should be {word} than{equal} {_bound(violation)}")


def _size(violation: Violation, path: str) -> FieldError:
    """Report a wrong length; upstream has a type of its own only for what is too long."""
    bound, size = violation.schema[violation.keyword], len(violation.value)
    if violation.keyword.startswith("max"):
        return too_many(path, size, bound)
    noun = violation.keyword.removeprefix("min").lower()
    return _rule(path, size, f"should have at least {bound} {noun}")


_DESCRIPTIONS: Mapping[str, Callable[[Violation, str], FieldError]] = {
    "type": lambda each, path: _type(path, *each.detail),
    "format": lambda each, path: _type(path, each.schema["format"], each.value),
    "enum": _choices,
    "required": lambda each, path: FieldError(ErrorType.REQUIRED, f"{path}.{each.detail}", None),
    "additionalProperties": lambda each, path: FieldError(
        ErrorType.INVALID,
        path,
        each.detail,
        f"{path}.{each.detail} in body is a forbidden property",
    ),
    "maxLength": _too_long,
    "minLength": lambda each, path: _rule(
        path, each.value, f"should be at least {each.schema['minLength']} chars long"
    ),
    "pattern": lambda each, path: _rule(
        path, each.value, f"should match '{each.schema['pattern']}'"
    ),
    "multipleOf": _multiple_of,
    "minimum": _limit,
    "maximum": _limit,
    **dict.fromkeys(("minItems", "maxItems", "minProperties", "maxProperties"), _size),
}
