"""
One value against the keywords of its schema that speak of it alone.

A table from keyword to check; the walk through an object's fields is somewhere else. A check
gives a `Violation`, the second half of a sentence whose first half is the field's path.

Values are shown in flaws unless they are to be hidden: then a flaw says only what was expected.
"""

import json
from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from kube_objects.formats import matches_format
from kube_objects.keyword_checks import (
    bound_for,
    compile_pattern,
    is_above_maximum,
    is_below_minimum,
    is_choice,
    is_multiple,
    is_whole,
)
from kube_objects.schemas import Schema
from kube_objects.structural_schema import is_nullable, types

_MAX_VALUE_LENGTH = 60
_MAX_CHOICES = 12

_TYPE_NAMES = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
    "null": "null",
}
_VALUE_TYPE_NAMES: dict[type, str] = {
    type(None): "null",
    bool: "a boolean",
    str: "a string",
    dict: "an object",
    list: "a list",
}


@dataclass(frozen=True, slots=True)
class Violation:
    """What is wrong with a value: `'spec.replicas'` … `is 0, but must be at least 1`."""

    code: str
    text: str
    hint: str = ""


Check = Callable[[Any, Schema, bool], Violation | None]


def find_violations(value: Any, schema: Schema, hidden: bool) -> Iterator[Violation]:
    """Check a value that has the right type against every keyword of its schema."""
    for keyword in schema:
        check = _CHECKS.get(keyword)
        if check is not None:
            flaw = check(value, schema, hidden)
            if flaw is not None:
                yield flaw


def wrong_type(value: Any, schema: Schema, hidden: bool) -> Violation | None:
    """Check whether a value is of an allowed type."""
    allowed = types(schema)
    if not allowed or _has_type(value, allowed) or (value is None and is_nullable(schema)):
        return None
    wanted = " or ".join(_TYPE_NAMES.get(name, name) for name in allowed)
    text = f"must be {wanted}, but is {_describe(value, hidden)}"
    return Violation("wrong-type", text, _type_hint(value, allowed))


def format_value(value: Any, hidden: bool = False) -> str:
    """Print a value for a message, cut to a length that can be read."""
    if hidden:
        return "a hidden value"
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= _MAX_VALUE_LENGTH:
        return text
    closing = '"' if isinstance(value, str) else ""
    return text[: _MAX_VALUE_LENGTH - 1] + "…" + closing


def same_key(value: Any) -> str:
    """Return a text that is equal for equal JSON values, and only for them."""
    return json.dumps(value, sort_keys=True)


def did_you_mean(word: str, choices: list[str]) -> str:
    """Return a hint that names the choice nearest to a word, if one is near."""
    by_folded = {choice.casefold(): choice for choice in choices}
    near = get_close_matches(word.casefold(), by_folded, n=1, cutoff=0.6)
    return f"did you mean '{by_folded[near[0]]}'?" if near else ""


def _has_type(value: Any, allowed: tuple[str, ...]) -> bool:
    match value:
        case None:
            return "null" in allowed
        case bool():
            return "boolean" in allowed
        case str():
            return "string" in allowed
        case int():
            return "integer" in allowed or "number" in allowed
        case float():
            return "number" in allowed or ("integer" in allowed and is_whole(value))
        case dict():
            return "object" in allowed
        case _:
            return "array" in allowed


def _describe(value: Any, hidden: bool) -> str:
    name = _VALUE_TYPE_NAMES.get(type(value), "a number")
    if hidden or value is None or isinstance(value, (dict, list)):
        return name
    return f"the{name[1:]} {format_value(value)}"


def _type_hint(value: Any, allowed: tuple[str, ...]) -> str:
    if "string" in allowed and isinstance(value, (bool, int, float)):
        return "put it in quotes"
    if isinstance(value, str) and not {"object", "array"} & set(allowed):
        try:
            literal = json.loads(value)
        except ValueError:
            return ""
        return "remove the quotes" if _has_type(literal, allowed) else ""
    return ""


