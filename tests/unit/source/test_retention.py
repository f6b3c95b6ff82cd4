"""
What a source keeps in memory of a document that does not change: at most 2 KB.

Measured are all parts that stay until the next commit: the objects of the revision, how they are
applied, what the cluster has of them, and the inventory, in the state and in the informer.
"""

import gc
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import orjson
import pytest

from kro_gitops.kube.cache import Cache
from kro_gitops.metadata import SOURCE_MANAGER
from kro_gitops.source.controllers.inventories import packed_entries
from kro_gitops.source.files.revision import Library
from kro_gitops.source.plan.desired import Desired, Provenance
from kro_gitops.source.plan.live_metadata import kept
from kro_gitops.source.plan.stages import Stage
from kro_gitops.source.plan.steps import Keep
from kro_gitops.tracking.inventory import Inventory
from kro_gitops.tracking.methods import TrackingMetadata
from kube_objects.managed_fields import CachedObject
from kube_objects.refs import KubeObject, ObjectRef

T = TypeVar("T")
COUNT = 2_000
LIMIT = 2_048  # bytes
DOCUMENT = "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings-{}\ndata: {{a: b}}\n"


@dataclass(frozen=True)
class File:
    path: str
    id: str


@pytest.mark.timeout(300)  # every allocation is traced
def test_a_document_that_does_not_change_takes_little_memory() -> None:
    sizes: dict[str, float] = {}

    def measured(part: str, work: Callable[[], T]) -> T:
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        found = work()
        gc.collect()
        sizes[part] = (tracemalloc.get_traced_memory()[0] - before) / COUNT
        return found

    text = "".join(DOCUMENT.format(number) for number in range(COUNT)).encode()
    provenance, library = Provenance("town/repo", "c" * 40), Library()

    def stamped() -> list[Desired]:
        return [
            provenance.stamp(
                item,
                ObjectRef(item.ref.kind, "town", item.ref.name),
                None,
                Stage.OBJECTS,
                TrackingMetadata(),
            )
            for item in snapshot.items
        ]

    def cached() -> Cache:
        cache = Cache()
        for number, each in enumerate(desired):
            cache.put(kept(_answer(each, number)))
        return cache

    def keep(desired: Desired) -> Keep:
        found = live.find("town", desired.ref.name)
        assert isinstance(found, CachedObject)
        return Keep(desired, found, found["metadata"]["uid"])

    def recorded() -> Inventory:
        inventory = Inventory()
        for number, each in enumerate(desired):
            inventory.put(each.entry(_uid(number)))
        for number in inventory.shards:
            inventory.written(number)
        return inventory

    def shards() -> list[KubeObject]:
        found = []
        for number in inventory.shards:
            entries = orjson.loads(orjson.dumps(inventory.on_shard(number)))
            found.append(packed_entries({"metadata": {"name": str(number)}, "entries": entries}))
        return found

    tracemalloc.start()
    try:
        snapshot = measured(
            "objects", lambda: library.snapshot("c" * 40, [File("a.yaml", "1")], {"1": text})
        )
        assert len(snapshot.items) == COUNT
        desired = measured("desired", stamped)
        live = measured("live", cached)
        keeps = measured("keeps", lambda: {each.item: keep(each) for each in desired})
        inventory = measured("inventory", recorded)
        written = measured("inventory in the informer", shards)
        claims = measured("claims", lambda: frozenset(each.key for each in desired))
    finally:
        tracemalloc.stop()
    assert len(keeps) == len(claims) == COUNT
    assert written
    assert sum(sizes.values()) <= LIMIT, str({part: round(size) for part, size in sizes.items()})


def _uid(number: int) -> str:
    return f"6ba7b810-9dad-11d1-80b4-{number:012}"


def _answer(desired: Desired, number: int) -> KubeObject:
    """Return what the API server answers when an object was applied."""
    fields = {
        "f:metadata": {
            section: {f"f:{key}": {} for key in desired.object["metadata"][section[2:]]}
            for section in ("f:annotations", "f:labels")
        },
        "f:data": {"f:a": {}},
    }
    entry = {"manager": SOURCE_MANAGER, "operation": "Apply", "fieldsV1": fields}
    metadata = {
        **desired.object["metadata"],
        "uid": _uid(number),
        "resourceVersion": str(10_000 + number),
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [entry],
    }
    found: KubeObject = orjson.loads(orjson.dumps({**desired.object, "metadata": metadata}))
    return found
