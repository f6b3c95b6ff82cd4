"""
A cluster as controllers would leave it: definitions, revisions, instances, children, events.

Nothing reconciles here; objects are made with the labels, annotations and status they would have.
"""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from kro_gitops.engine.applyset import Inventory
from kro_gitops.engine.labels import instance_labels, node_labels, order_annotation
from kro_gitops.engine.revision import REVISION_KIND
from kro_gitops.errors import NotServed
from kro_gitops.kube.api import Cluster, DeleteOptions, MergePatch, WriteOptions
from kro_gitops.metadata import SOURCE, SOURCE_PATH
from kube_objects.refs import Kind, KubeObject, ObjectRef

DEFINITION = Kind("kro.run", "v1alpha1", "ResourceGraphDefinition")
WEBAPP = Kind("kro.run", "v1alpha1", "WebApp")
SHOP = Kind("kro.run", "v1alpha1", "Shop")
STALL = Kind("kro.run", "v1alpha1", "Stall")  # whose definition has gone
STALLS = 60
VERSION = "test"
STATUS = WriteOptions(subresource="status")
FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

WAITING = (
    'resource reconciliation failed: apply results contain errors: waiting for node "deployment": '
    'readyWhen condition evaluated to false: "deployment.status.availableReplicas > 0" '
    "(waiting for readiness)"
)


def crd(kind: Kind, plural: str, scope: str = "Namespaced") -> KubeObject:
    version = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": FREE},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "names": {"kind": kind.kind, "plural": plural, "singular": kind.kind.lower()},
            "scope": scope,
            "versions": [version],
        },
    }


CRDS = (
    crd(DEFINITION, "resourcegraphdefinitions", "Cluster"),
    crd(REVISION_KIND, "graphrevisions", "Cluster"),
    crd(WEBAPP, "webapps"),
    crd(SHOP, "shops"),
    crd(STALL, "stalls"),
)


def obj(kind: Kind, name: str, namespace: str = "", **more: Any) -> KubeObject:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    metadata.update(more.pop("metadata", {}))
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **more}


def condition(type_: str, status: str, reason: str, message: str = "") -> dict[str, Any]:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-03-01T09:30:00Z",
        "observedGeneration": 1,
    }


READY = condition("Ready", "True", "Ready")
HEALTHY = {"state": "ACTIVE", "conditions": [READY]}


def not_ready(reason: str, message: str, state: str = "IN_PROGRESS") -> dict[str, Any]:
    conditions = [
        condition("GraphResolved", "True", "Resolved"),
        condition("ResourcesReady", "False", reason, message),
        condition("Ready", "False", reason, message),
    ]
    return {"state": state, "conditions": conditions}


def definition(name: str, kind: str, *resources: dict[str, Any]) -> KubeObject:
    schema = {"apiVersion": "v1alpha1", "kind": kind, "shortNames": [f"{kind[0].lower()}x"]}
    spec = {"schema": schema, "resources": list(resources)}
    return obj(DEFINITION, name, spec=spec)


