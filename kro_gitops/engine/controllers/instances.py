"""
Reconciles an instance: observe, plan, execute, report.

The live state is known from watches; a pass over the graph returns the steps to execute. An
instance that is in the desired state costs no request. Every reconcile ends with a report.
"""

import asyncio
import logging
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from math import inf

from kro_gitops.control.outcome import DONE, Result
from kro_gitops.control.workqueue import WorkItem
from kro_gitops.engine.adoption import NotAdopted, may_adopt
from kro_gitops.engine.applyset import Inventory, has_inventory
from kro_gitops.engine.authority import Authority
from kro_gitops.engine.child_counts import ChildCounter, ChildCounts
from kro_gitops.engine.controllers.applier import Applier, last_writer
from kro_gitops.engine.controllers.children_health import ChildrenHealthChecker
from kro_gitops.engine.controllers.context import EngineContext, WriteContext
from kro_gitops.engine.controllers.deletion import DeletionReconciler
from kro_gitops.engine.controllers.evaluation_turns import (
    Evaluation,
    EvaluationLimitExceeded,
    EvaluationLimits,
    EvaluationTurns,
)
from kro_gitops.engine.controllers.external_objects import ExternalReader
from kro_gitops.engine.controllers.find_children import ChildFinder
from kro_gitops.engine.controllers.lineage import PlannedChildren
from kro_gitops.engine.controllers.prune_gate import PruneGate
from kro_gitops.engine.controllers.pruning import ChildPruner
from kro_gitops.engine.controllers.status_writer import InstanceReport, StatusWriter, pass_status
from kro_gitops.engine.controllers.watches import Watches
from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.engine.instance_metadata import (
    has_finalizer,
    held_text,
    inventory_of,
    is_deleting,
    is_managed,
    is_suspended,
    managed_metadata,
)
from kro_gitops.engine.kinds import DEFINITION_KIND
from kro_gitops.engine.plan.children import KRO_LEVEL, Family, Rules, is_child_of, is_same_desire
from kro_gitops.engine.plan.drift import DriftRules
from kro_gitops.engine.plan.evaluation import Bounds
from kro_gitops.engine.plan.instance import Pass
from kro_gitops.engine.plan.knowledge import LiveKnowledge
from kro_gitops.engine.plan.prune_limit import PRUNE_BLOCKED, PruneLimit
from kro_gitops.engine.plan.steps import Apply, Read, Select, Step
from kro_gitops.engine.served_kind import ServedKind
from kro_gitops.engine.status import (
    IS_MANAGED,
    IS_RESOLVED,
    SUSPENDED,
    PassResult,
    State,
    children_not_healthy,
    conditions_of,
    evaluation_stopped,
    not_managed,
    not_ready,
    not_resolved,
    summarize_in_slices,
    under_deletion,
    with_contested_children,
    without_definition,
)
from kro_gitops.engine.watchset import ObjectWatch, SelectorWatch, WatchRequest
from kro_gitops.errors import KroGitopsError, NotYet
from kro_gitops.kube.api import WriteOptions
from kro_gitops.metadata import INSTANCE_MANAGER, REVISION
from kro_gitops.settings.option import AdoptionPolicy, Readiness
from kro_gitops.tracking.stamp import Policy
from kube_objects.errors import RefusedError
from kube_objects.refs import KubeObject, ObjectRef

log = logging.getLogger(__name__)

_APPLY_METADATA = WriteOptions(manager=INSTANCE_MANAGER, force=True)
_OWNER_RETRY_DELAY = 1.0  # seconds until the authority of an instance is decided again
_REFUSED_RETRY_DELAY = 60.0  # seconds; changes of sources and of the instance wake it before
# An instance whose expressions took too long waits for this many times as long, doubled each time.
_PENALTY_FACTOR = 10
_MAX_PENALTY = 600.0  # seconds
_MAX_RETRY_DELAY = 30.0  # seconds: the longest pause before children that failed are tried again


