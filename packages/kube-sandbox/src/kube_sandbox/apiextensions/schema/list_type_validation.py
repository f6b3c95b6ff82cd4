"""
How the lists and maps of a schema say that they merge, and whether that can be.

Follows kubernetes 1.35
k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go
ValidateCustomResourceDefinitionOpenAPISchema, validateMapListKeysMapSet.
"""

from collections.abc import Iterator

import orjson

from kube_objects.schemas import Schema
from kube_sandbox.registry.field_errors import (
    FieldError,
    forbidden,
    invalid,
    not_supported,
    required,
)

_LIST, _KEYS, _MAP = (
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
)
_LIST_TYPES, _MAP_TYPES = ("atomic", "set", "map"), ("atomic", "granular")


def check_lists(schema: Schema, path: str) -> Iterator[FieldError]:
    """Yield the validation errors of the merge strategy of a schema part."""
    merge, keys, map_merge = schema.get(_LIST), schema.get(_KEYS) or [], schema.get(_MAP)
    kind = schema.get("type", "")
    if map_merge is not None and kind != "object":
        yield _wrong_type(path, kind, f"must be object if {_MAP} is specified")
    if map_merge is not None and map_merge not in _MAP_TYPES:
        yield not_supported(f"{path}.{_MAP}", map_merge, _MAP_TYPES)
    if merge is not None and kind != "array":
        yield _wrong_type(path, kind, f"must be array if {_LIST} is specified")
    elif merge == "set" and isinstance(schema.get("items"), dict):
        items = schema["items"]
        set_told = f"must be atomic as item of a list with {_LIST}=set"
        set_merge = items.get(_LIST)
        if items.get("type") == "array" and set_merge not in (None, "atomic"):
            yield invalid(f"{path}.items.{_LIST}", set_merge, set_told)
        if items.get("type") == "object" and items.get(_MAP) != "atomic":
            # The API server shows the type of a list here, which an object does not have.
            yield invalid(f"{path}.items.{_MAP}", set_merge, set_told)
    if merge is not None and merge not in _LIST_TYPES:
        yield not_supported(f"{path}.{_LIST}", merge, _LIST_TYPES)
    if keys and merge != "map":
        message = f"must be map if {_KEYS} is non-empty"
        where = f"{path}.{_LIST}"
        yield required(where, message) if merge is None else invalid(where, merge, message)
    if merge == "map":
        yield from _check_map(schema, keys, path)
    if merge in ("set", "map") and isinstance(schema.get("items"), dict):
        yield from _check_items(schema["items"], merge, keys, f"{path}.items")


def _wrong_type(path: str, kind: str, message: str) -> FieldError:
    return invalid(f"{path}.type", kind, message) if kind else required(f"{path}.type", message)


def _check_map(schema: Schema, keys: list[str], path: str) -> Iterator[FieldError]:
    items = schema.get("items")
    if not keys:
        yield required(f"{path}.{_KEYS}", f"must not be empty if {_LIST} is map")
    if items is None:
        yield required(f"{path}.items", f"must have a schema if {_LIST} is map")
    elif not isinstance(items, dict):
        yield invalid(f"{path}.items", items, f"must only have a single schema if {_LIST} is map")
    elif items.get("type", "") != "object":
        message = f"must be object if parent array's {_LIST} is map"
        yield invalid(f"{path}.items.type", items.get("type", ""), message)
    else:
        described = items.get("properties") or {}
        shown = orjson.Fragment(orjson.dumps(keys))
        for index, key in enumerate(keys):
            if key not in described:
                yield invalid(
                    f"{path}.{_KEYS}", shown, "entries must all be names of item properties"
                )
            elif described[key].get("type") in ("array", "object"):
                message = f"must be a scalar type if parent array's {_LIST} is map"
                yield invalid(f"{path}.items.properties[{key}].type", items["type"], message)
            if key in keys[:index]:
                yield invalid(f"{path}.{_KEYS}", shown, "must not contain duplicate entries")


def _check_items(items: Schema, merge: str, keys: list[str], path: str) -> Iterator[FieldError]:
    if items.get("nullable"):
        yield forbidden(f"{path}.nullable", f"cannot be nullable when {_LIST} is {merge}")
    if merge != "map":
        return
    described = items.get("properties") or {}
    for key in keys:
        if key not in described:
            continue
        where = f"{path}.properties[{key}]"
        message = f"this property is in {_KEYS}, so it"
        if key not in (items.get("required") or ()) and described[key].get("default") is None:
            yield required(
                f"{where}.default", f"{message} must have a default or be a required property"
            )
        if described[key].get("nullable"):
            yield forbidden(f"{where}.nullable", f"{message} cannot be nullable")
