"""
The source controller, put together: a queue of sources, what feeds it, and what works on it.

Sources and inventories are known before anything else works: they say as whom the engine acts for
the instances that came from git.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from kro_gitops.control.loop import Loop
from kro_gitops.control.loop import LoopSettings as LoopSettings
from kro_gitops.control.loop import Observer as LoopObserver
from kro_gitops.control.schedule import Schedule
from kro_gitops.control.workqueue import WorkQueue
from kro_gitops.errors import KroGitopsError, NotServed, UserError
from kro_gitops.kube.access_review import AccessReviewer
from kro_gitops.kube.api import Cluster, Selection, WriteOptions
from kro_gitops.kube.cache import Change
from kro_gitops.kube.discovery import Discovery
from kro_gitops.kube.events import EventRecorder
from kro_gitops.kube.informer import Informer
from kro_gitops.metadata import REQUESTED_AT
from kro_gitops.source.api import GIT_SOURCE_KIND
from kro_gitops.source.controllers.applying import Applier
from kro_gitops.source.controllers.bridging import Bridges
from kro_gitops.source.controllers.carrying import Carrier, Tools
from kro_gitops.source.controllers.concluding import Conclusions
from kro_gitops.source.controllers.fetching import Fetcher
from kro_gitops.source.controllers.finalizers import Finalizers
from kro_gitops.source.controllers.gates import Gates, Known
from kro_gitops.source.controllers.inventories import Inventories
from kro_gitops.source.controllers.leaving import Leaving
from kro_gitops.source.controllers.live import LiveObjects
from kro_gitops.source.controllers.notifying import Notifier
from kro_gitops.source.controllers.observing import SourceObserver
from kro_gitops.source.controllers.polling import Poller
from kro_gitops.source.controllers.pruning import Pruner
from kro_gitops.source.controllers.registry import Held, Registry
from kro_gitops.source.controllers.reporting import Reporter
from kro_gitops.source.controllers.rights import Rights
from kro_gitops.source.controllers.sources import Clockwork, Hands, Sources
from kro_gitops.source.controllers.syncing import Syncer
from kro_gitops.source.controllers.vitals import Vitals
from kro_gitops.source.fetch.mirror import Mirrors
from kro_gitops.source.fetch.model import FetchRules
from kro_gitops.source.spec_reading import Defaults, read_spec
from kro_gitops.tracking.inventory import Entry
from kro_gitops.tracking.methods import ArgoCD
from kube_objects.refs import KubeObject, ObjectRef

log = logging.getLogger(__name__)

_DEBOUNCE = 0.2  # seconds: changes come in bursts
_STIRRED = 2.0
_TIDY = 600.0  # seconds between two looks at what nobody uses
_FLAGS = WriteOptions(manager="kro-gitops/flags", force=True)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What sources work with, and who is told."""

    cluster: Cluster
    discovery: Discovery
    known: Known
    wake_instance: Callable[[ObjectRef], None]
    events: EventRecorder | None = None
    observer: SourceObserver = field(default_factory=SourceObserver)
    loop_observer: LoopObserver | None = None


@dataclass(frozen=True, slots=True)
class ControllerRules:
    """What a platform chose, for all parts."""

    storage: Path
    defaults: Defaults = field(default_factory=Defaults)
    argocd: ArgoCD = field(default_factory=ArgoCD)
    fetch: FetchRules = field(default_factory=FetchRules)
    namespaces: Collection[str] = ()  # empty: all
    loop: LoopSettings = field(default_factory=LoopSettings)