@dataclass(frozen=True, slots=True)
class InstanceSettings:
    """Settings of the platform; times in seconds."""

    version: str = KRO_LEVEL
    tracking: Policy = field(default_factory=Policy)
    adoption: AdoptionPolicy = AdoptionPolicy.REFUSE
    interval: float = 3.0
    evaluation: EvaluationLimits = field(default_factory=EvaluationLimits)
    collection_size: int = 1000
    sync_limit: float = 10.0
    manual_managers: frozenset[str] = frozenset()  # more field managers that stand for a person
    reports_all_conditions: bool = False  # an Event for every condition, not only Ready
    readiness: Readiness = Readiness.KRO  # unless a definition says otherwise
    prune_limit: PruneLimit | None = None  # of instances that are not from a source
    retains_claims: bool = False  # PersistentVolumeClaims stay unless their template says Delete


@dataclass(frozen=True, slots=True)
class _Penalty:
    """An instance whose expressions took too long, and until when they are not evaluated again."""

    until: float
    count: int
    generation: int
    graph: Graph

    def is_for(self, instance: KubeObject, graph: Graph) -> bool:
        """Return whether neither the spec nor the definition has changed."""
        return graph is self.graph and instance["metadata"].get("generation", 0) == self.generation


@dataclass(slots=True)
class _Session:
    """One reconcile of one instance."""

    report: InstanceReport
    context: WriteContext
    graph: Graph
    inventory: Inventory
    evaluation: Evaluation
    drift: DriftRules
    is_managed: bool = False  # the instance has its metadata, with this inventory
    watched: set[WatchRequest] = field(default_factory=set)
    is_unwatched: bool = False  # a deletion is in progress that no watch will report
    held: str = ""  # children that wait for approval, as the annotation has them
    repair_delay: float = 0.0  # seconds until a child may be repaired; 0: none waits


