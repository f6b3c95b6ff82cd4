"""
A CustomResourceDefinition manifest → the kinds it serves.

The schema is the one the API server publishes, which differs from the one in the manifest:
`apiVersion`, `kind` and `metadata` have the schemas they have in every object, and
`x-kubernetes-int-or-string` and `x-kubernetes-embedded-resource` are expanded.
"""

from typing import Any

from kube_objects.builtins.catalog import catalog
from kube_objects.errors import SchemaError
from kube_objects.paths import MISSING, find, format_path
from kube_objects.problems import Path, Spot
from kube_objects.refs import Kind, KubeObject
from kube_objects.schemas import KindSchema, Schema

_STRING: Schema = {"type": "string"}
_INT_OR_STRING: list[Schema] = [{"type": "integer"}, {"type": "string"}]
_SCOPES = {"Namespaced": True, "Cluster": False}


def is_crd(obj: KubeObject) -> bool:
    """Return whether an object is a CustomResourceDefinition of the current version."""
    return (
        obj.get("apiVersion") == "apiextensions.k8s.io/v1"
        and obj.get("kind") == "CustomResourceDefinition"
    )


def kinds_of_crd(crd: KubeObject) -> list[KindSchema]:
    """
    Return the kind of every served version, in the order of the manifest.

    Raises `SchemaError` (`invalid-crd`) for a malformed definition.
    """
    group = _text(crd, ("spec", "group"))
    name = _text(crd, ("spec", "names", "kind"))
    plural = _text(crd, ("spec", "names", "plural"))
    path: Path = ("spec", "scope")
    scope = _text(crd, path)
    if scope not in _SCOPES:
        raise _unreadable(path, f"is neither Namespaced nor Cluster but '{scope}'")
    namespaced = _SCOPES[scope]
    kinds: list[KindSchema] = []
    versions: Path = ("spec", "versions")
    for index, version in enumerate(_typed(crd, versions, list, "a list")):
        here = (*versions, index)
        _typed(crd, here, dict, "an object")
        if not version.get("served"):
            continue
        kind = Kind(group, _text(crd, (*here, "name")), name)
        # The API server publishes a version without a schema as an object of no known fields.
        schema: Schema = {"type": "object"}
        written = find(version, ("schema", "openAPIV3Schema"))
        if isinstance(written, dict):
            published = _published(written)
            properties = {**published.get("properties", {}), **_object_fields()}
            schema = {**published, "properties": properties}
        kinds.append(KindSchema(kind, plural, namespaced, schema))
    return kinds


def _published(schema: Schema) -> Schema:
    """Expand int-or-string and embedded resources at any depth; the rest stays unchanged."""
    changed: Schema = {
        key: _published(schema[key])
        for key in ("items", "additionalProperties")
        if isinstance(schema.get(key), dict)
    }
    properties = schema.get("properties")
    if isinstance(properties, dict):
        changed["properties"] = {
            name: _published(part) if isinstance(part, dict) else part
            for name, part in properties.items()
        }
    if schema.get("x-kubernetes-int-or-string") is True:
        # The two types are written into the schema itself, unless the author did so.
        others = schema.get("allOf") or []
        if not schema.get("anyOf"):
            changed["anyOf"] = _INT_OR_STRING
        elif all(part.get("anyOf") != _INT_OR_STRING for part in (schema, *others[:1])):
            changed["allOf"] = [{"anyOf": _INT_OR_STRING}, *others]
    if schema.get("x-kubernetes-embedded-resource") is True:
        changed["properties"] = {**changed.get("properties", {}), **_object_fields()}
        required = schema.get("required") or []
        missing = (name for name in ("kind", "apiVersion") if name not in required)
        changed["required"] = [*required, *missing]
    return {**schema, **changed} if changed else schema


def _object_fields() -> dict[str, Schema]:
    return {"apiVersion": _STRING, "kind": _STRING, "metadata": catalog.object_meta()}


def _text(crd: KubeObject, path: Path) -> str:
    text: str = _typed(crd, path, str, "a string")
    if not text:
        raise _unreadable(path, "is empty")
    return text


def _typed(crd: KubeObject, path: Path, wanted: type, name: str) -> Any:
    value = find(crd, path)
    if value is MISSING:
        raise _unreadable(path, "is missing")
    if not isinstance(value, wanted):
        raise _unreadable(path, f"is not {name}")
    return value


def _unreadable(path: Path, complaint: str) -> SchemaError:
    message = f"CustomResourceDefinition: {format_path(path)} {complaint}"
    return SchemaError("invalid-crd", message, spot=Spot(path))
