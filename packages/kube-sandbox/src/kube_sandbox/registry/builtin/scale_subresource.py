"""
The scale of a workload: its desired and actual number of pods as an object of its own.

Follows kubernetes 1.35 pkg/registry/apps/deployment/storage/storage.go scaleFromDeployment;
pkg/apis/autoscaling/validation/validation.go ValidateScale;
k8s.io/apimachinery/pkg/labels/selector.go Requirement.String.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.field_validation import nonnegative
from kube_sandbox.registry.strategy import Errors

_META = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(obj: KubeObject) -> KubeObject:
    """Return the scale of a Deployment, ReplicaSet, StatefulSet or ReplicationController."""
    spec, status = obj.get("spec", {}), obj.get("status", {})
    shown: KubeObject = {"replicas": status.get("replicas", 0)}
    if text := selector_text(spec.get("selector")):
        shown["selector"] = text
    replicas = spec.get("replicas", 0)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: obj["metadata"][key] for key in _META if key in obj["metadata"]},
        "spec": {"replicas": replicas} if replicas else {},
        "status": shown,
    }


def with_scale(obj: KubeObject, scale: KubeObject) -> KubeObject:
    """Return an object with the number of pods that a scale wants."""
    found = deepcopy(obj)
    found.setdefault("spec", {})["replicas"] = scale.get("spec", {}).get("replicas", 0)
    version = scale.get("metadata", {}).get("resourceVersion")
    if version:
        found["metadata"]["resourceVersion"] = version
    return found


def check_scale(scale: KubeObject) -> Errors:
    """Return the errors in a scale beside its metadata."""
    return nonnegative(scale.get("spec", {}).get("replicas"), "spec.replicas")


def selector_text(selector: Mapping[str, Any] | None) -> str:
    """Print a selector, or labels, in the notation of queries; in the order of the keys."""
    if not selector:
        return ""
    if not selector.keys() <= {"matchLabels", "matchExpressions"}:
        return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))
    found = [(key, f"{key}={value}") for key, value in selector.get("matchLabels", {}).items()]
    for requirement in selector.get("matchExpressions", ()):
        key, values = requirement["key"], ",".join(sorted(set(requirement.get("values", ()))))
        match requirement["operator"]:
            case "In":
                found.append((key, f"{key} in ({values})"))
            case "NotIn":
                found.append((key, f"{key} notin ({values})"))
            case "Exists":
                found.append((key, key))
            case _:
                found.append((key, f"!{key}"))
    return ",".join(text for _, text in sorted(found, key=lambda pair: pair[0]))