class InstanceReconciler:
    """Applies the children of instances, prunes them and reports the outcome."""

    def __init__(
        self,
        engine: EngineContext,
        settings: InstanceSettings,
        watches: Watches,
        gate: PruneGate,
        counter: ChildCounter,
    ) -> None:
        self._cluster = engine.cluster
        self._observer = engine.observer
        self._authorities = engine.authorities
        self._lineage = PlannedChildren(watches)
        self._settings = settings
        self._watches = watches
        self._finder = ChildFinder(watches, engine.discovery)
        self._applier = Applier(watches, engine.observer, settings.manual_managers)
        self._externals = ExternalReader(engine.cluster, watches)
        self._status_writer = StatusWriter(
            engine.cluster,
            watches,
            engine.observer,
            engine.events,
            reports_all_conditions=settings.reports_all_conditions,
        )
        self._deletions = DeletionReconciler(
            engine.cluster,
            watches,
            self._finder,
            self._applier,
            self._status_writer,
            counter,
            retains_claims=settings.retains_claims,
        )
        self._gate = gate
        self._counter = counter
        self._pruner = ChildPruner(
            self._finder,
            self._applier,
            self._lineage,
            self._status_writer,
            gate,
            counter,
            settings.prune_limit,
            retains_claims=settings.retains_claims,
        )
        self._children = Rules(
            settings.version, settings.tracking, retains_claims=settings.retains_claims
        )
        self.turns = EvaluationTurns(settings.evaluation)
        self._knowledge = LiveKnowledge(watches)
        self.health = ChildrenHealthChecker(watches, settings.readiness)
        watches.router.health_matters = self.health.needs_reconcile
        self._failures: dict[ObjectRef, int] = {}
        self._penalties: dict[ObjectRef, _Penalty] = {}
        self._new: set[ObjectRef] = set()  # seen since their creation, and not yet ready
        self._undecided: dict[ObjectRef, float] = {}  # since when the authority is not known

    async def reconcile(self, work: WorkItem[ObjectRef]) -> Result:
        """Reconcile an instance as far as possible now."""
        key, router = work.key, self._watches.router
        instance, served = self._watches.instance(key), self._watches.served_kinds.get(key.kind)
        if instance is None or served is None:
            self._failures.pop(key, None)
            self._new.discard(key)
            self._undecided.pop(key, None)
            self._penalties.pop(key, None)
            self.health.forget(key)
            self._deletions.forget(key)
            self._lineage.forget(key)
            self._gate.forget(key)
            self._applier.contested.forget(key)
            router.watch_set.forget(key)
            if served is not None:
                self._observer.instance_gone(key, served.plural)
            last = router.lost.get(key) if served is not None else None
            if last is None:
                return DONE
            # Delete what is left of an instance that was removed without our finalizer.
            try:
                authority = self._authorities.authority_of(last, self._lineage)
            except NotYet:
                return Result(_OWNER_RETRY_DELAY)
            except RefusedError as error:
                log.warning("children of a lost instance stay", extra={"error": error.message})
                return DONE
            context = self._context_for(last, key, authority)
            return await self._deletions.delete_lost(last, context, self._settings.interval)
        router.own_writes.begin(key)
        try:
            return await self._reconcile(instance, served, work)
        finally:
            self._gate.reconciled(served, key)
            if router.own_writes.end(key):
                router.wake(key)

    async def _reconcile(
        self, instance: KubeObject, served: ServedKind, work: WorkItem[ObjectRef]
    ) -> Result:
        now = datetime.now(UTC)
        report = InstanceReport(work.key, instance, served, conditions_of(instance, now), now)
        try:
            authority = self._authorities.authority_of(instance, self._lineage)
        except NotYet as error:
            # Reported only after a while: at start-up, parents are planned one by one.
            clock = asyncio.get_running_loop().time()
            waited = clock - self._undecided.setdefault(work.key, clock)
            if waited >= self._settings.sync_limit and not is_deleting(instance):
                await self._report_unwatched(report, error)
            return Result(_OWNER_RETRY_DELAY)
        except RefusedError as error:
            return await self._report_refused(report, error)
        self._undecided.pop(work.key, None)
        context = self._context_for(instance, work.key, authority)
        if is_deleting(instance):
            return await self._deletions.reconcile(report, context, self._settings.interval)
        if served.graph is None:
            if not served.problem:  # its definition is gone: its children stay as they are
                report.set(without_definition(served.definition))
                await self._status_writer.write_conditions(report)
                return DONE
            report.set(not_resolved(served.problem))
            self._observer.graph_resolved(report.key, served.plural, "failed")
            await self._status_writer.write_error(report)
            return DONE  # queued when there is a graph
        try:
            await self._watches.wait_for_caches(served, self._settings.sync_limit)
        except NotYet as error:
            return await self._report_unwatched(report, error)
        self._observer.graph_resolved(work.key, served.plural, "success")
        try:
            inventory = inventory_of(instance)
        except RefusedError as error:
            return await self._report_unmanaged(report, error)
        penalty = self._penalties.get(work.key)
        if penalty is not None and penalty.is_for(instance, served.graph):
            left = penalty.until - asyncio.get_running_loop().time()
            if left > 0:
                return Result(left)
        try:
            drift = served.drift.for_instance(instance, self._settings.adoption)
        except RefusedError as error:
            report.set(not_ready(f"{error.message}; {error.hint}"))
            await self._status_writer.write_error(report)
            return DONE  # queued when the annotation changes
        evaluation = self.turns.begin(work.key.namespace or work.key.kind, work.key.kind)
        session = _Session(report, context, served.graph, inventory, evaluation, drift)
        session.held = held_text(instance)
        try:
            return await self._advance(session)
        except EvaluationLimitExceeded as error:
            return await self._report_stopped(session, error)
        finally:
            self._observer.evaluated(work.key, served.plural, evaluation.seconds)

    async def _advance(self, session: _Session) -> Result:
        report = session.report
        try:
            if is_suspended(report.instance):
                await self._plan(session)  # its nested instances are not suspended with it
                await self._manage(session, session.inventory)
                for condition in (IS_MANAGED, IS_RESOLVED, SUSPENDED):
                    report.set(condition)
                await self._status_writer.write_conditions(report)
                return DONE
            run = await self._execute(session)
        except _MetadataNotWritten as error:
            return await self._report_unmanaged(report, error.cause)
        except NotYet as error:
            return await self._report_unwatched(report, error)
        self._watches.router.watch_set.keep_only(report.key, session.watched)
        result = await self._conclude(session, run)
        self._penalties.pop(report.key, None)
        return result

    # Execute

    async def _execute(self, session: _Session) -> Pass:
        """Execute the plan until no step is left."""
        run, steps = await self._plan(session)
        seconds = session.evaluation.seconds
        if await self._manage(session, session.inventory | run.projection()):
            # Expressions may read what was written just now.
            run, steps = await self._plan(session)
        session.report.set(IS_MANAGED)
        session.report.set(IS_RESOLVED)
        while steps:
            await self._manage(session, session.inventory | run.projection())
            if len(steps) == 1:
                await self._execute_step(session, run, steps[0])
            else:
                async with asyncio.TaskGroup() as group:
                    for step in steps:
                        group.create_task(self._execute_step(session, run, step))
            steps = await session.evaluation.run(run.advance_in_slices())
            self._record_children(session, run)
        self._observer.passed(run, seconds)
        return run

    async def _plan(self, session: _Session) -> tuple[Pass, tuple[Step, ...]]:
        """Begin a pass; return it, and its first steps."""
        instance = session.report.instance
        served = session.report.served
        family = Family(instance, self._children, served.source_revision, served.deletion_policy)
        evaluation = session.evaluation
        bounds = Bounds(self._settings.collection_size, evaluation.budget, evaluation.is_slice_over)
        run = Pass(session.graph, instance, family, self._knowledge, bounds, session.drift)
        steps = await evaluation.run(run.advance_in_slices())
        self._record_children(session, run)
        return run, steps

    def _record_children(self, session: _Session, run: Pass) -> None:
        self._lineage.record(session.report.instance, run.targets(), is_complete=run.is_complete)

    async def _manage(self, session: _Session, inventory: Inventory) -> bool:
        """Apply the metadata that an instance needs; return whether it had to be written."""
        report, held = session.report, session.held
        if session.is_managed and (inventory, held) == (
            session.inventory,
            held_text(report.instance),
        ):
            return False
        desired = managed_metadata(
            report.instance, report.served, inventory, self._settings.version, held
        )
        session.inventory, session.is_managed = inventory, False
        if is_managed(report.instance, desired):
            session.is_managed = True
            return False
        try:
            answer = await self._cluster.apply(desired, _APPLY_METADATA)
        except KroGitopsError as error:
            raise _MetadataNotWritten(error) from error
        report.instance = self._watches.cache_instance(report.key, answer)
        session.is_managed = True
        # Decide again: the response may contain what another client wrote meanwhile.
        authority = self._authorities.authority_of(report.instance, self._lineage)
        session.context = self._context_for(report.instance, report.key, authority)
        return True

    async def _execute_step(self, session: _Session, run: Pass, step: Step) -> None:
        context = session.context
        try:
            match step:
                case Apply() if delay := self._applier.contested.seconds_to_wait(step):
                    self._delay_repair(session, run, step, delay)
                case Apply():
                    report = session.report
                    is_repair = step.live is not None and is_same_desire(step.live, step.object)
                    # What people added is named by what removes it.
                    is_unknown = is_repair and not step.added
                    writer = await last_writer(context, step.ref) if is_unknown else ""
                    applied = await self._applier.apply(context, step)
                    run.applied(step, applied.object)
                    contested = self._applier.contested.applied(report.key, step, writer)
                    if contested:
                        self._observer.repair_delayed(step.ref.kind)
                        self._status_writer.record_event(
                            report, "Warning", "RepairDelayed", contested
                        )
                    if applied.kept:
                        self._status_writer.record_event(
                            report, "Warning", "NotRepaired", applied.kept
                        )
                    if applied.removed:
                        self._status_writer.record_event(
                            report, "Normal", "Repaired", applied.removed
                        )
                    elif is_repair and not contested:
                        who = f"field manager '{writer}'" if writer else "another field manager"
                        text = f"{step.ref} was changed by {who} and was applied again"
                        self._status_writer.record_event(report, "Normal", "Repaired", text)
                    elif not is_repair and not contested:
                        self._count(session, step)
                case Read():
                    session.watched.add(
                        ObjectWatch(step.ref.kind, step.ref.namespace, step.ref.name)
                    )
                    found = await self._externals.read(
                        context.key, step, context.authority.identity
                    )
                    run.found(step, found)
                case Select():
                    session.watched.add(SelectorWatch(step.kind, step.namespace, step.selector))
                    found = await self._externals.select(
                        context.key, step, context.authority.identity
                    )
                    run.found(step, found)
        except KroGitopsError as error:
            text = error.message
            if isinstance(error, NotAdopted) and error.owners:
                why = f"{error.ref} was created by {', '.join(error.owners)}"
                self._status_writer.record_event(session.report, "Warning", "NotAdopted", why)
            if isinstance(step, Read):
                text = step.failure(text)
            elif isinstance(step, Select):
                text = f"failed to list external collection {step.node}: {text}"
            run.failed(step, text)
        except OSError as error:
            run.failed(step, str(error) or type(error).__name__)

    def _delay_repair(self, session: _Session, run: Pass, step: Apply, delay: float) -> None:
        """Leave a child as it is, for now: another client keeps changing or deleting it."""
        session.repair_delay = min(delay, session.repair_delay or delay)
        if step.live is not None and is_child_of(step.live, run.family.id):
            run.applied(step, step.live)
        else:
            run.failed(step, self._applier.contested.text(session.report.key, step.ref))

    def _count(self, session: _Session, step: Apply) -> None:
        """Count a child that was created or changed, for the source of whose commit it is."""
        served, source = session.report.served, session.context.authority.source
        revision = (step.object["metadata"].get("annotations") or {}).get(REVISION, "")
        if not source or (revision == served.source_revision and served.source):
            source, revision = served.source, served.source_revision
        is_new = step.live is None
        self._counter.add(source, revision, ChildCounts(created=is_new, changed=not is_new))

    # Report

    async def _conclude(self, session: _Session, run: Pass) -> Result:
        """Prune after a complete pass, and write the status."""
        report, evaluation = session.report, session.evaluation
        result = await evaluation.run(summarize_in_slices(run))
        # Also children that need no write: the limits may be narrower than when they were applied.
        limits = session.context.authority.rejection_of
        rejected = [why for step in run.targets() if (why := limits(step.ref))]
        problem = None
        if rejected and not result.failures:
            result = PassResult(State.ERROR, not_ready("; ".join(rejected)), tuple(rejected))
        elif run.is_complete:
            problem = await self._prune(session, run)
        else:
            await self._pruner.note(report, session.context, session.inventory, run)
        if problem is not None:
            result = PassResult(result.state, not_ready(problem))
        health = await self.health.check(session.context, report.served, report.instance)
        report.set_health(health)
        is_active = result.state is State.ACTIVE
        if health is not None and is_active and self.health.decides_ready(report.served):
            result = children_not_healthy(health)
        contested, until_stable = self._applier.contested.texts(report.key)
        report.set(with_contested_children(result.condition, contested))
        status = await evaluation.run(pass_status(report, run, result))
        await self._status_writer.write_pass(report, status)
        for warning in run.family.warnings:
            self._status_writer.record_event(
                report, "Warning", "TrackingOverridden", warning.summary
            )
        if result.state is State.ACTIVE:
            self._new.discard(report.key)
        delay = session.repair_delay or until_stable
        after = Result(delay) if delay else DONE
        if result.failures or problem is not None or session.is_unwatched:
            later = self._later(report.key)
            return min(later, after, key=lambda each: each.after or inf)
        self._failures.pop(report.key, None)
        return after

    async def _prune(self, session: _Session, run: Pass) -> str | None:
        """Delete children that are no longer desired; return what is in the way, if anything."""
        report, served = session.report, session.report.served
        definition = ObjectRef(DEFINITION_KIND, "", served.definition)
        limit = self._authorities.definition_limit(definition, served.source)
        pruned = await self._pruner.prune(report, session.context, session.inventory, run, limit)
        session.is_unwatched = pruned.is_unwatched
        if pruned.is_waiting:
            return None  # what was held before still is
        if pruned.hold is None:
            session.held = ""
            report.conditions.drop(PRUNE_BLOCKED)
        elif pruned.condition is not None:
            session.held = pruned.hold.held.to_text()
            former, text = report.conditions.find(PRUNE_BLOCKED), pruned.condition.message or ""
            report.set(pruned.condition)
            if former is None or former.message != text:
                self._status_writer.record_event(report, "Warning", PRUNE_BLOCKED, text)
        # Only now that the last of them is gone may the inventory shrink.
        inventory = run.inventory() if pruned.is_clean else session.inventory
        try:
            await self._manage(session, inventory)
        except _MetadataNotWritten as error:
            log.warning("inventory not written", extra={"error": error.cause.message})
            return None if pruned.hold is None else f"holding children: {error.cause.message}"
        return pruned.problem

    # Other ways out

    async def _report_refused(self, report: InstanceReport, error: RefusedError) -> Result:
        """Report that nothing is done for an instance; a change of its source wakes it."""
        self._watches.router.watch_set.keep_only(report.key, set())
        if is_deleting(report.instance):
            report.set(under_deletion(f"deletion blocked: {error.message}"))
            await self._status_writer.write_deleting(report)
            self._status_writer.record_event(report, "Warning", "DeletionBlocked", error.message)
        else:
            report.set(not_ready(f"{error.message}; {error.hint}"))
            await self._status_writer.write_error(report)
        return Result(_REFUSED_RETRY_DELAY)

    async def _report_stopped(self, session: _Session, error: EvaluationLimitExceeded) -> Result:
        """Report that the expressions took too long; children stay as they are."""
        report = session.report
        former = self._penalties.get(report.key)
        count = 0
        if former is not None and former.is_for(report.instance, session.graph):
            count = former.count + 1
        delay = min(error.limit * _PENALTY_FACTOR * 2 ** min(count, 10), _MAX_PENALTY)
        until = asyncio.get_running_loop().time() + delay
        generation = report.instance["metadata"].get("generation", 0)
        self._penalties[report.key] = _Penalty(until, count, generation, session.graph)
        log.warning(
            "evaluation stopped",
            extra={"key": str(report.key), "seconds": error.limit, "retry_after": delay},
        )
        self._observer.evaluation_stopped(report.key, report.served.plural)
        report.set(evaluation_stopped(f"{error.message}; {error.hint}"))
        await self._status_writer.write_error(report)
        reason = report.conditions.root.reason or ""
        self._status_writer.record_event(report, "Warning", reason, error.message)
        return Result(delay)

    async def _report_unwatched(self, report: InstanceReport, error: NotYet) -> Result:
        """Report that children cannot be watched, so that their status is not known."""
        report.set(not_ready(error.message))
        await self._status_writer.write_error(report)
        return self._later(report.key)

    async def _report_unmanaged(self, report: InstanceReport, error: KroGitopsError) -> Result:
        text = f"finalizer/labeling failed: {error.message}"
        report.set(not_managed(text))
        await self._status_writer.write_conditions(report)
        raise error

    def _later(self, key: ObjectRef) -> Result:
        """Try again after a pause that grows with every failure."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        interval = self._settings.interval
        if not interval:
            return DONE
        return Result(min(interval * 2 ** min(failures - 1, 10), max(interval, _MAX_RETRY_DELAY)))

    def _context_for(
        self, instance: KubeObject, key: ObjectRef, authority: Authority
    ) -> WriteContext:
        if not has_finalizer(instance) and not has_inventory(instance):
            self._new.add(key)
        return WriteContext(
            key,
            self._cluster.acting_as(authority.identity),
            authority,
            partial(may_adopt, self._settings.adoption, instance),
            key in self._new,
        )


class _MetadataNotWritten(Exception):  # noqa: N818 - carries an error out of a reconcile
    """The metadata of the instance could not be written."""

    def __init__(self, cause: KroGitopsError) -> None:
        super().__init__(str(cause))
        self.cause = cause
