"""Writes of pods, claims and other things, and the LimitRanges and quotas that they meet."""

from collections.abc import Callable
from functools import cache
from typing import Any

from sandbox_testing.api_recordings import registry

from kube_objects.refs import KubeObject
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.plugins.interface import AdmissionContext, Plugin
from kube_sandbox.authentication.user_info import UserInfo
from kube_sandbox.registry.kinds import Served

Json = dict[str, Any]


@cache
def kinds() -> dict[str, Served]:
    """Return what is served, by bucket."""
    return {each.bucket: each for each in registry()}


def write(
    bucket: str, obj: Json, old: Json | None = None, part: str = "", **more: Any
) -> AdmissionAttributes:
    """Return the write of an object."""
    operation = "UPDATE" if old else "CREATE"
    name = obj["metadata"]["name"]
    place = (kinds()[bucket], "n", name, part)
    return AdmissionAttributes(operation, *place, obj, old, UserInfo("alice", ()), **more)


def plugin_among(
    make: Callable[[AdmissionContext], Plugin], bucket: str, *objects: Json
) -> tuple[Plugin, list[KubeObject]]:
    """Return a plugin in a namespace that has some objects, and the quotas that it charges."""
    charged: list[KubeObject] = []

    def every(asked: str, namespace: str) -> list[KubeObject]:
        return list(objects) if (asked, namespace) == (bucket, "n") else []

    return make(AdmissionContext(lambda *_: None, every, charged.append)), charged


def pod(*resources: Json | None, inits: tuple[Json, ...] = (), **spec: Any) -> Json:
    """Return a pod with a container for each of some resources."""
    containers = [_container(f"c{i}", each) for i, each in enumerate(resources or (None,))]
    prepares = [{**_container(f"i{i}", {}), **each} for i, each in enumerate(inits)]
    asked = any((each.get("resources") or {}) for each in (*containers, *prepares))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "n"},
        "spec": {
            "containers": containers,
            **({"initContainers": prepares} if inits else {}),
            **spec,
        },
        "status": {"phase": "Pending", "qosClass": "Burstable" if asked else "BestEffort"},
    }


def _container(name: str, resources: Json | None) -> Json:
    return {"name": name, "image": "x", "resources": resources or {}}


def claim(size: str, storage_class: str = "") -> Json:
    """Return a claim."""
    spec: Json = {"resources": {"requests": {"storage": size}}}
    if storage_class:
        spec["storageClassName"] = storage_class
    metadata = {"name": "c", "namespace": "n"}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": spec,
    }


def service(sort: str, ports: int = 1, **spec: Any) -> Json:
    """Return a service."""
    found = [{"name": f"p{each}", "port": 80 + each} for each in range(ports)]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "namespace": "n"},
        "spec": {"type": sort, "ports": found, **spec},
    }


def quota(hard: Json, used: Json | None = None, **spec: Any) -> Json:
    """Return a quota that was counted; what is not said is not used."""
    status = {"hard": hard, "used": {**dict.fromkeys(hard, "0"), **(used or {})}}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "n"},
        "spec": {"hard": hard, **spec},
        "status": status,
    }
