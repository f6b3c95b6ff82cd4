"""
Executes one stage of a plan: dry run, inventory, apply, and the wait for the next stage.

All objects of a stage are dry-run first, so that every fault shows at once and one bad object does
not hold back the others. Fields that a schema does not have are rejected, not dropped. An object is
in the inventory before it is created.

Our own objects are applied with force, because that is how drift is corrected. Other objects are
applied without; the managedFields of the answer tell whether they existed before, and whose they
are.
"""

import asyncio
from dataclasses import dataclass, replace

from kro_gitops.errors import KroGitopsError, NotServed
from kro_gitops.kube.api import DeleteOptions, Propagation, WriteOptions
from kro_gitops.kube.responses import ApiError, Conflict, NotFound
from kro_gitops.metadata import SOURCE_MANAGER
from kro_gitops.source.controllers.context import ControllerContext, SyncContext, each_of
from kro_gitops.source.controllers.health import (
    HealthChecker,
    wait_established,
    wait_for_definitions,
)
from kro_gitops.source.plan.apply_errors import (
    explain,
    explain_conflict,
    is_denied,
    is_unknown_field,
)
from kro_gitops.source.plan.desired import Desired
from kro_gitops.source.plan.model import Memory, StagePlan, StageResult
from kro_gitops.source.plan.order import apply_key
from kro_gitops.source.plan.plan import must_be_established
from kro_gitops.source.plan.result import Fault, SyncResult
from kro_gitops.source.plan.stages import Stage
from kro_gitops.source.plan.steps import Apply, Replace, foreign_owner, replacement
from kube_objects.errors import RefusedError
from kube_objects.refs import KubeObject
from kube_objects.validation import validate

_SCHEMA_TIMEOUT = 10.0  # seconds for every API server to serve a schema that was just changed
_DELETION_TIMEOUT = 60.0  # seconds for an object to be gone that is created again
_ESTABLISHED_TIMEOUT = 30.0
_DEFINITION_TIMEOUT = 30.0
_POLL_INTERVAL = 0.05


@dataclass(frozen=True, slots=True)
class _Written:
    """What came of one object; it is applied, or the result says why not."""

    desired: Desired
    result: SyncResult
    is_applied: bool = True
    is_denied: bool = False


