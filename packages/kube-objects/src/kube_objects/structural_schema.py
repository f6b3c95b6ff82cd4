"""
Questions to a structural OpenAPI v3 schema: what may stand where.

A schema is a plain dict without `$ref`, as in a CustomResourceDefinition or as an API server
publishes it. It is shared and never changed. The answers forgive what is malformed in it:
whether a schema is well-formed is decided where it enters.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kube_objects.problems import Path
from kube_objects.schemas import Schema

# Known in every object, whatever its schema says.
OBJECT_FIELDS = frozenset(("apiVersion", "kind", "metadata"))

_NO_FIELDS: Mapping[str, Schema] = MappingProxyType({})
_INT_OR_STRING = ("integer", "string")


def fields(schema: Schema) -> Mapping[str, Schema]:
    """Return the fields that are named."""
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else _NO_FIELDS


def other_fields(schema: Schema) -> Schema | None:
    """Return what keys that are not named must look like, or `None` if nothing is said."""
    additional = schema.get("additionalProperties")
    return additional if isinstance(additional, dict) else None


def has_other_fields(schema: Schema) -> bool:
    """Say whether keys that are not named may stand here."""
    return schema.get("additionalProperties", False) is not False


def items(schema: Schema) -> Schema | None:
    """Return what the items of a list look like, or `None` if nothing is said."""
    found = schema.get("items")
    return found if isinstance(found, dict) else None


def field(schema: Schema, name: str) -> Schema | None:
    """Return what stands under a key, named or not."""
    named = fields(schema).get(name)
    return named if named is not None else other_fields(schema)


def find(schema: Schema, path: Path) -> Schema | None:
    """Follow a path of keys and indices; `None` where the schema says nothing."""
    here: Schema | None = schema
    for step in path:
        if here is None:
            return None
        here = items(here) if isinstance(step, int) else field(here, step)
    return here


def types(schema: Schema) -> tuple[str, ...]:
    """Return the JSON types that are allowed; empty if any is."""
    if schema.get("x-kubernetes-int-or-string") is True:
        return _INT_OR_STRING
    found = schema.get("type")
    if isinstance(found, str):
        return (found,) if found else ()
    return tuple(found) if isinstance(found, list) else ()


def is_nullable(schema: Schema) -> bool:
    """Say whether `null` is a value here."""
    return schema.get("nullable") is True


def preserves_unknown(schema: Schema) -> bool:
    """Say whether fields nobody described are kept here."""
    return schema.get("x-kubernetes-preserve-unknown-fields") is True


def is_embedded(schema: Schema) -> bool:
    """Say whether a whole Kubernetes object stands here."""
    return schema.get("x-kubernetes-embedded-resource") is True


def list_type(schema: Schema) -> str:
    """Return how a list is merged: `atomic`, `set` or `map`."""
    found = schema.get("x-kubernetes-list-type")
    return found if isinstance(found, str) else "atomic"


def list_map_keys(schema: Schema) -> tuple[str, ...]:
    """Return the fields that tell the items of a `map` list apart."""
    found = schema.get("x-kubernetes-list-map-keys")
    return tuple(found) if isinstance(found, list) else ()


def required(schema: Schema) -> tuple[str, ...]:
    """Return the names of fields that must be there."""
    found = schema.get("required")
    return tuple(found) if isinstance(found, list) else ()
