"""
The source controller: a workqueue of sources, what feeds it, and the parts that work on it.

Sources and inventories are loaded before anything else runs (`SourceRecords`): they decide which
identity the engine uses for the instances that come from git.
"""

import asyncio
import logging
from collections.abc import Collection, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from kro_gitops.control.loop import Loop
from kro_gitops.control.loop import LoopSettings as LoopSettings
from kro_gitops.control.schedule import Schedule
from kro_gitops.control.workqueue import WorkQueue
from kro_gitops.errors import KroGitopsError, UserError
from kro_gitops.kube.access_review import AccessReviewer
from kro_gitops.kube.api import Cluster, WriteOptions
from kro_gitops.kube.cache import Change
from kro_gitops.kube.discovery import Discovery
from kro_gitops.kube.events import EventRecorder
from kro_gitops.metadata import PLAN_REQUEST, PRUNE_APPROVED, REQUESTED_AT
from kro_gitops.source.api.parse import Defaults, read_spec
from kro_gitops.source.controllers.apply import StageExecutor
from kro_gitops.source.controllers.context import (
    ControllerContext,
    Diagnose,
    EngineCache,
    SourceObserver,
)
from kro_gitops.source.controllers.deletion import Pruner, SourceDeletion, has_finalizer, was_lost
from kro_gitops.source.controllers.fetch import Fetcher, Poller
from kro_gitops.source.controllers.health import HealthChecker
from kro_gitops.source.controllers.live_cache import LiveCache
from kro_gitops.source.controllers.notifier import Notifier
from kro_gitops.source.controllers.ownership import SourceRecords
from kro_gitops.source.controllers.plan_requests import ChildPlanner, PlanRequests
from kro_gitops.source.controllers.rbac import MissingPermissions
from kro_gitops.source.controllers.read_budget import ReadBudget
from kro_gitops.source.controllers.reconciler import SourceReconciler
from kro_gitops.source.controllers.reporter import Reporter
from kro_gitops.source.controllers.state import SourceState, Trigger
from kro_gitops.source.controllers.sync import SourceSync
from kro_gitops.source.files.budget import UNLIMITED, Amount
from kro_gitops.source.files.revision import Library
from kro_gitops.source.git.mirror import Mirrors
from kro_gitops.source.git.types import FetchRules
from kro_gitops.source.plan.claims import CLAIM_TIMEOUT
from kro_gitops.tracking.methods import ArgoCD
from kube_objects.refs import KubeObject, ObjectRef

log = logging.getLogger(__name__)

