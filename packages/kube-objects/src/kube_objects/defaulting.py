"""
What an API server makes of a custom object before it looks at it.

A `null` where null is no value is dropped, unless there is a default for it; absent fields get
their defaults, and those inside them. Arguments are never changed: what has to differ is copied,
the rest is shared.

`apiVersion`, `kind` and `metadata` of an object, also of an embedded one, are left alone.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from kube_objects.schemas import Schema
from kube_objects.structural_schema import (
    OBJECT_FIELDS,
    field,
    fields,
    is_embedded,
    is_nullable,
    items,
)

_DROPPED: Any = object()


def apply_defaults(value: Any, schema: Schema, *, whole: bool = True) -> Any:
    """
    Return the value without its meaningless nulls and with its defaults.

    `whole` says that the value is a Kubernetes object, not a part of one.
    """
    root = _as_object(schema) if whole else schema
    return _with_defaults(_without_nulls(value, root), root)


def _as_object(schema: Schema) -> Schema:
    return {**schema, "x-kubernetes-embedded-resource": True}


def _child_schema(schema: Schema, key: str) -> Schema | None:
    if key in OBJECT_FIELDS and is_embedded(schema):
        return None
    return field(schema, key)


def _is_no_value(value: Any, schema: Schema | None) -> bool:
    return value is None and schema is not None and not is_nullable(schema)


def _without_nulls(value: Any, schema: Schema | None) -> Any:
    if schema is None:
        return value
    if isinstance(value, dict):
        return _map_object(value, schema, _null_dropped)
    if isinstance(value, list):
        item = items(schema)
        return _map_list(value, item, _without_nulls)
    return value


def _null_dropped(value: Any, schema: Schema | None) -> Any:
    if _is_no_value(value, schema) and schema is not None and schema.get("default") is None:
        return _DROPPED
    return _without_nulls(value, schema)


def _with_defaults(value: Any, schema: Schema | None) -> Any:
    if schema is None:
        return value
    if isinstance(value, dict):
        absent = {
            name: deepcopy(part["default"])
            for name, part in fields(schema).items()
            if part.get("default") is not None and name not in value
        }
        return _map_object({**value, **absent} if absent else value, schema, _defaulted)
    if isinstance(value, list):
        return _map_list(value, items(schema), _defaulted)
    return value


def _defaulted(value: Any, schema: Schema | None) -> Any:
    if _is_no_value(value, schema) and schema is not None:
        value = deepcopy(schema.get("default"))
    return _with_defaults(value, schema)


_Change = Callable[[Any, Schema | None], Any]


def _map_object(value: dict[str, Any], schema: Schema, change: _Change) -> dict[str, Any]:
    """Change the parts of an object; return the object itself if none differs."""
    parts = {key: change(part, _child_schema(schema, key)) for key, part in value.items()}
    if all(parts[key] is value[key] for key in value):
        return value
    return {key: part for key, part in parts.items() if part is not _DROPPED}


def _map_list(value: list[Any], schema: Schema | None, change: _Change) -> list[Any]:
    changed = [change(part, schema) for part in value]
    same = all(after is before for after, before in zip(changed, value, strict=True))
    return value if same else changed
