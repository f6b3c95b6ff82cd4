"""
Wires the engine: three workqueues, the informers that feed them, and the reconcilers.
"""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from kro_gitops.control.loop import Loop
from kro_gitops.control.loop import LoopSettings as LoopSettings
from kro_gitops.control.outcome import Result
from kro_gitops.control.workqueue import WorkItem, WorkQueue
from kro_gitops.engine.api import DEFINITION_KIND
from kro_gitops.engine.applyset import applyset_id, parse_inventory
from kro_gitops.engine.child_counts import ChildCounter
from kro_gitops.engine.controllers.compile_cache import Compiled, Compiler
from kro_gitops.engine.controllers.context import EngineContext
from kro_gitops.engine.controllers.crd_publisher import CrdPublisher
from kro_gitops.engine.controllers.definitions import (
    DefinitionReconciler,
    DefinitionSettings,
)
from kro_gitops.engine.controllers.instances import InstanceReconciler, InstanceSettings
from kro_gitops.engine.controllers.prune_gate import PruneGate
from kro_gitops.engine.controllers.revisions import BY_DEFINITION, RevisionReconciler, snapshot_name
from kro_gitops.engine.controllers.serving import KindServer
from kro_gitops.engine.controllers.watches import Watches
from kro_gitops.engine.crd.update import owner_of
from kro_gitops.engine.deletion_policy import POLICY_KEYS, is_kept
from kro_gitops.engine.instance_metadata import is_deleting
from kro_gitops.engine.kinds import CRD_KIND
from kro_gitops.engine.labels import label_value
from kro_gitops.engine.options import Options
from kro_gitops.engine.revision import REVISION_KIND, spec_hash
from kro_gitops.engine.served_kind import ServedKind
from kro_gitops.errors import KroGitopsError
from kro_gitops.kube.api import Selection
from kro_gitops.kube.cache import Change
from kro_gitops.kube.informer import Informer
from kro_gitops.metadata import (
    ALLOW_BREAKING_CHANGES,
    DRIFT_ADDED_FIELDS,
    DRIFT_IGNORE,
    PRUNE_APPROVED,
    READINESS,
    READY_CONDITIONS,
    SOURCE,
)
from kro_gitops.tracking.health import HealthStatus
from kube_objects.crds import kinds_of_crd
from kube_objects.errors import RefusedError
from kube_objects.refs import Kind, KubeObject, ObjectRef

log = logging.getLogger(__name__)

DEFINITIONS = "definitions"
REVISIONS = "revisions"
INSTANCES = "instances"

