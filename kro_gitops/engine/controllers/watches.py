"""
Informers for what is served: started and stopped as definitions come and go.

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

# A child that was held back while it went is made anew only after this many seconds, so that
# whoever held it sees it gone.
RECREATE_DELAY = 1.0
# After this many seconds every API server shows objects by a changed schema.
SCHEMA_SWAP_DELAY = 5.0

_ALWAYS_KEPT: ReadPaths = {"apiVersion": None, "kind": None, "metadata": None}
_APPLYSET_INDEX = "members"


class WakeInstance(Protocol):
    """Whoever works on instances."""

    def __call__(self, key: ObjectRef, delay: float = 0.0) -> None:
        """Have an instance worked on."""


class Watches:
    """What is watched, and who is woken."""

    def __init__(
        self, reader: Reader, wake: WakeInstance, observer: Observer | None = None
    ) -> None:
        self.looking: WatchSet[ObjectRef] = WatchSet()
        self.attention: OwnWrites[ObjectRef] = OwnWrites()
        self.orphaning: set[str] = set()  # uids of instances whose children are to stay
        # Instances that went without our leave, as far as they are known: children may be left.
        self.lost: dict[ObjectRef, KubeObject] = {}
        self._reader = reader
        self._wake = wake
        self._observer = observer or Observer()
        self._instances: dict[Kind, InformerTask] = {}
        self._children: dict[Kind, InformerTask] = {}
        self._others: dict[Kind, InformerTask] = {}
        self._wanted: dict[Kind, list[InformerTask]] = {}  # by served kind: what it needs
        self._plurals: dict[Kind, str] = {}
        self._renewals: dict[str, asyncio.TimerHandle] = {}  # by CRD
        self._by_uid: dict[str, ObjectRef] = {}
        # Children that went slowly, until when they count as going.
        self._resting: dict[ObjectRef, tuple[float, KubeObject]] = {}

    def wake(self, key: ObjectRef) -> None:
        """Have an instance worked on."""
        self._wake(key)

    # What is watched

    async def serve(self, serving: ServedKind, limit: float) -> None:
        """Watch a kind, its children and what they refer to; return when all of it is known."""
        wanted = list(self._start(serving))
        self._plurals[serving.kind] = serving.plural
        self._plurals.update({node.resource: node.served.plural for node in serving.nodes()})
        # Where there was nothing before, instances must be told what is missing.
        self._wanted.setdefault(serving.kind, wanted)
        until = asyncio.get_running_loop().time() + limit
        for running in wanted:
            left = until - asyncio.get_running_loop().time()
            await running.wait_synced(max(left, 0.0))
        # Only now: until then the former graph is at work, and needs what it needed.
        self._wanted[serving.kind] = wanted
        self._release(serving.kind, keep={id(each) for each in wanted})
        self._find_lost_instances(serving.kind)

    def renew(self, crd: str) -> None:
        """
        See anew what is watched of a kind whose CRD has changed: it may have other fields.

        Now, and once more: the API server needs a moment to swap schemas, and until then answers a
        list by the old one.
        """
        self._renew(crd)
        self.relist_later(crd)

    def relist_later(self, crd: str) -> None:
        """See it anew when every API server shows objects by the present schema."""
        former = self._renewals.pop(crd, None)
        if former is not None:
            former.cancel()
        loop = asyncio.get_running_loop()
        self._renewals[crd] = loop.call_later(SCHEMA_SWAP_DELAY, self._renew, crd)

    def _renew(self, crd: str) -> None:
        for running in self._all():
            kind = running.informer.selection.kind
            if f"{self.plural_of(kind)}.{kind.group}" == crd:
                running.renew()

    def stop_serving(self, kind: Kind) -> None:
        """Stop watching a kind and what was watched for it alone."""
        self._release(kind, keep=set())
        self._wanted.pop(kind, None)
        for ref in [ref for ref in self._by_uid.values() if ref.kind == kind]:
            self.looking.forget(ref)
            self.lost.pop(ref, None)
        self._by_uid = {uid: ref for uid, ref in self._by_uid.items() if ref.kind != kind}

    def close(self) -> None:
        """Stop watching."""
        for timer in self._renewals.values():
            timer.cancel()
        for running in self._all():
            running.stop()

    def _start(self, serving: ServedKind) -> Iterator[InformerTask]:
        kind = serving.kind
        yield self._run(self._instances, kind, kind, partial(self._instance_informer, kind))
        for of in {node.resource for node in serving.nodes() if node.kind.is_external}:
            yield self._run(self._others, of, kind, partial(self._other_informer, of))
        for of, parts in _read_paths_by_kind(serving).items():
            yield self._watch_children(of, kind, parts)

    def _run(
        self, group: dict[Kind, InformerTask], of: Kind, user: Kind, make: Callable[[], Informer]
    ) -> InformerTask:
        running = group.get(of)
        if running is None:
            running = group[of] = start_informer(make())
        running.users.add(user)
        running.retry_now()
        return running

    def _watch_children(self, of: Kind, user: Kind, parts: ReadPaths | None) -> InformerTask:
        parts = merge_paths(_ALWAYS_KEPT, parts)
        current = self._children.get(of)
        if current is not None and covers(current.parts, parts):
            current.users.add(user)
            current.retry_now()
            return current
        # More is read than was kept, so everything is listed again.
        if current is not None:
            current.parts = merge_paths(current.parts, parts)
            current.replace(self._child_informer(of, current.parts))
            current.users.add(user)
            return current
        running = self._children[of] = start_informer(self._child_informer(of, parts))
        running.parts = parts
        running.users.add(user)
        return running

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

    def _other_informer(self, kind: Kind) -> Informer:
        informer = Informer(self._reader, Selection(kind, metadata_only=True))
        informer.listen(lambda change: self._other_changed(kind, change))
        return informer

    def _release(self, user: Kind, keep: set[int]) -> None:
        for group in (self._instances, self._children, self._others):
            for kind, running in list(group.items()):
                if user not in running.users or id(running) in keep:
                    continue
                running.users.discard(user)
                if not running.users:
                    running.stop()
                    del group[kind]

    def _find_lost_instances(self, kind: Kind) -> None:
        """Find children whose instance went while nobody looked."""
        watched = (running for running in self._children.values() if kind in running.users)
        strays = [
            child
            for running in watched
            for child in running.informer.cache
            if instance_uid_of(child) not in self._by_uid
            and isinstance(child, CachedObject)
            and child.owned
        ]
        for key, last in parents_of(kind, strays).items():
            if self.instance(key) is None:
                self._add_lost(key, last)
                self._wake(key)

    def _add_lost(self, key: ObjectRef, last: KubeObject) -> None:
        self.lost[key] = last
        self._by_uid[last["metadata"]["uid"]] = key  # for as long as its children wake it

    def _all(self) -> Iterator[InformerTask]:
        for group in (self._instances, self._children, self._others):
            yield from group.values()

    # What is known

    def instance(self, ref: ObjectRef) -> KubeObject | None:
        """Return an instance as it was last seen."""
        running = self._instances.get(ref.kind)
        return running.informer.cache.find(ref.namespace, ref.name) if running else None

    def knows_instances(self, kind: Kind) -> bool:
        """Say whether an instance of a kind that was not seen is not there."""
        running = self._instances.get(kind)
        return running is not None and running.informer.is_synced

    def instances(self, kind: Kind) -> list[ObjectRef]:
        """List the instances of a kind."""
        running = self._instances.get(kind)
        return [ObjectRef.of(obj) for obj in running.informer.cache] if running else []

    def forget_lost(self, key: ObjectRef) -> None:
        """Drop what is known of an instance that is gone and has no children any more."""
        last = self.lost.pop(key, None)
        if last is not None:
            self._by_uid.pop(last["metadata"]["uid"], None)

    def child(self, ref: ObjectRef) -> KubeObject | None:
        """Return a child as it was last seen, whoever's it is."""
        running = self._children.get(ref.kind)
        if running is None or not running.informer.is_synced:
            # Not the same as absent: what is absent is made.
            raise NotYet("not-watched", f"{ref.kind} is not watched yet")
        found = running.informer.cache.find(ref.namespace, ref.name)
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
        for kind, running in self._children.items():
            group_kind = GroupKind.of(kind)
            if group_kind not in wanted or not running.informer.is_synced:
                continue
            unwatched.discard(group_kind)
            for member in running.informer.cache.by(_APPLYSET_INDEX, id_):
                if member["metadata"].get("namespace", "") in ("", *namespaces):
                    found.setdefault(member["metadata"]["uid"], member)
        return list(found.values()), unwatched

    def other(self, kind: Kind) -> Informer | None:
        """Return what is known of objects that instances refer to."""
        running = self._others.get(kind)
        return running.informer if running else None

    async def known(self, serving: ServedKind, limit: float) -> None:
        """Wait until everything a graph needs was listed once; raise `NotYet` if it was not."""
        for running in self._wanted.get(serving.kind, ()):
            if not running.informer.is_synced:
                await running.wait_synced(limit)

    def plural_of(self, kind: Kind) -> str:
        """Return the plural of a kind that some graph uses; empty if none does."""
        return self._plurals.get(kind, "")

    def count(self) -> int:
        """Return how many informers run."""
        return sum(1 for _ in self._all())

    def counts(self) -> dict[Kind, int]:
        """Return how many objects are held, by kind."""
        found: dict[Kind, int] = {}
        for running in self._all():
            kind = running.informer.selection.kind
            found[kind] = found.get(kind, 0) + len(running.informer.cache)
        return found

    # What we wrote ourselves

    def cache_instance(self, key: ObjectRef, answer: KubeObject) -> KubeObject:
        """Take in what the server answered to a write on an instance."""
        _trim_instance(answer)
        self.attention.record_write(key, answer)
        running = self._instances.get(key.kind)
        if running is not None:
            before = running.informer.cache.find(key.namespace, key.name)
            running.informer.saw(answer)
            if before is not None and _spec_differs(before, answer):
                # A schema that just changed shows in the answer first, by its defaults; the
                # version is ours, so no event will wake the instance that was worked on without.
                self._wake(key)
        return answer

    def cache_child(self, key: ObjectRef, answer: KubeObject) -> KubeObject:
        """Take in what the server answered to a write on a child of an instance."""
        running = self._children.get(ObjectRef.of(answer).kind)
        trimmed = trim_child(answer, running.parts if running else None)
        self.attention.record_write(key, trimmed)
        if running is not None:
            running.informer.saw(trimmed)
        return trimmed

    # What happened

    def _instance_changed(self, change: Change) -> None:
        key = ObjectRef.of(change.object)
        uid: str = change.object["metadata"]["uid"]
        if change.after is None:
            self._by_uid.pop(uid, None)
            self.looking.forget(key)
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
        if before is not None and after is not None and _is_equal_but_version(before, after):
            return
        delay = self._record_deleted(before) if after is None and before is not None else 0.0
        found = (
            self._by_uid.get(instance_uid_of(obj)) for obj in (before, after) if obj is not None
        )
        keys = {key for key in found if key is not None}
        self._observer.change_routed(ObjectRef.of(change.object).kind, woke=bool(keys))
        for key in keys:
            self._notify(key, change.object, delay)

    def _record_deleted(self, last: KubeObject) -> float:
        """Remember a child that went slowly; return how long to leave it."""
        if not is_deleting(last):
            return 0.0
        now = asyncio.get_running_loop().time()
        rested = [ref for ref, (until, _) in self._resting.items() if until <= now]
        for ref in rested:
            del self._resting[ref]
        self._resting[ObjectRef.of(last)] = (now + RECREATE_DELAY, last)
        return RECREATE_DELAY

    def _other_changed(self, kind: Kind, change: Change) -> None:
        keys = self.looking.watchers_of(kind, change.before, change.after)
        self._observer.change_routed(kind, woke=bool(keys))
        for key in keys:
            self._notify(key, change.object)

    def _notify(self, key: ObjectRef, obj: KubeObject, delay: float = 0.0) -> None:
        if delay or not self.attention.defer_event(key, obj):
            self._wake(key, delay)


