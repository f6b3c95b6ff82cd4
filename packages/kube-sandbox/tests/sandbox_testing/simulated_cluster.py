"""A store with just enough of the verbs for what goes on in the background."""

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from kube_objects.refs import KubeObject
from kube_objects.times import format_time
from kube_sandbox.api_errors import StatusError, not_found
from kube_sandbox.controllers.client_interface import Target
from kube_sandbox.controllers.garbage_collector import Place
from kube_sandbox.controllers.manager import ControllerManager, ControllerManagerOptions
from kube_sandbox.controllers.workloads.plan_steps import Settings
from kube_sandbox.storage.records import Record
from kube_sandbox.storage.store import Store

KINDS = {
    ("v1", "ConfigMap"): Place("configmaps", True),
    ("v1", "Secret"): Place("secrets", True),
    ("v1", "Pod"): Place("pods", True),
    ("v1", "Event"): Place("events", True),
    ("v1", "ResourceQuota"): Place("resourcequotas", True),
    ("v1", "Service"): Place("services", True),
    ("v1", "ServiceAccount"): Place("serviceaccounts", True),
    ("v1", "PersistentVolumeClaim"): Place("persistentvolumeclaims", True),
    ("v1", "PersistentVolume"): Place("persistentvolumes", False),
    ("v1", "Namespace"): Place("namespaces", False),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"): Place(
        "clusterroles.rbac.authorization.k8s.io", False
    ),
    ("apps/v1", "Deployment"): Place("deployments.apps", True),
    ("apps/v1", "ReplicaSet"): Place("replicasets.apps", True),
    ("apps/v1", "StatefulSet"): Place("statefulsets.apps", True),
    ("apps/v1", "DaemonSet"): Place("daemonsets.apps", True),
    ("apps/v1", "ControllerRevision"): Place("controllerrevisions.apps", True),
    ("batch/v1", "Job"): Place("jobs.batch", True),
    ("batch/v1", "CronJob"): Place("cronjobs.batch", True),
    ("policy/v1", "PodDisruptionBudget"): Place("poddisruptionbudgets.policy", True),
    ("discovery.k8s.io/v1", "EndpointSlice"): Place("endpointslices.discovery.k8s.io", True),
    ("networking.k8s.io/v1", "Ingress"): Place("ingresses.networking.k8s.io", True),
}
GENERATED = ("deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps")


def bucket_of(obj: KubeObject) -> str:
    """Return where an object is stored."""
    return KINDS[(obj["apiVersion"], obj["kind"])].bucket