_DEBOUNCE = 0.2  # seconds: changes come in bursts
_STATUS_DEBOUNCE = 2.0
_CLEANUP_INTERVAL = 600.0  # seconds between two deletions of unused mirrors
_FLAGS = WriteOptions(manager="kro-gitops/flags", force=True)


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What the operator of the controller chose."""

    storage: Path
    defaults: Defaults = field(default_factory=Defaults)
    diagnose: Diagnose | None = None
    argocd: ArgoCD = field(default_factory=ArgoCD)
    fetch: FetchRules = field(default_factory=FetchRules)
    namespaces: Collection[str] = ()  # empty: all
    loop: LoopSettings = field(default_factory=LoopSettings)
    claim_timeout: float = CLAIM_TIMEOUT
    budget: Amount = UNLIMITED  # documents and bytes of all sources together


class SourceController:
    """All sources of one cluster."""

    def __init__(
        self,
        cluster: Cluster,
        discovery: Discovery,
        engine: EngineCache,
        records: SourceRecords,
        options: SourceOptions,
        *,
        events: EventRecorder | None = None,
        observer: SourceObserver | None = None,
        children: ChildPlanner | None = None,
    ) -> None:
        self._cluster = cluster
        self._store = store = records.store
        self._options = options
        self._events = events
        self._schedule = Schedule()
        self._background: set[asyncio.Task[None]] = set()
        observer = observer or SourceObserver()
        self._mirrors = Mirrors(options.storage, options.fetch, observer.stored)
        self._fetcher = Fetcher(cluster, self._mirrors, options.fetch, observer.waited_for_thread)
        self._notifier = Notifier(self._fetcher.secret, options.fetch, self._record_warning)
        self._context = ControllerContext(
            cluster,
            discovery,
            engine,
            store,
            LiveCache(cluster, self._drifted, self._status_changed),
            records.inventories,
            observer,
            options.argocd,
            records.sources,
            lambda key: self._loop.add(key),
            options.claim_timeout,
            ReadBudget(options.budget, observer.kept_in_memory),
            options.diagnose,
        )
        engine.listen(self._status_changed)
        # By namespace: a tenant whose objects are slow to apply does not delay others.
        self.queue: WorkQueue[ObjectRef] = WorkQueue(
            lambda key: key.namespace, options.loop.workers
        )
        context = self._context
        reporter = Reporter(cluster, context.sources, events, context.observer, self._notifier)
        self._poller = Poller(self._fetcher, reporter, context.observer, context.wake)
        health = HealthChecker(context)
        pruner = Pruner(context)
        access = AccessReviewer(cluster, discovery, lambda: asyncio.get_running_loop().time())
        sync = SourceSync(
            context,
            StageExecutor(context, health),
            pruner,
            health,
            MissingPermissions(access, engine),
            reporter,
        )
        self._plans = PlanRequests(context, self._fetcher, sync, children, options.defaults)
        reconciler = SourceReconciler(
            context,
            self._poller,
            sync,
            SourceDeletion(context, pruner, reporter),
            reporter,
            self._plans,
            self._schedule,
            options.defaults,
        )
        self._loop: Loop[ObjectRef] = Loop(self.queue, reconciler.reconcile, options.loop)

    # Running

    def load(self) -> None:
        """Take the sources and inventories that were loaded; nothing is written."""
        inventories, sources = self._context.inventories, self._context.sources
        for source in filter(self._is_watched, sources.cache):
            key = ObjectRef.of(source)
            spec = None
            # The engine asks at once what the instances may do.
            with suppress(UserError):
                spec = read_spec(source, self._options.defaults)
            self._store.put(
                SourceState(
                    key,
                    source,
                    inventories.load(key),
                    has_finalizer(source),
                    Library(reserve=partial(self._context.budget.reserve, key.place)),
                    spec,
                )
            )

    async def ensure(self, source: KubeObject) -> None:
        """Apply the source that is given on the command line."""
        await self._cluster.apply(source, _FLAGS)

    async def run(self) -> None:
        """Reconcile until stopped."""
        sources, inventories = self._context.sources, self._context.inventories
        self._schedule.start()
        self._schedule.every("mirrors", _CLEANUP_INTERVAL, self._delete_unused_mirrors)
        sources.listen(self._source_changed)
        sources.on_recovery(self._loop.retry_after_outage)
        inventories.informer.listen(self._inventory_changed)
        self._check_inventories()
        for source in filter(self._is_watched, sources.cache):
            self._loop.add(ObjectRef.of(source))
        try:
            await self._loop.run()
        finally:
            self._schedule.stop()
            self._context.live.close()
            self._notifier.close()
            self._poller.close()
            self._plans.close()
            self._fetcher.close()
            self._mirrors.close()

    def stop(self) -> None:
        """Finish running reconciles, and let `run` return."""
        self._loop.stop()

    def _delete_unused_mirrors(self) -> None:
        # A source that was never fetched does not keep the mirrors of all others.
        used: dict[str, set[str]] = {}
        for state in self._store:
            if state.mirror:
                used.setdefault(state.mirror, set()).add(state.key.namespace)
        self._in_background(self._fetcher.forget(used))

    def _record_warning(self, source: KubeObject, reason: str, text: str) -> None:
        if self._events is not None:
            self._events.record(source, "Warning", reason, text)

    # What enqueues a source

    def _is_watched(self, source: KubeObject) -> bool:
        namespaces = self._options.namespaces
        return not namespaces or source["metadata"]["namespace"] in namespaces

    def _source_changed(self, change: Change) -> None:
        before, after = change.before, change.after
        if not self._is_watched(change.object):
            return
        if after is None:
            if was_lost(change.object):
                self._store.lost.add(ObjectRef.of(change.object).place)
            self._check_inventories()  # some may have waited for it
        if before is not None and after is not None and _approved(before) != _approved(after):
            self._store.trigger(ObjectRef.of(after).place, Trigger.SYNC)
        if before is None or after is None or _relevant(before) != _relevant(after):
            self._loop.add(ObjectRef.of(change.object))

    def _check_inventories(self) -> None:
        for shard in self._context.inventories.informer.cache:
            self._inventory_changed(Change(None, shard))

    def _inventory_changed(self, change: Change) -> None:
        sources, inventories = self._context.sources, self._context.inventories
        if not sources.is_synced:
            return  # its source may exist
        shard = inventories.abandoned(change, (ObjectRef.of(each).place for each in sources.cache))
        if shard is not None:
            self._in_background(self._delete_inventory(shard))

    async def _delete_inventory(self, shard: KubeObject) -> None:
        """Delete the shard of a source that is gone; a failure is only logged."""
        try:
            await self._context.inventories.delete(shard)
        except KroGitopsError as error:
            facts = {"inventory": ObjectRef.of(shard).place, "error": error.message}
            log.warning("an inventory without a source stays", extra=facts)

    def _drifted(self, name: str) -> None:
        state = self._store.find(name)
        if state is not None:
            self._store.trigger(name, Trigger.SYNC)
            self._loop.add_after(state.key, _DEBOUNCE)

    def _status_changed(self, name: str) -> None:
        state = self._store.find(name)
        if state is not None and self._store.trigger(name, Trigger.HEALTH):
            self._loop.add_after(state.key, _STATUS_DEBOUNCE)

    def _in_background(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)


def _relevant(source: KubeObject) -> tuple[object, ...]:
    """Return what a reconcile depends on."""
    metadata = source["metadata"]
    annotations = metadata.get("annotations") or {}
    return (
        metadata["uid"],
        metadata.get("generation"),
        metadata.get("deletionTimestamp"),
        metadata.get("finalizers"),
        annotations.get(REQUESTED_AT),
        annotations.get(PLAN_REQUEST),
        _approved(source),
    )


def _approved(source: KubeObject) -> str:
    found: str = (source["metadata"].get("annotations") or {}).get(PRUNE_APPROVED, "")
    return found
