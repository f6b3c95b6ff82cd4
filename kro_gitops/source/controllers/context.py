"""
The two contexts of the source controller: what all its parts work with, and one sync.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from kro_gitops.errors import KroGitopsError
from kro_gitops.kube.api import Cluster
from kro_gitops.kube.discovery import Discovery
from kro_gitops.kube.informer import Informer
from kro_gitops.source.api.types import SourceSpec
from kro_gitops.source.controllers.inventories import Inventories
from kro_gitops.source.controllers.live_cache import LiveCache
from kro_gitops.source.controllers.observer import SourceObserver
from kro_gitops.source.controllers.readiness import EngineCache
from kro_gitops.source.controllers.state import SourceState, SourceStore, Trigger
from kro_gitops.source.plan.result import SyncResult
from kro_gitops.tracking.inventory import Inventory, Key
from kro_gitops.tracking.methods import ArgoCD
from kube_objects.refs import Kind, ObjectRef

_MAX_CONCURRENT = 16
_T = TypeVar("_T")
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class ControllerContext:
    """What all parts of the source controller work with."""

    cluster: Cluster
    discovery: Discovery
    engine: EngineCache
    store: SourceStore
    live: LiveCache
    inventories: Inventories
    observer: SourceObserver
    argocd: ArgoCD
    sources: Informer  # of GitSources
    wake: Callable[[ObjectRef], None]  # put a source into the workqueue

    def request(self, key: ObjectRef, trigger: Trigger) -> None:
        """Have a source reconciled at once."""
        self.store.trigger(key.place, trigger)
        self.wake(key)


@dataclass(slots=True)
class SyncContext:
    """One sync: for which source, with which identity, and how far it is."""

    state: SourceState
    spec: SourceSpec
    cluster: Cluster  # acting as the source's service account
    fresh: frozenset[Kind] = frozenset()  # kinds whose schema may have changed just now
    done: int = 0  # objects that are as desired
    generations: dict[Key, int] = field(default_factory=dict)  # that our applies led to
    healthy: dict[Key, object] = field(default_factory=dict)  # versions that were found healthy
    established: set[Key] = field(default_factory=set)  # namespaces and CRDs that were seen ready
    partial: SyncResult = field(default_factory=SyncResult)  # of a stage, should it be interrupted

    @property
    def inventory(self) -> Inventory:
        """Return the inventory of the source."""
        return self.state.inventory


async def each_of(values: Iterable[_T], work: Callable[[_T], Awaitable[_R]]) -> list[_R]:
    """
    Await `work` for each value, a few at a time; return the results in the order of the values.

    An expected error is raised as it is, not in an ExceptionGroup that no caller expects.
    """
    slots = asyncio.Semaphore(_MAX_CONCURRENT)

    async def one(value: _T) -> _R:
        async with slots:
            return await work(value)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(value)) for value in values]
    except ExceptionGroup as error:
        if all(isinstance(each, KroGitopsError) for each in error.exceptions):
            raise error.exceptions[0] from error
        raise
    return [task.result() for task in tasks]