class StageExecutor:
    """Executes stages."""

    def __init__(self, controller: ControllerContext, health: HealthChecker) -> None:
        self._inventories = controller.inventories
        self._live = controller.live
        self._engine = controller.engine
        self._observer = controller.observer
        self._argocd = controller.argocd
        self._health = health

    def record(self, context: SyncContext, stage: StagePlan, known: Memory) -> None:
        """Record in the inventory what was found current, and is not known to be."""
        context.done += len(stage.keeps)
        for step in stage.keeps:
            if step.uid and known.kept.get(step.desired.item) is not step:
                context.inventory.put(step.desired.entry(step.uid))

    async def execute(self, context: SyncContext, stage: StagePlan, known: Memory) -> StageResult:
        """Apply what a stage has to apply, and wait for what the next one needs."""
        name = context.state.name
        self.record(context, stage, known)
        steps = sorted(stage.applies, key=lambda step: apply_key(step.desired.ref))
        written: list[_Written] = []
        if steps:
            with self._observer.step(name, "dry-run"):
                checked = await each_of(steps, lambda step: self._dry_run(context, step))
            written += [each for each in checked if isinstance(each, _Written)]
            passed = [each for each in checked if not isinstance(each, _Written)]
            with self._observer.step(name, "inventory"):
                # Record what is about to be created, without a uid, which is not known yet. Also
                # what is created again: under its former uid it would be taken for another
                # owner's, if the controller died before the new one is written.
                for step in passed:
                    entry = context.inventory.find(step.desired.key)
                    if entry is None or (entry.uid and step.changes_uid(entry.uid)):
                        context.inventory.put(step.desired.entry())
                await self._inventories.write(context.state.source, context.inventory)
            with self._observer.step(name, "apply"):
                written += await each_of(passed, lambda step: self._apply(context, step))
        result = context.partial = SyncResult.total(each.result for each in written)
        with self._observer.step(name, "inventory"):
            await self._inventories.write(context.state.source, context.inventory)
        current = [step.desired for step in stage.keeps]
        current += [each.desired for each in written if each.is_applied]
        denied = frozenset(each.desired.key for each in written if each.is_denied)
        waited = await self._wait_for_next_stage(context, stage, current, known)
        context.partial = SyncResult()
        return replace(waited, result=result + waited.result, denied=denied)

    async def _wait_for_next_stage(
        self, context: SyncContext, stage: StagePlan, current: list[Desired], known: Memory
    ) -> StageResult:
        """Wait for what the next stage needs of the objects of this one."""
        state, done = context.state, tuple(current)
        if stage.stage is Stage.NAMESPACES:
            by_ref = {each.ref: each for each in current if must_be_established(each, known)}
            late = await wait_established(context.cluster, by_ref, _ESTABLISHED_TIMEOUT)
            context.established |= {each.key for ref, each in by_ref.items() if ref not in late}
            faults = []
            for ref, why in late.items():
                error = KroGitopsError("not-ready", f"{ref} is not ready: {why}")
                faults.append(Fault.of_item(by_ref[ref].item, ref, error, lasting=False))
            return StageResult(done, SyncResult(failures=tuple(faults)))
        if stage.stage is Stage.DEFINITIONS:
            with self._observer.step(state.name, "wait"):
                live = {each.ref: self._live.find(each.ref) or {} for each in current}
                applied = {
                    ref: (found.get("metadata") or {}).get("generation") or 0
                    for ref, found in live.items()
                }
                verdicts = await wait_for_definitions(self._engine, applied, _DEFINITION_TIMEOUT)
            return StageResult(done, verdicts=verdicts)
        if not stage.gates_health:
            return StageResult(done)
        if len(current) < stage.size:
            waiting = ("objects of an earlier wave, which were not applied",)
            return StageResult(done, SyncResult(waiting=waiting), is_complete=False)
        generations = {**state.generations, **context.generations}
        healthy = {**state.healthy, **context.healthy}
        report = await self._health.check(context.cluster, current, generations, healthy)
        context.healthy |= report.healthy
        result = replace(report.result, ready=0)
        return StageResult(done, result, is_complete=report.is_healthy)

    # Objects

    async def _dry_run(self, context: SyncContext, step: Apply) -> Apply | Replace | _Written:
        """Return the step to execute, or why there is none."""
        try:
            answer = await self._send(context, step, dry_run=True)
        except KroGitopsError as error:
            return replacement(step, error, context.spec) or await self._failed(
                context, step, error
            )
        foreign = foreign_owner(step, answer, self._argocd)
        return step if foreign is None else _Written(step.desired, foreign, is_applied=False)

    async def _apply(self, context: SyncContext, step: Apply | Replace) -> _Written:
        desired = step.desired
        try:
            replaced = step if isinstance(step, Replace) else None
            answer: KubeObject | None = None
            if isinstance(step, Apply):
                try:
                    answer = await self._send(context, step, dry_run=False)
                except KroGitopsError as error:
                    replaced = replacement(step, error, context.spec)
                    if replaced is None:
                        raise
            if replaced is not None:
                await self._delete(context, replaced)
            if answer is None:
                answer = await self._send(context, step, dry_run=False)
        except KroGitopsError as error:
            return await self._failed(context, step, error)
        context.inventory.put(desired.entry(answer["metadata"]["uid"]))
        context.done += 1
        context.generations[desired.key] = answer["metadata"].get("generation") or 0
        self._live.record_write(answer)
        is_new = step.live is None
        return _Written(desired, SyncResult(created=1) if is_new else SyncResult(changed=1))

    async def _send(
        self, context: SyncContext, step: Apply | Replace, *, dry_run: bool
    ) -> KubeObject:
        options = WriteOptions(SOURCE_MANAGER, step.force, dry_run, strict=True)
        until = asyncio.get_running_loop().time() + _SCHEMA_TIMEOUT
        while True:
            try:
                return await context.cluster.apply(step.desired.object, options)
            except (ApiError, NotServed) as error:
                # Right after a schema changed, an API server may not know its new fields yet.
                is_schema = isinstance(error, NotServed) or is_unknown_field(error, step.desired)
                is_late = asyncio.get_running_loop().time() > until
                is_fresh = step.desired.ref.kind in context.fresh and not is_late
                if not is_schema or not is_fresh or self._is_certain(step):
                    raise
            await asyncio.sleep(_POLL_INTERVAL)

    def _is_certain(self, step: Apply | Replace) -> bool:
        """Return True if the object has a field that its definition does not have either."""
        served = self._engine.schema_of(step.desired.ref.kind)
        if served is None:
            return False
        return any(e.code == "unknown-field" for e in validate(step.desired.object, served.schema))

    async def _delete(self, context: SyncContext, step: Replace) -> None:
        """Delete an object that cannot be changed, and wait until it is gone."""
        ref, uid = step.desired.ref, step.live["metadata"]["uid"]
        until = asyncio.get_running_loop().time() + _DELETION_TIMEOUT
        try:
            options = DeleteOptions(uid, propagation=Propagation.BACKGROUND)
            await context.cluster.delete(ref, options)
            while asyncio.get_running_loop().time() < until:
                found = await context.cluster.get(ref)
                if found["metadata"]["uid"] != uid:
                    return
                await asyncio.sleep(_POLL_INTERVAL)
        except NotFound:
            return
        raise RefusedError(
            "not-gone", f"{ref} cannot be changed, and was not deleted in time to be created again"
        )

    async def _failed(
        self, context: SyncContext, step: Apply | Replace, error: KroGitopsError
    ) -> _Written:
        """Explain why an object could not be applied, and whose it is if that is the reason."""
        desired = step.desired
        if isinstance(error, Conflict) and error.fields:
            live = await context.cluster.find(desired.ref)
            result = explain_conflict(desired, error, live, self._argocd)
        else:
            result = explain(desired, error, self._engine.schema_of(desired.ref.kind))
        return _Written(desired, result, is_applied=False, is_denied=is_denied(error))
