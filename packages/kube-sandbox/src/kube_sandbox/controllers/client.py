"""
The verbs as controllers use them: what `background` needs done, done by `writing` and `deleting`.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from kube_objects.refs import Kind, KubeObject
from kube_objects.times import format_time
from kube_sandbox import api_errors
from kube_sandbox.admission.plugins.node_taints_and_topology import topology
from kube_sandbox.authentication.user_info import UserInfo
from kube_sandbox.controllers.client_interface import Target
from kube_sandbox.controllers.garbage_collector import Place
from kube_sandbox.endpoints.decoding import BodyDecoder
from kube_sandbox.endpoints.deletion import Deleter
from kube_sandbox.endpoints.options import DeleteOptions, WriteOptions
from kube_sandbox.endpoints.stored_objects import StoredObjects
from kube_sandbox.endpoints.write import Writer
from kube_sandbox.endpoints.write_request import WriteRequest
from kube_sandbox.registry.kinds import Registry, Served

_CONTROLLERS = UserInfo(
    "system:kube-controller-manager", ("system:masters", "system:authenticated")
)
_WRITE_OPTIONS = WriteOptions(validation="Ignore")
_FORCED = WriteOptions(force=True, validation="Ignore")


class StoreClient:
    """Creates, changes and deletes in a controller's name."""

    def __init__(
        self, registry: Registry, writer: Writer, deleter: Deleter, clock: Callable[[], datetime]
    ) -> None:
        self._registry = registry
        self._writer = writer
        self._deleter = deleter
        self._clock = clock
        self._bodies = BodyDecoder()
        self._known: dict[str, Served] = {}
        self._generation = -1

    def place(self, api_version: str, kind: str) -> Place | None:
        """Return where the objects of a kind are; `None` if it is not served."""
        found = self._registry.of_kind(Kind.of(api_version, kind))
        return None if found is None else Place(found.bucket, found.namespaced)

    def namespaced(self) -> list[str]:
        """Return the buckets whose objects are in namespaces."""
        return [bucket for bucket, each in self._by_bucket().items() if each.namespaced]

    def _by_bucket(self) -> dict[str, Served]:
        if self._generation != self._registry.generation:
            self._generation = self._registry.generation
            # Events are served in two groups, and are stored as the core one has them.
            self._known = {
                each.bucket: each
                for each in self._registry
                if each.storage_group in (None, each.kind.group)
                and each.storage_version in ("", each.kind.version)
            }
        return self._known

    def _write_request(
        self, by: str, bucket: str, metadata: dict[str, Any], subresource: str = ""
    ) -> WriteRequest:
        served = self._by_bucket().get(bucket)
        if served is None:
            raise api_errors.no_such_path()
        namespace, name = metadata.get("namespace", ""), metadata.get("name", "")
        return WriteRequest(
            served, namespace, name, subresource, _WRITE_OPTIONS, by, _CONTROLLERS, self._clock()
        )

    def create(self, by: str, bucket: str, obj: KubeObject) -> None:
        """Create an object."""
        write_request = self._write_request(by, bucket, obj["metadata"])
        self._writer.create(write_request, self._bodies.normal(write_request.served, obj, obj))

    def replace(self, by: str, bucket: str, obj: KubeObject) -> None:
        """Replace an object, whatever its version; its uid must be the same."""

        def changed(live: KubeObject) -> KubeObject:
            kept = {
                name: live["metadata"].get(name) for name in ("resourceVersion", "managedFields")
            }
            _check_uid(bucket, obj, live)
            metadata = {**obj["metadata"], **{k: v for k, v in kept.items() if v is not None}}
            status = {"status": live["status"]} if "status" in live else {}
            return {**obj, "metadata": metadata, **status}

        self._writer.patch(self._write_request(by, bucket, obj["metadata"]), changed)

    def apply(self, by: str, bucket: str, obj: KubeObject) -> None:
        """Have these fields of an object, by force."""
        write_request = self._write_request(by, bucket, obj["metadata"])
        write_request.options = _FORCED
        self._writer.apply(write_request, obj)

    def set_status(self, by: str, bucket: str, obj: KubeObject) -> None:
        """Give the object that is there the status and annotations of this one, nothing else."""

        def changed(live: KubeObject) -> KubeObject:
            _check_uid(bucket, obj, live)
            annotations = obj["metadata"].get("annotations")
            given = {"annotations": annotations} if annotations else {}
            return {**live, "metadata": {**live["metadata"], **given}, "status": obj["status"]}

        self._writer.patch(self._write_request(by, bucket, obj["metadata"], "status"), changed)

    def bind(self, pod: KubeObject, node: str) -> None:
        """Bind a pod to a node; no field manager is recorded."""
        write_request = self._write_request("", "pods", pod["metadata"])
        live = self._live(write_request)
        _check_uid("pods", pod, live)
        bound = StoredObjects.copy(live)
        bound["spec"]["nodeName"] = node
        if labels := topology(self._writer.stored.look, node):
            metadata = bound["metadata"]
            metadata["labels"] = {**metadata.get("labels", {}), **labels}
        status = bound.setdefault("status", {})
        others = [c for c in status.get("conditions") or () if c["type"] != "PodScheduled"]
        scheduled = {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": format_time(write_request.now),
        }
        status["conditions"] = [*others, scheduled]
        self._writer.stored.save(write_request.served, bound, live, dry_run=False)

    def _live(self, write_request: WriteRequest) -> KubeObject:
        live = self._writer.stored.find(
            write_request.served, write_request.namespace, write_request.name
        )
        if live is None:
            raise write_request.not_found()
        return live

    def delete(self, bucket: str, target: Target) -> None:
        """Delete an object, if its uid is still the same."""
        served = self._by_bucket().get(bucket)
        if served is None:
            return
        options = DeleteOptions(target.grace, target.uid, propagation=target.propagation)
        self._deleter.delete(served, target.namespace, target.name, options, self._clock())

    def finalize(self, namespace: KubeObject, finalizers: tuple[str, ...]) -> None:
        """Set the finalizers of a Namespace's spec; without any it is gone."""
        write_request = self._write_request("", "namespaces", namespace["metadata"])
        live = self._live(write_request)
        changed = StoredObjects.copy(live)
        changed["spec"] = {"finalizers": list(finalizers)} if finalizers else {}
        stored = self._writer.stored
        saved = stored.save(write_request.served, changed, live, dry_run=False)
        if not finalizers and not saved["metadata"].get("finalizers"):
            stored.remove(write_request.served, saved, dry_run=False)


def _check_uid(bucket: str, obj: KubeObject, live: KubeObject) -> None:
    wanted = obj["metadata"].get("uid")
    if wanted is not None and wanted != live["metadata"]["uid"]:
        raise api_errors.not_found("", bucket, obj["metadata"]["name"])
