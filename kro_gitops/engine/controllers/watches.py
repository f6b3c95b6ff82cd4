"""
Runs the informers of served kinds; they start and stop with definitions.

Three sorts. Instances, whole. Their children, by the label that all of them carry and of them only
what some expression reads. What others made and instances refer to, by metadata alone: the object
itself is read when it changes. Never one watch per object, and nothing that looks at all instances
for one event.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Protocol

from kro_gitops.engine.applyset import GroupKind
from kro_gitops.engine.controllers.informer_task import InformerTask, start_informer
from kro_gitops.engine.controllers.observer import Observer
from kro_gitops.engine.controllers.own_writes import OwnWrites
from kro_gitops.engine.graph.read_paths import (
    ReadPaths,
    covers,
    graph_read_paths,
    merge_paths,
    pick,
)
from kro_gitops.engine.instance_metadata import is_deleting
from kro_gitops.engine.lost_instances import (
    instance_uid_of,
    parents_of,
    was_deleted_without_cleanup,
)
from kro_gitops.engine.plan.deletion import asks_to_orphan
from kro_gitops.engine.served_kind import ServedKind
from kro_gitops.engine.watchset import WatchSet
from kro_gitops.errors import NotYet
from kro_gitops.kube.api import Reader, Selection
from kro_gitops.kube.cache import DROP_MANAGED_FIELDS, MIN_VERSION, Change, intern_strings
from kro_gitops.kube.informer import Informer
from kro_gitops.metadata import APPLYSET_PART_OF, CHILD_MANAGER, OWNED
from kube_objects.managed_fields import CachedObject, pack_owned_fields
from kube_objects.refs import Kind, KubeObject, ObjectRef

log = logging.getLogger(__name__)

# A child that was held back while it went is made again only after this many seconds, so that
# whoever held it sees it gone.
RECREATE_DELAY = 1.0
# After this many seconds every API server shows objects by a changed schema.
SCHEMA_SWAP_DELAY = 5.0

_ALWAYS_KEPT: ReadPaths = {"apiVersion": None, "kind": None, "metadata": None}
_APPLYSET_INDEX = "members"


class WakeInstance(Protocol):
    """Queues an instance."""

    def __call__(self, key: ObjectRef, delay: float = 0.0) -> None:
        """Queue an instance."""


class Watches:
    """Runs the informers and queues instances when something changes."""

    def __init__(
        self, reader: Reader, wake: WakeInstance, observer: Observer | None = None
    ) -> None:
        self.served_kinds: dict[Kind, ServedKind] = {}
        self.watch_set: WatchSet[ObjectRef] = WatchSet()
        self.own_writes: OwnWrites[ObjectRef] = OwnWrites()
        self.orphaning: set[str] = set()  # uids of instances whose children are to stay
        # Instances that went without our finalizer, as far as they are known: children may be left.
        self.lost: dict[ObjectRef, KubeObject] = {}
        self._reader = reader
        self._wake = wake
        self._observer = observer or Observer()
        self._instances: dict[Kind, InformerTask] = {}
        self._children: dict[Kind, InformerTask] = {}
        self._externals: dict[Kind, InformerTask] = {}
        self._wanted: dict[Kind, list[InformerTask]] = {}  # by served kind: what it needs
        self._plurals: dict[Kind, str] = {}
        self._renewals: dict[str, asyncio.TimerHandle] = {}  # by CRD
        self._by_uid: dict[str, ObjectRef] = {}
        # Children that went slowly, until when they count as going.
        self._resting: dict[ObjectRef, tuple[float, KubeObject]] = {}

    def wake(self, key: ObjectRef) -> None:
        """Queue an instance."""
        self._wake(key)

    # What is watched

    async def serve(self, served: ServedKind, limit: float) -> None:
        """Watch a kind, its children and what they refer to; return when all of it is known."""
        wanted = list(self._start(served))
        self._plurals[served.kind] = served.plural
        self._plurals.update({node.resource: node.served.plural for node in served.nodes()})
        # Where there was nothing before, instances must be told what is missing.
        self._wanted.setdefault(served.kind, wanted)
        until = asyncio.get_running_loop().time() + limit
        for task in wanted:
            left = until - asyncio.get_running_loop().time()
            await task.wait_synced(max(left, 0.0))
            if not task.is_sync_reported and task.informer.sync_seconds is not None:
                task.is_sync_reported = True
                kind = task.informer.selection.kind
                self._observer.informer_synced(kind, task.informer.sync_seconds)
        # Only now: until then the former graph is at work, and needs what it needed.
        self._wanted[served.kind] = wanted
        self._release(served.kind, keep={id(each) for each in wanted})
        # Find children whose instance went while the controller was not running.
        lost_kind = served.kind
        watched = (task for task in self._children.values() if lost_kind in task.users)
        strays = [
            child
            for task in watched
            for child in task.informer.cache
            if instance_uid_of(child) not in self._by_uid
            and isinstance(child, CachedObject)
            and child.owned
        ]
        for key, last in parents_of(lost_kind, strays).items():
            if self.instance(key) is None:
                self._add_lost(key, last)
                self._wake(key)

    def renew(self, crd: str) -> None:
        """
        See again what is watched of a kind whose CRD has changed: it may have other fields.

        Now, and once more: the API server needs a moment to swap schemas, and until then answers a
        list by the old one.
        """
        self._renew(crd)
        self.relist_later(crd)

    def relist_later(self, crd: str) -> None:
        """See it again when every API server shows objects by the present schema."""
        former = self._renewals.pop(crd, None)
        if former is not None:
            former.cancel()
        loop = asyncio.get_running_loop()
        self._renewals[crd] = loop.call_later(SCHEMA_SWAP_DELAY, self._renew, crd)

    def _renew(self, crd: str) -> None:
        for task in self._all():
            kind = task.informer.selection.kind
            if f"{self.plural_of(kind)}.{kind.group}" == crd:
                task.renew()

    def stop_serving(self, kind: Kind) -> None:
        """Stop the informers that only this kind needs."""
        self._release(kind, keep=set())
        self._wanted.pop(kind, None)
        for ref in [ref for ref in self._by_uid.values() if ref.kind == kind]:
            self.watch_set.forget(ref)
            self.lost.pop(ref, None)
        self._by_uid = {uid: ref for uid, ref in self._by_uid.items() if ref.kind != kind}

    def close(self) -> None:
        """Stop watching."""
        for timer in self._renewals.values():
            timer.cancel()
        for task in self._all():
            task.stop()

    def _start(self, served: ServedKind) -> Iterator[InformerTask]:
        kind = served.kind
        yield self._run(self._instances, kind, kind, partial(self._instance_informer, kind))
        for of in {node.resource for node in served.nodes() if node.kind.is_external}:
            yield self._run(self._externals, of, kind, partial(self._external_informer, of))
        # What is read of each kind of child, whichever node it is of.
        paths_by_kind: dict[Kind, ReadPaths | None] = {}
        if served.graph is not None:
            reads = graph_read_paths(served.graph)
            for node in served.nodes():
                if not node.kind.is_external:
                    paths_parts = reads.get(node.id, {})
                    paths_by_kind[node.resource] = merge_paths(
                        paths_by_kind.get(node.resource, {}), paths_parts
                    )
        for of, parts in paths_by_kind.items():
            parts = merge_paths(_ALWAYS_KEPT, parts)
            current = self._children.get(of)
            if current is not None and covers(current.parts, parts):
                current.users.add(kind)
                current.retry_now()
                watch_children: InformerTask = current
            else:
                # More is read than was kept, so everything is listed again.
                if current is not None:
                    current.parts = merge_paths(current.parts, parts)
                    current.replace(self._child_informer(of, current.parts))
                    current.users.add(kind)
                    watch_children = current
                else:
                    watch_children = self._children[of] = start_informer(
                        self._child_informer(of, parts)
                    )
                    self._observer.handler_attached("child")
                    watch_children.parts = parts
                    watch_children.users.add(kind)
            yield watch_children

    def _run(
        self, group: dict[Kind, InformerTask], of: Kind, user: Kind, make: Callable[[], Informer]
    ) -> InformerTask:
        task = group.get(of)
        if task is None:
            task = group[of] = start_informer(make())
            self._observer.handler_attached("parent" if group is self._instances else "child")
        task.users.add(user)
        task.retry_now()
        return task

    def _instance_informer(self, kind: Kind) -> Informer:
        informer = Informer(self._reader, Selection(kind), _trim_instance)
        informer.listen(self._instance_changed)
        return informer

    def _child_informer(self, kind: Kind, parts: ReadPaths | None) -> Informer:
        informer = Informer(
            self._reader,
            Selection(kind, labels=f"{OWNED}=true"),
            lambda obj: trim_child(obj, parts),
            {_APPLYSET_INDEX: _applyset_ids},
        )
        informer.listen(self._child_changed)
        return informer

    def _external_informer(self, kind: Kind) -> Informer:
        informer = Informer(self._reader, Selection(kind, metadata_only=True))
        informer.listen(lambda change: self._external_changed(kind, change))
        return informer

    def _release(self, user: Kind, keep: set[int]) -> None:
        for group in (self._instances, self._children, self._externals):
            for kind, task in list(group.items()):
                if user not in task.users or id(task) in keep:
                    continue
                task.users.discard(user)
                if not task.users:
                    task.stop()
                    del group[kind]
                    type_ = "parent" if group is self._instances else "child"
                    self._observer.handler_detached(type_)

    def _add_lost(self, key: ObjectRef, last: KubeObject) -> None:
        self.lost[key] = last
        self._by_uid[last["metadata"]["uid"]] = key  # for as long as its children wake it

    def _all(self) -> Iterator[InformerTask]:
        for group in (self._instances, self._children, self._externals):
            yield from group.values()

    # What is known

    def instance(self, ref: ObjectRef) -> KubeObject | None:
        """Return an instance as it was last seen."""
        task = self._instances.get(ref.kind)
        return task.informer.cache.find(ref.namespace, ref.name) if task else None

    def find_instance(self, ref: ObjectRef) -> KubeObject | None:
        """Return an instance, None if it does not exist; raise NotYet if that is not known yet."""
        found = self.instance(ref)
        if found is None and not self.knows_instances(ref.kind):
            raise NotYet("owner-unknown", f"its owner {ref} cannot be seen yet")
        return found

    def knows_instances(self, kind: Kind) -> bool:
        """Return whether an instance of a kind that was not seen is not there."""
        task = self._instances.get(kind)
        return task is not None and task.informer.is_synced

    def instances(self, kind: Kind) -> list[ObjectRef]:
        """List the instances of a kind."""
        task = self._instances.get(kind)
        return [ObjectRef.of(obj) for obj in task.informer.cache] if task else []

    def forget_lost(self, key: ObjectRef) -> None:
        """Drop what is known of an instance that is gone and has no children any more."""
        last = self.lost.pop(key, None)
        if last is not None:
            self._by_uid.pop(last["metadata"]["uid"], None)

    def child(self, ref: ObjectRef) -> KubeObject | None:
        """Return a child as it was last seen, whoever owns it."""
        task = self._children.get(ref.kind)
        if task is None or not task.informer.is_synced:
            # Not the same as absent: what is absent is made.
            raise NotYet("not-watched", f"{ref.kind} is not watched yet")
        found = task.informer.cache.find(ref.namespace, ref.name)
        if found is None and ref in self._resting:
            until, last = self._resting[ref]
            if asyncio.get_running_loop().time() < until:
                return last
            del self._resting[ref]
        return found

    def members(
        self, id_: str, kinds: Iterable[GroupKind], namespaces: Collection[str]
    ) -> tuple[list[KubeObject], set[GroupKind]]:
        """
        Return the members of an apply set, and the kinds that are not watched.

        Only of kinds and namespaces in which they may be: labels are copied by others (from a
        Service to its EndpointSlices), and anybody can write one.
        """
        found: dict[str, KubeObject] = {}
        wanted, unwatched = set(kinds), set(kinds)
        for kind, task in self._children.items():
            group_kind = GroupKind.of(kind)
            if group_kind not in wanted or not task.informer.is_synced:
                continue
            unwatched.discard(group_kind)
            for member in task.informer.cache.by(_APPLYSET_INDEX, id_):
                if member["metadata"].get("namespace", "") in ("", *namespaces):
                    found.setdefault(member["metadata"]["uid"], member)
        return list(found.values()), unwatched

    def other(self, kind: Kind) -> Informer | None:
        """Return what is known of objects that instances refer to."""
        task = self._externals.get(kind)
        return task.informer if task else None

    async def wait_for_caches(self, served: ServedKind, limit: float) -> None:
        """Wait until everything a graph needs was listed once; raise `NotYet` if it was not."""
        for task in self._wanted.get(served.kind, ()):
            if not task.informer.is_synced:
                await task.wait_synced(limit)

    def plural_of(self, kind: Kind) -> str:
        """Return the plural of a kind that some graph uses; empty if none does."""
        return self._plurals.get(kind, "")

    def count(self) -> int:
        """Return how many informers run."""
        return sum(1 for _ in self._all())

    def counts(self) -> dict[Kind, int]:
        """Return how many objects are held, by kind."""
        found: dict[Kind, int] = {}
        for task in self._all():
            kind = task.informer.selection.kind
            found[kind] = found.get(kind, 0) + len(task.informer.cache)
        return found

    # What we wrote ourselves

    def cache_instance(self, key: ObjectRef, answer: KubeObject) -> KubeObject:
        """Cache the response to a write on an instance."""
        _trim_instance(answer)
        self.own_writes.record_write(key, answer)
        task = self._instances.get(key.kind)
        if task is not None:
            before = task.informer.cache.find(key.namespace, key.name)
            task.informer.saw(answer)
            if before is not None and _spec_differs(before, answer):
                # A schema that just changed shows in the answer first, by its defaults; the
                # version is ours, so no event will wake the instance that was worked on without.
                self._wake(key)
        return answer

    def cache_child(self, key: ObjectRef, answer: KubeObject) -> KubeObject:
        """Cache the response to a write on a child of an instance."""
        task = self._children.get(ObjectRef.of(answer).kind)
        trimmed = trim_child(answer, task.parts if task else None)
        self.own_writes.record_write(key, trimmed)
        if task is not None:
            task.informer.saw(trimmed)
        return trimmed

    # What happened

    def _instance_changed(self, change: Change) -> None:
        key = ObjectRef.of(change.object)
        uid: str = change.object["metadata"]["uid"]
        if change.after is None:
            self._by_uid.pop(uid, None)
            self.watch_set.forget(key)
            self.orphaning.discard(uid)
            if was_deleted_without_cleanup(change.object):
                self._add_lost(key, change.object)
        else:
            self.forget_lost(key)  # whoever has its name takes its children over
            self._by_uid[uid] = key
            if is_deleting(change.after) and asks_to_orphan(change.after):
                self.orphaning.add(uid)
        before, after = change.before, change.after
        if before is not None and after is not None and _spec_differs(before, after):
            # Never by us, even if the version is one that we wrote: a schema that changed shows
            # its new defaults in whatever comes next, be it our own status or the same version.
            self._observer.instance_heard(key.kind, "update")
            self._wake(key)
        elif before is None or after is None or _has_relevant_change(before, after):
            event = "add" if before is None else "delete" if after is None else "update"
            self._observer.instance_heard(key.kind, event)
            self._notify(key, change.object)

    def _child_changed(self, change: Change) -> None:
        before, after = change.before, change.after
        if (
            before is not None
            and after is not None
            and (
                not (
                    isinstance(before, CachedObject)
                    and isinstance(after, CachedObject)
                    and before.owned != after.owned
                )
                and _without_version(before) == _without_version(after)
            )
        ):
            return
        if after is None and before is not None:
            # Remember a child that went slowly.
            if not is_deleting(before):
                delay = 0.0
            else:
                now = asyncio.get_running_loop().time()
                rested = [ref for ref, (until, _) in self._resting.items() if until <= now]
                for ref in rested:
                    del self._resting[ref]
                self._resting[ObjectRef.of(before)] = (now + RECREATE_DELAY, before)
                delay = RECREATE_DELAY
        else:
            delay = 0.0
        found = (
            self._by_uid.get(instance_uid_of(obj)) for obj in (before, after) if obj is not None
        )
        keys = {key for key in found if key is not None}
        self._observer.change_routed(ObjectRef.of(change.object).kind, woke=bool(keys))
        for key in keys:
            self._notify(key, change.object, delay)

    def _external_changed(self, kind: Kind, change: Change) -> None:
        keys = self.watch_set.watchers_of(kind, change.before, change.after)
        self._observer.change_routed(kind, woke=bool(keys))
        for key in keys:
            self._notify(key, change.object)

    def _notify(self, key: ObjectRef, obj: KubeObject, delay: float = 0.0) -> None:
        if delay or not self.own_writes.defer_event(key, obj):
            self._wake(key, delay)


def _spec_differs(before: KubeObject, after: KubeObject) -> bool:
    return bool(before.get("spec") != after.get("spec"))


def trim_child(obj: KubeObject, parts: ReadPaths | None) -> CachedObject:
    """Return what is kept of a child: what is read of it, and which of its fields are ours."""
    owned = pack_owned_fields(obj, CHILD_MANAGER)
    obj["metadata"].pop("managedFields", None)
    return CachedObject(intern_strings(pick(obj, parts)), owned)


def _trim_instance(obj: KubeObject) -> KubeObject:
    trimmed: KubeObject = intern_strings(DROP_MANAGED_FIELDS(obj))
    return trimmed


def _applyset_ids(obj: KubeObject) -> tuple[str, ...]:
    id_ = (obj["metadata"].get("labels") or {}).get(APPLYSET_PART_OF)
    return (id_,) if id_ else ()


def _has_relevant_change(before: KubeObject, after: KubeObject) -> bool:
    """Return whether an instance changed in what matters, or is shown by another schema."""
    if before["metadata"]["resourceVersion"] == MIN_VERSION:
        return True
    return _relevant_fields(before) != _relevant_fields(after)


def _relevant_fields(instance: KubeObject) -> tuple[object, ...]:
    """Return what of an instance matters to its children; its status does not."""
    metadata = instance["metadata"]
    keys = ("uid", "generation", "deletionTimestamp", "labels", "annotations", "finalizers")
    return tuple(metadata.get(key) for key in keys)


def _without_version(obj: KubeObject) -> KubeObject:
    metadata = {key: v for key, v in obj["metadata"].items() if key != "resourceVersion"}
    return {**obj, "metadata": metadata}
