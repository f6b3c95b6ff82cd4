"""
What each marker does to a schema.

One function for each marker, looked up by name. Each takes the draft of the field's type and either
changes it or raises `MarkerError` with kro's message. A draft of unknown type (because the
definition names a wrong one) accepts every marker whose value can be parsed.
"""

import math
from collections.abc import Callable, Sequence

from kro_gitops.engine.simpleschema import json_text
from kro_gitops.engine.simpleschema.go_literals import (
    LiteralError,
    compile_pattern,
    parse_bool,
    parse_float,
    parse_int,
    trim,
)
from kro_gitops.engine.simpleschema.markers import MARKERS, Marker
from kro_gitops.engine.simpleschema.schema_nodes import LIST_MAP_KEYS, LIST_TYPE, VALIDATIONS, Draft
from kube_objects.errors import SchemaError
from kube_objects.go_text import quote
from kube_objects.problems import Problem

IMMUTABLE_RULE = "self == oldSelf"
LIST_TYPES = ("atomic", "set", "map")

# Mistakes about the marker as such; all others are about its value.
_ABOUT_MARKER = frozenset(("marker-on-wrong-type", "contradicting-list-type"))


class MarkerError(SchemaError):
    """A marker that cannot be applied: kro's message, and in `summary` ours."""

    def __init__(
        self, marker: Marker, code: str, message: str, *, summary: str = "", hint: str = ""
    ) -> None:
        about_value = code not in _ABOUT_MARKER and marker.value_start < marker.end
        spot = marker.value_spot if about_value else marker.spot
        super().__init__(code, message, spot=spot, hint=hint)
        self.summary = summary or message


def apply(marker: Marker, draft: Draft) -> None:
    """Apply one marker."""
    _EFFECTS[marker.name](marker, draft)


def check_together(markers: Sequence[Marker], draft: Draft) -> None:
    """Check what no marker of a definition can check alone, once all are applied."""
    keys = [marker for marker in markers if marker.name == "listMapKey"]
    list_type = draft.keywords.get(LIST_TYPE)
    if not keys or not draft.keywords.get(LIST_MAP_KEYS) or list_type == "map":
        return
    state = "unset" if list_type is None else f"set to {list_type}"
    raise MarkerError(
        keys[0],
        "list-map-key-without-map",
        f"listMapKey set while listType is {state}, listType must be set to map",
        summary="listMapKey needs listType=map",
        hint="add listType=map" if list_type is None else "",
    )


def _required(marker: Marker, draft: Draft) -> None:
    if _switch(marker, "failed to parse required marker value"):
        draft.required += 1


def _description(marker: Marker, draft: Draft) -> None:
    if marker.value:
        draft.set("description", marker.value, marker.spot)
    else:
        draft.keywords.pop("description", None)


def _immutable(marker: Marker, draft: Draft) -> None:
    if _switch(marker, "failed to parse immutable marker value"):
        rule = {"rule": IMMUTABLE_RULE, "message": "field is immutable"}
        draft.append(VALIDATIONS, rule, marker.spot)


def _validation(marker: Marker, draft: Draft) -> None:
    if not trim(marker.value):
        raise MarkerError(
            marker,
            "empty-validation",
            "validation failed",
            summary="validation has no rule",
            hint="write a CEL expression: validation=\"self != ''\"",
        )
    rule = {"rule": marker.value, "message": "validation failed"}
    draft.append(VALIDATIONS, rule, marker.spot)


def _bound(marker: Marker, draft: Draft) -> None:
    try:
        value = parse_float(marker.value)
    except LiteralError as error:
        message = f"failed to parse {marker.name} enum value: {error}"
        raise _not_a_number(marker, message, "a number") from None
    if math.isfinite(value):
        # As Go prints it: whole numbers without a point, until they need an exponent.
        plain = int(value) if value.is_integer() and abs(value) < 1e21 else value
        draft.set(marker.name, plain, marker.value_spot)
    else:
        summary = f"{marker.name} {marker.value} cannot be written as JSON"
        defect = Problem("bound-not-finite", summary, marker.value_spot)
        draft.set(marker.name, None, marker.value_spot, defect)


def _size_limit(marker: Marker, draft: Draft) -> None:
    _check_type(marker, draft)
    try:
        value = parse_int(marker.value)
    except LiteralError as error:
        message = f"failed to parse {marker.name} value: {error}"
        raise _not_a_number(marker, message, "a whole number") from None
    draft.set(marker.name, value, marker.value_spot)


def _pattern(marker: Marker, draft: Draft) -> None:
    if not marker.value:
        raise MarkerError(marker, "empty-pattern", "pattern marker value cannot be empty")
    _check_type(marker, draft)
    try:
        compile_pattern(marker.value)
    except LiteralError as error:
        raise MarkerError(
            marker,
            "invalid-pattern",
            f"invalid pattern regex: {error}",
            hint="patterns are RE2: no look-around, no back-references",
        ) from None
    draft.set("pattern", marker.value, marker.value_spot)


def _enum(marker: Marker, draft: Draft) -> None:
    values: list[str | int] = []
    defect = None
    for item in map(trim, marker.value.split(",")):
        if not item:
            raise MarkerError(
                marker,
                "empty-enum-value",
                "empty enum values are not allowed",
                hint='put one comma between two values: enum="a,b"',
            )
        if draft.type not in (None, *MARKERS["enum"]):
            message = "enum values only supported for string and integer types, got type: "
            raise _wrong_type(marker, draft, f"{message}{draft.type}")
        try:
            values.append(parse_int(item) if draft.type == "integer" else item)
        except LiteralError as error:
            raise MarkerError(
                marker,
                "invalid-number",
                f"failed to parse integer enum value: {error}",
                summary=f"enum value '{item}' is not an integer",
            ) from None
        # kro writes strings with Go's escapes, a few of which JSON does not know.
        try:
            json_text.parse(item if draft.type == "integer" else quote(item))
        except json_text.NotJsonError:
            summary = f"enum value {quote(item)} cannot be written as JSON"
            defect = defect or Problem("enum-not-json", summary, marker.value_spot)
    draft.set("enum", values, marker.value_spot, defect)


