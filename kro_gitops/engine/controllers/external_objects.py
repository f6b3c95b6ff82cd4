"""
Reads external objects when they changed, and never otherwise.

Their metadata is watched, which shows that an object changed. The object itself is read as the
identity that the instance acts as, so an instance shows its author nothing that the author could
not read; what was read for one identity is not shown to another.

Whether an object exists is not shown either. The metadata is watched with the rights of the
controller, so for another identity the API server is asked also if there is no such object: it
rejects a request that is forbidden whether the object exists or not.
"""

from kro_gitops.engine.controllers.watches import Watches
from kro_gitops.engine.plan.steps import Read, Select
from kro_gitops.engine.watchset import ObjectWatch, SelectorWatch
from kro_gitops.errors import NotYet
from kro_gitops.kube.api import Cluster, Identity, Selection
from kro_gitops.kube.cache import DROP_MANAGED_FIELDS, is_newer, version_of
from kro_gitops.kube.informer import Informer
from kro_gitops.kube.requests import reject_invalid_names
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
        reject_invalid_names(ref.namespace, ref.name)
        # Before anything is read: a change during the read must not be missed.
        self._watches.router.watch_set.look(key, ObjectWatch(ref.kind, ref.namespace, ref.name))
        about = self._informer(ref.kind).cache.find(ref.namespace, ref.name)
        cached = self._find(identity, ref, about) if about is not None else None
        if cached is not None:
            return [cached]
        self._read.pop((identity, ref), None)
        if about is None and identity is None:
            return []
        found = await self._cluster.acting_as(identity).find(ref)
        return [self._keep(identity, found)] if found is not None else []

    async def select(
        self, key: ObjectRef, step: Select, identity: Identity | None
    ) -> list[KubeObject]:
        """Return the objects a step asks for, by namespace and name."""
        request = SelectorWatch(step.kind, step.namespace, step.selector)
        self._watches.router.watch_set.look(key, request)
        informer = self._informer(step.kind)
        selected = {ObjectRef.of(obj): obj for obj in informer.cache if request.matches(obj)}
        stale = [ref for ref, about in selected.items() if self._find(identity, ref, about) is None]
        cluster = self._cluster.acting_as(identity)
        # Until something was read for it, an identity must list: also if there is nothing to read.
        is_unproven = identity is not None and len(stale) == len(selected)
        if is_unproven or len(stale) > _MAX_SINGLE_READS:
            selection = Selection(step.kind, step.namespace, labels=str(step.selector))
            listing = await cluster.list(selection, DROP_MANAGED_FIELDS)
            for obj in listing.items:
                self._keep(identity, obj)
        else:
            for ref in stale:
                refreshed = await cluster.find(ref)
                if refreshed is None:
                    self._read.pop((identity, ref), None)
                else:
                    self._keep(identity, refreshed)
        found = (self._read.get((identity, ref)) for ref in sorted(selected))
        return [obj for obj in found if obj is not None]

    def _informer(self, kind: Kind) -> Informer:
        """Return the synced informer of a kind; raise NotYet with the reason if there is none."""
        informer = self._watches.external_informer(kind)
        if informer is None or not informer.is_synced:
            why = f": {informer.problem.message}" if informer and informer.problem else ""
            raise NotYet("not-watched", f"{kind} cannot be watched yet{why}")
        return informer

    def _find(
        self, identity: Identity | None, ref: ObjectRef, about: KubeObject
    ) -> KubeObject | None:
        """Return an object that was read before, unless its metadata is newer."""
        cached = self._read.get((identity, ref))
        if cached is None or is_newer(version_of(about), version_of(cached)):
            return None
        return cached

    def _keep(self, identity: Identity | None, obj: KubeObject) -> KubeObject:
        """Cache an object for one identity only; the oldest entry makes room."""
        trimmed = DROP_MANAGED_FIELDS(obj)
        self._read[identity, ObjectRef.of(obj)] = trimmed
        if len(self._read) > _CACHE_SIZE:
            del self._read[next(iter(self._read))]
        return trimmed
