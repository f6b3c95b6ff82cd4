"""
What else must be right inside a custom object, besides what OpenAPI can say.

Objects inside it must have apiVersion and kind, and metadata in order. Items of lists must differ:
those of sets as a whole, those of maps by their keys. Both walks follow a schema: give them one of
which only what leads to such parts is left (`embedded_parts`, `unique_parts`), made once.

Follows kubernetes 1.35
k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta/validation.go Validate;
k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype/validation.go ValidateListSetsAndMaps.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import orjson

from kube_objects.schemas import Schema
from kube_objects.structural_schema import (
    fields,
    is_embedded,
    items,
    list_map_keys,
    list_type,
    other_fields,
)
from kube_sandbox.apiextensions.schema.go_structs import MalformedError
from kube_sandbox.apiextensions.schema.object_meta import read_metadata
from kube_sandbox.registry import object_meta
from kube_sandbox.registry.field_errors import duplicate, invalid, required
from kube_sandbox.registry.name_validation import dns_1035_label, path_segment
from kube_sandbox.registry.strategy import Errors

_NO_KEY: Any = object()
_PLACEHOLDER_NAME = "fakename"  # a name is asked for that an object inside another need not have


def embedded_parts(schema: Schema) -> Schema | None:
    """Return what of a schema leads to whole objects; None if nothing does."""
    return _subschema_leading_to(schema, is_embedded)


def unique_parts(schema: Schema) -> Schema | None:
    """Return what of a schema leads to lists whose items must differ; None if nothing does."""
    return _subschema_leading_to(schema, lambda part: list_type(part) in ("set", "map"))


def _subschema_leading_to(schema: Schema, wanted: Callable[[Schema], bool]) -> Schema | None:
    named = {name: _subschema_leading_to(part, wanted) for name, part in fields(schema).items()}
    properties = {name: part for name, part in named.items() if part is not None}
    others, item = other_fields(schema), items(schema)
    below: Schema = {
        # A field that is described, but leads nowhere, is not one of the others.
        "properties": named if others is not None else properties,
        "additionalProperties": others and _subschema_leading_to(others, wanted),
        "items": item and _subschema_leading_to(item, wanted),
    }
    if (
        not wanted(schema)
        and not properties
        and not below["items"]
        and not below["additionalProperties"]
    ):
        return None
    return {**schema, **below}


def child(path: str, name: str) -> str:
    """Name a field of an object."""
    return f"{path}.{name}" if path else name


def _parts(value: Any, schema: Schema, path: str) -> Iterator[tuple[Any, Schema, str]]:
    if isinstance(value, dict):
        known, others = fields(schema), other_fields(schema)
        for key, part in value.items():
            if key in known:
                if known[key] is not None:
                    yield part, known[key], child(path, key)
            elif others is not None:
                yield part, others, f"{path}[{key}]"
    elif isinstance(value, list):
        item = items(schema)
        if item is not None:
            for index, part in enumerate(value):
                yield part, item, f"{path}[{index}]"


def check_embedded(value: Any, schema: Schema, path: str, *, here: bool = True) -> Errors:
    """Return the errors of objects inside a value; with `here` it may itself be one."""
    found: Errors = []
    if here and is_embedded(schema) and isinstance(value, dict):
        found = [required(child(path, key)) for key in ("apiVersion", "kind") if key not in value]
        if "apiVersion" in value:
            version_value = value["apiVersion"]
            version_path = child(path, "apiVersion")
            if not isinstance(version_value, str):
                found.append(invalid(version_path, version_value, "must be a string"))
            elif not version_value:
                found.append(invalid(version_path, version_value, "must not be empty"))
            elif version_value.count("/") > 1:
                found.append(
                    invalid(
                        version_path,
                        version_value,
                        f"unexpected GroupVersion string: {version_value}",
                    )
                )
        if "kind" in value:
            kind_value = value["kind"]
            kind_path = child(path, "kind")
            if not isinstance(kind_value, str):
                found.append(invalid(kind_path, kind_value, "must be a string"))
            elif not kind_value:
                found.append(invalid(kind_path, kind_value, "must not be empty"))
            else:
                found += kind_name(kind_value, kind_path)
        if "metadata" in value:
            metadata_value = value["metadata"]
            metadata_path = child(path, "metadata")
            try:
                metadata, _ = read_metadata(metadata_value)
            except MalformedError as error:
                found.append(invalid(metadata_path, metadata_value, str(error)))
            else:
                named = {"name": _PLACEHOLDER_NAME, **metadata}
                metadata_found = object_meta.validate_object_meta(
                    {"metadata": named}, bool(metadata.get("namespace")), path_segment
                )
                found += [
                    replace(each, field=metadata_path + each.field.removeprefix("metadata"))
                    for each in metadata_found
                ]
    for part, described, where in _parts(value, schema, path):
        found += check_embedded(part, described, where)
    return found


def kind_name(value: str, path: str) -> Errors:
    """Return the validation errors of the name of a kind."""
    wrong = dns_1035_label(value.lower())
    message = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
    return [invalid(path, value, message)] if wrong else []


def check_unique_items(value: Any, schema: Schema, path: str) -> Errors:
    """Return what stands twice in lists where it may only once."""
    found: Errors = []
    if isinstance(value, list):
        sort = list_type(schema)
        if sort == "set":
            found = [duplicate(f"{path}[{index}]", value[index]) for index in _repeated(value)]
        elif sort == "map":
            keys = list_map_keys(schema)
            for index, item in enumerate(value):
                if item is not None and not isinstance(item, dict):
                    message = "must be an object for an array of list-type map"
                    found = [invalid(f"{path}[{index}]", item, message)]
                    break
            else:
                named = [
                    {key: item[key] for key in keys if key in item}
                    for item in (e or {} for e in value)
                ]
                found = [duplicate(f"{path}[{index}]", named[index]) for index in _repeated(named)]
    for part, described, where in _parts(value, schema, path):
        found += check_unique_items(part, described, where)
    return found


def _repeated(values: Sequence[Any]) -> list[int]:
    """Return the index of the second occurrence of each repeated value."""
    seen: dict[Any, int] = {}
    found = []
    for index, value in enumerate(values):
        # Numbers and booleans are equal to each other in Python, their texts are not.
        key = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        seen[key] = seen.get(key, 0) + 1
        if seen[key] == 2:
            found.append(index)
    return found
