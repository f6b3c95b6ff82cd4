"""
What others made, read when it changed and never otherwise.

That something changed is known from its metadata, which is watched. The object itself is read in
the name of whoever the instance acts for, so nobody gets to see through an instance what they
could not read themselves; what was read for one is not shown to another.
"""

from kro_gitops.engine.controllers.watches import Watches
from kro_gitops.engine.plan.steps import Read, Select
from kro_gitops.engine.watchset import ObjectWatch, SelectorWatch, WatchRequest
from kro_gitops.errors import NotYet
from kro_gitops.kube.api import Cluster, Identity, Selection
from kro_gitops.kube.cache import DROP_MANAGED_FIELDS, is_newer, version_of
from kro_gitops.kube.informer import Informer
from kube_objects.refs import Kind, KubeObject, ObjectRef

# More objects than this are read by one list.
_MAX_SINGLE_READS = 2
_CACHE_SIZE = 20_000  # objects kept at most; one that is missing is read again


class ExternalReader:
    """Reads objects that instances refer to, with the rights of each identity."""

    def __init__(self, cluster: Cluster, watches: Watches) -> None:
        self._cluster = cluster
        self._watches = watches
        self._read: dict[tuple[Identity | None, ObjectRef], KubeObject] = {}

    async def read(self, key: ObjectRef, step: Read, identity: Identity | None) -> list[KubeObject]:
        """Return the object a step asks for, or nothing."""
        ref = step.ref
        self._look(key, ObjectWatch(ref.kind, ref.namespace, ref.name))
        about = self._informer(ref.kind).cache.find(ref.namespace, ref.name)
        if about is None:
            self._read.pop((identity, ref), None)
            return []
        held = self._held(identity, ref, about)
        if held is not None:
            return [held]
        found = await self._cluster.acting_as(identity).find(ref)
        return [self._hold(identity, found)] if found is not None else []

    async def select(
        self, key: ObjectRef, step: Select, identity: Identity | None
    ) -> list[KubeObject]:
        """Return the objects a step asks for, by namespace and name."""
        request = SelectorWatch(step.kind, step.namespace, step.selector)
        self._look(key, request)
        informer = self._informer(step.kind)
        wanted = {ObjectRef.of(obj): obj for obj in informer.cache if request.matches(obj)}
        stale = [ref for ref, about in wanted.items() if self._held(identity, ref, about) is None]
        cluster = self._cluster.acting_as(identity)
        if len(stale) > _MAX_SINGLE_READS:
            selection = Selection(step.kind, step.namespace, labels=str(step.selector))
            listing = await cluster.list(selection, DROP_MANAGED_FIELDS)
            for obj in listing.items:
                self._hold(identity, obj)
        else:
            for ref in stale:
                refreshed = await cluster.find(ref)
                if refreshed is None:
                    self._read.pop((identity, ref), None)
                else:
                    self._hold(identity, refreshed)
        found = (self._read.get((identity, ref)) for ref in sorted(wanted))
        return [each for each in found if each is not None]

    def _look(self, key: ObjectRef, request: WatchRequest) -> None:
        # Before anything is read: what happens meanwhile must not be missed.
        self._watches.watch_set.look(key, request)

    def _informer(self, kind: Kind) -> Informer:
        informer = self._watches.other(kind)
        if informer is None or not informer.is_synced:
            why = f": {informer.problem.message}" if informer and informer.problem else ""
            raise NotYet("not-watched", f"{kind} cannot be watched yet{why}")
        return informer

    def _held(
        self, identity: Identity | None, ref: ObjectRef, about: KubeObject
    ) -> KubeObject | None:
        held = self._read.get((identity, ref))
        if held is None or is_newer(version_of(about), version_of(held)):
            return None
        return held

    def _hold(self, identity: Identity | None, obj: KubeObject) -> KubeObject:
        trimmed = DROP_MANAGED_FIELDS(obj)
        self._read[identity, ObjectRef.of(obj)] = trimmed
        if len(self._read) > _CACHE_SIZE:
            del self._read[next(iter(self._read))]
        return trimmed