_BY_LABEL = "label"


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Settings of the platform, for every part."""

    instances: InstanceSettings = field(default_factory=InstanceSettings)
    definitions: DefinitionSettings = field(default_factory=DefinitionSettings)
    options: Options = field(default_factory=Options)
    loops: Mapping[str, LoopSettings] = field(default_factory=dict)


class Engine:
    """Reconciles the definitions, revisions and instances of one cluster."""

    def __init__(self, context: EngineContext, settings: EngineSettings) -> None:
        cluster, discovery, observer = context.cluster, context.discovery, context.observer
        version = settings.instances.version
        self._context = context
        self._unseen: set[str] | None = None  # definitions found at the start, not yet reconciled
        self._is_ready = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._definitions = Informer(
            cluster,
            Selection(DEFINITION_KIND),
            indexes={_BY_LABEL: lambda definition: (label_value(definition["metadata"]["name"]),)},
        )
        self._revisions = Informer(
            cluster, Selection(REVISION_KIND), indexes={BY_DEFINITION: snapshot_name}
        )
        self._crds = Informer(cluster, Selection(CRD_KIND, metadata_only=True))
        self.watches = Watches(
            cluster, self._wake_instance, observer, settings.instances.manual_managers
        )
        self.gate = PruneGate(self.watches, self._wake_definition)
        self.counter = ChildCounter()
        self._retains_claims = settings.instances.retains_claims
        self._compiler = Compiler(cluster, discovery, self._crds, settings.options, observer)
        publisher = CrdPublisher(cluster, discovery, self._crds, version)
        self._kinds = KindServer(
            self.watches, publisher, settings.definitions.sync_limit, self._wake_users
        )
        revisions = RevisionReconciler(cluster, self._revisions, self._compiler, version, observer)
        self._definition_reconciler = DefinitionReconciler(
            context,
            settings.definitions,
            self._definitions,
            self._compiler,
            revisions,
            publisher,
            self._kinds,
            self.gate,
        )
        self._instances = InstanceReconciler(
            context, settings.instances, self.watches, self.gate, self.counter
        )
        names: WorkQueue[str] = WorkQueue(lambda _: None)
        kept: WorkQueue[str] = WorkQueue(lambda _: None)
        loops, observers = settings.loops, context.loop_observers
        instance_loop = loops.get(INSTANCES) or LoopSettings()
        if instance_loop.workers > 1:
            # One namespace gets half of the workers at most; so it has as many as are configured.
            instance_loop = replace(instance_loop, workers=2 * instance_loop.workers)
        refs: WorkQueue[ObjectRef] = WorkQueue(
            lambda ref: ref.namespace or ref.kind, instance_loop.workers, lambda ref: ref.kind
        )
        self.queues: dict[str, WorkQueue[ObjectRef] | WorkQueue[str]] = {
            DEFINITIONS: names,
            REVISIONS: kept,
            INSTANCES: refs,
        }
        self._definition_loop: Loop[str] = Loop(
            names, self._reconcile_definition, loops.get(DEFINITIONS), observers.get(DEFINITIONS)
        )
        self._revision_loop: Loop[str] = Loop(
            kept, revisions.reconcile, loops.get(REVISIONS), observers.get(REVISIONS)
        )
        self._instance_loop: Loop[ObjectRef] = Loop(
            refs, self._instances.reconcile, instance_loop, observers.get(INSTANCES)
        )

    @property
    def served_kinds(self) -> Mapping[Kind, ServedKind]:
        """Return the kinds whose instances are reconciled."""
        return self.watches.served_kinds

    @property
    def is_ready(self) -> bool:
        """Return whether every definition found at the start has been reconciled once."""
        return self._is_ready.is_set()

    async def wait_ready(self) -> None:
        """Wait until every definition found at the start has been reconciled once."""
        await self._is_ready.wait()

    def due(self, queue: str) -> int:
        """Return how many keys of a queue are due."""
        return self.queues[queue].depth.ready

    def active_graphs(self) -> int:
        """Return how many kinds are served with a graph."""
        return sum(each.graph is not None for each in self.served_kinds.values())

    def waiting_evaluations(self) -> int:
        """Return how many reconciles wait for a turn to evaluate further expressions."""
        return self._instances.turns.waiting

    def definition(self, name: str) -> KubeObject | None:
        """Return a definition as it was last seen."""
        return self._definitions.cache.find("", name)

    async def compile(self, definition: KubeObject) -> Compiled:
        """Compile a definition that is not in the cluster, with the schemas that it serves."""
        return await self._compiler.compile(definition, spec_hash(definition["spec"]))

    def children_health(self, ref: ObjectRef) -> HealthStatus | None:
        """Return why the children of an instance are not healthy now; None if they are."""
        instance = self.watches.instance(ref)
        return self._instances.health.current(instance) if instance is not None else None

    def wake(self, key: ObjectRef) -> None:
        """Queue an instance."""
        self._wake_instance(key)

    def children_of(self, instance: ObjectRef) -> int:
        """Count the children that would be deleted with an instance, nested ones included."""
        seen = self.watches.instance(instance)
        if seen is None:
            return 0
        try:
            inventory = parse_inventory(seen["metadata"].get("annotations") or {})
        except RefusedError:
            return 0
        members, _ = self.watches.members(
            applyset_id(instance), inventory.group_kinds, inventory.searched_namespaces(instance)
        )
        retains = self._retains_claims
        refs = [
            ObjectRef.of(each)
            for each in members
            if not is_deleting(each) and not is_kept(each, retains_claims=retains)
        ]
        nested = (ref for ref in refs if ref.kind in self.served_kinds and ref != instance)
        return len(refs) + sum(map(self.children_of, nested))

    def plural_of(self, kind: Kind) -> str:
        """Return the plural of a kind that is watched; empty if it is not."""
        return self.watches.plural_of(kind)

    def stop(self) -> None:
        """Finish running reconciles, and let `run` return."""
        for loop in (self._definition_loop, self._revision_loop, self._instance_loop):
            loop.stop()

    async def warm_up(self) -> None:
        """Start the informers; nothing is written."""
        for informer in (self._definitions, self._revisions, self._crds):
            self._tasks.append(asyncio.create_task(informer.run()))

    async def run(self) -> None:
        """Reconcile until stopped."""
        if not self._tasks:
            await self.warm_up()
        try:
            for informer in (self._crds, self._revisions, self._definitions):
                while not await informer.wait_synced(5.0):
                    informer.log_waiting()
            self._definitions.listen(self._definition_changed)
            self._revisions.listen(self._revision_changed)
            self._crds.listen(self._crd_changed)
            for loop in (self._definition_loop, self._revision_loop, self._instance_loop):
                self._definitions.on_recovery(loop.retry_after_outage)
            definitions = [obj for obj in self._definitions.cache if not is_deleting(obj)]
            for definition in definitions if len(definitions) > 1 else ():
                # A definition that cannot be compiled reports it when it is reconciled.
                with suppress(KroGitopsError):
                    hash_ = spec_hash(definition["spec"])
                    compiled = await self._compiler.compile(definition, hash_)
                    if compiled.graph is not None:
                        self.watches.expect(compiled.graph)
            names = [obj["metadata"]["name"] for obj in self._definitions.cache]
            self._unseen = set(names)
            for name in names:
                self._definition_loop.add(name)
            self._mark_seen("")
            for revision in self._revisions.cache:
                self._revision_loop.add(revision["metadata"]["name"])
            await self._serve_kinds_without_definition()
            async with asyncio.TaskGroup() as group:
                for loop in (self._definition_loop, self._revision_loop, self._instance_loop):
                    group.create_task(loop.run())
        finally:
            self.watches.close()
            for task in self._tasks:
                task.cancel()

    async def _serve_kinds_without_definition(self) -> None:
        """Let instances be deleted whose definition went while the controller was not running."""
        definitions = (obj for obj in self._definitions.cache if not is_deleting(obj))
        labels = {label_value(obj["metadata"]["name"]) for obj in definitions}
        for crd_metadata in self._crds.cache:
            owner, name = owner_of(crd_metadata), crd_metadata["metadata"]["name"]
            if not owner or owner in labels or is_deleting(crd_metadata):
                continue
            try:
                crd = await self._context.cluster.find(ObjectRef(CRD_KIND, "", name))
                for known in kinds_of_crd(crd) if crd is not None else ():
                    await self._kinds.serve_deletions(known.kind, known.plural, owner)
            except KroGitopsError as error:
                facts = {"crd": name, "error": error.message}
                log.warning("instances without a definition cannot be watched", extra=facts)

    async def _reconcile_definition(self, work: WorkItem[str]) -> Result:
        try:
            return await self._definition_reconciler.reconcile(work)
        finally:
            self._mark_seen(work.key)

    def _mark_seen(self, name: str) -> None:
        """Be ready once every definition that was there at the start was reconciled."""
        if self._unseen is not None:
            self._unseen.discard(name)
            if not self._unseen:
                self._is_ready.set()
                self.watches.forget_expected()

    # Which events queue which objects

    def _wake_instance(self, key: ObjectRef, delay: float = 0.0) -> None:
        if delay:
            self._instance_loop.add_after(key, delay)
        else:
            self._instance_loop.add(key)

    def _wake_users(self, group: str, but: str = "") -> None:
        """Queue the definitions that use kinds of a group."""
        for name in self._compiler.users_of(group):
            if name != but:
                self._definition_loop.add(name)

    def _wake_definition(self, name: str) -> None:
        self._definition_loop.add(name)

    def _definition_changed(self, change: Change) -> None:
        before, after = change.before, change.after
        if before is None or after is None or _relevant_fields(before) != _relevant_fields(after):
            self._definition_loop.add(change.object["metadata"]["name"])

    def _revision_changed(self, change: Change) -> None:
        before, after = change.before, change.after
        self._revision_loop.add(change.object["metadata"]["name"])
        if before is None or after is None or _owners(before) != _owners(after):
            name = snapshot_name(change.object)[0]
            if self._definitions.cache.find("", name) is not None:
                self._definition_loop.add(name)

    def _crd_changed(self, change: Change) -> None:
        about = change.object["metadata"]
        if change.before is not None and change.after is not None:
            former = change.before["metadata"].get("generation")
            if about.get("generation") != former:
                self.watches.relist(about["name"])
        self._wake_users(about["name"].partition(".")[2])
        owner = owner_of(change.object) or (owner_of(change.before) if change.before else "")
        if not owner:
            return
        for definition in self._definitions.cache.by(_BY_LABEL, owner):
            self._definition_loop.add(definition["metadata"]["name"])


def _relevant_fields(definition: KubeObject) -> tuple[object, ...]:
    """Return the parts of a definition that its reconcile depends on; the status is not one."""
    metadata = definition["metadata"]
    annotations = metadata.get("annotations") or {}
    return (
        metadata["uid"],
        metadata.get("generation"),
        metadata.get("deletionTimestamp"),
        metadata.get("finalizers"),
        annotations.get(ALLOW_BREAKING_CHANGES) == "true",
        annotations.get(READY_CONDITIONS),
        annotations.get(SOURCE),
        annotations.get(DRIFT_ADDED_FIELDS),
        annotations.get(DRIFT_IGNORE),
        annotations.get(READINESS),
        annotations.get(PRUNE_APPROVED),
        *map(annotations.get, POLICY_KEYS),
    )


def _owners(revision: KubeObject) -> object:
    metadata = revision["metadata"]
    return metadata.get("ownerReferences"), metadata.get("deletionTimestamp")