class SourceController:
    """All sources of one cluster."""

    def __init__(self, around: Surroundings, registry: Registry, rules: ControllerRules) -> None:
        self._around = around
        self._registry = registry
        self._rules = rules
        self._schedule = Schedule()
        self._tasks: list[asyncio.Task[None]] = []
        self._asides: set[asyncio.Task[None]] = set()
        self._informer = Informer(around.cluster, Selection(GIT_SOURCE_KIND))
        self._inventories = Inventories(around.cluster)
        self._mirrors = Mirrors(rules.storage, rules.fetch)
        self._fetcher = Fetcher(around.cluster, self._mirrors, rules.fetch)
        self._notifier = Notifier(self._fetcher.secret, rules.fetch, self._complain)
        self.live = LiveObjects(around.cluster, self._drifted, self._stirred)
        self._sources = self._assemble()
        # By namespace: one whose servers are slow has others wait for a turn, not for all of them.
        self.queue: WorkQueue[ObjectRef] = WorkQueue(lambda key: key.namespace)
        self._loop: Loop[ObjectRef] = Loop(
            self.queue, self._sources.reconcile, rules.loop, around.loop_observer
        )

    def _assemble(self) -> Sources:
        around, rules = self._around, self._rules
        observer, argocd, defaults = around.observer, rules.argocd, rules.defaults
        gates = Gates(around.known)
        vitals = Vitals(self.live, gates)
        applier = Applier(self.live, self._inventories, self._registry)
        reporter = Reporter(around.cluster, self._informer, around.events, observer, self._notifier)
        pruner = Pruner(
            self.live,
            self._inventories,
            self._registry,
            around.known,
            around.discovery,
            self._wake_held,
        )
        tools = Tools(
            cluster=around.cluster,
            registry=self._registry,
            syncer=Syncer(around.discovery, self.live, applier, gates, vitals),
            pruner=pruner,
            vitals=vitals,
            rights=Rights(
                AccessReviewer(around.cluster, around.discovery, _clock),
                self._registry,
                around.known,
            ),
            bridges=Bridges(around.cluster, argocd),
            reporter=reporter,
            observer=observer,
            argocd=argocd,
            wake=self._wake_held,
        )
        carrier = Carrier(tools)
        finalizers = Finalizers(around.cluster, self._informer)
        hands = Hands(
            informer=self._informer,
            registry=self._registry,
            inventories=self._inventories,
            finalizers=finalizers,
            poller=Poller(self._fetcher, reporter, observer),
            carrier=carrier,
            conclusions=Conclusions(reporter),
            leaving=Leaving(carrier, pruner, self._inventories, finalizers, reporter),
            reporter=reporter,
            observer=observer,
        )
        clockwork = Clockwork(self._poll_every, self._schedule.forget, self._act_for, self._retry)
        return Sources(hands, defaults, clockwork)

    # Running

    async def load(self) -> None:
        """Learn what sources there are and what they made; nothing is written."""
        for informer in (self._inventories.informer, self._informer):
            self._tasks.append(asyncio.create_task(informer.run()))
        for informer in (self._inventories.informer, self._informer):
            while not await informer.wait_synced(0.5):
                if isinstance(informer.problem, NotServed):
                    break  # then there are none
                informer.log_waiting()
        for source in self._informer.cache:
            if self._is_watched(source):
                key = ObjectRef.of(source)
                held = Held(key, source, self._inventories.load(key))
                # The engine asks at once what its instances may do.
                with suppress(UserError):
                    held.spec = read_spec(source, self._rules.defaults)
                self._registry.put(held)

    async def ensure(self, source: KubeObject) -> None:
        """Have a source that was named on the command line."""
        await self._around.cluster.apply(source, _FLAGS)

    async def run(self) -> None:
        """Work until stopped."""
        self._schedule.start()
        self._schedule.every("mirrors", _TIDY, self._tidy)
        self._informer.listen(self._source_changed)
        self._inventories.informer.listen(self._inventory_changed)
        self._look_at_inventories()
        for source in self._informer.cache:
            if self._is_watched(source):
                self._loop.add(ObjectRef.of(source))
        try:
            await self._loop.run()
        finally:
            self._schedule.stop()
            self.live.close()
            self._notifier.close()
            self._fetcher.close()
            self._mirrors.close()
            for task in self._tasks:
                task.cancel()

    def _tidy(self) -> None:
        """Drop mirrors of repositories that no source follows any more."""
        # Who has not said what it uses by now cannot be fetched: it must not keep all others'.
        used = {held.mirror for held in self._registry} - {""}
        self._aside(self._fetcher.forget(used))

    def stop(self) -> None:
        """Finish what is in work, and let `run` return."""
        self._loop.stop()

    def poll(self, key: ObjectRef) -> None:
        """Ask a source's remote at once."""
        held = self._registry.find(key.place)
        if held is not None:
            held.wants_poll = True
        self._loop.add(key)

    def _complain(self, source: KubeObject, reason: str, text: str) -> None:
        if self._around.events is not None:
            self._around.events.record(source, "Warning", reason, text)

    # What wakes whom

    def _is_watched(self, source: KubeObject) -> bool:
        chosen = self._rules.namespaces
        return not chosen or source["metadata"]["namespace"] in chosen

    def _source_changed(self, change: Change) -> None:
        before, after = change.before, change.after
        if not self._is_watched(change.object):
            return
        if after is None:
            self._look_at_inventories()  # some may have waited for it
        if before is None or after is None or _concerns(before) != _concerns(after):
            self._loop.add(ObjectRef.of(change.object))

    def _look_at_inventories(self) -> None:
        for shard in self._inventories.informer.cache:
            self._inventory_changed(Change(None, shard))

    def _inventory_changed(self, change: Change) -> None:
        if not self._informer.is_synced:
            return  # who knows whether its source is gone
        names = {
            f"{s['metadata']['namespace']}/{s['metadata']['name']}" for s in self._informer.cache
        }
        shard = self._inventories.abandoned(change, names)
        if shard is not None:
            self._aside(self._let_go(shard))

    async def _let_go(self, shard: KubeObject) -> None:
        try:
            await self._inventories.let_go(shard)
        except KroGitopsError as error:
            facts = {"inventory": ObjectRef.of(shard).place, "error": error.message}
            log.warning("an inventory without a source stays", extra=facts)

    def _drifted(self, name: str) -> None:
        held = self._registry.find(name)
        if held is not None:
            held.is_dirty = True
            self._loop.add_after(held.key, _DEBOUNCE)

    def _stirred(self, name: str) -> None:
        held = self._registry.find(name)
        if held is not None and not held.is_stirred:
            held.is_stirred = True
            self._loop.add_after(held.key, _STIRRED)

    def _wake_held(self, held: Held) -> None:
        held.is_dirty = True
        self._loop.add(held.key)

    def _poll_every(self, held: Held, seconds: float) -> None:
        key = held.key
        self._schedule.every(held.name, seconds, lambda: self.poll(key))

    def _retry(self, held: Held) -> None:
        known = self._around.known
        for entry in self._instances(held):
            seen = known.instance(entry.ref)
            if seen is not None and held.fine.get(entry.key) is not seen:
                self._around.wake_instance(entry.ref)

    def _act_for(self, held: Held) -> None:
        for entry in self._instances(held):
            self._around.wake_instance(entry.ref)

    def _instances(self, held: Held) -> Iterator[Entry]:
        kind, is_instance = None, False
        for entry in held.inventory:
            if entry.ref.kind is not kind:
                kind = entry.ref.kind
                is_instance = self._around.known.is_instance(kind)
            if is_instance:
                yield entry

    def _aside(self, work: Coroutine[None, None, None]) -> None:
        """Do something that nobody waits for."""
        task = asyncio.create_task(work)
        self._asides.add(task)
        task.add_done_callback(self._asides.discard)


def _concerns(source: KubeObject) -> tuple[object, ...]:
    metadata = source["metadata"]
    annotations = metadata.get("annotations") or {}
    return (
        metadata["uid"],
        metadata.get("generation"),
        metadata.get("deletionTimestamp"),
        metadata.get("finalizers"),
        annotations.get(REQUESTED_AT),
    )


def _clock() -> float:
    return asyncio.get_running_loop().time()