def _enum(value: Any, schema: Schema, hidden: bool) -> Violation | None:
    choices = schema["enum"]
    if not choices or any(is_choice(value, choice) for choice in choices):
        return None
    words = [choice if isinstance(choice, str) else format_value(choice) for choice in choices]
    listed = ", ".join(words[:_MAX_CHOICES]) + (", …" if len(words) > _MAX_CHOICES else "")
    hint = did_you_mean(value, words) if isinstance(value, str) and not hidden else ""
    return Violation(
        "not-in-enum", f"is {format_value(value, hidden)}, but must be one of: {listed}", hint
    )


def _matches(value: Any, schema: Schema, hidden: bool) -> Violation | None:
    text = schema["pattern"]
    if not isinstance(value, str) or not text:
        return None
    pattern = compile_pattern(text)
    if pattern is None:
        return Violation("invalid-pattern", f"cannot be checked: the pattern {text} is not valid")
    if pattern.search(value):
        return None
    return Violation(
        "pattern-mismatch",
        f"is {format_value(value, hidden)}, which does not match the pattern {text}",
    )


def _format(value: Any, schema: Schema, hidden: bool) -> Violation | None:
    name = schema["format"]
    if not isinstance(value, str) or matches_format(value, name):
        return None
    return Violation(
        "wrong-format", f"is {format_value(value, hidden)}, which does not have the format {name}"
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _minimum(value: Any, schema: Schema, hidden: bool) -> Violation | None:
    if not _is_number(value) or not is_below_minimum(value, schema):
        return None
    bound = bound_for(value, schema["minimum"])
    exclusive = schema.get("exclusiveMinimum") is True
    wanted = f"greater than {bound}" if exclusive else f"at least {bound}"
    return Violation("out-of-range", f"is {format_value(value, hidden)}, but must be {wanted}")


def _maximum(value: Any, schema: Schema, hidden: bool) -> Violation | None:
    if not _is_number(value) or not is_above_maximum(value, schema):
        return None
    bound = bound_for(value, schema["maximum"])
    exclusive = schema.get("exclusiveMaximum") is True
    wanted = f"less than {bound}" if exclusive else f"at most {bound}"
    return Violation("out-of-range", f"is {format_value(value, hidden)}, but must be {wanted}")


def _multiple_of(value: Any, schema: Schema, hidden: bool) -> Violation | None:
    if not _is_number(value):
        return None
    factor = bound_for(value, schema["multipleOf"])
    if factor > 0 and is_multiple(value, factor):
        return None
    return Violation(
        "not-a-multiple", f"is {format_value(value, hidden)}, but must be a multiple of {factor}"
    )


def _size(keyword: str, kind: type[Sized], noun: str, *, least: bool) -> Check:
    """Make a check of how many characters, items or fields there are."""

    def check(value: Any, schema: Schema, hidden: bool) -> Violation | None:
        if not isinstance(value, kind):
            return None
        size, bound = len(value), schema[keyword]
        if size >= bound if least else size <= bound:
            return None
        wanted = f"must have at least {bound}" if least else f"may have at most {bound}"
        many = f"{size} {noun}" if size != 1 else f"{size} {noun.removesuffix('s')}"
        return Violation("wrong-length", f"has {many}, but {wanted}")

    return check


_CHECKS: dict[str, Check] = {
    "enum": _enum,
    "pattern": _matches,
    "format": _format,
    "minimum": _minimum,
    "maximum": _maximum,
    "multipleOf": _multiple_of,
    "minLength": _size("minLength", str, "characters", least=True),
    "maxLength": _size("maxLength", str, "characters", least=False),
    "minItems": _size("minItems", list, "items", least=True),
    "maxItems": _size("maxItems", list, "items", least=False),
    "minProperties": _size("minProperties", dict, "fields", least=True),
    "maxProperties": _size("maxProperties", dict, "fields", least=False),
}
