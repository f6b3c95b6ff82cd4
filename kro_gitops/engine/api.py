"""
The ResourceGraphDefinition API: kind, served schemas, printer columns.

The schema is what kro's own CRD accepts, written down as data: an object valid here is
accepted there, and the other way round. The `exactly one of` rule of the CRD is checked
where its message can name the resource; what else a CRD needs is added in `engine.own_crds`.

A GraphRevision keeps a definition's spec, so its schema is made of the same parts.
"""

from typing import Any

from kro_gitops.engine.kinds import DEFINITION_KIND as DEFINITION_KIND
from kro_gitops.metadata import KRO_GROUP, REVISION_HASH
from kube_objects.builtins.catalog import catalog
from kube_objects.schemas import KindSchema, SchemaSet

DEFINITION_PLURAL = "resourcegraphdefinitions"

Schema = dict[str, Any]


def _string(**rules: Any) -> Schema:
    return {"type": "string", **rules}


def _object(properties: Schema, **rules: Any) -> Schema:
    return {"type": "object", "properties": properties, **rules}


def _list(items: Schema, **rules: Any) -> Schema:
    return {"type": "array", "items": items, **rules}


def _immutable(schema: Schema, name: str) -> Schema:
    rule = {"rule": "self == oldSelf", "message": f"{name} is immutable"}
    return {**schema, "x-kubernetes-validations": [rule]}


_FREE: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_STRINGS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
_NAMES = _list(
    _string(maxLength=63, pattern="^[a-z]([-a-z0-9]*[a-z0-9])?$"),
    maxItems=32,
    **{"x-kubernetes-list-type": "set"},
)

_PRINTER_COLUMN = _object(
    {
        "name": _string(),
        "type": _string(),
        "jsonPath": _string(),
        "description": _string(),
        "format": _string(),
        "priority": {"type": "integer", "format": "int32"},
    },
    required=["jsonPath", "name", "type"],
)

_SCHEMA = _object(
    {
        "kind": _immutable(_string(pattern="^[A-Z][a-zA-Z0-9]{0,62}$"), "kind"),
        "apiVersion": _immutable(
            _string(pattern="^v[0-9]+(alpha[0-9]+|beta[0-9]+)?$"), "apiVersion"
        ),
        "group": _immutable(_string(default=KRO_GROUP), "group"),
        "scope": _immutable(_string(default="Namespaced", enum=["Namespaced", "Cluster"]), "scope"),
        "spec": _FREE,
        "types": _FREE,
        "status": _FREE,
        "additionalPrinterColumns": _list(_PRINTER_COLUMN),
        "shortNames": _NAMES,
        "categories": _NAMES,
        "metadata": _object({"labels": _STRINGS, "annotations": _STRINGS}),
    },
    required=["apiVersion", "kind"],
)

# A selector may also be one expression that yields it, so its own shape is left open here.
_EXTERNAL_METADATA = _object(
    {
        "name": _string(minLength=1),
        "namespace": _string(),
        "selector": {"x-kubernetes-preserve-unknown-fields": True},
    }
)

_RESOURCE = _object(
    {
        "id": _string(),
        "template": _FREE,
        "externalRef": _object(
            {"apiVersion": _string(), "kind": _string(), "metadata": _EXTERNAL_METADATA},
            required=["apiVersion", "kind", "metadata"],
        ),
        "readyWhen": _list(_string()),
        "includeWhen": _list(_string()),
        "forEach": _list(
            {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "minProperties": 1,
                "maxProperties": 1,
            }
        ),
    },
    required=["id"],
)

_CONDITION = _object(
    {
        "type": _string(),
        "status": _string(),
        "reason": _string(),
        "message": _string(),
        "lastTransitionTime": _string(format="date-time"),
        "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
    },
    required=["status", "type"],
)

_PROGRESS: Schema = {
    "topologicalOrder": _list(_string()),
    "resources": _list(
        _object({"id": _string(), "dependencies": _list(_object({"id": _string()}))})
    ),
    "conditions": _list(_CONDITION),
}
_SERVING: Schema = {
    "state": _string(),
    "lastIssuedRevision": {"type": "integer", "format": "int64"},
}

_SPEC = _object({"schema": _SCHEMA, "resources": _list(_RESOURCE)}, required=["schema"])


def _whole(spec: Schema, status: Schema) -> Schema:
    metadata = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    parts = {"metadata": metadata, "spec": spec, "status": status}
    return _object({"apiVersion": _string(), "kind": _string(), **parts})


DEFINITION_SCHEMA: Schema = _whole(_SPEC, _object({**_PROGRESS, **_SERVING}))

_SNAPSHOT = _object(
    {"name": _string(), "generation": {"type": "integer", "format": "int64"}, "spec": _SPEC},
    required=["generation", "name", "spec"],
)

REVISION_SCHEMA: Schema = _whole(
    _immutable(
        _object(
            {
                "revision": {"type": "integer", "format": "int64", "minimum": 1},
                "snapshot": _SNAPSHOT,
            },
            required=["revision", "snapshot"],
        ),
        "spec",
    ),
    _object(_PROGRESS),
)


def printer_column(name: str, path: str, of: str = "string", *, is_wide: bool = False) -> Schema:
    """Return a column of `kubectl get`; a wide one is shown with `-o wide` only."""
    column: Schema = {"name": name, "type": of, "jsonPath": path}
    return {**column, "priority": 1} if is_wide else column


_READY = printer_column("READY", '.status.conditions[?(@.type=="Ready")].status')
_AGE = printer_column("AGE", ".metadata.creationTimestamp", "date")
_HASH_PATH = ".metadata.labels." + REVISION_HASH.replace(".", r"\.")

# What `kubectl get` shows; the wide ones only with `-o wide`.
DEFINITION_COLUMNS = (
    printer_column("APIVERSION", ".spec.schema.apiVersion"),
    printer_column("KIND", ".spec.schema.kind"),
    printer_column("STATE", ".status.state"),
    _READY,
    printer_column("TOPOLOGICALORDER", ".status.topologicalOrder", is_wide=True),
    _AGE,
)
REVISION_COLUMNS = (
    printer_column("RGD", ".spec.snapshot.name", is_wide=True),
    printer_column("REVISION", ".spec.revision", "integer"),
    printer_column("HASH", _HASH_PATH, is_wide=True),
    _READY,
    _AGE,
)


def own_kinds() -> SchemaSet:
    """Return the kinds of kro's API, for templates that are definitions themselves."""
    properties = {**DEFINITION_SCHEMA["properties"], "metadata": catalog.object_meta()}
    schema = {**DEFINITION_SCHEMA, "properties": properties}
    return SchemaSet([KindSchema(DEFINITION_KIND, DEFINITION_PLURAL, False, schema)])
