"""
Violations of single keywords, described to the author of a manifest.

A `Description` is the second half of a sentence whose first half is the field's path. Values are
shown in it unless they are to be hidden: then it says only what is expected.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from kube_objects.keyword_checks import bound_for, compile_pattern, is_whole
from kube_objects.schema_validator import SchemaValidator, Violation
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
class Description:
    """A violation in words: `'spec.replicas'` … `is 0, but must be at least 1`."""

    code: str
    text: str
    hint: str = ""


def find_violations(value: Any, schema: Schema, hidden: bool) -> Iterator[Description]:
    """Yield descriptions of the violations in a scalar value."""
    for each in SchemaValidator(schema).violations(value):
        yield describe(each, hidden)


def describe(violation: Violation, hidden: bool) -> Description:
    """Describe which keyword a value breaks; combinations of schemas only in general."""
    if violation.keyword == "type":
        found = wrong_type(violation.value, violation.schema, hidden)
        if found is not None:
            return found
        return _format(violation, hidden)
    make = _DESCRIPTIONS.get(violation.keyword)
    if make is not None:
        return make(violation, hidden)
    return Description("no-alternative", f"does not fit {violation.keyword}")


def wrong_type(value: Any, schema: Schema, hidden: bool) -> Description | None:
    """Describe a value that is of no allowed type; None if it is of one."""
    allowed = types(schema)
    if not allowed or _has_type(value, allowed) or (value is None and is_nullable(schema)):
        return None
    wanted = " or ".join(_TYPE_NAMES.get(name, name) for name in allowed)
    given = _VALUE_TYPE_NAMES.get(type(value), "a number")
    if not hidden and value is not None and not isinstance(value, (dict, list)):
        given = f"the{given[1:]} {format_value(value)}"
    text = f"must be {wanted}, but is {given}"
    return Description("wrong-type", text, _type_hint(value, allowed))


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


def _enum(violation: Violation, hidden: bool) -> Description:
    value, choices = violation.value, violation.schema["enum"]
    words = [choice if isinstance(choice, str) else format_value(choice) for choice in choices]
    listed = ", ".join(words[:_MAX_CHOICES]) + (", …" if len(words) > _MAX_CHOICES else "")
    hint = did_you_mean(value, words) if isinstance(value, str) and not hidden else ""
    text = f"is {format_value(value, hidden)}, but must be one of: {listed}"
    return Description("not-in-enum", text, hint)


def _pattern(violation: Violation, hidden: bool) -> Description:
    pattern, shown = violation.schema["pattern"], format_value(violation.value, hidden)
    if compile_pattern(pattern) is None:
        text = f"cannot be checked: the pattern {pattern} is not valid"
        return Description("invalid-pattern", text)
    text = f"is {shown}, which does not match the pattern {pattern}"
    return Description("pattern-mismatch", text)


def _format(violation: Violation, hidden: bool) -> Description:
    name, shown = violation.schema["format"], format_value(violation.value, hidden)
    if isinstance(violation.value, int):
        return Description("out-of-range", f"is {shown}, but must fit {name}")
    return Description("wrong-format", f"is {shown}, which does not have the format {name}")


def _bound(violation: Violation, hidden: bool) -> Description:
    schema, value = violation.schema, violation.value
    bound = bound_for(value, schema[violation.keyword])
    code = "out-of-range"
    match violation.keyword:
        case "minimum":
            exclusive = schema.get("exclusiveMinimum") is True
            wanted = f"greater than {bound}" if exclusive else f"at least {bound}"
        case "maximum":
            exclusive = schema.get("exclusiveMaximum") is True
            wanted = f"less than {bound}" if exclusive else f"at most {bound}"
        case _:
            code, wanted = "not-a-multiple", f"a multiple of {bound}"
    return Description(code, f"is {format_value(value, hidden)}, but must be {wanted}")


def _size(violation: Violation, _: bool) -> Description:
    """Describe how many characters, items or fields there are."""
    noun = violation.keyword[3:].lower().replace("length", "characters")
    noun = noun.replace("properties", "fields")
    size, bound = len(violation.value), violation.schema[violation.keyword]
    is_least = violation.keyword.startswith("min")
    wanted = f"must have at least {bound}" if is_least else f"may have at most {bound}"
    many = f"{size} {noun}" if size != 1 else f"{size} {noun.removesuffix('s')}"
    return Description("wrong-length", f"has {many}, but {wanted}")


def _excluded(violation: Violation, _: bool) -> Description:
    names = required_only([violation.schema["not"]])
    if names:
        return Description("excluded-form", f"must not have {quoted(names, 'and')}")
    return Description("excluded-form", "matches a schema that is not allowed")


def required_only(parts: list[Schema]) -> list[str]:
    """Return the names if each part only says that one field is required, else nothing."""
    if not all(list(part) == ["required"] and len(part["required"]) == 1 for part in parts):
        return []
    return [part["required"][0] for part in parts]


def quoted(names: list[str], word: str) -> str:
    """Return names in quotes, the last after `word`."""
    found = [f"'{name}'" for name in names]
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} {word} {found[-1]}"


_DESCRIPTIONS: dict[str, Callable[[Violation, bool], Description]] = {
    "enum": _enum,
    "pattern": _pattern,
    "format": _format,
    "not": _excluded,
    **dict.fromkeys(("minimum", "maximum", "multipleOf"), _bound),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _size),
    **dict.fromkeys(("minProperties", "maxProperties"), _size),
}
