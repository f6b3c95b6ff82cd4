"""
Syncs a revision that was fetched: observe, plan, execute, until nothing is left to do.

Pruning comes last, and only if all else went well: an object that moved or was renamed exists under
its new name before the old one is deleted.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeVar

from kro_gitops.errors import KroGitopsError, NotServed, UserError
from kro_gitops.kube.api import Reader
from kro_gitops.source.api.types import SourceSpec, TrackingMode, WantedRef
from kro_gitops.source.controllers.apply import StageExecutor
from kro_gitops.source.controllers.context import ControllerContext, SyncContext, each_of
from kro_gitops.source.controllers.deletion import (
    Pruner,
    other_claimant,
    same_ref,
    wake_heirs,
)
from kro_gitops.source.controllers.diagnosis import Diagnoser
from kro_gitops.source.controllers.health import HealthChecker, definition_health
from kro_gitops.source.controllers.rbac import MissingPermissions
from kro_gitops.source.controllers.reporter import Reporter
from kro_gitops.source.controllers.state import Fetched, SourceState, Trigger
from kro_gitops.source.plan import status
from kro_gitops.source.plan.claims import Claims, Postponement, postpone
from kro_gitops.source.plan.desired import Desired
from kro_gitops.source.plan.model import (
    ExecutedStage,
    Marker,
    Memory,
    Observed,
    PlanOptions,
    Prune,
    PrunePostponed,
    Revision,
    SourcePlan,
    no_marks,
)
from kro_gitops.source.plan.plan import plan_source
from kro_gitops.source.plan.preview import (
    EngineChanges,
    Preview,
    assumed_result,
    engine_changes,
    preview_of,
    with_assumed_kinds,
)
from kro_gitops.source.plan.prune import ALLOW_PRUNE
from kro_gitops.source.plan.result import Fault, Phase, SyncResult, manifest_faults
from kro_gitops.source.plan.stages import Stage
from kro_gitops.source.plan.steps import OtherSources
from kro_gitops.tracking.argocd_applications import application_conflict, argocd_metadata
from kro_gitops.tracking.inventory import Key, key_of
from kro_gitops.tracking.methods import ArgoCD, TrackingMetadata
from kube_objects.conditions import TRUE, UNKNOWN
from kube_objects.errors import RefusedError
from kube_objects.refs import Kind, KubeObject, ObjectRef

_K = TypeVar("_K")
_V = TypeVar("_V")

_APPLICATION = Kind("argoproj.io", "v1alpha1", "Application")
_SYNC_TIMEOUT = 10.0  # seconds for a kind to be listed
_REPORTED_CHANGES = 20  # objects: the progress of more than these is reported
_PROGRESS_INTERVAL = 2.0  # seconds


@dataclass(slots=True)
class _Run:
    """One revision: what was observed, planned and executed of it so far."""

    fetched: Fetched
    revision: Revision
    observed: Observed
    memory: Memory
    plan: SourcePlan | None = None
    done: tuple[ExecutedStage, ...] = ()
    prune: Prune | None = None
    postponed: Postponement | None = None
    after: SyncResult = field(default_factory=SyncResult)  # of pruning and health

    @property
    def result(self) -> SyncResult:
        """Return the result so far."""
        planned = self.plan.result if self.plan else manifest_faults(self.fetched.snapshot)
        return planned + self.after


class SourceSync:
    """Syncs revisions: applies, waits, prunes and checks health."""

    def __init__(
        self,
        controller: ControllerContext,
        executor: StageExecutor,
        pruner: Pruner,
        health: HealthChecker,
        permissions: MissingPermissions,
        reporter: Reporter,
    ) -> None:
        self._controller = controller
        self._executor = executor
        self._pruner = pruner
        self._health = health
        self._diagnoser = Diagnoser(controller)
        self._permissions = permissions
        self._reporter = reporter

    def is_needed(self, state: SourceState) -> bool:
        """Return True if the cluster must be compared with git."""
        now = asyncio.get_running_loop().time()
        is_triggered = self._controller.store.has(state.name, Trigger.SYNC)
        return state.is_sync_outdated or is_triggered or state.must_go_on(now)

    def can_continue(self, state: SourceState) -> bool:
        """Return True if something can be deleted now that had to wait."""
        return self._pruner.can_continue(state)

    async def sync(self, state: SourceState, spec: SourceSpec, fetched: Fetched) -> SourceState:
        """Sync a revision; return the state with the result, whatever came of it."""
        began = time.perf_counter()
        store, observer = self._controller.store, self._controller.observer
        store.take(state.name, Trigger.SYNC | Trigger.HEALTH)
        try:
            state = await self._sync(state, spec, fetched)
        except BaseException:
            store.trigger(state.name, Trigger.SYNC)  # it was not finished
            raise
        result = state.result or SyncResult()
        observer.applied(state.name, result.created, result.changed, result.pruned)
        outcome = "failed" if result.failures else "applied"
        seconds = time.perf_counter() - began
        observer.synced(state.name, seconds, outcome)
        state.library.release()
        return replace(state, sync_seconds=seconds)

    async def check_health(self, state: SourceState, spec: SourceSpec) -> SourceState:
        """Check the health of the objects; nothing else has changed."""
        self._controller.store.take(state.name, Trigger.HEALTH)
        if state.result is None:
            return state
        context = self._context(state, spec)
        report = await self._health.check(
            context.cluster, state.current, state.generations, state.healthy
        )
        found = report.result
        result = replace(
            state.result, ready=found.ready, waiting=found.waiting, degraded=found.degraded
        )
        if state.synced is not None:
            result = await self._diagnoser.described(state, state.synced, result, report.degraded)
        healthy = {**state.healthy, **report.healthy} if report.healthy else state.healthy
        return replace(state, result=result, healthy=healthy)

    async def preview(
        self, state: SourceState, spec: SourceSpec, fetched: Fetched
    ) -> tuple[Preview, EngineChanges]:
        """Return what a revision would change now; stages are assumed to succeed."""
        controller, context = self._controller, self._context(state, spec)
        revision = Revision.of(fetched.snapshot, fetched.revision, fetched.message, {})
        observed = self._unobserved()
        memory = Memory(established=state.memory.established)
        marks = await _application_marks(controller.cluster, spec, fetched, controller.argocd)
        options = PlanOptions(state.key, controller.argocd, marks)
        others = self._others(state, is_behind=False)
        done: tuple[ExecutedStage, ...] = ()
        while True:
            plan = plan_source(
                revision, observed, state.inventory, spec, others, options, memory, done
            )
            memory = replace(memory, desired=_merged(memory.desired, plan.desired))
            if plan.needs:
                observed = await self._observe(context, observed, plan)
                observed = with_assumed_kinds(observed, revision)
                continue
            stage = plan.pending(done)
            done = plan.executed(done)
            if stage is None:
                preview = preview_of(plan, done, fetched.revision)
                return preview, engine_changes(preview, done, observed.is_instance)
            done = (*done, ExecutedStage(stage, assumed_result(stage)))

    def _unobserved(self) -> Observed:
        """Return what is known of the cluster without asking it."""
        controller = self._controller
        return Observed(
            controller.engine.is_instance,
            controller.live.finder,
            lambda ref, generation: definition_health(controller.engine, ref, generation),
            children=controller.engine.children_of,
        )

    def _others(self, state: SourceState, *, is_behind: bool) -> OtherSources:
        """Return the claims of other sources, and whether one has yet to see this commit."""
        return OtherSources(
            claimant=lambda key: other_claimant(self._controller, state, key),
            exists=lambda name: name in self._controller.store,
            is_behind=is_behind,
        )

    def _context(self, state: SourceState, spec: SourceSpec) -> SyncContext:
        identity = self._controller.store.identity(state)
        return SyncContext(state, spec, self._controller.cluster.acting_as(identity))

    async def _sync(self, state: SourceState, spec: SourceSpec, fetched: Fetched) -> SourceState:
        controller, memory = self._controller, state.memory
        context = self._context(state, spec)
        # An approval by annotation is as good as a line in the message.
        message = f"{fetched.message}\n{ALLOW_PRUNE}" if state.allows_prune else fetched.message
        run = _Run(
            fetched,
            Revision.of(fetched.snapshot, fetched.revision, message, memory.desired),
            self._unobserved(),
            memory,
        )
        context.fresh = frozenset(filter(None, run.revision.generated.values()))
        claims = state.claims
        try:
            marks = await _application_marks(controller.cluster, spec, fetched, controller.argocd)
            options = PlanOptions(state.key, controller.argocd, marks)
            async with self._progress(context, fetched):
                plan = await self._execute(context, run, options)
            # Other sources must know what this one gives up before it is deleted.
            claims = Claims(plan.claims, frozenset())
            context.state = controller.store.put(replace(state, claims=claims))
            match plan.prune:
                case PrunePostponed(is_for_others=True):
                    for other in self._behind(context, fetched):
                        if controller.store.trigger(other.name, Trigger.POLL):
                            controller.request(other.key, Trigger.SYNC)
                case Prune() as prune:
                    run.prune = prune
                    wake_heirs(controller, context.state, prune.candidates)
                    run.after += await self._pruner.execute(context, prune)
                case PrunePostponed() | None:
                    pass
            with controller.observer.step(state.name, "look"):
                report = await self._health.check(
                    context.cluster,
                    plan.current,
                    _merged(state.generations, context.generations),
                    _merged(state.healthy, context.healthy),
                )
            context.healthy |= report.healthy
            run.after += report.result
            missing = await self._permissions.explain(
                run.result,
                controller.store.identity(state),
                plan.desired.values(),
                prunes=spec.prune,
            )
            result = await self._diagnoser.described(
                state, fetched, missing + run.result, report.degraded
            )
        except KroGitopsError as error:
            fault = Fault(error.code, error.full_text)
            result = run.result + context.partial + SyncResult(failures=(fault,))
            if isinstance(error, UserError):
                claims = replace(claims, coming=frozenset())  # until something is changed
        return self._next_state(context, run, claims, result)

    # Observe, plan, execute

    async def _execute(self, context: SyncContext, run: _Run, options: PlanOptions) -> SourcePlan:
        """Plan and execute stage after stage; return the plan of which nothing is left."""
        state, fetched = context.state, run.fetched
        name, observer = state.name, self._controller.observer
        while True:
            with observer.step(name, "plan"):
                now, is_behind = asyncio.get_running_loop().time(), self._behind(context, fetched)
                run.postponed = (
                    postpone(state.postponed, fetched.commit.id, now) if is_behind else None
                )
                is_postponed = run.postponed is not None and not run.postponed.is_over(now)
                others = self._others(state, is_behind=is_postponed)
                plan = run.plan = plan_source(
                    run.revision,
                    run.observed,
                    context.inventory,
                    context.spec,
                    others,
                    options,
                    run.memory,
                    run.done,
                )
            run.memory = replace(run.memory, desired=_merged(run.memory.desired, plan.desired))
            if plan.needs:
                with observer.step(name, "compare"):
                    run.observed = await self._observe(context, run.observed, plan)
                continue
            stage = plan.pending(run.done)
            executed = plan.executed(run.done)
            for each in executed[len(run.done) :]:
                self._executor.record(context, each.plan, run.memory)
            run.done = executed
            if stage is None:
                with observer.step(name, "inventory"):
                    await self._controller.inventories.write(
                        context.state.source, context.inventory
                    )
                return plan
            result = await self._executor.execute(context, stage, run.memory)
            run.done = (*run.done, ExecutedStage(stage, result))
            completed = plan.completed(stage, result, context.inventory)
            if completed is not None:
                run.plan = completed
                return completed

    async def _observe(
        self, context: SyncContext, observed: Observed, plan: SourcePlan
    ) -> Observed:
        """Observe what a plan needs to go on."""
        needs, controller = plan.needs, self._controller
        scopes: dict[Kind, bool | None] = {}
        for kind in needs.kinds:
            try:
                scopes[kind] = (await controller.discovery.resource_of(kind)).namespaced
            except NotServed:
                scopes[kind] = None
        served = {kind for kind, scope in scopes.items() if scope is not None}
        watched = await controller.live.sync(served, _SYNC_TIMEOUT)

        async def read(desired: Desired) -> tuple[Key, KubeObject | KroGitopsError | None]:
            try:
                return desired.key, await context.cluster.find(desired.ref)
            except KroGitopsError as error:
                return desired.key, error

        found = dict(await each_of(needs.objects, read))
        recorded = await self._pruner.observe(context, needs.recorded) if needs.recorded else {}
        instances = await self._pruner.count(needs.counted) if needs.counted else {}
        return replace(
            observed,
            namespaced={**observed.namespaced, **scopes},
            unwatched=observed.unwatched | (served - watched),
            read={**observed.read, **found},
            recorded={**observed.recorded, **recorded},
            instances={**observed.instances, **instances},
        )

    def _behind(self, context: SyncContext, fetched: Fetched) -> list[SourceState]:
        """Return the sources of the same ref that have not fetched this commit."""
        return [
            other
            for other in same_ref(self._controller, context.state, context.spec)
            if other.fetched is None or other.fetched.commit.id != fetched.commit.id
        ]

    # Result

    def _next_state(
        self, context: SyncContext, run: _Run, claims: Claims, result: SyncResult
    ) -> SourceState:
        state, plan, inventory = context.state, run.plan, context.inventory
        definitions = instances = 0
        kind, is_instance = None, False
        for entry in inventory:
            if entry.ref.kind is not kind:
                kind = entry.ref.kind
                is_instance = self._controller.engine.is_instance(kind)
            definitions += entry.stage == Stage.DEFINITIONS.name
            instances += is_instance
        result = replace(
            result,
            waiting=tuple(dict.fromkeys(result.waiting)),
            objects=len(inventory),
            definitions=definitions,
            instances=instances,
        )
        # Only of this revision: what a file had before would never be dropped.
        desired = {
            item: found
            for item in run.fetched.snapshot.items
            if (found := run.memory.desired.get(item)) is not None
        }
        keeps = [step for stage in plan.stages for step in stage.keeps] if plan else []
        memory = Memory(
            desired,
            {step.desired.item: step for step in keeps if step.live is not None},
            state.memory.established | context.established,
        )
        handovers = state.handovers
        if run.prune is not None:
            now, handed_over = datetime.now(UTC), run.prune.candidates.handed_over
            keys = [key_of(ref) for ref, _ in handed_over]
            handovers = {key: state.handovers.get(key, now) for key in keys}
        return replace(
            state,
            synced=run.fetched,
            synced_generation=state.generation,
            result=result,
            current=plan.current if plan else (),
            claims=claims,
            memory=memory,
            generations=_merged(state.generations, context.generations),
            healthy=_merged(state.healthy, context.healthy),
            lingering=self._pruner.lingering(run.prune.plan) if run.prune else frozenset(),
            postponed=run.postponed,
            handovers=handovers,
        )

    # Progress

    @asynccontextmanager
    async def _progress(self, context: SyncContext, fetched: Fetched) -> AsyncIterator[None]:
        """Report from time to time how far a sync is that will take a while."""
        state, changes = context.state, 0
        for item in fetched.snapshot.items:
            known = state.memory.desired.get(item)
            if known is not None:
                entry = state.inventory.find(known.key)
            else:
                places = (item.ref.namespace or state.key.namespace, "")
                keys = (key_of(replace(item.ref, namespace=place)) for place in places)
                entry = next((found for key in keys if (found := state.inventory.find(key))), None)
            # Other content than was applied last.
            changes += entry is None or entry.hash != item.digest
            if changes > _REPORTED_CHANGES:
                break
        else:
            yield
            return
        reporting = asyncio.create_task(self._report_progress(context, fetched))
        try:
            yield
        finally:
            reporting.cancel()
            await asyncio.wait((reporting,))  # it must not write after what follows

    async def _report_progress(self, context: SyncContext, fetched: Fetched) -> None:
        text = f"applying {fetched.revision}"
        while True:
            report = self._reporter.draft(context.state, Phase.APPLYING)
            report.result = SyncResult(objects=len(fetched.snapshot.items), ready=context.done)
            report.set_condition(status.READY, UNKNOWN, "Progressing", text)
            report.set_condition(status.RECONCILING, TRUE, "Progressing", text)
            with suppress(KroGitopsError):
                await self._reporter.write(context.state, report)
            await asyncio.sleep(_PROGRESS_INTERVAL)


async def _application_marks(
    reader: Reader, spec: SourceSpec, fetched: Fetched, argocd: ArgoCD
) -> Marker:
    """
    Return how objects are marked so that an Argo CD application shows them, though we apply them.

    The application is read before every sync: one that syncs something else by itself would undo
    what we apply, and is rejected with a RefusedError.
    """
    tracking = spec.tracking
    if tracking.mode is not TrackingMode.BRIDGE:
        return no_marks
    namespace, _, name = tracking.application.rpartition("/")
    place = namespace or tracking.argocd_namespace
    application = await reader.find(ObjectRef(_APPLICATION, place, name))
    revision = "" if spec.ref == WantedRef() else fetched.chosen.name
    why = application_conflict(application, url=spec.url, revision=revision, paths=spec.paths)
    if why or application is None:
        raise RefusedError("bridge-refused", f"application {place}/{name}: {why}")

    def marks(ref: ObjectRef, annotations: Mapping[str, str]) -> TrackingMetadata:
        return argocd_metadata(
            application,
            ref,
            annotations,
            argocd=argocd,
            argocd_namespace=tracking.argocd_namespace,
        )

    return marks


def _merged(old: Mapping[_K, _V], new: Mapping[_K, _V]) -> Mapping[_K, _V]:
    return {**old, **new} if new else old
