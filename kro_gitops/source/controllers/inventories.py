"""
The inventories of sources: read once, then written shard by shard as they change.

Shards have a finalizer: with foreground deletion of a source they would otherwise be deleted before
the objects that they list.
"""

import asyncio
import zlib
from collections.abc import Iterable

import orjson

from kro_gitops.engine.instance_metadata import is_deleting
from kro_gitops.engine.labels import label_value
from kro_gitops.kube.api import Cluster, MergePatch, Selection
from kro_gitops.kube.cache import Change
from kro_gitops.kube.informer import Informer
from kro_gitops.kube.responses import AlreadyExists, NotFound
from kro_gitops.metadata import SOURCE_FINALIZER, SOURCE_NAME
from kro_gitops.source.api.resources import SOURCE_INVENTORY_KIND
from kro_gitops.tracking.inventory import Inventory, parse_entries
from kube_objects.refs import KubeObject, ObjectRef

_BY_SOURCE = "source"
_DELETION_TIMEOUT = 2.0  # seconds for the watch to report it
_POLL_INTERVAL = 0.02


class Inventories:
    """All inventories of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.informer = Informer(
            cluster,
            Selection(SOURCE_INVENTORY_KIND),
            packed_entries,
            indexes={_BY_SOURCE: _source_label},
        )
        self._cluster = cluster

    def load(self, source: ObjectRef) -> Inventory:
        """Return the inventory of a source, as it was last written."""
        shards = {}
        for shard in self._shards(source):
            entries = parse_entries(orjson.loads(zlib.decompress(shard["entries"])))
            shards[_number(shard, source.name)] = tuple(entries)
        return Inventory.of(shards)

    async def write(self, source: KubeObject, inventory: Inventory) -> None:
        """Write what has changed."""
        ref = ObjectRef.of(source)
        owner = {
            "apiVersion": ref.kind.api_version,
            "kind": ref.kind.kind,
            "name": ref.name,
            "uid": source["metadata"]["uid"],
        }
        for number, changes in inventory.changes().items():
            shard = ObjectRef(SOURCE_INVENTORY_KIND, ref.namespace, f"{ref.name}-{number}")
            patch = MergePatch({"entries": changes})
            answer: KubeObject | None = None
            try:
                answer = await self._cluster.patch(shard, patch)
            except NotFound:
                # Without entries there is nothing to remove, and in a terminating namespace
                # none can be created.
                if any(changes.values()):
                    whole = {
                        "apiVersion": shard.kind.api_version,
                        "kind": shard.kind.kind,
                        "metadata": {
                            "name": shard.name,
                            "namespace": shard.namespace,
                            "labels": {SOURCE_NAME: label_value(ref.name)},
                            "ownerReferences": [owner],
                            "finalizers": [SOURCE_FINALIZER],
                        },
                        # All of them: the shard may have been deleted by a user.
                        "entries": inventory.on_shard(number),
                    }
                    try:
                        answer = await self._cluster.create(whole)
                    except AlreadyExists:  # the answer to an earlier attempt was lost
                        answer = await self._cluster.patch(shard, patch)
            if answer is not None:
                self.informer.record_write(packed_entries(answer))
            inventory.written(number)

    async def release(self, source: ObjectRef) -> bool:
        """
        Delete the shards of a source; return whether they are gone.

        Until then the source must stay: a new one of the same name would take over the objects that
        were orphaned, and delete them.
        """
        for shard in self._shards(source):
            await self.delete(shard)
        until = asyncio.get_running_loop().time() + _DELETION_TIMEOUT
        while self._shards(source):
            if asyncio.get_running_loop().time() > until:
                return False
            await asyncio.sleep(_POLL_INTERVAL)
        return True

    async def delete(self, shard: KubeObject) -> None:
        """Delete a shard."""
        ref = ObjectRef.of(shard)
        try:
            await self._cluster.patch(ref, MergePatch({"metadata": {"finalizers": None}}))
            await self._cluster.delete(ref)
        except NotFound:
            return

    def abandoned(self, change: Change, sources: Iterable[str]) -> KubeObject | None:
        """Return a shard that has a deletionTimestamp and whose source is gone."""
        shard = change.after
        if shard is None or not is_deleting(shard):
            return None
        owners = {f"{namespace}/{label}" for namespace, label in _source_label(shard)}
        known = (each.partition("/") for each in sources)
        names = {f"{namespace}/{label_value(name)}" for namespace, _, name in known}
        return None if owners & names else shard

    def _shards(self, source: ObjectRef) -> list[KubeObject]:
        found = self.informer.cache.by(_BY_SOURCE, (source.namespace, label_value(source.name)))
        return [shard for shard in found if _number(shard, source.name) >= 0]


def packed_entries(shard: KubeObject) -> KubeObject:
    """Return a shard as it is cached: its entries are in the states of sources already."""
    metadata = {key: each for key, each in shard["metadata"].items() if key != "managedFields"}
    packed = zlib.compress(orjson.dumps(shard.get("entries") or {}))
    return {**shard, "metadata": metadata, "entries": packed}


def _number(shard: KubeObject, source: str) -> int:
    """Return the number of a shard; negative if it belongs to another source."""
    text = shard["metadata"]["name"].removeprefix(f"{source}-")
    return int(text) if text.isdecimal() else -1


def _source_label(shard: KubeObject) -> tuple[tuple[str, str], ...]:
    """Return the namespace and the label of the source, as an index key; empty without one."""
    metadata = shard["metadata"]
    label = (metadata.get("labels") or {}).get(SOURCE_NAME)
    return ((metadata["namespace"], label),) if label else ()
