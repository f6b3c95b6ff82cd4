"""
The objects that servers are measured with, as bytes: a ConfigMap, a Deployment, and an object of a
custom kind whose schema has bounds, a list by keys and a rule.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

NAMESPACE = "benchmark"
_GROUP = "benchmark.tests"


@dataclass(frozen=True, slots=True)
class Subject:
    """A kind: where its objects are, and what they say in a version."""

    collection: str
    make: Callable[[str, int], dict[str, Any]]

    def path(self, name: str) -> str:
        """Return where an object is."""
        return f"{self.collection}/{name}"

    def body(self, name: str, version: int) -> bytes:
        """Return an object as it is sent."""
        return json.dumps(self.make(name, version)).encode()


def preparations() -> list[tuple[str, bytes]]:
    """Return what is created first: the path, and the body."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    return [
        ("/api/v1/namespaces", json.dumps(namespace).encode()),
        (crds, json.dumps(_crd()).encode()),
    ]


def _config_map(name: str, version: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": name}},
        "data": {"greeting": f"hello {version}", "port": "8080", "mode": "large"},
    }


def _deployment(name: str, version: int) -> dict[str, Any]:
    labels = {"app": name}
    container = {
        "name": "main",
        "image": f"nginx:1.{version}",
        "ports": [{"containerPort": 8080}],
        "envFrom": [{"configMapRef": {"name": f"{name}-config"}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def _shop(name: str, version: int) -> dict[str, Any]:
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "Shop",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "owner": "ann",
            "replicas": version,
            "shelves": [{"name": f"shelf-{i}", "goods": i} for i in range(5)],
        },
    }


def _crd() -> dict[str, Any]:
    shelf = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "maxLength": 63},
            "goods": {"type": "integer", "minimum": 0},
        },
    }
    spec = {
        "type": "object",
        "required": ["owner"],
        "properties": {
            "owner": {"type": "string", "pattern": "^[a-z]+$"},
            "replicas": {"type": "integer", "default": 1, "minimum": 0, "maximum": 50},
            "most": {"type": "integer", "default": 10},
            "shelves": {
                "type": "array",
                "maxItems": 100,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": shelf,
            },
        },
        "x-kubernetes-validations": [{"rule": "self.replicas <= self.most"}],
    }
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"shops.{_GROUP}"},
        "spec": {
            "group": _GROUP,
            "scope": "Namespaced",
            "names": {"plural": "shops", "kind": "Shop"},
            "versions": [version],
        },
    }


_IN = f"namespaces/{NAMESPACE}"
SUBJECTS = {
    "ConfigMap": Subject(f"/api/v1/{_IN}/configmaps", _config_map),
    "Deployment": Subject(f"/apis/apps/v1/{_IN}/deployments", _deployment),
    "custom": Subject(f"/apis/{_GROUP}/v1/{_IN}/shops", _shop),
}
