"""
The components of an OpenAPI v3 document, with their references resolved.

Kubernetes writes a reference as `{"$ref": …}` or, if the field has keys of its own, as `{"allOf":
[{"$ref": …}], "default": {}, …}`. Both are replaced by the schema referred to; keys beside the
reference override it.

Each component is resolved once and then shared, because the same few (ObjectMeta, PodSpec) are used
everywhere. A component that contains itself is replaced by `RECURSION` inside itself.
"""

from collections.abc import Mapping

from kube_objects.errors import SchemaError
from kube_objects.schemas import Schema

_PREFIX = "#/components/schemas/"

# Replaces a component inside itself: any value is valid there.
RECURSION: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

# Where a schema can refer to others; most have none of these.
_REFERENCE_KEYS = frozenset(("$ref", "allOf", "items", "additionalProperties", "properties"))


class Components:
    """Named schemas that refer to each other, and to those of `base`."""

    def __init__(self, schemas: Mapping[str, Schema], base: "Components | None" = None) -> None:
        self._unresolved = dict(schemas)
        self._resolved: dict[str, Schema] = {}
        self._open: set[str] = set()
        self._base = base

    def get(self, name: str) -> Schema:
        """Return a component without references."""
        if name in self._resolved:
            return self._resolved[name]
        if name in self._open:
            return RECURSION
        if name in self._unresolved:
            self._open.add(name)
            try:
                self._resolved[name] = self._resolve(self._unresolved[name])
            finally:
                self._open.discard(name)
            del self._unresolved[name]
            return self._resolved[name]
        if self._base is not None:
            return self._base.get(name)
        raise SchemaError("unknown-reference", f"there is no schema named '{name}' to refer to")

    def _resolve(self, schema: Schema) -> Schema:
        """Return `schema` itself if nothing in it refers anywhere."""
        if _REFERENCE_KEYS.isdisjoint(schema):
            return schema
        for holder in (schema, *schema.get("allOf", ())):
            if "$ref" in holder:
                # As in a JSON pointer: "~1" is a slash, "~0" a tilde.
                pointer: str = holder["$ref"].removeprefix(_PREFIX)
                component = self.get(pointer.replace("~1", "/").replace("~0", "~"))
                beside = {key: schema[key] for key in schema if key not in ("$ref", "allOf")}
                return {**component, **beside} if beside else component
        changed: Schema = {}
        for key in ("items", "additionalProperties"):
            part = schema.get(key)
            if isinstance(part, dict):
                resolved = self._resolve(part)
                if resolved is not part:
                    changed[key] = resolved
        properties: Mapping[str, Schema] = schema.get("properties", {})
        resolved = {name: self._resolve(part) for name, part in properties.items()}
        if any(resolved[name] is not properties[name] for name in properties):
            changed["properties"] = resolved
        return {**schema, **changed} if changed else schema