def _unique_items(marker: Marker, draft: Draft) -> None:
    unique = _switch(marker, "failed to parse uniqueItems marker value")
    _check_type(marker, draft)
    if not unique:
        return
    current = draft.keywords.get(LIST_TYPE, "set")
    if current != "set":
        message = f"cannot set unique when listType is set to {current}"
        raise MarkerError(marker, "contradicting-list-type", message)
    draft.set(LIST_TYPE, "set", marker.spot)


def _list_type(marker: Marker, draft: Draft) -> None:
    if draft.type not in (None, "array"):
        raise _wrong_type(marker, draft, "listType marker only applies to array types")
    if marker.value not in LIST_TYPES:
        message = (
            f"unsupported value for listType {marker.value}, needs to be one of atomic, set, or map"
        )
        raise MarkerError(marker, "invalid-list-type", message)
    current = draft.keywords.get(LIST_TYPE, marker.value)
    if current != marker.value:
        message = (
            f"listType attempting to overwrite set type of {current}, "
            "this can happen if you set contradictory markers like unique=true | listType=map"
        )
        summary = f"the list type is already {current}"
        raise MarkerError(marker, "contradicting-list-type", message, summary=summary)
    draft.set(LIST_TYPE, marker.value, marker.spot)


def _list_map_key(marker: Marker, draft: Draft) -> None:
    if draft.type not in (None, "array"):
        raise _wrong_type(marker, draft, "listMapKey marker only applies to array types")
    if marker.value in draft.keywords.get(LIST_MAP_KEYS, ()):
        message = f"duplicate listMapKey marker, value {marker.value}"
        raise MarkerError(marker, "duplicate-list-map-key", message)
    draft.append(LIST_MAP_KEYS, marker.value, marker.spot)


def _default(marker: Marker, draft: Draft) -> None:
    text = marker.value
    if draft.type in _READERS:
        name, reader = _READERS[draft.type]
        try:
            reader(text)
        except LiteralError:
            message = f"default value must be a valid {name}, got: {text}"
            summary = f"default {text} is not a valid {name}"
            raise MarkerError(marker, "invalid-default", message, summary=summary) from None
    elif draft.type == "string":
        # As kro does it, without escaping: a quote or a line end in the text breaks the JSON.
        text = f'"{text}"'
    elif not text:
        text = "null"
    value, defect = None, None
    try:
        value = json_text.parse(text)
    except json_text.NotJsonError as reason:
        if draft.type is not None:
            summary = f"default {marker.value} is not valid JSON for type {draft.type}"
            defect = Problem(
                "default-not-json",
                f"{summary}: {reason}" if draft.type in ("array", "object") else summary,
                marker.value_spot,
                hint=_DEFAULT_HINTS[draft.type],
            )
    draft.set("default", value, marker.value_spot, defect)


_READERS: dict[str | None, tuple[str, Callable[[str], object]]] = {
    "integer": ("integer", parse_int),
    "number": ("number", parse_float),
    "boolean": ("boolean", parse_bool),
}


_DEFAULT_HINTS = {
    "string": r"write \\\" for a quote, \n for a line end, \\\\ for a backslash",
    "boolean": "write true or false",
    "integer": "write it without '+' and leading zeros",
    "number": "write it as JSON does: 0.5, 1e3",
    "array": 'write JSON: default=["a"]',
    "object": 'write JSON: default={"k":"v"}',
}


_EFFECTS: dict[str, Callable[[Marker, Draft], None]] = {
    "required": _required,
    "default": _default,
    "description": _description,
    "minimum": _bound,
    "maximum": _bound,
    "validation": _validation,
    "enum": _enum,
    "immutable": _immutable,
    "pattern": _pattern,
    "uniqueItems": _unique_items,
    "minLength": _size_limit,
    "maxLength": _size_limit,
    "minItems": _size_limit,
    "maxItems": _size_limit,
    "listType": _list_type,
    "listMapKey": _list_map_key,
}


def _switch(marker: Marker, failure: str) -> bool:
    try:
        return parse_bool(marker.value)
    except LiteralError as error:
        raise MarkerError(
            marker,
            "invalid-boolean",
            f"{failure}: {error}",
            summary=f"{marker.name} is true or false, not '{marker.value}'",
        ) from None


def _check_type(marker: Marker, draft: Draft) -> None:
    allowed = MARKERS[marker.name]
    if draft.type is None or draft.type in allowed:
        return
    expected = " and ".join(sorted(allowed))
    message = f"{marker.name} marker is only valid for {expected} types, got type: {draft.type}"
    raise _wrong_type(marker, draft, message)


def _wrong_type(marker: Marker, draft: Draft, message: str) -> MarkerError:
    summary = f"{marker.name} does not apply to type {draft.type}"
    return MarkerError(marker, "marker-on-wrong-type", message, summary=summary)


def _not_a_number(marker: Marker, message: str, expected: str) -> MarkerError:
    summary = f"{marker.name} is {expected}, not '{marker.value}'"
    return MarkerError(marker, "invalid-number", message, summary=summary)
