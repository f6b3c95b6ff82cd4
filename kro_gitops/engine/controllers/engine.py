"""
The engine, put together: three queues, the informers that feed them, and what works on them.
"""

import asyncio
import logging
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from kro_gitops.control.loop import Loop
from kro_gitops.control.loop import LoopSettings as LoopSettings
from kro_gitops.control.loop import Observer as LoopObserver
from kro_gitops.control.outcome import Result
from kro_gitops.control.workqueue import WorkItem, WorkQueue
from kro_gitops.engine.api import DEFINITION_KIND
from kro_gitops.engine.controllers.applier import Applier
from kro_gitops.engine.controllers.compile_cache import CRD_KIND, Compiler
from kro_gitops.engine.controllers.crd_publisher import CrdPublisher
from kro_gitops.engine.controllers.definitions import (
    DefinitionReconciler,
    DefinitionSettings,
    Tools,
    Wakes,
)
from kro_gitops.engine.controllers.deletion import DeletionReconciler
from kro_gitops.engine.controllers.external_objects import ExternalReader
from kro_gitops.engine.controllers.find_children import ChildFinder
from kro_gitops.engine.controllers.instances import Hands, InstanceReconciler, InstanceSettings
from kro_gitops.engine.controllers.observer import Observer
from kro_gitops.engine.controllers.revisions import BY_DEFINITION, RevisionReconciler, snapshot_name
from kro_gitops.engine.controllers.status_writer import StatusWriter
from kro_gitops.engine.controllers.watches import Watches
from kro_gitops.engine.crd.update import owner_of
from kro_gitops.engine.instance_metadata import is_deleting
from kro_gitops.engine.labels import label_value
from kro_gitops.engine.options import Options
from kro_gitops.engine.revision import REVISION_KIND
from kro_gitops.engine.served_kind import ServedKind
from kro_gitops.errors import KroGitopsError, NotYet
from kro_gitops.kube.api import Cluster, Identity, Selection
from kro_gitops.kube.cache import Change
from kro_gitops.kube.discovery import Discovery
from kro_gitops.kube.events import EventRecorder
from kro_gitops.kube.informer import Informer
from kro_gitops.metadata import ALLOW_BREAKING_CHANGES, READY_CONDITIONS
from kube_objects.crds import kinds_of_crd
from kube_objects.refs import Kind, KubeObject, ObjectRef

log = logging.getLogger(__name__)

DEFINITIONS = "definitions"
REVISIONS = "revisions"
INSTANCES = "instances"

