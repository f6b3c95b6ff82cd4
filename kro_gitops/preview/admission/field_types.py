"""
The fields of an object against their types, as server-side apply compares them.

Fields that are not declared, and values of another type. Messages are those of
structured-merge-diff, typed/validate.go.
"""

from typing import Any

from kro_gitops.engine.plan.placeholder import is_unknown
from kube_objects import structural_schema as schemas
from kube_objects.builtins.catalog import catalog
from kube_objects.go_format import (
    format_literal,
    format_value,
    json_text,
    type_name,
    whole_floats_as_integers,
)
from kube_objects.go_text import quote
from kube_objects.refs import KubeObject
from kube_objects.schemas import Schema

_QUANTITY = {"type": "number"}  # published as a text or a number
_ANY: Schema = {}
_TEXT: Schema = {"type": "string"}
_SCALARS = {str: "string", bool: "boolean", int: "integer", float: "number"}
_UNDECLARED = "field not declared in schema"


class _Stop(Exception):  # noqa: N818 - ends a walk, and is no error of its own
    """Nothing is compared after a field that is not declared."""


def type_errors(obj: KubeObject, schema: Schema, *, is_builtin: bool) -> list[str]:
    """Return the errors of an object, with their paths."""
    if is_builtin:
        root = schema
    else:
        described = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": catalog.object_meta()}
        root = {**schema, "properties": {**schemas.fields(schema), **described}}
    found: list[str] = []
    try:
        _compare(obj, root, "", found, preserves=False)
    except _Stop as stop:
        found.append(str(stop))
    return found


def _compare(value: Any, schema: Schema, path: str, found: list[str], *, preserves: bool) -> None:
    """Add the errors of a value and its parts to `found`."""
    kind = schema.get("type", "")
    preserves = preserves or schemas.preserves_unknown(schema)
    if (
        value is None
        or is_unknown(value)
        or (not kind and _QUANTITY not in schema.get("oneOf", ()))
    ):
        return
    if isinstance(value, dict) and kind == "object":
        additional = schema.get("additionalProperties")
        accepts_any = additional is True
        if additional is None:
            accepts_any = preserves or not schemas.fields(schema)
        for key, part in value.items():
            described = schemas.field(schema, key)
            if described is None:
                if not accepts_any:
                    raise _Stop(f"{path}.{key}: {_UNDECLARED}")
                described = _ANY
            if _SCALARS.get(type(part), "") != described.get("type"):  # most fields are scalars
                _compare(part, described, f"{path}.{key}", found, preserves=preserves)
    elif isinstance(value, list) and kind == "array":
        seen: set[str] = set()
        below = schemas.items(schema) or _ANY
        for index, item in enumerate(value):
            key = _item_key(item, schema) or f"[{index}]"
            if key in seen:
                found.append(f"{path}: duplicate entries for key {key}")
            seen.add(key)
            _compare(item, below, f"{path}{key}", found, preserves=preserves)
    else:
        text = _mismatch(value, schema)
        if text:
            found.append(f"{path}: {text}")


def _item_key(item: Any, schema: Schema) -> str:
    """Return the step of a path that names an item of a set or map; empty if its index does."""
    kind = schemas.list_type(schema)
    if kind == "set" and not is_unknown(item):
        return f"[={format_literal(item)}]"
    if kind != "map" or not isinstance(item, dict):
        return ""
    found: dict[str, Any] = {}
    for key in sorted(schemas.list_map_keys(schema)):
        default = (schemas.field(schemas.items(schema) or _ANY, key) or _ANY).get("default")
        value = item.get(key, default)
        if is_unknown(value) or isinstance(value, (dict, list)):
            return ""
        if value is not None:
            found[key] = value
    texts = (
        f"{key}={json_text(whole_floats_as_integers(value))}"
        if not isinstance(value, str)
        else f"{key}={quote(value)}"
        for key, value in found.items()
    )
    return f"[{','.join(texts)}]" if found else ""


def _mismatch(value: Any, schema: Schema) -> str:
    # What is applied is read as YAML, in which a whole number is an integer however it is written.
    shown = whole_floats_as_integers(value)
    match schema.get("type", ""):
        case "object":
            return f"expected map, got &{{{format_value(shown)}}}"
        case "array":
            return f"expected list, got &{{{format_value(shown)}}}"
        case "string" if schema.get("format", "") in ("", "byte"):
            if isinstance(value, str):
                return ""
            return f"expected string, got &value.valueUnstructured{{Value:{format_literal(shown)}}}"
        case "integer" | "number":
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return ""
            return f"expected numeric (int or float), got {type_name(value)}"
        case "boolean":
            if isinstance(value, bool):
                return ""
            return f"expected boolean, got &{{{format_value(shown)}}}"
        case _:  # a time or a quantity
            if not isinstance(value, (dict, list)):
                return ""
            return f"expected any scalar, got &{{{format_value(shown)}}}"
