"""
Accessors of a structural OpenAPI v3 schema.

A schema is a plain dict without `$ref`, as in a CustomResourceDefinition or as an API server
publishes it. It is shared and must not be modified. The accessors tolerate malformed schemas:
whether a schema is well-formed is checked elsewhere.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kube_objects.problems import Path
from kube_objects.schemas import Schema

# Fields of every object, whether its schema describes them or not.
OBJECT_FIELDS = frozenset(("apiVersion", "kind", "metadata"))

_NO_FIELDS: Mapping[str, Schema] = MappingProxyType({})
_INT_OR_STRING = ("integer", "string")


def fields(schema: Schema) -> Mapping[str, Schema]:
    """Return the schemas of `properties`, by name."""
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else _NO_FIELDS


def other_fields(schema: Schema) -> Schema | None:
    """Return the schema of `additionalProperties`, or `None` if it is absent or a boolean."""
    additional = schema.get("additionalProperties")
    return additional if isinstance(additional, dict) else None


def has_other_fields(schema: Schema) -> bool:
    """Return whether keys that are not in `properties` are allowed."""
    return schema.get("additionalProperties", False) is not False


def items(schema: Schema) -> Schema | None:
    """Return the schema of the items of a list, or `None`."""
    found = schema.get("items")
    return found if isinstance(found, dict) else None


def field(schema: Schema, name: str) -> Schema | None:
    """Return the schema of a key: its property, else the additional properties, else `None`."""
    named = fields(schema).get(name)
    return named if named is not None else other_fields(schema)


def find(schema: Schema, path: Path) -> Schema | None:
    """Return the schema at a path of keys and indices, or `None` if there is none."""
    here: Schema | None = schema
    for step in path:
        if here is None:
            return None
        here = items(here) if isinstance(step, int) else field(here, step)
    return here


def types(schema: Schema) -> tuple[str, ...]:
    """Return the allowed JSON types; empty if all are allowed."""
    if schema.get("x-kubernetes-int-or-string") is True:
        return _INT_OR_STRING
    found = schema.get("type")
    if isinstance(found, str):
        return (found,) if found else ()
    return tuple(found) if isinstance(found, list) else ()


def is_nullable(schema: Schema) -> bool:
    """Return whether `null` is allowed."""
    return schema.get("nullable") is True


def preserves_unknown(schema: Schema) -> bool:
    """Return whether unknown fields are preserved here."""
    return schema.get("x-kubernetes-preserve-unknown-fields") is True


def is_embedded(schema: Schema) -> bool:
    """Return whether the value is a whole Kubernetes object."""
    return schema.get("x-kubernetes-embedded-resource") is True


def list_type(schema: Schema) -> str:
    """Return how a list is merged: `atomic`, `set` or `map`."""
    found = schema.get("x-kubernetes-list-type")
    return found if isinstance(found, str) else "atomic"


def list_map_keys(schema: Schema) -> tuple[str, ...]:
    """Return the fields that identify the items of a list of type `map`."""
    found = schema.get("x-kubernetes-list-map-keys")
    return tuple(found) if isinstance(found, list) else ()


def required(schema: Schema) -> tuple[str, ...]:
    """Return the names of the required fields."""
    found = schema.get("required")
    return tuple(found) if isinstance(found, list) else ()
