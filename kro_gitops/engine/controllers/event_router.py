"""
Queues the instances that a watch event concerns.

An event about an instance queues the instance. An event about a child queues the instance that its
label names by uid; where that is a former instance of the same name, of which a child is left or
was restored, the apply-set id names it. An event about an external object queues the instances that
refer to it, by name or by selector. No event makes the router look at all instances.

Events that are the echo of our own writes queue nothing: see `own_writes`.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

from kro_gitops.engine.applyset import applyset_id
from kro_gitops.engine.child_health import CachedChild
from kro_gitops.engine.controllers.observer import Observer
from kro_gitops.engine.controllers.own_writes import OwnWrites
from kro_gitops.engine.instance_metadata import is_deleting
from kro_gitops.engine.lost_instances import (
    instance_uid_of,
    parents_of,
    was_deleted_without_cleanup,
)
from kro_gitops.engine.plan.deletion import asks_to_orphan
from kro_gitops.engine.watchset import WatchSet
from kro_gitops.kube.cache import MIN_VERSION, Change
from kro_gitops.metadata import APPLYSET_PART_OF, INSTANCE_ID
from kube_objects.refs import Kind, KubeObject, ObjectRef

# A child that finalizers kept after its deletion is created again only after this many seconds, so
# that the controllers which removed the finalizers see it gone.
RECREATE_DELAY = 1.0


class WakeInstance(Protocol):
    """Queues an instance."""

    def __call__(self, key: ObjectRef, delay: float = 0.0) -> None:
        """Queue an instance."""


class EventRouter:
    """Knows which instances exist, what they refer to, and which ones an event queues."""

    def __init__(self, wake: WakeInstance, observer: Observer) -> None:
        self.wake = wake
        # Whether a change of the health of its children queues an instance.
        self.health_matters: Callable[[ObjectRef], bool] = lambda _: True
        self.watch_set: WatchSet[ObjectRef] = WatchSet()
        self.own_writes: OwnWrites[ObjectRef] = OwnWrites()
        self.orphaning: set[str] = set()  # uids of instances deleted with propagation Orphan
        # Instances that were removed without our finalizer, in their last known state: they may
        # have left children.
        self.lost: dict[ObjectRef, KubeObject] = {}
        self._observer = observer
        self._by_uid: dict[str, ObjectRef] = {}
        self._by_applyset: dict[str, ObjectRef] = {}
        # Children that finalizers kept after their deletion, and until when they count as deleting.
        self._recently_deleted: dict[ObjectRef, tuple[float, KubeObject]] = {}

    def instance_changed(self, change: Change) -> None:
        """Handle an event about an instance."""
        key = ObjectRef.of(change.object)
        uid: str = change.object["metadata"]["uid"]
        before, after = change.before, change.after
        if after is None:
            self._by_uid.pop(uid, None)
            self._by_applyset.pop(applyset_id(key), None)
            self.watch_set.forget(key)
            self.orphaning.discard(uid)
            if was_deleted_without_cleanup(change.object):
                self.add_lost(key, change.object)
        else:
            self.forget_lost(key)  # the instance that has its name now takes its children over
            self._by_uid[uid] = key
            if before is None:
                self._by_applyset[applyset_id(key)] = key
            if is_deleting(after) and asks_to_orphan(after):
                self.orphaning.add(uid)
        if before is not None and after is not None:
            if spec_differs(before, after):
                # Never by us, even if the version is one that we wrote: a schema that changed
                # shows its new defaults in the next event, be it our own status or the same
                # version.
                self._observer.instance_event(key.kind, "update")
                self.wake(key)
                return
            # The minimal version marks an object that another schema shows differently.
            if before["metadata"]["resourceVersion"] != MIN_VERSION and (
                _relevant_fields(before) == _relevant_fields(after)
            ):
                return
        event = "add" if before is None else "delete" if after is None else "update"
        self._observer.instance_event(key.kind, event)
        self._notify(key, change.object)

    def child_changed(self, change: Change) -> None:
        """Handle an event about a child."""
        before, after = change.before, change.after
        delay = 0.0
        if before is not None and after is not None:
            lost_fields = (
                isinstance(before, CachedChild)
                and isinstance(after, CachedChild)
                and (before.owned, before.added) != (after.owned, after.added)
            )
            if not lost_fields and _without_version(before) == _without_version(after):
                self._health_changed(before, after)
                return
        elif before is not None and is_deleting(before):
            now = asyncio.get_running_loop().time()
            self._recently_deleted = {
                ref: entry for ref, entry in self._recently_deleted.items() if entry[0] > now
            }
            self._recently_deleted[ObjectRef.of(before)] = (now + RECREATE_DELAY, before)
            delay = RECREATE_DELAY
        found = (self._parent_of(obj) for obj in (before, after) if obj is not None)
        keys = {key for key in found if key is not None}
        self._observer.change_routed(ObjectRef.of(change.object).kind, woke=bool(keys))
        for key in keys:
            self._notify(key, change.object, delay)

    def _health_changed(self, before: KubeObject, after: KubeObject) -> None:
        """Queue the parent of a child of which only the health may have changed, if it matters."""
        if not isinstance(before, CachedChild) or not isinstance(after, CachedChild):
            return
        key = self._parent_of(after) if before.health != after.health else None
        matters = key is not None and self.health_matters(key)
        self._observer.change_routed(ObjectRef.of(after).kind, woke=matters)
        if key is not None and matters:
            self._notify(key, after)

    def _parent_of(self, child: KubeObject) -> ObjectRef | None:
        labels = child["metadata"].get("labels") or {}
        return self._by_uid.get(labels.get(INSTANCE_ID, "")) or self._by_applyset.get(
            labels.get(APPLYSET_PART_OF, "")
        )

    def external_changed(self, kind: Kind, change: Change) -> None:
        """Handle an event about an object that instances may refer to."""
        keys = self.watch_set.watchers_of(kind, change.before, change.after)
        self._observer.change_routed(kind, woke=bool(keys))
        for key in keys:
            # Also if we wrote it: an instance may refer to a child of its own, and have looked
            # for it before it was there.
            self.wake(key)

    def instance_with(self, uid: str) -> ObjectRef | None:
        """Return the instance that has a uid."""
        return self._by_uid.get(uid)

    def recently_deleted(self, ref: ObjectRef) -> KubeObject | None:
        """Return the last state of a child that may not be created again yet."""
        entry = self._recently_deleted.get(ref)
        if entry is None:
            return None
        until, last = entry
        if asyncio.get_running_loop().time() < until:
            return last
        del self._recently_deleted[ref]
        return None

    # Lost instances

    def find_lost(self, kind: Kind, children: Iterable[KubeObject]) -> dict[ObjectRef, KubeObject]:
        """Return the instances of a kind that only their children remember."""
        strays = [
            child
            for child in children
            if instance_uid_of(child) not in self._by_uid
            and isinstance(child, CachedChild)
            and child.owned
        ]
        return parents_of(kind, strays)

    def add_lost(self, key: ObjectRef, last: KubeObject) -> None:
        """Remember an instance that was removed without our finalizer."""
        self.lost[key] = last
        self._by_uid[last["metadata"]["uid"]] = key  # so that events of its children queue it

    def forget_lost(self, key: ObjectRef) -> None:
        """Drop what is known of an instance that is gone and has no children any more."""
        last = self.lost.pop(key, None)
        if last is not None:
            self._by_uid.pop(last["metadata"]["uid"], None)

    def forget_kind(self, kind: Kind) -> None:
        """Drop what is known of the instances of a kind that is no longer served."""
        for ref in [ref for ref in self._by_uid.values() if ref.kind == kind]:
            self.watch_set.forget(ref)
            self.lost.pop(ref, None)
        self._by_uid = {uid: ref for uid, ref in self._by_uid.items() if ref.kind != kind}

    def _notify(self, key: ObjectRef, obj: KubeObject, delay: float = 0.0) -> None:
        if delay or not self.own_writes.defer_event(key, obj):
            self.wake(key, delay)


def spec_differs(before: KubeObject, after: KubeObject) -> bool:
    """Return whether two states of an object differ in their spec."""
    return bool(before.get("spec") != after.get("spec"))


def _relevant_fields(instance: KubeObject) -> tuple[object, ...]:
    """Return the metadata of an instance that its children depend on."""
    metadata = instance["metadata"]
    keys = ("uid", "generation", "deletionTimestamp", "labels", "annotations", "finalizers")
    return tuple(metadata.get(key) for key in keys)


def _without_version(obj: KubeObject) -> KubeObject:
    metadata = {key: v for key, v in obj["metadata"].items() if key != "resourceVersion"}
    return {**obj, "metadata": metadata}