class Builder:
    """Makes objects in a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    async def make(self, made: KubeObject, status: dict[str, Any] | None = None) -> KubeObject:
        found = await self._create(made)
        if status is None:
            return found
        return await self.cluster.patch(ObjectRef.of(found), MergePatch({"status": status}), STATUS)

    async def instance(
        self,
        kind: Kind,
        name: str,
        status: dict[str, Any] | None,
        kinds: tuple[Kind, ...] = (),
        annotations: Mapping[str, str] = MappingProxyType({}),
        namespace: str = "shop",
    ) -> KubeObject:
        ref = ObjectRef(kind, namespace, name)
        members = (ObjectRef(each, namespace, "x") for each in kinds)
        written = {**Inventory.of(members, ref).annotations(ref, VERSION), **annotations}
        made = obj(kind, name, namespace, metadata={"annotations": written})
        return await self.make(made, status)

    async def child(
        self, parent: KubeObject, node: str, made: KubeObject, status: dict[str, Any] | None = None
    ) -> KubeObject:
        uid, metadata = parent["metadata"]["uid"], made["metadata"]
        labels = {**instance_labels(ObjectRef.of(parent), uid, VERSION), **node_labels(node)}
        metadata["labels"] = {**metadata.get("labels", {}), **labels}
        metadata["annotations"] = {**metadata.get("annotations", {}), **order_annotation(1)}
        return await self.make(made, status)

    async def event(self, about: KubeObject, reason: str, message: str, count: int = 1) -> None:
        metadata = about["metadata"]
        involved = {"kind": about["kind"], "name": metadata["name"], "uid": metadata["uid"]}
        await self._create(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"generateName": "e-", "namespace": metadata["namespace"]},
                "involvedObject": {**involved, "namespace": metadata["namespace"]},
                "type": "Warning",
                "reason": reason,
                "message": message,
                "count": count,
                "lastTimestamp": "2026-03-01T09:30:00Z",
            }
        )

    async def _create(self, made: KubeObject) -> KubeObject:
        """Create an object, as soon as its kind is served."""
        async with asyncio.timeout(20):
            while True:
                try:
                    return await self.cluster.create(made)
                except NotServed:
                    await asyncio.sleep(0.1)


DEPLOYMENT = Kind("apps", "v1", "Deployment")
CONFIG_MAP = Kind("", "v1", "ConfigMap")
POD = Kind("", "v1", "Pod")


def deployment(name: str) -> KubeObject:
    labels = {"app": name}
    containers = [{"name": "web", "image": "web:1"}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    return obj(DEPLOYMENT, name, "shop", spec=spec)


def pod(name: str, app: str) -> KubeObject:
    spec = {"containers": [{"name": "web", "image": "web:1"}]}
    return obj(POD, name, "shop", metadata={"labels": {"app": app}}, spec=spec)


async def install(build: Builder) -> None:
    """Make the CRDs."""
    for each in CRDS:
        await build.make(each)


async def populate(build: Builder) -> None:
    """Make everything else."""
    await build.make(obj(Kind("", "v1", "Namespace"), "shop"))
    await build.make(obj(Kind("", "v1", "Namespace"), "empty"))
    await _definitions(build)
    await _healthy(build)
    await _waiting(build)
    await _others(build)
    await _nested(build)
    await _crowd(build)


async def _definitions(build: Builder) -> None:
    valid = condition("GraphAccepted", "True", "Valid")
    status = {"state": "Active", "lastIssuedRevision": 2, "conditions": [valid, READY]}
    resources = (
        {"id": "deployment", "template": deployment("${schema.metadata.name}")},
        {"id": "settings", "template": obj(CONFIG_MAP, "${schema.metadata.name}")},
        {"id": "certificate", "externalRef": obj(CONFIG_MAP, "certificate")},
    )
    await build.make(definition("webapp", "WebApp", *resources), status)
    await build.make(definition("shop", "Shop"), status)
    message = 'failed to build resourcegraphdefinition: id "A" is not valid'
    rejected = condition("GraphAccepted", "False", "InvalidResourceGraph", message)
    awaiting = condition("Ready", "False", "InvalidResourceGraph", message)
    broken = {"state": "Inactive", "conditions": [rejected, awaiting]}
    await build.make(definition("broken", "Broken"), broken)
    for number in (1, 2):
        snapshot: KubeObject = {"name": "webapp", "generation": number, "spec": {}}
        spec = {"revision": number, "snapshot": snapshot}
        made = obj(REVISION_KIND, f"webapp-r0000{number}", spec=spec)
        await build.make(made, {"conditions": [READY]})


async def _healthy(build: Builder) -> None:
    front = await build.instance(WEBAPP, "front", HEALTHY, (CONFIG_MAP, DEPLOYMENT))
    up = {"replicas": 2, "updatedReplicas": 2, "availableReplicas": 2, "readyReplicas": 2}
    await build.child(front, "deployment", deployment("front"), {**up, "observedGeneration": 1})
    await build.child(front, "settings", obj(CONFIG_MAP, "front", "shop"))


async def _waiting(build: Builder) -> None:
    places = {SOURCE: "gitops/shop", SOURCE_PATH: "apps/back.yaml:7"}
    status = not_ready("NotReady", WAITING)
    back = await build.instance(WEBAPP, "back", status, (CONFIG_MAP, DEPLOYMENT), places)
    down = {"replicas": 2, "updatedReplicas": 2, "unavailableReplicas": 2, "observedGeneration": 1}
    await build.child(back, "deployment", deployment("back"), down)
    await build.make(obj(Kind("", "v1", "ServiceAccount"), "default", "shop"))
    reason = {"reason": "ImagePullBackOff", "message": "Back-off pulling image web:1"}
    stuck = {
        "name": "web",
        "image": "web:1",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": {"waiting": reason},
    }
    one = await build.make(
        pod("back-1", "back"), {"phase": "Pending", "containerStatuses": [stuck]}
    )
    await build.event(one, "Failed", "web:1: not found", count=3)
    await build.event(back, "Ready", "True -> False: NotReady")


async def _others(build: Builder) -> None:
    suspension = "reconciliation suspended via kro.run/reconcile annotation"
    status = not_ready("ReconciliationSuspended", suspension, "ACTIVE")
    await build.instance(WEBAPP, "paused", status, (), {"kro.run/reconcile": "suspended"})
    await build.instance(WEBAPP, "new", None)
    going = obj(WEBAPP, "going", "shop", metadata={"finalizers": ["kro.run/finalizer"]})
    made = await build.make(going, HEALTHY)
    uid = made["metadata"]["uid"]
    await build.cluster.delete(ObjectRef.of(made), DeleteOptions(uid=uid))


async def _nested(build: Builder) -> None:
    everything = await build.instance(SHOP, "everything", HEALTHY, (WEBAPP,))
    ref = ObjectRef(WEBAPP, "shop", "inner")
    maps = Inventory.of([ObjectRef(CONFIG_MAP, "shop", "x")], ref).annotations(ref, VERSION)
    made = obj(WEBAPP, "inner", "shop", metadata={"annotations": maps})
    inner = await build.child(everything, "web", made, HEALTHY)
    await build.child(inner, "settings", obj(CONFIG_MAP, "inner", "shop"))


async def _crowd(build: Builder) -> None:
    await build.make(obj(Kind("", "v1", "Namespace"), "market"))

    async def stall(number: int) -> None:
        name = f"stall-{number:02}"
        made = await build.instance(STALL, name, HEALTHY, (CONFIG_MAP,), namespace="market")
        await build.child(made, "settings", obj(CONFIG_MAP, name, "market"))

    await asyncio.gather(*map(stall, range(STALLS)))
