"""
Runs the informers of served kinds; they start and stop with definitions.

There are three groups. Instances are cached whole. Children are selected by the label that all of
them carry, and only the fields that some expression reads are cached. Of external objects only the
metadata is watched: the object itself is read when it changes. There is never one watch per object.

What an event queues is decided in `event_router`.
"""

import asyncio
from collections.abc import Collection, Iterable, Iterator
from functools import partial

from kro_gitops.engine.applyset import GroupKind, applyset_id, has_inventory
from kro_gitops.engine.child_health import CachedChild, child_health
from kro_gitops.engine.controllers.event_router import EventRouter, WakeInstance, spec_differs
from kro_gitops.engine.controllers.informer_task import InformerTask, start_informer
from kro_gitops.engine.controllers.observer import Observer
from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.engine.graph.read_paths import (
    ReadPaths,
    covers,
    graph_read_paths,
    merge_paths,
    pick,
)
from kro_gitops.engine.instance_metadata import inventory_of
from kro_gitops.engine.served_kind import ServedKind
from kro_gitops.errors import NotYet
from kro_gitops.kube.api import Reader, Selection
from kro_gitops.kube.cache import DROP_MANAGED_FIELDS, intern_strings
from kro_gitops.kube.informer import Informer
from kro_gitops.metadata import APPLYSET_PART_OF, CHILD_MANAGER, OWNED
from kro_gitops.tracking.added_fields import manual_fields
from kro_gitops.tracking.workload_health import pod_selector
from kube_objects.errors import RefusedError
from kube_objects.field_sets import pack
from kube_objects.managed_fields import pack_owned_fields
from kube_objects.refs import Kind, KubeObject, ObjectRef

# After this many seconds every API server shows objects by a changed schema.
SCHEMA_SWAP_DELAY = 5.0

_ALWAYS_KEPT: ReadPaths = {"apiVersion": None, "kind": None, "metadata": None}
_APPLYSET_INDEX = "members"
_UNHEALTHY_INDEX = "unhealthy members"


