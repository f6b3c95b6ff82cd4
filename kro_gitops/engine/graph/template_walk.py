"""
Finds the expressions of a template, and literals of a wrong type.

The walk follows the resource's schema, as kro's does: it checks field names and the types of
literal values, but not required fields, enums and formats, which the API server checks. Where a
schema allows everything (`x-kubernetes-preserve-unknown-fields`), and for bodies without a schema,
every string is scanned. Unlike kro, the walk continues after a fault.
"""

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from kube_cel.interpolation import NestedExpression, Template, scan
from kube_objects.paths import format_path
from kube_objects.problems import Path, Problem, Spot

Schema = dict[str, Any]

PRESERVE = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"
_ANY = ("any",)
# Literals: their type in messages, and the types of fields that accept them.
_LITERALS: dict[type, tuple[str, tuple[str, ...]]] = {
    bool: ("boolean", ("boolean",)),
    int: ("integer", ("integer", "number")),
    float: ("float64", ("number",)),
}
# Texts that would have the right type without quotes.
_UNQUOTED = {
    "integer": re.compile(r"[+-]?[0-9]+"),
    "number": re.compile(r"[+-]?[0-9]+(\.[0-9]+)?"),
    "boolean": re.compile(r"true|false"),
}


@dataclass(frozen=True, slots=True)
class FoundField:
    """A string value that holds expressions, and where it stands in the body."""

    path: Path
    template: Template
    text: str


@dataclass(slots=True)
class Walked:
    """What a walk found; `plain` are the leaves without an expression."""

    fields: list[FoundField] = field(default_factory=list)
    plain: list[Path] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def walk_freely(body: Any, path: Path = ()) -> Walked:
    """Scan every string of a body that has no schema."""
    walked = Walked()
    _scan_freely(body, path, walked)
    return walked


def walk_by_schema(body: Any, schema: Schema, path: Path = ()) -> Walked:
    """Scan a body along its schema, checking names and literal types on the way."""
    walked = Walked()
    _Walk(walked).value(body, schema, path)
    return walked


def _scan_freely(value: Any, path: Path, walked: Walked) -> None:
    if isinstance(value, dict):
        for key, child in value.items():
            _scan_freely(child, (*path, key), walked)
    elif isinstance(value, list):
        for index, child in enumerate(value):
            _scan_freely(child, (*path, index), walked)
    elif not isinstance(value, str):
        walked.plain.append(path)
    elif (template := _scan(value, path, walked)) is not None:
        if template.is_literal:
            walked.plain.append(path)
        else:
            walked.fields.append(FoundField(path, template, value))


def _scan(text: str, path: Path, walked: Walked) -> Template | None:
    try:
        return scan(text)
    except NestedExpression as error:
        walked.problems.append(
            Problem(
                "nested-expression",
                error.message,
                Spot(path, error.offset, error.offset + 2),
                hint='to get the text "${…}", write it as a string literal: ${"${…}"}',
            )
        )
        return None


