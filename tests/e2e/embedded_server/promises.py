"""
What a server has promised: every write that it acknowledged, and those it may have done.

A write whose answer never came was done or not, and nobody knows until they look; the next one to
the same object settles it.
"""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from kro_gitops.errors import ClusterUnavailable
from kro_gitops.kube.api import Cluster, MergePatch, WriteOptions
from kro_gitops.kube.cache import Change
from kube_objects.refs import Kind, KubeObject, ObjectRef

SHOP = Kind("kills.tests", "v1", "Shop")
CONFIG_MAP = Kind("", "v1", "ConfigMap")
_APPLIER = WriteOptions(manager="tests", force=True)

CRD: KubeObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "shops.kills.tests"},
    "spec": {
        "group": SHOP.group,
        "scope": "Namespaced",
        "names": {"plural": "shops", "kind": SHOP.kind},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "data": {
                                "type": "object",
                                "properties": {"count": {"type": "string", "maxLength": 9}},
                            }
                        },
                    }
                },
            }
        ],
    },
}


@dataclass(slots=True)
class Promise:
    """What is known of one object."""

    count: int | None = None  # what it says; `None`: it is not there
    unsure: list[int | None] = field(default_factory=list)  # what it may say instead
    versions: list[int] = field(default_factory=list)  # that were acknowledged, but for deletions

    def kept(self, obj: KubeObject | None) -> bool:
        """Say whether an object is as promised, and take it as it is from now on."""
        found = None if obj is None else int(obj["data"]["count"])
        is_kept = found == self.count or found in self.unsure
        self.count = found
        self.unsure.clear()
        return is_kept


class Promises:
    """Writes to many objects, at random."""

    def __init__(
        self, cluster: Cluster, impatient: Cluster, namespace: str, chance: random.Random
    ) -> None:
        """Take a client, and one that repeats nothing."""
        self.known: dict[ObjectRef, Promise] = {}
        self._cluster = cluster
        self._impatient = impatient
        self._namespace = namespace
        self._chance = chance
        self._count = 0
        for number in range(40):
            kind = SHOP if number % 2 else CONFIG_MAP
            self.known[ObjectRef(kind, namespace, f"object-{number}")] = Promise()

    async def write(self, refs: list[ObjectRef]) -> bool:
        """Write to one of some objects; say whether that was acknowledged."""
        ref = self._chance.choice(refs)
        promise = self.known[ref]
        self._count += 1
        wanted, action = self._action(ref, promise, self._count)
        try:
            answer = await action()
        except ClusterUnavailable:
            promise.unsure.append(wanted)
            return False
        promise.count = wanted
        promise.unsure.clear()
        if wanted is not None and answer is not None:
            promise.versions.append(int(answer["metadata"]["resourceVersion"]))
        return True

    def _action(
        self, ref: ObjectRef, promise: Promise, count: int
    ) -> tuple[int | None, Callable[[], Awaitable[KubeObject | None]]]:
        obj: KubeObject = {
            "apiVersion": ref.kind.api_version,
            "kind": ref.kind.kind,
            "metadata": {"name": ref.name, "namespace": ref.namespace},
            "data": {"count": str(count)},
        }
        if promise.unsure or promise.count is None or self._chance.random() < 0.4:
            return count, lambda: self._cluster.apply(obj, _APPLIER)
        if self._chance.random() < 0.2:
            return None, lambda: self._delete(ref)
        return count, lambda: self._cluster.patch(ref, MergePatch({"data": obj["data"]}))

    async def _delete(self, ref: ObjectRef) -> None:
        # Repeated, it would not find what the first one took.
        await self._impatient.delete(ref)


class Witness:
    """Everything an informer was told."""

    def __init__(self) -> None:
        self.versions: list[int] = []
        self.gone = 0

    def hear(self, change: Change) -> None:
        """Take note of a change."""
        if change.after is None:
            self.gone += 1
        else:
            self.versions.append(int(change.after["metadata"]["resourceVersion"]))