class Watches:
    """Runs the informers, answers from their caches and caches the responses to our writes."""

    def __init__(
        self,
        reader: Reader,
        wake: WakeInstance,
        observer: Observer | None = None,
        manual_managers: Collection[str] = (),
    ) -> None:
        """`manual_managers` are further field managers that stand for a person."""
        self.served_kinds: dict[Kind, ServedKind] = {}
        self._reader = reader
        self._manual_managers = manual_managers
        self._observer = observer or Observer()
        self.router = EventRouter(wake, self._observer)
        self._instances: dict[Kind, InformerTask] = {}
        self._children: dict[Kind, InformerTask] = {}
        self._expected: dict[Kind, ReadPaths | None] = {}  # of children, by graphs served soon
        self._externals: dict[Kind, InformerTask] = {}
        self._required: dict[Kind, list[InformerTask]] = {}  # by served kind
        self._plurals: dict[Kind, str] = {}
        self._relists: dict[str, asyncio.TimerHandle] = {}  # by CRD

    # Which informers run

    async def serve(self, served: ServedKind, limit: float) -> None:
        """Watch a kind, its children and external objects; return when all caches are synced."""
        required = list(self._start(served))
        self._plurals[served.kind] = served.plural
        self._plurals.update({node.resource: node.served.plural for node in served.nodes()})
        # A kind that was not served before: instances report which cache is missing.
        self._required.setdefault(served.kind, required)
        until = asyncio.get_running_loop().time() + limit
        for task in required:
            left = until - asyncio.get_running_loop().time()
            await task.wait_synced(max(left, 0.0))
            if not task.is_sync_reported and task.informer.sync_seconds is not None:
                task.is_sync_reported = True
                kind = task.informer.selection.kind
                self._observer.informer_synced(kind, task.informer.sync_seconds)
        # Only now: until then instances are reconciled by the former graph, with its informers.
        self._required[served.kind] = required
        self._release(served.kind, keep={id(task) for task in required})
        # Find children whose instance was removed while the controller was not running.
        watched = (task for task in self._children.values() if served.kind in task.users)
        children = (child for task in watched for child in task.informer.cache)
        for key, last in self.router.find_lost(served.kind, children).items():
            if self.instance(key) is None:
                self.router.add_lost(key, last)
                self.router.wake(key)

    def relist(self, crd: str) -> None:
        """
        List the objects of a kind again after its CRD has changed: they may have other fields.

        Now, and once more later: the API server needs a moment to swap schemas, and until then
        answers a list by the old one.
        """
        self._relist(crd)
        self.relist_later(crd)

    def relist_later(self, crd: str) -> None:
        """List them again when every API server shows objects by the current schema."""
        former = self._relists.pop(crd, None)
        if former is not None:
            former.cancel()
        loop = asyncio.get_running_loop()
        self._relists[crd] = loop.call_later(SCHEMA_SWAP_DELAY, self._relist, crd)

    def _relist(self, crd: str) -> None:
        for task in self._all():
            kind = task.informer.selection.kind
            if f"{self.plural_of(kind)}.{kind.group}" == crd:
                task.relist()

    def stop_serving(self, kind: Kind) -> None:
        """Stop the informers that only this kind needs."""
        self._release(kind, keep=set())
        self._required.pop(kind, None)
        self.router.forget_kind(kind)

    def close(self) -> None:
        """Stop watching."""
        for timer in self._relists.values():
            timer.cancel()
        for task in self._all():
            task.stop()

    def _start(self, served: ServedKind) -> Iterator[InformerTask]:
        """Start the informers that a served kind needs, or share those that run."""
        user = served.kind
        task = self._instances.get(user)
        if task is None:
            informer = Informer(self._reader, Selection(user), _trim_instance)
            informer.listen(self.router.instance_changed)
            task = self._instances[user] = start_informer(informer)
            self._observer.handler_attached("parent")
        task.users.add(user)
        task.retry_now()
        yield task
        for kind in {node.resource for node in served.nodes() if node.kind.is_external}:
            task = self._externals.get(kind)
            if task is None:
                informer = Informer(self._reader, Selection(kind, metadata_only=True))
                informer.listen(partial(self.router.external_changed, kind))
                task = self._externals[kind] = start_informer(informer)
                self._observer.handler_attached("child")
            task.users.add(user)
            task.retry_now()
            yield task
        parts_by_kind = _parts_read(served.graph) if served.graph is not None else {}
        for kind, parts in parts_by_kind.items():
            task = self._children.get(kind)
            if task is None:
                parts = merge_paths(parts, self._expected.get(kind, {}))
                task = self._children[kind] = start_informer(self._child_informer(kind, parts))
                task.parts = parts
                self._observer.handler_attached("child")
            elif covers(task.parts, parts):
                task.retry_now()
            else:
                # More is read than was cached, so everything is listed again.
                task.parts = merge_paths(task.parts, parts)
                task.replace(self._child_informer(kind, task.parts))
            task.users.add(user)
            yield task

    def expect(self, graph: Graph) -> None:
        """
        Cache from the start what a graph reads of children that it shares with other graphs.

        At start-up many definitions are served one after the other. Each that reads more of a kind
        than those before would have everything of that kind listed again.
        """
        for kind, parts in _parts_read(graph).items():
            self._expected[kind] = merge_paths(self._expected.get(kind, {}), parts)

    def forget_expected(self) -> None:
        """Cache no more than is read, from now on: every graph that was expected is served."""
        self._expected.clear()

    def _child_informer(self, kind: Kind, parts: ReadPaths | None) -> Informer:
        informer = Informer(
            self._reader,
            Selection(kind, labels=f"{OWNED}=true"),
            lambda obj: trim_child(
                obj, parts, self._manual_managers, is_instance=self._is_instance(obj)
            ),
            {_APPLYSET_INDEX: _applyset_ids, _UNHEALTHY_INDEX: _applyset_ids_if_unhealthy},
        )
        informer.listen(self.router.child_changed)
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

    def _all(self) -> Iterator[InformerTask]:
        for group in (self._instances, self._children, self._externals):
            yield from group.values()

    # What the caches know

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
        """Return whether an instance of a kind that is not cached does not exist."""
        task = self._instances.get(kind)
        return task is not None and task.informer.is_synced

    def instances(self, kind: Kind) -> list[ObjectRef]:
        """List the instances of a kind."""
        task = self._instances.get(kind)
        return [ObjectRef.of(obj) for obj in task.informer.cache] if task else []

    def child(self, ref: ObjectRef) -> KubeObject | None:
        """Return a child as it was last seen, of any owner; raise NotYet if it is not watched."""
        task = self._children.get(ref.kind)
        if task is None or not task.informer.is_synced:
            # Not the same as absent: a child that is absent is created.
            raise NotYet("not-watched", f"{ref.kind} is not watched yet")
        found = task.informer.cache.find(ref.namespace, ref.name)
        return found if found is not None else self.router.recently_deleted(ref)

    def members(
        self, id_: str, kinds: Iterable[GroupKind], namespaces: Collection[str]
    ) -> tuple[list[KubeObject], set[GroupKind]]:
        """
        Return the members of an apply set, and the kinds that are not watched.

        Only of kinds and namespaces in which they may be: other controllers copy labels (from a
        Service to its EndpointSlices), and every client can write one.
        """
        found: dict[str, KubeObject] = {}
        requested, unwatched = set(kinds), set(kinds)
        for kind, task in self._children.items():
            group_kind = GroupKind.of(kind)
            if group_kind not in requested or not task.informer.is_synced:
                continue
            unwatched.discard(group_kind)
            for member in task.informer.cache.by(_APPLYSET_INDEX, id_):
                if member["metadata"].get("namespace", "") in ("", *namespaces):
                    found.setdefault(member["metadata"]["uid"], member)
        return list(found.values()), unwatched

    def unhealthy_children(self, instance: KubeObject) -> dict[ObjectRef, CachedChild]:
        """Return the children of an instance that are not healthy, as far as they are watched."""
        found = self._listed_children(instance, _UNHEALTHY_INDEX, self._children)
        return {ref: child for ref, child in found.items() if child.health is not None}

    def nested_instances(self, instance: KubeObject) -> list[KubeObject]:
        """Return the instances among the children of an instance."""
        kinds = [kind for kind in self._children if kind in self.served_kinds]
        children = self._listed_children(instance, _APPLYSET_INDEX, kinds)
        found = (self.instance(ref) for ref in children)
        return [nested for nested in found if nested is not None]

    def _listed_children(
        self, instance: KubeObject, index: str, kinds: Iterable[Kind]
    ) -> dict[ObjectRef, CachedChild]:
        """Return the members of an apply set of these kinds, only from where they may be."""
        key = ObjectRef.of(instance)
        id_ = applyset_id(key)
        listed = [
            (kind, child)
            for kind in kinds
            for child in self._children[kind].informer.cache.by(index, id_)
        ]
        if not listed:
            return {}
        try:
            inventory = inventory_of(instance)
        except RefusedError:
            return {}
        namespaces = ("", *inventory.searched_namespaces(key))
        found: dict[str, tuple[ObjectRef, CachedChild]] = {}
        for kind, child in listed:
            if (
                isinstance(child, CachedChild)
                and child.owned
                and GroupKind.of(kind) in inventory.group_kinds
                and child["metadata"].get("namespace", "") in namespaces
            ):
                # Once, even if it is watched in two versions of its API.
                found.setdefault(child["metadata"]["uid"], (ObjectRef.of(child), child))
        return dict(found.values())

    def external_informer(self, kind: Kind) -> Informer | None:
        """Return the informer of external objects of a kind."""
        task = self._externals.get(kind)
        return task.informer if task else None

    async def wait_for_caches(self, served: ServedKind, limit: float) -> None:
        """Wait until everything a graph needs was listed once; raise `NotYet` if it was not."""
        for task in self._required.get(served.kind, ()):
            if not task.informer.is_synced:
                await task.wait_synced(limit)

    def plural_of(self, kind: Kind) -> str:
        """Return the plural of a kind that some graph uses; empty if none does."""
        return self._plurals.get(kind, "")

    def count(self) -> int:
        """Return how many informers run."""
        return sum(1 for _ in self._all())

    def counts(self) -> dict[Kind, int]:
        """Return how many objects are cached, by kind."""
        found: dict[Kind, int] = {}
        for task in self._all():
            kind = task.informer.selection.kind
            found[kind] = found.get(kind, 0) + len(task.informer.cache)
        return found

    # Responses to our writes

    def cache_instance(self, key: ObjectRef, answer: KubeObject) -> KubeObject:
        """Cache the response to a write on an instance."""
        _trim_instance(answer)
        self.router.own_writes.record_write(key, answer)
        task = self._instances.get(key.kind)
        if task is not None:
            before = task.informer.cache.find(key.namespace, key.name)
            task.informer.record_write(answer)
            if before is not None and spec_differs(before, answer):
                # A schema that just changed shows in the response first, by its defaults; the
                # version is ours, so no event queues the instance, which was reconciled without.
                self.router.wake(key)
        return answer

    def cache_child(self, key: ObjectRef, answer: KubeObject) -> KubeObject:
        """Cache the response to a write on a child of an instance."""
        task = self._children.get(ObjectRef.of(answer).kind)
        parts, managers = task.parts if task else None, self._manual_managers
        trimmed = trim_child(answer, parts, managers, is_instance=self._is_instance(answer))
        self.router.own_writes.record_write(key, trimmed)
        if task is not None:
            task.informer.record_write(trimmed)
        return trimmed

    def _is_instance(self, child: KubeObject) -> bool:
        """Return whether a child is an instance itself; its kind may not be served yet."""
        return ObjectRef.of(child).kind in self.served_kinds or has_inventory(child)


