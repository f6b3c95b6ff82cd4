"""
Sixteen expressions as definitions have them, with an instance and a Deployment to read.

Both are typed by schemas for our engine, which its peers cannot use. `variants` makes any number of
different expressions of them.
"""

import re
from typing import Any

EXPRESSIONS = (
    "schema.spec.name",
    "schema.spec.name + '-svc'",
    "schema.spec.replicas * 2 + 1",
    "schema.metadata.?annotations['a/b'].orValue('')",
    "schema.spec.enabled && schema.spec.replicas > 1",
    "deployment.status.conditions.exists(c, c.type == 'Available' && c.status == 'True')",
    "deployment.status.availableReplicas == schema.spec.replicas",
    "schema.spec.env == 'prod' ? 'nginx:stable' : 'nginx:latest'",
    "schema.spec.ports.map(p, p.port + 1000)",
    "schema.spec.ports.filter(p, p.name == 'p1').size() > 0",
    "{'app': schema.spec.name, 'env': schema.spec.env}",
    "schema.spec.tags.join(',')",
    "'%s-%d'.format([schema.spec.name, schema.spec.replicas])",
    "has(schema.spec.image) ? schema.spec.image : 'x'",
    "string(deployment.metadata.creationTimestamp)",
    "schema.spec.labels.transformList(k, v, k + '=' + v)",
)

DATA: dict[str, Any] = {
    "schema": {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "WebApp",
        "metadata": {"name": "front", "namespace": "shop", "annotations": {"a/b": "tracked"}},
        "spec": {
            "name": "front",
            "env": "prod",
            "enabled": True,
            "replicas": 3,
            "ports": [{"name": f"p{n}", "port": 80 + n} for n in range(3)],
            "tags": ["blue", "green", "red"],
            "labels": {"team": "shop", "tier": "web"},
        },
    },
    "deployment": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "front", "creationTimestamp": "2026-11-02T10:20:30Z"},
        "status": {
            "availableReplicas": 3,
            "conditions": [{"type": "Available", "status": "True", "reason": "Enough"}],
        },
    },
}

Schema = dict[str, Any]

_STRING: Schema = {"type": "string"}
_INTEGER: Schema = {"type": "integer"}
_STRINGS: Schema = {"type": "object", "additionalProperties": _STRING}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_METADATA = _object(
    name=_STRING,
    namespace=_STRING,
    labels=_STRINGS,
    annotations=_STRINGS,
    creationTimestamp={"type": "string", "format": "date-time"},
)
_SPEC = {
    "name": _STRING,
    "env": _STRING,
    "image": _STRING,
    "enabled": {"type": "boolean"},
    "replicas": _INTEGER,
    "ports": _list(_object(name=_STRING, port=_INTEGER)),
    "tags": _list(_STRING),
    "labels": _STRINGS,
}
_INSTANCE = _object(apiVersion=_STRING, kind=_STRING, metadata=_METADATA, spec=_object(**_SPEC))
_DEPLOYMENT = _object(
    apiVersion=_STRING,
    kind=_STRING,
    metadata=_METADATA,
    status=_object(
        availableReplicas=_INTEGER,
        conditions=_list(_object(type=_STRING, status=_STRING, reason=_STRING)),
    ),
)

SCHEMAS = {"schema": _INSTANCE, "deployment": _DEPLOYMENT}

_FIELD = re.compile(r"(schema\.spec\.\w+|\bdeployment\b|a/b)")


def variants(count: int) -> list[str]:
    """Return expressions that all differ: other fields, other resources, other constants."""
    numbers = range(-(-count // len(EXPRESSIONS)))
    found = [_FIELD.sub(rf"\g<1>{n}", text) for n in numbers for text in EXPRESSIONS]
    return found[:count]


def variant_schemas(count: int) -> dict[str, Schema]:
    """Return the schemas of what as many variants read."""
    numbers = range(-(-count // len(EXPRESSIONS)))
    spec = _object(**{f"{name}{n}": schema for n in numbers for name, schema in _SPEC.items()})
    instance = _object(apiVersion=_STRING, kind=_STRING, metadata=_METADATA, spec=spec)
    return {"schema": instance, **{f"deployment{n}": _DEPLOYMENT for n in numbers}}
