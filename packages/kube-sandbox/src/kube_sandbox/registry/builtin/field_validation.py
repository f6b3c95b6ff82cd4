"""
Checks of single fields that many kinds share: numbers, percentages, names, paths.

Each returns a list of errors, empty if the value is valid.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go ValidateNonnegativeField,
ValidatePositiveField, validateLocalDescendingPath, ValidateLocalNonReservedPath;
pkg/apis/apps/validation/validation.go ValidatePositiveIntOrPercent, IsNotMoreThan100Percent.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kube_sandbox.registry.field_errors import FieldError, invalid, not_supported, required
from kube_sandbox.registry.name_validation import Rule, percent

Errors = list[FieldError]

NEGATIVE = "must be greater than or equal to 0"
NOT_POSITIVE = "must be greater than zero"
_MAX_ID = 2**31 - 1


def by_rule(value: str, field: str, rule: Rule) -> Errors:
    """Validate a text by a rule for names."""
    return [invalid(field, value, each) for each in rule(value)]


def check_name(value: str, field: str, rule: Rule) -> Errors:
    """Validate a text that must be there by a rule for names."""
    return by_rule(value, field, rule) if value else [required(field)]


def nonnegative(value: int | None, field: str) -> Errors:
    """Reject a number below zero."""
    return [invalid(field, value, NEGATIVE)] if value is not None and value < 0 else []


def nonnegatives(values: Mapping[str, Any], names: Iterable[str], at: str) -> Errors:
    """Reject numbers below zero."""
    found: Errors = []
    for name in names:
        found += nonnegative(values.get(name), f"{at}.{name}")
    return found


def no_more_than(
    values: Mapping[str, Any], pairs: Iterable[tuple[str, str, str]], at: str
) -> Errors:
    """Reject numbers that are greater than another: (name, other, what is said)."""
    return [
        invalid(f"{at}.{name}", values.get(name, 0), message)
        for name, other, message in pairs
        if values.get(name, 0) > values.get(other, 0)
    ]


def positive(value: int, field: str) -> Errors:
    """Reject a number that is not above zero."""
    return [] if value > 0 else [invalid(field, value, NOT_POSITIVE)]


def user_or_group(value: int | None, field: str) -> Errors:
    """Reject what is no number of a user or a group."""
    if value is None or 0 <= value <= _MAX_ID:
        return []
    return [invalid(field, value, f"must be between 0 and {_MAX_ID}, inclusive")]


def choice(value: Any, supported: Iterable[str], field: str) -> Errors:
    """Reject what is none of those there are, if it is there at all."""
    choices = tuple(supported)
    return [] if value is None or value in choices else [not_supported(field, value, choices)]


def required_choice(value: str | None, supported: Iterable[str], field: str) -> Errors:
    """Reject what is none of those there are, and nothing."""
    return choice(value, supported, field) if value else [required(field)]


def int_or_percent(value: int | str, field: str) -> Errors:
    """Reject what is neither a number from zero nor a percentage."""
    if isinstance(value, int):
        return nonnegative(value, field)
    return by_rule(value, field, percent)


def at_most_all(value: int | str, field: str) -> Errors:
    """Reject more than a hundred percent."""
    if isinstance(value, str) and not percent(value) and int(value[:-1]) > 100:
        return [invalid(field, value, "must not be greater than 100%")]
    return []


def int_or_percent_value(value: int | str) -> int:
    """Return a number, or that of a percentage."""
    if isinstance(value, int):
        return value
    digits = value[:-1] if not percent(value) else value
    return int(digits) if digits.lstrip("+-").isdecimal() else 0


def check_no_parent_steps(path: str, field: str) -> Errors:
    """Reject a path that leads upwards."""
    if ".." in path.split("/"):
        return [invalid(field, path, "must not contain '..'")]
    return []


def descending(path: str, field: str) -> Errors:
    """Reject a path that is not below where it begins."""
    found = [invalid(field, path, "must be a relative path")] if path.startswith("/") else []
    return found + check_no_parent_steps(path, field)


def unreserved(path: str, field: str) -> Errors:
    """Reject a path that is not below where it begins, or that the kubelet uses itself."""
    found = descending(path, field)
    if path.startswith("..") and not path.startswith("../"):
        found.append(invalid(field, path, "must not start with '..'"))
    return found
