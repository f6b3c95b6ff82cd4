"""
Reconciles an instance: observe, plan, execute, report.

What is there is known from watches; a pass over the graph says what to do, as far as it can be
known in one go. An instance that is as it should be costs no request. Every way out reports.
"""

import asyncio
import logging
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from kro_gitops.control.outcome import DONE, Result
from kro_gitops.control.workqueue import WorkItem
from kro_gitops.engine.applyset import Inventory, has_inventory
from kro_gitops.engine.controllers.applier import (
    Applier,
    delete_each,
    has_adopt_annotation,
    target_of,
)
from kro_gitops.engine.controllers.context import EngineContext, WriteContext
from kro_gitops.engine.controllers.deadline import EvaluationDeadline
from kro_gitops.engine.controllers.deletion import DeletionReconciler
from kro_gitops.engine.controllers.external_objects import ExternalReader
from kro_gitops.engine.controllers.find_children import ChildFinder
from kro_gitops.engine.controllers.status_writer import InstanceReport, StatusWriter
from kro_gitops.engine.controllers.watches import Watches
from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.engine.instance_metadata import (
    has_finalizer,
    inventory_of,
    is_deleting,
    is_managed,
    managed_metadata,
)
from kro_gitops.engine.plan.children import KRO_LEVEL, Family, Rules, is_same_desire
from kro_gitops.engine.plan.evaluation import Bounds
from kro_gitops.engine.plan.instance import Pass
from kro_gitops.engine.plan.knowledge import LiveKnowledge
from kro_gitops.engine.plan.steps import Apply, Read, Select, Step
from kro_gitops.engine.served_kind import ServedKind
from kro_gitops.engine.status import (
    IS_MANAGED,
    IS_RESOLVED,
    SUSPENDED,
    PassResult,
    State,
    conditions_of,
    is_suspended,
    not_managed,
    not_ready,
    not_resolved,
    summarize,
)
from kro_gitops.engine.watchset import ObjectWatch, SelectorWatch, WatchRequest
from kro_gitops.errors import KroGitopsError, NotYet
from kro_gitops.kube.api import Identity, WriteOptions
from kro_gitops.metadata import INSTANCE_MANAGER, NODE_ID
from kro_gitops.tracking.stamp import Policy
from kube_objects.errors import RefusedError
from kube_objects.refs import KubeObject, ObjectRef

log = logging.getLogger(__name__)

_APPLY_METADATA = WriteOptions(manager=INSTANCE_MANAGER, force=True)
_OWNER_RETRY_DELAY = 1.0  # seconds until it is asked again whose an instance is
_MAX_RETRY_DELAY = 30.0  # seconds: the longest pause before children that failed are tried again


@dataclass(frozen=True, slots=True)
class InstanceSettings:
    """Settings of the platform; times in seconds."""

    version: str = KRO_LEVEL
    tracking: Policy = field(default_factory=Policy)
    adopts: bool = False
    interval: float = 3.0
    evaluation_limit: float = 0.05
    collection_size: int = 1000
    sync_limit: float = 10.0
    reports_all_conditions: bool = False  # an Event for every condition, not only Ready


@dataclass(slots=True)
class _Session:
    """One reconcile of one instance."""

    report: InstanceReport
    context: WriteContext
    graph: Graph
    inventory: Inventory
    is_managed: bool = False  # it carries what it must, with this inventory
    watched: set[WatchRequest] = field(default_factory=set)
    is_unwatched: bool = False  # something goes whose going nobody will tell