class _Walk:
    """The recursion along a schema."""

    def __init__(self, walked: Walked) -> None:
        self._walked = walked

    def value(self, value: Any, schema: Schema, path: Path) -> None:
        if (
            not _preserves(schema)
            and not any(schema.get(key) for key in ("type", "oneOf", "anyOf"))
            and schema.get("additionalProperties") is None
        ):
            text = (
                f"schema at path {_show(path)} has no valid type, "
                "OneOf, AnyOf, or AdditionalProperties"
            )
            self._problem("unusable-schema", text, path)
            return
        expected = expected_types(schema)
        if expected is None:
            self._problem("unusable-schema", "unknown schema type", path)
            return
        match value:
            case dict() | list() if _preserves(schema):
                _scan_freely(value, path, self._walked)
            case dict():
                self._object(value, schema, path, expected)
            case list():
                self._array(value, schema, path, expected)
            case str():
                self._string(value, path, expected)
            case None:
                pass
            case _:
                actual, fitting = _LITERALS.get(type(value), _LITERALS[float])
                if expected != _ANY and not any(name in expected for name in fitting):
                    self._wrong_type(expected, path, actual)

    def _object(
        self, value: dict[str, Any], schema: Schema, path: Path, expected: tuple[str, ...]
    ) -> None:
        additional = schema.get("additionalProperties")
        if "object" not in expected and not additional:
            self._wrong_type(expected, path, "object")
            return
        properties = schema.get("properties") or {}
        for key, child in value.items():
            if key in properties:
                self.value(child, properties[key], (*path, key))
            elif additional is not None and additional is not False:
                below = additional if isinstance(additional, dict) else {}
                self.value(child, below, (*path, key))
            else:
                # kro prints a leading dot at the root and never quotes the key.
                shown = f"{_show(path)}.{key}"
                near = get_close_matches(key, list(properties), n=1, cutoff=0.7)
                self._walked.problems.append(
                    Problem(
                        "unknown-field",
                        f"'{_show((*path, key))}' is not a field of this kind",
                        Spot((*path, key), on_key=True),
                        f"error getting field schema for path {shown}: "
                        f"schema not found for field {key}",
                        hint=f"did you mean '{near[0]}'?" if near else "",
                    )
                )

    def _array(
        self, value: list[Any], schema: Schema, path: Path, expected: tuple[str, ...]
    ) -> None:
        if "array" not in expected:
            self._wrong_type(expected, path, "array")
            return
        items = schema.get("items")
        if not isinstance(items, dict):
            self._problem(
                "unusable-schema",
                f"invalid array schema for path {_show(path)}: "
                "neither Items.Schema nor Properties are defined",
                path,
            )
            return
        for index, child in enumerate(value):
            self.value(child, items, (*path, index))

    def _string(self, value: str, path: Path, expected: tuple[str, ...]) -> None:
        template = _scan(value, path, self._walked)
        if template is None:
            return
        if template.is_standalone or "string" in expected or expected == _ANY:
            if not template.is_literal:
                self._walked.fields.append(FoundField(path, template, value))
            return
        unquoted = _UNQUOTED.get(expected[0])
        hint = ""
        if not template.is_literal:
            hint = (
                "a field that is not a string takes one expression alone: ${…}, nothing around it"
            )
        elif unquoted is not None and unquoted.fullmatch(value):
            hint = f"write the {expected[0]} without quotes"
        self._wrong_type(expected, path, "string", hint)

    def _wrong_type(
        self, expected: tuple[str, ...], path: Path, actual: str, hint: str = ""
    ) -> None:
        """Report a value whose type the schema does not allow, in kro's words."""
        types = " or ".join(expected)
        text = f"expected {types} type for path {_show(path)}, got {actual}"
        self._problem("wrong-type", text, path, hint)

    def _problem(self, code: str, text: str, path: Path, hint: str = "") -> None:
        self._walked.problems.append(Problem(code, text, Spot(path), hint=hint))


def expected_types(schema: Schema) -> tuple[str, ...] | None:
    """
    Return the JSON types a field may have, `any` for all; None if the schema does not say.

    The order of the rules is kro's: extensions, then alternatives, then the plain type.
    """
    if _preserves(schema):
        return _ANY
    if schema.get(INT_OR_STRING) is True:
        return ("string", "integer")
    for key in ("oneOf", "anyOf"):
        types: dict[str, None] = {}  # each once, in order
        for member in schema.get(key) or ():
            if member.get("required") or member.get("not") is not None:
                types["object"] = None
            if member.get("type"):
                types[member["type"]] = None
        if types:
            return tuple(types)
    if schema.get("type"):
        return (schema["type"],)
    return _ANY if schema.get("additionalProperties") else None


def _preserves(schema: Schema) -> bool:
    return schema.get(PRESERVE) is True


def _show(path: Path) -> str:
    return format_path(path)