class World:
    """Objects, a clock, and what goes on in the background."""

    def __init__(
        self, settings: Settings | None = None, authority: str = "", *, nodes: bool = True
    ) -> None:
        self.now = datetime(2026, 11, 16, 12, tzinfo=UTC)
        self.store = Store()
        self._count = 0
        duties = ControllerManagerOptions(
            lambda version, kind: KINDS.get((version, kind)),
            lambda: [each.bucket for each in KINDS.values() if each.is_namespaced],
            settings,
            authority,
            frozenset() if nodes else frozenset(("pods",)),
        )
        self.background = ControllerManager(self.store, self, duties)
        self.background.start()

    # What a test does

    def add(self, obj: KubeObject) -> KubeObject:
        """Create an object; return it as it is stored."""
        metadata = {**obj["metadata"]}
        if KINDS[(obj["apiVersion"], obj["kind"])].is_namespaced:
            metadata.setdefault("namespace", "n")
        made = {**obj, "metadata": metadata}
        self.create("test", bucket_of(obj), made)
        return made

    def run(self, seconds: float = 0.0) -> None:
        """Let time pass, and everything happen that is due meanwhile."""
        end = self.now + timedelta(seconds=seconds)
        for _ in range(10_000):
            wait = self.background.run(self.now)
            if wait is None or self.now + timedelta(seconds=wait) > end:
                break
            self.now += timedelta(seconds=wait)
        else:
            raise AssertionError("it never ends")
        self.now = end

    def find(self, bucket: str, name: str, namespace: str = "n") -> Any:
        """Return an object, or `None`."""
        record = self.store.get(bucket, namespace, name)
        return orjson.loads(record.value) if record else None

    def all(self, bucket: str) -> list[Any]:
        """Return the objects of a bucket."""
        return [orjson.loads(each.value) for each in self.store.list(bucket)]

    def names(self, bucket: str) -> list[str]:
        """Return the names of the objects of a bucket."""
        return [each["metadata"]["name"] for each in self.all(bucket)]

    def change(self, obj: KubeObject) -> None:
        """Replace an object, as a user would."""
        self.replace("test", bucket_of(obj), obj)

    def remove(self, obj: KubeObject, propagation: str = "") -> None:
        """Delete an object, as a user would."""
        metadata = obj["metadata"]
        target = Target(
            metadata.get("namespace", ""), metadata["name"], metadata["uid"], propagation
        )
        self.delete(bucket_of(obj), target)

    # The verbs

    def _save(self, bucket: str, obj: KubeObject) -> None:
        metadata = obj["metadata"]
        version = self.store.version + 1
        metadata["resourceVersion"] = str(version)
        labels = metadata.get("labels") or {}
        namespace = metadata.get("namespace", "")
        value = orjson.dumps(obj)
        uid, name = metadata["uid"], metadata["name"]
        record = Record(namespace, name, uid, version, value, labels)
        if "deletionTimestamp" in metadata and not self._is_held(bucket, obj):
            self.store.delete(bucket, record)
        else:
            self.store.put(bucket, record)

    @staticmethod
    def _is_held(bucket: str, obj: KubeObject) -> bool:
        metadata = obj["metadata"]
        own = obj.get("spec", {}).get("finalizers") if bucket == "namespaces" else None
        return bool(metadata.get("finalizers") or own or metadata.get("deletionGracePeriodSeconds"))

    def create(self, by: str, bucket: str, obj: KubeObject) -> None:
        """Create an object."""
        self._count += 1
        metadata = obj["metadata"]
        metadata.setdefault("name", f"{metadata.get('generateName')}{self._count:05}")
        if self.find(bucket, metadata["name"], metadata.get("namespace", "")):
            raise StatusError(409, "AlreadyExists", f"{by} {metadata['name']}")
        metadata["uid"] = f"uid-{self._count}"
        metadata["creationTimestamp"] = format_time(self.now)
        if bucket in GENERATED:
            metadata["generation"] = 1
        if bucket == "pods":
            obj.setdefault("status", {"phase": "Pending"})
        self._save(bucket, obj)

    def _live(self, bucket: str, obj: KubeObject) -> Any:
        metadata = obj["metadata"]
        live = self.find(bucket, metadata["name"], metadata.get("namespace", ""))
        if live is None or live["metadata"]["uid"] != metadata.get("uid", live["metadata"]["uid"]):
            raise not_found("", bucket, metadata["name"])
        return live

    def replace(self, by: str, bucket: str, obj: KubeObject) -> None:
        """Replace an object, all but its status."""
        live = self._live(bucket, obj)
        changed = {**obj, "status": live["status"]} if "status" in live else dict(obj)
        if live.get("spec") != obj.get("spec") and bucket in GENERATED:
            generation = live["metadata"]["generation"] + 1
            changed["metadata"] = {**obj["metadata"], "generation": generation}
        assert by
        self._save(bucket, changed)

    def apply(self, by: str, bucket: str, obj: KubeObject) -> None:
        """Have some fields of an object."""
        live = self._live(bucket, obj)
        assert by
        self._save(bucket, {**live, **obj, "metadata": live["metadata"]})

    def set_status(self, by: str, bucket: str, obj: KubeObject) -> None:
        """Replace an object's status, and its annotations."""
        assert by
        live = self._live(bucket, obj)
        if annotations := obj["metadata"].get("annotations"):
            live["metadata"]["annotations"] = annotations
        self._save(bucket, {**live, "status": obj["status"]})

    def bind(self, pod: KubeObject, node: str) -> None:
        """Place a pod on a node."""
        live = self._live("pods", pod)
        live["spec"]["nodeName"] = node
        self._save("pods", live)

    def finalize(self, namespace: KubeObject, finalizers: tuple[str, ...]) -> None:
        """Set the finalizers of a namespace's spec."""
        live = self._live("namespaces", namespace)
        live["spec"]["finalizers"] = list(finalizers)
        self._save("namespaces", live)

    def delete(self, bucket: str, target: Target) -> None:
        """Delete an object, or begin to."""
        live = self.find(bucket, target.name, target.namespace)
        if live is None or live["metadata"]["uid"] != target.uid:
            raise not_found("", bucket, target.name)
        metadata = live["metadata"]
        own = {"Orphan": "orphan", "Foreground": "foregroundDeletion"}.get(target.propagation)
        held = metadata.get("finalizers") or []
        if own and own not in held:
            metadata["finalizers"] = [*held, own]
        metadata.setdefault("deletionTimestamp", format_time(self.now))
        if bucket == "pods":
            runs = live["spec"].get("nodeName") and target.grace != 0
            metadata["deletionGracePeriodSeconds"] = 30 if runs else 0
        if bucket == "namespaces":
            live["status"] = {**live.get("status", {}), "phase": "Terminating"}
        self._save(bucket, live)