_BY_LABEL = "label"


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What a platform chose, for every part."""

    instances: InstanceSettings = field(default_factory=InstanceSettings)
    definitions: DefinitionSettings = field(default_factory=DefinitionSettings)
    options: Options = field(default_factory=Options)
    tells_all_conditions: bool = False
    loops: Mapping[str, LoopSettings] = field(default_factory=dict)


FindInstance = Callable[[ObjectRef], KubeObject | None]


class InstanceOwners(Protocol):
    """
    Who acts for the children of an instance, and which children it may have.

    The engine hands in how to look up a parent instance, so that owners need not know the engine.
    """

    def identity_of(self, instance: KubeObject, find: FindInstance) -> Identity | None:
        """Return the identity that acts for the children; None is the controller itself."""

    def refusal_of(self, instance: KubeObject, child: ObjectRef, find: FindInstance) -> str:
        """Return why the instance may not have a child; empty if it may."""


class NoOwners:
    """The controller itself acts for every instance, and every child is allowed."""

    def identity_of(self, _instance: KubeObject, _find: FindInstance) -> Identity | None:
        """Return None: the controller itself."""
        return None

    def refusal_of(self, _instance: KubeObject, _child: ObjectRef, _find: FindInstance) -> str:
        """Return an empty reason."""
        return ""


@dataclass(frozen=True, slots=True)
class EngineContext:
    """What the engine works with: a cluster, who owns instances, and who is told what happens."""

    cluster: Cluster
    discovery: Discovery
    observer: Observer = field(default_factory=Observer)
    events: EventRecorder | None = None
    loop_observers: Mapping[str, LoopObserver] = field(default_factory=dict)
    owners: InstanceOwners = field(default_factory=NoOwners)


class Engine:
    """Definitions and instances of one cluster, kept as they should be."""

    def __init__(self, outside: EngineContext, rules: EngineSettings) -> None:
        self.servings: dict[Kind, ServedKind] = {}
        self.queues: dict[str, WorkQueue[ObjectRef] | WorkQueue[str]] = {}
        self._outside = outside
        self._rules = rules
        self._first: set[str] | None = None  # definitions found at the start, not yet looked at
        self._is_ready = asyncio.Event()
        self._assemble()

    @property
    def is_ready(self) -> bool:
        """Say whether every definition found at the start has been looked at."""
        return self._is_ready.is_set()

    async def wait_ready(self) -> None:
        """Wait until it is."""
        await self._is_ready.wait()

    def due(self, queue: str) -> int:
        """Return how many keys of a queue are due."""
        return self.queues[queue].depth.ready

    def active_graphs(self) -> int:
        """Return how many kinds are served with a graph."""
        return sum(each.graph is not None for each in self.servings.values())

    def definition(self, name: str) -> KubeObject | None:
        """Return a definition as it was last seen."""
        return self._definitions.cache.find("", name)

    def wake(self, key: ObjectRef) -> None:
        """Have an instance worked on, as whoever is to act for it now."""
        self._wake_instance(key)

    def plural_of(self, kind: Kind) -> str:
        """Return the plural of a kind that is watched; empty if it is not."""
        return self.watches.plural_of(kind)

    def stop(self) -> None:
        """Finish what is in work, and let `run` return."""
        for loop in (self._definition_loop, self._revision_loop, self._instance_loop):
            loop.stop()

    async def warm_up(self) -> None:
        """Fill the caches, and go on filling them; nothing is written."""
        for informer in (self._definitions, self._revisions, self._crds):
            self._tasks.append(asyncio.create_task(informer.run()))

    async def run(self) -> None:
        """Work until stopped."""
        if not self._tasks:
            await self.warm_up()
        try:
            for informer in (self._crds, self._revisions, self._definitions):
                while not await informer.wait_synced(5.0):
                    informer.log_waiting()
            await self._begin()
            async with asyncio.TaskGroup() as group:
                for loop in (self._definition_loop, self._revision_loop, self._instance_loop):
                    group.create_task(loop.run())
        finally:
            self.watches.close()
            for task in self._tasks:
                task.cancel()

    # Putting it together

    def _assemble(self) -> None:
        outside, rules = self._outside, self._rules
        cluster, discovery, observer = outside.cluster, outside.discovery, outside.observer
        version = rules.instances.version
        self._tasks: list[asyncio.Task[None]] = []
        self._definitions = Informer(
            cluster, Selection(DEFINITION_KIND), indexes={_BY_LABEL: _label_of}
        )
        self._revisions = Informer(
            cluster, Selection(REVISION_KIND), indexes={BY_DEFINITION: snapshot_name}
        )
        self._crds = Informer(cluster, Selection(CRD_KIND, metadata_only=True))
        self.watches = Watches(cluster, self._wake_instance, observer)
        self._compiler = Compiler(cluster, discovery, self._crds, rules.options, observer)
        self._kept = RevisionReconciler(cluster, self._revisions, version)
        self._publisher = CrdPublisher(cluster, discovery, self._crds, version)
        tools = Tools(
            cluster,
            self._definitions,
            self._compiler,
            self._kept,
            self._publisher,
            self.watches,
            observer,
            outside.events,
        )
        wakes = Wakes(self._wake_instance, self._wake_definition)
        self._of_definitions = DefinitionReconciler(tools, rules.definitions, self.servings, wakes)
        self._of_instances = self._instances()
        self._make_loops()

    def _instances(self) -> InstanceReconciler:
        outside, rules = self._outside, self._rules
        membership = ChildFinder(self.watches, outside.discovery)
        applier = Applier(self.watches, outside.observer)
        reporter = StatusWriter(
            outside.cluster,
            self.watches,
            outside.observer,
            outside.events,
            tells_all=rules.tells_all_conditions,
        )
        hands = Hands(
            outside.cluster,
            self.watches,
            membership,
            applier,
            ExternalReader(outside.cluster, self.watches),
            DeletionReconciler(outside.cluster, self.watches, membership, applier, reporter),
            reporter,
            outside.observer,
            self._refusal_of,
            self._identity_of,
        )
        return InstanceReconciler(hands, rules.instances, self.servings)

    def _make_loops(self) -> None:
        names: WorkQueue[str] = WorkQueue(_ungrouped)
        kept: WorkQueue[str] = WorkQueue(_ungrouped)
        refs: WorkQueue[ObjectRef] = WorkQueue(lambda ref: ref.kind)
        self.queues.update({DEFINITIONS: names, REVISIONS: kept, INSTANCES: refs})
        settings, observers = self._rules.loops, self._outside.loop_observers
        self._definition_loop: Loop[str] = Loop(
            names, self._definition, settings.get(DEFINITIONS), observers.get(DEFINITIONS)
        )
        self._revision_loop: Loop[str] = Loop(
            kept, self._revision, settings.get(REVISIONS), observers.get(REVISIONS)
        )
        self._instance_loop: Loop[ObjectRef] = Loop(
            refs, self._of_instances.reconcile, settings.get(INSTANCES), observers.get(INSTANCES)
        )

    async def _begin(self) -> None:
        names = {obj["metadata"]["name"] for obj in self._definitions.cache}
        self._first = set(names)
        self._mark_first_done("")
        self._definitions.listen(self._definition_changed)
        self._revisions.listen(self._revision_changed)
        self._crds.listen(self._crd_changed)
        for name in names:
            self._wake_definition(name)
        for revision in self._revisions.cache:
            self._revision_loop.add(revision["metadata"]["name"])
        staying = (obj for obj in self._definitions.cache if not is_deleting(obj))
        await self._serve_kinds_without_definition({obj["metadata"]["name"] for obj in staying})

    async def _serve_kinds_without_definition(self, names: set[str]) -> None:
        """Let instances go whose definition went while nobody looked."""
        labels = {label_value(name) for name in names}
        for about in self._crds.cache:
            owner = owner_of(about)
            if not owner or owner in labels or is_deleting(about):
                continue
            try:
                crd = await self._outside.cluster.find(
                    ObjectRef(CRD_KIND, "", about["metadata"]["name"])
                )
                for known in kinds_of_crd(crd) if crd is not None else ():
                    await self._of_definitions.serve_deletions(known.kind, known.plural, owner)
            except KroGitopsError as error:
                facts = {"crd": about["metadata"]["name"], "error": error.message}
                log.warning("instances without a definition cannot be watched", extra=facts)

    # What works on keys

    async def _definition(self, work: WorkItem[str]) -> Result:
        try:
            return await self._of_definitions.reconcile(work)
        finally:
            self._mark_first_done(work.key)

    async def _revision(self, work: WorkItem[str]) -> Result:
        return await self._kept.reconcile(work, self._compiler)

    def _mark_first_done(self, name: str) -> None:
        if self._first is not None:
            self._first.discard(name)
            if not self._first:
                self._is_ready.set()

    # Whose instances are

    def _identity_of(self, instance: KubeObject) -> Identity | None:
        return self._outside.owners.identity_of(instance, self._find_instance)

    def _refusal_of(self, instance: KubeObject, child: ObjectRef) -> str:
        return self._outside.owners.refusal_of(instance, child, self._find_instance)

    def _find_instance(self, ref: ObjectRef) -> KubeObject | None:
        """Return an instance, None if it does not exist; raise NotYet if that is not known yet."""
        found = self.watches.instance(ref)
        if found is None and not self.watches.knows_instances(ref.kind):
            raise NotYet("owner-unknown", f"its owner {ref} cannot be seen yet")
        return found

    # What wakes whom

    def _wake_instance(self, key: ObjectRef, delay: float = 0.0) -> None:
        instance = self.watches.instance(key)
        identity = None
        if instance is not None:
            with suppress(NotYet):  # it is asked again before anything is done
                identity = self._identity_of(instance)
        if delay:
            self._instance_loop.add_after(key, delay, identity)
        else:
            self._instance_loop.add(key, identity)

    def _wake_definition(self, name: str) -> None:
        self._definition_loop.add(name)

    def _definition_changed(self, change: Change) -> None:
        before, after = change.before, change.after
        if before is None or after is None or _relevant_fields(before) != _relevant_fields(after):
            self._wake_definition(change.object["metadata"]["name"])

    def _revision_changed(self, change: Change) -> None:
        before, after = change.before, change.after
        self._revision_loop.add(change.object["metadata"]["name"])
        if before is None or after is None or _owners(before) != _owners(after):
            name = snapshot_name(change.object)[0]
            if self._definitions.cache.find("", name) is not None:
                self._wake_definition(name)

    def _crd_changed(self, change: Change) -> None:
        about = change.object["metadata"]
        if change.before is not None and change.after is not None:
            former = change.before["metadata"].get("generation")
            if about.get("generation") != former:
                self.watches.renew(about["name"])
        group = about["name"].partition(".")[2]
        for name in self._of_definitions.users_of(group):
            self._wake_definition(name)
        owner = owner_of(change.object) or (owner_of(change.before) if change.before else "")
        if not owner:
            return
        for definition in self._definitions.cache.by(_BY_LABEL, owner):
            self._wake_definition(definition["metadata"]["name"])


def _label_of(definition: KubeObject) -> tuple[str, ...]:
    """Return how labels name a definition."""
    return (label_value(definition["metadata"]["name"]),)


def _ungrouped(_key: Hashable) -> Hashable:
    return None


def _relevant_fields(definition: KubeObject) -> tuple[object, ...]:
    """Return what of a definition matters; its status does not."""
    metadata = definition["metadata"]
    annotations = metadata.get("annotations") or {}
    return (
        metadata["uid"],
        metadata.get("generation"),
        metadata.get("deletionTimestamp"),
        metadata.get("finalizers"),
        annotations.get(ALLOW_BREAKING_CHANGES) == "true",
        annotations.get(READY_CONDITIONS),
    )


def _owners(revision: KubeObject) -> object:
    metadata = revision["metadata"]
    return metadata.get("ownerReferences"), metadata.get("deletionTimestamp")