def trim_child(
    obj: KubeObject,
    parts: ReadPaths | None,
    manual_managers: Collection[str] = (),
    *,
    is_instance: bool = False,
) -> CachedChild:
    """Return what is cached of a child: fields that are read, ours and added ones, its health."""
    owned = pack_owned_fields(obj, CHILD_MANAGER)
    added = pack(manual_fields(obj, manual_managers))
    obj["metadata"].pop("managedFields", None)
    health = child_health(obj, is_instance=is_instance)
    pods = pod_selector(obj) if health is not None and not is_instance else ""
    return CachedChild(intern_strings(pick(obj, parts)), owned, added, health, pods)


def _trim_instance(obj: KubeObject) -> KubeObject:
    trimmed: KubeObject = intern_strings(DROP_MANAGED_FIELDS(obj))
    return trimmed


def _applyset_ids(obj: KubeObject) -> tuple[str, ...]:
    id_ = (obj["metadata"].get("labels") or {}).get(APPLYSET_PART_OF)
    return (id_,) if id_ else ()


def _applyset_ids_if_unhealthy(obj: KubeObject) -> tuple[str, ...]:
    is_unhealthy = isinstance(obj, CachedChild) and obj.health is not None
    return _applyset_ids(obj) if is_unhealthy else ()


def _parts_read(graph: Graph) -> dict[Kind, ReadPaths | None]:
    """Return what is read of the children of each kind, by whichever node; None is all of it."""
    reads, found = graph_read_paths(graph), dict[Kind, ReadPaths | None]()
    for node in graph.nodes.values():
        if not node.kind.is_external:
            known = found.get(node.resource, _ALWAYS_KEPT)
            found[node.resource] = merge_paths(known, reads.get(node.id, {}))
    return found
