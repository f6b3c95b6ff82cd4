"""
Live metadata of the objects that sources applied: one metadata-only watch per kind.

A change wakes the source that the object is annotated with; a change of status alone only has its
health checked again.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kro_gitops.errors import NotServed
from kro_gitops.kube.api import Reader, Selection
from kro_gitops.kube.cache import Change
from kro_gitops.kube.informer import Informer
from kro_gitops.metadata import SOURCE_HASH
from kro_gitops.source.plan.live_metadata import kept, relevant, source_of
from kube_objects.managed_fields import CachedObject
from kube_objects.refs import Kind, KubeObject, ObjectRef

_POLL_INTERVAL = 0.05  # seconds

Wake = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Watch:
    informer: Informer
    task: asyncio.Task[None]


class LiveCache:
    """The metadata of everything that sources applied."""

    def __init__(self, reader: Reader, drifted: Wake, status_changed: Wake) -> None:
        """Call `drifted` with the source of an object that changed, or `status_changed`."""
        self._reader = reader
        self._drifted = drifted
        self._status_changed = status_changed
        self._watches: dict[Kind, _Watch] = {}

    async def sync(self, kinds: Iterable[Kind], limit: float) -> frozenset[Kind]:
        """Watch kinds from now on; return those that were listed within so many seconds."""
        watched = set(kinds)
        for kind in watched - self._watches.keys():
            selection = Selection(kind, labels=SOURCE_HASH, metadata_only=True)
            informer = Informer(self._reader, selection, kept)
            informer.listen(self._changed)
            task = asyncio.create_task(informer.run(), name=f"informer {kind} of sources")
            self._watches[kind] = _Watch(informer, task)
        until = asyncio.get_running_loop().time() + limit
        found = set()
        for kind in watched:
            informer = self._watches[kind].informer
            while not informer.is_synced and informer.problem is None:
                if asyncio.get_running_loop().time() > until:
                    break
                await informer.wait_synced(_POLL_INTERVAL)
            if informer.is_synced:
                found.add(kind)
        return frozenset(found)

    def is_interrupted(self, kind: Kind) -> bool:
        """Return True if a kind cannot be watched now: its cache may be stale."""
        watch = self._watches.get(kind)
        return watch is None or watch.informer.problem is not None

    async def count(self, kind: Kind) -> int:
        """Count all objects of a kind in the cluster, not only those of sources."""
        try:
            found = await self._reader.list(Selection(kind, metadata_only=True))
        except NotServed:
            return 0
        return len(found.items)

    def find(self, ref: ObjectRef) -> KubeObject | None:
        """Return an object that a source applied, whichever source it was."""
        find = self.finder(ref.kind)
        return find(ref.namespace, ref.name) if find is not None else None

    def finder(self, kind: Kind) -> Callable[[str, str], KubeObject | None] | None:
        """Return the lookup by namespace and name of a kind; None if it is not watched."""
        watch = self._watches.get(kind)
        return watch.informer.cache.find if watch is not None else None

    def record_write(self, answer: KubeObject) -> CachedObject:
        """Store what the API server answered to a write of ours, before the watch reports it."""
        found = kept(answer)
        watch = self._watches.get(ObjectRef.of(found).kind)
        if watch is not None:
            watch.informer.record_write(found)
        return found

    def close(self) -> None:
        """Stop watching."""
        for kind in list(self._watches):
            self._watches.pop(kind).task.cancel()

    def _changed(self, change: Change) -> None:
        before, after = change.before, change.after
        is_same = before is not None and after is not None and relevant(before) == relevant(after)
        wake = self._status_changed if is_same else self._drifted
        for name in {source_of(each) for each in (before, after) if each is not None}:
            if name:
                wake(name)