class InstanceReconciler:
    """Applies the children of instances, prunes them and reports the outcome."""

    def __init__(self, engine: EngineContext, settings: InstanceSettings, watches: Watches) -> None:
        self._cluster = engine.cluster
        self._observer = engine.observer
        self._owners = engine.owners
        self._settings = settings
        self._watches = watches
        self._finder = ChildFinder(watches, engine.discovery)
        self._applier = Applier(watches, engine.observer)
        self._externals = ExternalReader(engine.cluster, watches)
        self._status_writer = StatusWriter(
            engine.cluster,
            watches,
            engine.observer,
            engine.events,
            reports_all_conditions=settings.reports_all_conditions,
        )
        self._deletions = DeletionReconciler(
            engine.cluster, watches, self._finder, self._applier, self._status_writer
        )
        self._children = Rules(settings.version, settings.tracking)
        self._bounds = Bounds(
            settings.collection_size, EvaluationDeadline(settings.evaluation_limit).begin
        )
        self._knowledge = LiveKnowledge(watches)
        self._failures: dict[ObjectRef, int] = {}
        self._new: set[ObjectRef] = set()  # seen from their beginning, and not yet ready

    async def reconcile(self, work: WorkItem[ObjectRef]) -> Result:
        """Reconcile an instance as far as possible now."""
        key, watches = work.key, self._watches
        instance, served = watches.instance(key), self._watches.served_kinds.get(key.kind)
        if instance is None or served is None:
            self._failures.pop(key, None)
            self._new.discard(key)
            self._deletions.forget(key)
            self._watches.watch_set.forget(key)
            if served is not None:
                self._observer.instance_gone(key, served.plural)
            last = watches.lost.get(key) if served is not None else None
            if last is None:
                return DONE
            # Delete what is left of an instance that was removed without our finalizer.
            try:
                context = self._context_for(
                    last, key, self._owners.identity_of(last, watches.find_instance)
                )
            except NotYet:
                return Result(_OWNER_RETRY_DELAY)
            return await self._deletions.delete_lost(last, context, self._settings.interval)
        watches.own_writes.begin(key)
        try:
            return await self._reconcile(instance, served, work)
        finally:
            if watches.own_writes.end(key):
                watches.wake(key)

    async def _reconcile(
        self, instance: KubeObject, served: ServedKind, work: WorkItem[ObjectRef]
    ) -> Result:
        now = datetime.now(UTC)
        report = InstanceReport(work.key, instance, served, conditions_of(instance, now), now)
        try:
            # Asked now: when it was queued, the instance it belongs to may not have been seen.
            identity = self._owners.identity_of(instance, self._watches.find_instance)
        except NotYet as error:
            if not is_deleting(instance):
                await self._report_unwatched(report, error)
                return Result(_OWNER_RETRY_DELAY)
            identity = work.identity
        context = self._context_for(instance, work.key, identity)
        if is_deleting(instance):
            return await self._deletions.reconcile(report, context, self._settings.interval)
        if served.graph is None:
            if not report.served.problem:
                return DONE  # its definition is gone: nobody says any more what should be
            report.set(not_resolved(report.served.problem))
            self._observer.graph_resolved(report.key, report.served.plural, "failed")
            await self._status_writer.write_error(report)
            return DONE  # woken when there is a graph
        try:
            await self._watches.wait_for_caches(served, self._settings.sync_limit)
        except NotYet as error:
            return await self._report_unwatched(report, error)
        self._observer.graph_resolved(work.key, served.plural, "success")
        return await self._advance(report, context, served.graph)

    async def _advance(self, report: InstanceReport, context: WriteContext, graph: Graph) -> Result:
        try:
            inventory = inventory_of(report.instance)
        except RefusedError as error:
            return await self._report_unmanaged(report, error)
        session = _Session(report, context, graph, inventory)
        try:
            if is_suspended(report.instance):
                await self._manage(session, session.inventory)
                session.report.set(IS_MANAGED)
                session.report.set(IS_RESOLVED)
                session.report.set(SUSPENDED)
                await self._status_writer.write_conditions(session.report)
                return DONE
            run = await self._execute(session)
        except _MetadataNotWritten as error:
            return await self._report_unmanaged(report, error.cause)
        except NotYet as error:
            return await self._report_unwatched(report, error)
        self._watches.watch_set.keep_only(report.key, session.watched)
        result = summarize(run)
        problem = None
        if run.is_complete:
            problem = await self._prune(session, run)
        if problem is not None:
            result = PassResult(result.state, not_ready(problem))
        report.set(result.condition)
        await self._status_writer.write_pass(report, run, result)
        for warning in run.family.warnings:
            self._status_writer.record_event(
                report, "Warning", "TrackingOverridden", warning.summary
            )
        if result.failures or problem is not None or session.is_unwatched:
            return self._later(report.key)
        self._failures.pop(report.key, None)
        if result.state is State.ACTIVE:
            self._new.discard(report.key)
        return DONE

    # Carrying out

    async def _execute(self, session: _Session) -> Pass:
        """Execute the plan until no step is left."""
        began = time.perf_counter()
        run = self._pass(session)
        steps = run.advance()
        seconds = time.perf_counter() - began
        if await self._manage(session, session.inventory | run.projection()):
            # Expressions may read what was written just now.
            run = self._pass(session)
            steps = run.advance()
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
            steps = run.advance()
        self._observer.passed(run, seconds)
        return run

    def _pass(self, session: _Session) -> Pass:
        instance = session.report.instance
        family = Family(instance, self._children, session.report.served.source_revision)
        return Pass(session.graph, instance, family, self._knowledge, self._bounds)

    async def _manage(self, session: _Session, inventory: Inventory) -> bool:
        """Apply the metadata that an instance must carry; return whether it had to be written."""
        if session.is_managed and inventory == session.inventory:
            return False
        report = session.report
        wanted = managed_metadata(report.instance, report.served, inventory, self._settings.version)
        session.inventory, session.is_managed = inventory, False
        if is_managed(report.instance, wanted):
            session.is_managed = True
            return False
        try:
            answer = await self._cluster.apply(wanted, _APPLY_METADATA)
        except KroGitopsError as error:
            raise _MetadataNotWritten(error) from error
        report.instance = self._watches.cache_instance(report.key, answer)
        session.is_managed = True
        return True

    async def _execute_step(self, session: _Session, run: Pass, step: Step) -> None:
        context = session.context
        try:
            match step:
                case Apply():
                    run.made(step, await self._applier.apply(context, step))
                    report = session.report
                    if step.live is not None and is_same_desire(step.live, step.object):
                        text = (
                            f"{step.ref} was changed by another field manager and was applied again"
                        )
                        self._status_writer.record_event(report, "Normal", "Repaired", text)
                case Read():
                    session.watched.add(
                        ObjectWatch(step.ref.kind, step.ref.namespace, step.ref.name)
                    )
                    found = await self._externals.read(context.key, step, context.identity)
                    run.found(step, found)
                case Select():
                    session.watched.add(SelectorWatch(step.kind, step.namespace, step.selector))
                    found = await self._externals.select(context.key, step, context.identity)
                    run.found(step, found)
        except KroGitopsError as error:
            run.failed(step, _step_error(step, error))
        except OSError as error:
            run.failed(step, str(error) or type(error).__name__)

    # Concluding

    async def _prune(self, session: _Session, run: Pass) -> str | None:
        """Delete children that are no longer desired; return what is in the way, if anything."""
        exact = run.inventory()
        desired = {target_of(step.ref) for step in run.targets()}
        try:
            members, is_watched = await self._finder.members(session.context, session.inventory)
        except KroGitopsError as error:
            return f"list orphans failed: {error.message}"
        orphans = [obj for obj in members if target_of(ObjectRef.of(obj)) not in desired]
        if orphans:
            session.is_unwatched = not is_watched
            order = {name: index for index, name in enumerate(session.graph.order)}
            alive = [obj for obj in orphans if not is_deleting(obj)]
            alive.sort(key=lambda obj: order.get(_node_of(obj), len(order)), reverse=True)
            context = session.context
            try:
                missed = await delete_each(alive, lambda obj: self._applier.delete(context, obj))
            except KroGitopsError as error:
                return f"prune failed: {error.message}"
            for obj in alive:
                text = f"{ObjectRef.of(obj)} is no longer desired"
                self._status_writer.record_event(session.report, "Normal", "Pruned", text)
            return "prune encountered UID conflicts; retrying" if missed else None
        # Only now that the last of them is gone may the inventory shrink.
        try:
            await self._manage(session, exact)
        except _MetadataNotWritten as error:
            log.warning("inventory not shortened", extra={"error": error.cause.message})
        return None

    # Other ways out

    async def _report_unwatched(self, report: InstanceReport, error: NotYet) -> Result:
        """Report that children cannot be seen, so nothing can be said of them."""
        report.set(not_ready(error.message))
        await self._status_writer.write_error(report)
        return self._later(report.key)

    async def _report_unmanaged(self, report: InstanceReport, error: KroGitopsError) -> Result:
        text = f"finalizer/labeling failed: {error.message}"
        report.set(not_managed(text))
        await self._status_writer.write_conditions(report)
        raise error

    # The rest

    def _later(self, key: ObjectRef) -> Result:
        """Try again after a pause that grows with every failure."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        interval = self._settings.interval
        if not interval:
            return DONE
        return Result(min(interval * 2 ** min(failures - 1, 10), max(interval, _MAX_RETRY_DELAY)))

    def _context_for(
        self, instance: KubeObject, key: ObjectRef, identity: Identity | None
    ) -> WriteContext:
        cluster = self._cluster.acting_as(identity)
        if not has_finalizer(instance) and not has_inventory(instance):
            self._new.add(key)
        may_adopt = self._settings.adopts or has_adopt_annotation(instance)
        find, owners = self._watches.find_instance, self._owners
        return WriteContext(
            key,
            cluster,
            may_adopt,
            key in self._new,
            identity,
            lambda child: owners.refusal_of(instance, child, find),
        )


class _MetadataNotWritten(Exception):  # noqa: N818 - carries an error out of the work on an instance
    """The instance itself could not be written."""

    def __init__(self, cause: KroGitopsError) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _step_error(step: Step, error: KroGitopsError) -> str:
    match step:
        case Apply():
            return error.message
        case Read():
            ref = step.ref
            return f"external ref get {ref.kind} {ref.namespace}/{ref.name}: {error.message}"
        case Select():
            return f"failed to list external collection {step.node}: {error.message}"


def _node_of(obj: KubeObject) -> str:
    name: str = (obj["metadata"].get("labels") or {}).get(NODE_ID, "")
    return name
