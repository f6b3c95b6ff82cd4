"""
An instance: read, plan, carry out, report.

What is there is known from watches; a pass over the graph says what to do, as far as it can be
known in one go. An instance that is as it should be costs no request. Every way out reports.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from kro_gitops.control.outcome import DONE, Result
from kro_gitops.control.workqueue import WorkItem
from kro_gitops.engine.applyset import Inventory, has_inventory
from kro_gitops.engine.controllers.applier import (
    Applier,
    Target,
    WriteContext,
    allow_all_children,
    delete_each,
    has_adopt_annotation,
    target_of,
)
from kro_gitops.engine.controllers.deadline import EvaluationDeadline
from kro_gitops.engine.controllers.deletion import DeletionReconciler
from kro_gitops.engine.controllers.external_objects import ExternalReader
from kro_gitops.engine.controllers.find_children import ChildFinder
from kro_gitops.engine.controllers.observer import Observer
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
from kro_gitops.kube.api import Cluster, Identity, WriteOptions
from kro_gitops.metadata import INSTANCE_MANAGER, NODE_ID
from kro_gitops.tracking.stamp import Policy
from kube_objects.errors import RefusedError
from kube_objects.refs import Kind, KubeObject, ObjectRef

log = logging.getLogger(__name__)

_APPLY_METADATA = WriteOptions(manager=INSTANCE_MANAGER, force=True)
_OWNER_RETRY_DELAY = 1.0  # seconds until it is asked again whose an instance is
_MAX_RETRY_DELAY = 30.0  # seconds: the longest pause before children that failed are tried again


@dataclass(frozen=True, slots=True)
class InstanceSettings:
    """What a platform chose; times in seconds."""

    version: str = KRO_LEVEL
    tracking: Policy = field(default_factory=Policy)
    adopts: bool = False
    interval: float = 3.0
    evaluation_limit: float = 0.05
    collection_size: int = 1000
    sync_limit: float = 10.0


@dataclass(frozen=True, slots=True)
class Hands:
    """What it takes to work on instances."""

    cluster: Cluster
    watches: Watches
    membership: ChildFinder
    applier: Applier
    externals: ExternalReader
    deletions: DeletionReconciler
    reporter: StatusWriter
    observer: Observer
    refusal_of: Callable[[KubeObject, ObjectRef], str] = allow_all_children
    identity_of: Callable[[KubeObject], Identity | None] = lambda _: None


@dataclass(slots=True)
class _Session:
    """One reconcile of one instance."""

    account: InstanceReport
    errand: WriteContext
    graph: Graph
    inventory: Inventory
    is_managed: bool = False  # it carries what it must, with this inventory
    looking: set[WatchRequest] = field(default_factory=set)
    is_unwatched: bool = False  # something goes whose going nobody will tell


class InstanceReconciler:
    """Keeps the children of instances as they should be."""

    def __init__(
        self, hands: Hands, rules: InstanceSettings, servings: Mapping[Kind, ServedKind]
    ) -> None:
        self._hands = hands
        self._rules = rules
        self._servings = servings
        self._children = Rules(rules.version, rules.tracking)
        self._bounds = Bounds(
            rules.collection_size, EvaluationDeadline(rules.evaluation_limit).begin
        )
        self._knowledge = LiveKnowledge(hands.watches)
        self._failures: dict[ObjectRef, int] = {}
        self._new: set[ObjectRef] = set()  # seen from their beginning, and not yet ready

    async def reconcile(self, work: WorkItem[ObjectRef]) -> Result:
        """Bring an instance as far as it can come now."""
        key, watches = work.key, self._hands.watches
        instance, serving = watches.instance(key), self._servings.get(key.kind)
        if instance is None or serving is None:
            self._forget(key, serving)
            last = watches.lost.get(key) if serving is not None else None
            return await self._clear(last, key) if last is not None else DONE
        watches.attention.begin(key)
        try:
            return await self._reconcile(instance, serving, work)
        finally:
            if watches.attention.end(key):
                watches.wake(key)

    async def _reconcile(
        self, instance: KubeObject, serving: ServedKind, work: WorkItem[ObjectRef]
    ) -> Result:
        now = datetime.now(UTC)
        account = InstanceReport(work.key, instance, serving, conditions_of(instance, now), now)
        try:
            # Asked now: when it was queued, the instance it belongs to may not have been seen.
            identity = self._hands.identity_of(instance)
        except NotYet as error:
            if not is_deleting(instance):
                await self._report_unwatched(account, error)
                return Result(_OWNER_RETRY_DELAY)
            identity = work.identity
        errand = self._errand(instance, work.key, identity)
        if is_deleting(instance):
            return await self._hands.deletions.reconcile(account, errand, self._rules.interval)
        if serving.graph is None:
            return await self._report_unresolved(account)
        try:
            await self._hands.watches.known(serving, self._rules.sync_limit)
        except NotYet as error:
            return await self._report_unwatched(account, error)
        self._hands.observer.graph_resolved(work.key, serving.plural, "success")
        return await self._bring_on(account, errand, serving.graph)

    async def _bring_on(
        self, account: InstanceReport, errand: WriteContext, graph: Graph
    ) -> Result:
        try:
            inventory = inventory_of(account.instance)
        except RefusedError as error:
            return await self._report_unmanaged(account, error)
        session = _Session(account, errand, graph, inventory)
        try:
            if is_suspended(account.instance):
                return await self._suspend(session)
            run = await self._carry_out(session)
        except _MetadataNotWritten as error:
            return await self._report_unmanaged(account, error.cause)
        except NotYet as error:
            return await self._report_unwatched(account, error)
        self._hands.watches.looking.keep_only(account.key, session.looking)
        return await self._conclude(session, run)

    async def _clear(self, last: KubeObject, key: ObjectRef) -> Result:
        """Take down what is left of an instance that went without our leave."""
        try:
            errand = self._errand(last, key, self._hands.identity_of(last))
        except NotYet:
            return Result(_OWNER_RETRY_DELAY)
        return await self._hands.deletions.clear(last, errand, self._rules.interval)

    # Carrying out

    async def _carry_out(self, session: _Session) -> Pass:
        """Go through the graph until nothing more can be done."""
        began = time.perf_counter()
        run = self._pass(session)
        steps = run.advance()
        seconds = time.perf_counter() - began
        if await self._manage(session, session.inventory | run.projection()):
            # Expressions may read what was written just now.
            run = self._pass(session)
            steps = run.advance()
        session.account.set(IS_MANAGED)
        session.account.set(IS_RESOLVED)
        while steps:
            await self._manage(session, session.inventory | run.projection())
            if len(steps) == 1:
                await self._do(session, run, steps[0])
            else:
                async with asyncio.TaskGroup() as group:
                    for step in steps:
                        group.create_task(self._do(session, run, step))
            steps = run.advance()
        self._hands.observer.passed(run, seconds)
        return run

    def _pass(self, session: _Session) -> Pass:
        instance = session.account.instance
        family = Family(instance, self._children, session.account.serving.source_revision)
        return Pass(session.graph, instance, family, self._knowledge, self._bounds)

    async def _manage(self, session: _Session, inventory: Inventory) -> bool:
        """See to it that the instance carries what it must; say whether it had to be written."""
        if session.is_managed and inventory == session.inventory:
            return False
        account = session.account
        wanted = managed_metadata(account.instance, account.serving, inventory, self._rules.version)
        session.inventory, session.is_managed = inventory, False
        if is_managed(account.instance, wanted):
            session.is_managed = True
            return False
        try:
            answer = await self._hands.cluster.apply(wanted, _APPLY_METADATA)
        except KroGitopsError as error:
            raise _MetadataNotWritten(error) from error
        account.instance = self._hands.watches.cache_instance(account.key, answer)
        session.is_managed = True
        return True

    async def _do(self, session: _Session, run: Pass, step: Step) -> None:
        errand, hands = session.errand, self._hands
        try:
            match step:
                case Apply():
                    run.made(step, await hands.applier.apply(errand, step))
                    self._tell_repair(session.account, step)
                case Read():
                    session.looking.add(
                        ObjectWatch(step.ref.kind, step.ref.namespace, step.ref.name)
                    )
                    found = await hands.externals.read(errand.key, step, errand.identity)
                    run.found(step, found)
                case Select():
                    session.looking.add(SelectorWatch(step.kind, step.namespace, step.selector))
                    found = await hands.externals.select(errand.key, step, errand.identity)
                    run.found(step, found)
        except KroGitopsError as error:
            run.failed(step, _step_error(step, error))
        except OSError as error:
            run.failed(step, str(error) or type(error).__name__)

    def _tell_repair(self, account: InstanceReport, step: Apply) -> None:
        if step.live is not None and is_same_desire(step.live, step.object):
            text = f"{step.ref} was changed by another field manager and was applied again"
            self._hands.reporter.tell(account, "Normal", "Repaired", text)

    # Concluding

    async def _conclude(self, session: _Session, run: Pass) -> Result:
        account, verdict = session.account, summarize(run)
        trouble = None
        if run.is_complete:
            trouble = await self._prune(session, run)
        if trouble is not None:
            verdict = PassResult(verdict.state, not_ready(trouble))
        account.set(verdict.condition)
        await self._hands.reporter.passed(account, run, verdict)
        self._warn(account, run)
        if verdict.failures or trouble is not None or session.is_unwatched:
            return self._later(account.key)
        self._failures.pop(account.key, None)
        if verdict.state is State.ACTIVE:
            self._new.discard(account.key)
        return DONE

    async def _prune(self, session: _Session, run: Pass) -> str | None:
        """Delete children that are no longer desired; return what is in the way, if anything."""
        exact = run.inventory()
        desired = {target_of(step.ref) for step in run.targets()}
        try:
            members, is_watched = await self._hands.membership.members(
                session.errand, session.inventory
            )
        except KroGitopsError as error:
            return f"list orphans failed: {error.message}"
        orphans = [obj for obj in members if not _is_desired(obj, desired)]
        if orphans:
            session.is_unwatched = not is_watched
            return await self._delete_orphans(session, orphans)
        # Only now that the last of them is gone may the inventory shrink.
        try:
            await self._manage(session, exact)
        except _MetadataNotWritten as error:
            log.warning("inventory not shortened", extra={"error": error.cause.message})
        return None

    async def _delete_orphans(self, session: _Session, orphans: list[KubeObject]) -> str | None:
        order = {name: index for index, name in enumerate(session.graph.order)}
        alive = [obj for obj in orphans if not is_deleting(obj)]
        alive.sort(key=lambda obj: order.get(_node_of(obj), len(order)), reverse=True)
        errand = session.errand
        try:
            missed = await delete_each(alive, lambda obj: self._hands.applier.delete(errand, obj))
        except KroGitopsError as error:
            return f"prune failed: {error.message}"
        for obj in alive:
            text = f"{ObjectRef.of(obj)} is no longer desired"
            self._hands.reporter.tell(session.account, "Normal", "Pruned", text)
        return "prune encountered UID conflicts; retrying" if missed else None

    def _warn(self, account: InstanceReport, run: Pass) -> None:
        for problem in run.family.warnings:
            self._hands.reporter.tell(account, "Warning", "TrackingOverridden", problem.summary)

    # Other ways out

    async def _suspend(self, session: _Session) -> Result:
        await self._manage(session, session.inventory)
        session.account.set(IS_MANAGED)
        session.account.set(IS_RESOLVED)
        session.account.set(SUSPENDED)
        await self._hands.reporter.standing(session.account)
        return DONE

    async def _report_unresolved(self, account: InstanceReport) -> Result:
        if not account.serving.problem:
            return DONE  # its definition is gone: nobody says any more what should be
        account.set(not_resolved(account.serving.problem))
        self._hands.observer.graph_resolved(account.key, account.serving.plural, "failed")
        await self._hands.reporter.failing(account)
        return DONE  # woken when there is a graph

    async def _report_unwatched(self, account: InstanceReport, error: NotYet) -> Result:
        """Say that children cannot be seen, so nothing can be said of them."""
        account.set(not_ready(error.message))
        await self._hands.reporter.failing(account)
        return self._later(account.key)

    async def _report_unmanaged(self, account: InstanceReport, error: KroGitopsError) -> Result:
        text = f"finalizer/labeling failed: {error.message}"
        account.set(not_managed(text))
        await self._hands.reporter.standing(account)
        raise error

    # The rest

    def _later(self, key: ObjectRef) -> Result:
        """Try again after a pause that grows with every failure."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        interval = self._rules.interval
        if not interval:
            return DONE
        return Result(min(interval * 2 ** min(failures - 1, 10), max(interval, _MAX_RETRY_DELAY)))

    def _errand(
        self, instance: KubeObject, key: ObjectRef, identity: Identity | None
    ) -> WriteContext:
        cluster = self._hands.cluster.acting_as(identity)
        if not has_finalizer(instance) and not has_inventory(instance):
            self._new.add(key)
        may_adopt = self._rules.adopts or has_adopt_annotation(instance)
        refusal = partial(self._hands.refusal_of, instance)
        return WriteContext(key, cluster, may_adopt, key in self._new, identity, refusal)

    def _forget(self, key: ObjectRef, serving: ServedKind | None) -> None:
        self._failures.pop(key, None)
        self._new.discard(key)
        self._hands.deletions.forget(key)
        self._hands.watches.looking.forget(key)
        if serving is not None:
            self._hands.observer.instance_gone(key, serving.plural)


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


def _is_desired(obj: KubeObject, desired: set[Target]) -> bool:
    return target_of(ObjectRef.of(obj)) in desired
