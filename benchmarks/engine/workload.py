"""
The definition that engines are measured with, its instances, and what one instance becomes.

A ConfigMap, a Deployment, a Service that reads the Deployment, and a status that reads what only
the API server knows. All of it follows from the number of the instance.
"""

from collections.abc import Mapping
from typing import Any

from kro_gitops.engine.applyset import Inventory, member_labels, parent_labels
from kro_gitops.engine.graph.build import build
from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.engine.labels import definition_labels, instance_labels, node_labels
from kro_gitops.metadata import FINALIZER
from kro_gitops.preview.render import render
from kube_objects.builtins.catalog import catalog
from kube_objects.refs import Kind, KubeObject, ObjectRef

DEFINITION = "benchmark-app"
NAMESPACE = "benchmark"
KIND = Kind("kro.run", "v1alpha1", "BenchmarkApp")
CHILDREN = 3
_VERSION = "v0.0.0"
_CONDITIONS = ("InstanceManaged", "GraphResolved", "ResourcesReady", "Ready")


def definition() -> KubeObject:
    """Return the definition."""
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "ResourceGraphDefinition",
        "metadata": {"name": DEFINITION},
        "spec": {
            "schema": {
                "apiVersion": KIND.version,
                "kind": KIND.kind,
                "spec": {
                    "name": "string | required=true",
                    "image": 'string | default="nginx:stable"',
                    "replicas": "integer | default=2 minimum=1 maximum=50",
                    "port": "integer | default=8080",
                    "greeting": 'string | default="hello"',
                },
                "status": {
                    "address": "http://${service.spec.clusterIP}:${string(schema.spec.port)}",
                    "replicas": "${deployment.spec.replicas}",
                },
            },
            "resources": [_config(), _deployment(), _service()],
        },
    }


def graph() -> Graph:
    """Return the definition, compiled."""
    return build(definition(), catalog)


def name_of(number: int) -> str:
    """Return the name of an instance."""
    return f"app-{number}"


def ref_of(number: int) -> ObjectRef:
    """Return where an instance is found."""
    return ObjectRef(KIND, NAMESPACE, name_of(number))


def config_ref(number: int) -> ObjectRef:
    """Return where the ConfigMap of an instance is found."""
    return ObjectRef(Kind("", "v1", "ConfigMap"), NAMESPACE, f"{name_of(number)}-config")


def greeting_of(number: int) -> str:
    """Return what the ConfigMap of an instance says."""
    return f"hello from {number}"


def instance(number: int) -> KubeObject:
    """Return an instance as its author writes it."""
    spec = {
        "name": name_of(number),
        "replicas": 1 + number % 9,
        "greeting": greeting_of(number),
    }
    return {
        "apiVersion": KIND.api_version,
        "kind": KIND.kind,
        "metadata": {"name": name_of(number), "namespace": NAMESPACE},
        "spec": spec,
    }


def is_ready(obj: Mapping[str, Any]) -> bool:
    """Say whether an engine is done with an instance."""
    status = obj.get("status", {})
    ready = {"type": "Ready", "status": "True"}
    return status.get("state") == "ACTIVE" and any(
        ready.items() <= condition.items() for condition in status.get("conditions", ())
    )


def children(compiled: Graph, number: int) -> dict[str, KubeObject]:
    """Return the children of an instance by their node, unstamped, in the order of their apply."""
    found = render(compiled, instance(number)).children
    return {child.node: unstamped(child.object) for child in found}


def unstamped(child: KubeObject) -> KubeObject:
    """Return a child with nothing in its metadata but its name."""
    metadata = {key: child["metadata"][key] for key in ("name", "namespace")}
    return {**child, "metadata": metadata}


def marked_instance(number: int, uid: str, members: Mapping[str, KubeObject]) -> KubeObject:
    """Return what an engine writes on an instance before it makes children."""
    parent = ref_of(number)
    inventory = Inventory.of(map(ObjectRef.of, members.values()), parent)
    return {
        "apiVersion": KIND.api_version,
        "kind": KIND.kind,
        "metadata": {
            "name": parent.name,
            "namespace": parent.namespace,
            "finalizers": [FINALIZER],
            "labels": definition_labels(DEFINITION, uid, _VERSION) | parent_labels(parent),
            "annotations": inventory.annotations(parent, _VERSION),
        },
    }


def labels_of_child(number: int, uid: str, node: str) -> dict[str, str]:
    """Return the labels an engine puts on a child."""
    parent = ref_of(number)
    common = instance_labels(parent, uid, _VERSION)
    return common | member_labels(parent) | node_labels(node)


def status(number: int, address: str, now: str) -> KubeObject:
    """Return the status an engine reports at last."""
    conditions = [
        {
            "type": name,
            "status": "True",
            "reason": name,
            "message": "",
            "lastTransitionTime": now,
            "observedGeneration": 1,
        }
        for name in _CONDITIONS
    ]
    fields = {"address": f"http://{address}:8080", "replicas": 1 + number % 9}
    return {"status": {"state": "ACTIVE", "conditions": conditions, **fields}}


def _resource(node: str, api_version: str, kind: str, **body: Any) -> KubeObject:
    return {"id": node, "template": {"apiVersion": api_version, "kind": kind, **body}}


def _config() -> KubeObject:
    metadata = {"name": "${schema.spec.name}-config"}
    data = {
        "greeting": "${schema.spec.greeting}",
        "port": "${string(schema.spec.port)}",
        "mode": "${schema.spec.replicas > 4 ? 'large' : 'small'}",
    }
    return _resource("config", "v1", "ConfigMap", metadata=metadata, data=data)


def _deployment() -> KubeObject:
    container = {
        "name": "main",
        "image": "${schema.spec.image}",
        "ports": [{"containerPort": "${schema.spec.port}"}],
        "envFrom": [{"configMapRef": {"name": "${schema.spec.name}-config"}}],
    }
    labels = {"app": "${schema.spec.name}"}
    pods = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {
        "replicas": "${schema.spec.replicas}",
        "selector": {"matchLabels": labels},
        "template": pods,
    }
    metadata = {"name": "${schema.spec.name}", "labels": labels}
    return _resource("deployment", "apps/v1", "Deployment", metadata=metadata, spec=spec)


def _service() -> KubeObject:
    metadata = {"name": "${deployment.metadata.name}"}
    port = {"port": 80, "targetPort": "${schema.spec.port}"}
    spec = {"selector": "${deployment.spec.selector.matchLabels}", "ports": [port]}
    return _resource("service", "v1", "Service", metadata=metadata, spec=spec)
