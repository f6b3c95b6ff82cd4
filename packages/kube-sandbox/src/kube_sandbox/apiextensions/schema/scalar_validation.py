"""
The rules for texts and numbers: each a function that adds flaws, made once for a schema.

Bounds are compared as the API server does: cut to an integer for an integer, and of several rules
for a text only the first that is broken is told.

Follows kube-openapi 589584f1c912 pkg/validation/validate/values.go MaxLength, MinLength, Pattern,
MaximumNativeType, MinimumNativeType, MultipleOfNativeType; pkg/validation/errors/schema.go
TooShort, FailedPattern, ExceedsMaximum, NotMultipleOf.
"""

from collections.abc import Callable
from typing import Any

from kube_objects.formats import matches_format
from kube_objects.go_format import format_value
from kube_objects.keyword_checks import (
    compile_pattern,
    is_above_maximum,
    is_below_minimum,
    is_multiple,
)
from kube_objects.schemas import Schema
from kube_sandbox.apiextensions.schema.violations import (
    Violation,
    format_number,
    length_violation,
    rule_violation,
    type_violation,
)
from kube_sandbox.registry.field_errors import ErrorType

Check = Callable[[Any, str, list[Violation]], None]
_TextRule = Callable[[str, str], Violation | None]
_NumberRule = Callable[[Any, str], Violation | None]


def text_check(schema: Schema, form: str) -> Check | None:
    """Create the check of texts, or None if there is nothing to check."""
    rules = [make(schema) for keyword, make in _TEXT_RULES.items() if schema.get(keyword)]
    # A length of nought limits, too; an empty pattern does not.
    if schema.get("maxLength") == 0:
        rules.insert(0, _max_length_rule(schema))
    if not rules and not form:
        return None

    def check(text: str, path: str, found: list[Violation]) -> None:
        for rule in rules:
            violation = rule(text, path)
            if violation is not None:
                found.append(violation)
                break
        if form and not matches_format(text, form):
            found.append(type_violation(path, form, text))

    return check


def _max_length_rule(schema: Schema) -> _TextRule:
    most = schema["maxLength"]
    return lambda text, path: length_violation(path, most) if len(text) > most else None


def _min_length_rule(schema: Schema) -> _TextRule:
    least = schema["minLength"]
    rule = f"should be at least {least} chars long"
    return lambda text, path: rule_violation(path, text, rule) if len(text) < least else None


def _pattern(schema: Schema) -> _TextRule:
    text = schema["pattern"]
    search = compile_pattern(text).search
    rule = f"should match '{text}'"
    return lambda value, path: None if search(value) else rule_violation(path, value, rule)


_TEXT_RULES: dict[str, Callable[[Schema], _TextRule]] = {
    "maxLength": _max_length_rule,
    "minLength": _min_length_rule,
    "pattern": _pattern,
}


def number_check(schema: Schema) -> Check | None:
    """Create the check of numbers, or None if there is nothing to check."""
    rules = [
        make(schema) for keyword, make in _NUMBER_RULES.items() if schema.get(keyword) is not None
    ]
    if not rules:
        return None

    def check(number: Any, path: str, found: list[Violation]) -> None:
        found += [violation for rule in rules if (violation := rule(number, path)) is not None]

    return check


def _go_bound(number: float, bound: float) -> float:
    """Return a bound of the type in which Go prints it beside a number."""
    return int(bound) if isinstance(number, int) else float(bound)


def _multiple_of(schema: Schema) -> _NumberRule:
    def rule(number: Any, path: str) -> Violation | None:
        factor = _go_bound(number, schema["multipleOf"])
        if factor <= 0:
            message = (
                f"factor MultipleOf declared for {path} must be positive: {format_value(factor)}"
            )
            return Violation(ErrorType.INVALID, path, format_number(factor), message)
        if is_multiple(number, factor):
            return None
        return rule_violation(path, number, f"should be a multiple of {format_value(factor)}")

    return rule


def _minimum(schema: Schema) -> _NumberRule:
    exclusive = schema.get("exclusiveMinimum") is True
    words = "should be greater than" if exclusive else "should be greater than or equal to"

    def rule(number: Any, path: str) -> Violation | None:
        if not is_below_minimum(number, schema):
            return None
        bound = _go_bound(number, schema["minimum"])
        return rule_violation(path, number, f"{words} {format_value(bound)}")

    return rule


def _maximum(schema: Schema) -> _NumberRule:
    exclusive = schema.get("exclusiveMaximum") is True
    words = "should be less than" if exclusive else "should be less than or equal to"

    def rule(number: Any, path: str) -> Violation | None:
        if not is_above_maximum(number, schema):
            return None
        bound = _go_bound(number, schema["maximum"])
        return rule_violation(path, number, f"{words} {format_value(bound)}")

    return rule


_NUMBER_RULES: dict[str, Callable[[Schema], _NumberRule]] = {
    "multipleOf": _multiple_of,
    "minimum": _minimum,
    "maximum": _maximum,
}
