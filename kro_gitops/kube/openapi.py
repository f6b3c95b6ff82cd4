"""
An OpenAPI v3 document → schemas of kinds.

The API server publishes one document a group and version. Descriptions are more than half of it
and nobody here reads them, so they go first.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kro_gitops.kube.api import Resource
from kube_objects.openapi import Components
from kube_objects.refs import Kind
from kube_objects.schemas import KindSchema, Schema

INDEX_PATH = "/openapi/v3"
_GVK_EXTENSION = "x-kubernetes-group-version-kind"


class OpenAPIDocument:
    """The schemas of one group and version."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        schemas: Mapping[str, Schema] = document.get("components", {}).get("schemas", {})
        self._names = dict(_names(schemas))
        self._components = Components(
            {name: without_descriptions(each) for name, each in schemas.items()}
        )

    def schema_of(self, resource: Resource) -> KindSchema | None:
        """Return a kind with its schema, or `None` if it is not published, or not yet."""
        name = self._names.get(resource.kind)
        if name is None:
            return None
        schema = self._components.get(name)
        return KindSchema(resource.kind, resource.plural, resource.namespaced, schema)


def index_entry(kind: Kind) -> str:
    """Return the name under which the index has the document of a kind."""
    return f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"


def without_descriptions(schema: Schema) -> Schema:
    """Return a schema without descriptions; a property may well be called that."""
    kept = {
        key: value for key, value in schema.items() if key not in ("description", _GVK_EXTENSION)
    }
    for key in ("items", "additionalProperties", "not"):
        if isinstance(kept.get(key), dict):
            kept[key] = without_descriptions(kept[key])
    for key in ("allOf", "anyOf", "oneOf"):
        if key in kept:
            kept[key] = [without_descriptions(each) for each in kept[key]]
    if "properties" in kept:
        kept["properties"] = {
            name: without_descriptions(part) for name, part in kept["properties"].items()
        }
    return kept


def _names(schemas: Mapping[str, Schema]) -> Iterator[tuple[Kind, str]]:
    for name, schema in schemas.items():
        for entry in schema.get(_GVK_EXTENSION, ()):
            yield Kind(entry["group"], entry["version"], entry["kind"]), name