def _spec_differs(before: KubeObject, after: KubeObject) -> bool:
    return bool(before.get("spec") != after.get("spec"))


def _read_paths_by_kind(serving: ServedKind) -> dict[Kind, ReadPaths | None]:
    """Return what is read of each kind of child, whichever node it is of."""
    found: dict[Kind, ReadPaths | None] = {}
    if serving.graph is None:
        return found
    reads = graph_read_paths(serving.graph)
    for node in serving.nodes():
        if not node.kind.is_external:
            parts = reads.get(node.id, {})
            found[node.resource] = merge_paths(found.get(node.resource, {}), parts)
    return found


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
    """Say whether an instance changed in what matters, or is shown by another schema."""
    if before["metadata"]["resourceVersion"] == MIN_VERSION:
        return True
    return _relevant_fields(before) != _relevant_fields(after)


def _relevant_fields(instance: KubeObject) -> tuple[object, ...]:
    """Return what of an instance matters to its children; its status does not."""
    metadata = instance["metadata"]
    keys = ("uid", "generation", "deletionTimestamp", "labels", "annotations", "finalizers")
    return tuple(metadata.get(key) for key in keys)


def _is_equal_but_version(before: KubeObject, after: KubeObject) -> bool:
    """Say whether nothing changed that anybody looks at."""
    if (
        isinstance(before, CachedObject)
        and isinstance(after, CachedObject)
        and before.owned != after.owned
    ):
        return False
    return _without_version(before) == _without_version(after)


def _without_version(obj: KubeObject) -> KubeObject:
    metadata = {key: v for key, v in obj["metadata"].items() if key != "resourceVersion"}
    return {**obj, "metadata": metadata}
