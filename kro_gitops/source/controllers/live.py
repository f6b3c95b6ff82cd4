"""
What sources applied, as it is on the cluster: one watch a kind, of metadata alone.

That is enough to see drift, foreign owners and deletions, whatever the kind. Whoever is concerned
by a change is woken by the source that the object names; a change of nothing but status concerns
nobody here.
"""

import asyncio
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import orjson

from kro_gitops.errors import NotServed
from kro_gitops.kube.api import Reader, Selection
from kro_gitops.kube.cache import Change, intern_strings
from kro_gitops.kube.informer import Informer
from kro_gitops.metadata import (
    PRUNE,
    PRUNE_APPROVED,
    SOURCE,
    SOURCE_HASH,
    SOURCE_MANAGER,
)
from kube_objects.managed_fields import CachedObject, pack_owned_fields
from kube_objects.refs import Kind, KubeObject, ObjectRef

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_ANSWERS = (PRUNE, PRUNE_APPROVED)  # what people may answer to a source that asks
_KEPT = (
    *("name", "namespace", "uid", "resourceVersion", "generation", "deletionTimestamp"),
    *("finalizers", "labels", "annotations"),
)

Woken = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Running:
    informer: Informer
    task: asyncio.Task[None]


class LiveObjects:
    """The metadata of everything that sources applied."""

    def __init__(self, reader: Reader, drifted: Woken, stirred: Woken) -> None:
        """Tell `drifted` of which source something changed, `stirred` if it was only status."""
        self._reader = reader
        self._drifted = drifted
        self._stirred = stirred
        self._running: dict[Kind, _Running] = {}

    def watch(self, kinds: Iterable[Kind]) -> None:
        """Watch these kinds from now on."""
        for kind in set(kinds) - set(self._running):
            selection = Selection(kind, labels=SOURCE_HASH, metadata_only=True)
            informer = Informer(self._reader, selection, kept)
            informer.listen(self._changed)
            task = asyncio.create_task(informer.run(), name=f"informer {kind} of sources")
            self._running[kind] = _Running(informer, task)

    def keep_only(self, kinds: Iterable[Kind]) -> None:
        """Stop watching kinds of which no source has anything."""
        for kind in set(self._running) - set(kinds):
            self._running.pop(kind).task.cancel()

    async def known(self, kinds: Iterable[Kind], limit: float) -> frozenset[Kind]:
        """Wait until these kinds were listed; return those that are known."""
        self.watch(kinds)
        until = asyncio.get_running_loop().time() + limit
        found = set()
        for kind in set(kinds):
            informer = self._running[kind].informer
            while not informer.is_synced and informer.problem is None:
                if asyncio.get_running_loop().time() > until:
                    break
                await informer.wait_synced(0.05)
            if informer.is_synced:
                found.add(kind)
        return frozenset(found)

    def is_interrupted(self, kind: Kind) -> bool:
        """Say whether a kind cannot be watched just now: what is known of it may be old."""
        running = self._running.get(kind)
        return running is None or running.informer.problem is not None

    async def count(self, kind: Kind) -> int:
        """Count the objects of a kind on the cluster, whoever made them."""
        try:
            found = await self._reader.list(Selection(kind, metadata_only=True))
        except NotServed:
            return 0
        return len(found.items)

    def find(self, ref: ObjectRef) -> KubeObject | None:
        """Return what a source applied, whichever source it was."""
        find = self.finder(ref.kind)
        return find(ref.namespace, ref.name) if find is not None else None

    def finder(self, kind: Kind) -> Callable[[str, str], KubeObject | None] | None:
        """Return how objects of a kind are found; `None` if it is not watched."""
        running = self._running.get(kind)
        return running.informer.cache.find if running is not None else None

    def saw(self, answer: KubeObject) -> CachedObject:
        """Take in what the server answered to a write of ours."""
        made = kept(answer)
        running = self._running.get(ObjectRef.of(made).kind)
        if running is not None:
            running.informer.saw(made)
        return made

    def counts(self) -> dict[Kind, int]:
        """Return how many objects are held, by kind."""
        return {kind: len(each.informer.cache) for kind, each in self._running.items()}

    def close(self) -> None:
        """Stop watching."""
        self.keep_only(())

    def _changed(self, change: Change) -> None:
        before, after = change.before, change.after
        is_same = before is not None and after is not None and _matter(before) == _matter(after)
        wake = self._stirred if is_same else self._drifted
        for name in {source_of(each) for each in (before, after) if each is not None}:
            if name:
                wake(name)


def source_of(obj: KubeObject) -> str:
    """Return the source that an object names; empty if it names none."""
    found = (obj["metadata"].get("annotations") or {}).get(SOURCE)
    return found if isinstance(found, str) else ""


def is_applied(obj: KubeObject) -> bool:
    """Say whether fields of an object are ours, as the API server notes."""
    return bool(
        obj.owned if isinstance(obj, CachedObject) else pack_owned_fields(obj, SOURCE_MANAGER)
    )


def evidence(obj: KubeObject) -> KubeObject:
    """Return an object as whoever looks for its owners wants it: with our own entry, too."""
    if not isinstance(obj, CachedObject) or not obj.owned:
        return obj
    ours = {
        "manager": SOURCE_MANAGER,
        "operation": "Apply",
        "fieldsV1": orjson.loads(zlib.decompress(obj.owned)),
    }
    metadata = obj["metadata"]
    managers = [*(metadata.get("managedFields") or ()), ours]
    return {**obj, "metadata": {**metadata, "managedFields": managers}}


def kept(obj: KubeObject) -> CachedObject:
    """Return what is kept of an object: its metadata, and which of its fields are ours."""
    metadata = obj["metadata"]
    owned = pack_owned_fields(obj, SOURCE_MANAGER)
    made = {key: metadata[key] for key in _KEPT if key in metadata}
    annotations = made.get("annotations")
    if annotations and _LAST_APPLIED in annotations:
        made["annotations"] = {k: v for k, v in annotations.items() if k != _LAST_APPLIED}
    managers = [
        {"manager": each.get("manager"), "operation": each.get("operation")}
        for each in metadata.get("managedFields") or ()
        if each.get("manager") != SOURCE_MANAGER and not each.get("subresource")
    ]
    made["managedFields"] = managers
    trimmed = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": made}
    return CachedObject(intern_strings(trimmed), owned)


def _matter(obj: KubeObject) -> tuple[object, ...]:
    metadata = obj["metadata"]
    owned = obj.owned if isinstance(obj, CachedObject) else b""
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    return (
        metadata["uid"],
        owned,
        labels.get(SOURCE_HASH),
        metadata.get("deletionTimestamp"),
        source_of(obj),
        *(annotations.get(key) for key in _ANSWERS),
    )
