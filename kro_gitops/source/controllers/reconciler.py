"""
Reconciles a source: observe git, plan and execute, report.

Git is asked only if something requires it: the timer, a webhook, a person or a new spec. Between
two commits only what changed in the cluster is compared. Whatever fails, the last revision that was
read stays in force, and nothing is deleted because of something that could not be read.
"""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from kro_gitops.control.outcome import DONE, Result
from kro_gitops.control.schedule import Schedule
from kro_gitops.control.workqueue import WorkItem
from kro_gitops.engine.instance_metadata import is_deleting
from kro_gitops.errors import KroGitopsError, NotYet, UserError
from kro_gitops.source.api.parse import Defaults, read_spec
from kro_gitops.source.api.types import Pin, SourceSpec
from kro_gitops.source.controllers.context import ControllerContext
from kro_gitops.source.controllers.deletion import SourceDeletion, ensure_finalizer
from kro_gitops.source.controllers.fetch import Polled, Poller
from kro_gitops.source.controllers.reporter import Reporter, requested, status_of
from kro_gitops.source.controllers.state import SourceState, Trigger
from kro_gitops.source.controllers.sync import SourceSync
from kro_gitops.source.plan import status
from kro_gitops.source.plan.claims import Claims, coming_claims, unclaimed
from kro_gitops.source.plan.conclude import (
    Attempt,
    Conclusion,
    Now,
    begin_run,
    conclude,
    conclude_without_revision,
    report_error,
    report_suspended,
)
from kro_gitops.source.plan.model import Memory
from kro_gitops.source.plan.order import layers
from kro_gitops.source.plan.result import Phase, SyncResult
from kube_objects.conditions import FALSE, TRUE, parse_conditions
from kube_objects.refs import KubeObject, ObjectRef
from kube_objects.times import parse_time

_GIT_TIMEOUT = 1.0  # seconds for git to answer before drift is corrected meanwhile
_DEPENDENCY_DELAY = 2.0  # seconds until a source that waits for another is reconciled again


class SourceReconciler:
    """Reconciles sources."""

    def __init__(
        self,
        controller: ControllerContext,
        poller: Poller,
        sync: SourceSync,
        deletion: SourceDeletion,
        reporter: Reporter,
        schedule: Schedule,
        defaults: Defaults,
    ) -> None:
        self._controller = controller
        self._store = controller.store
        self._poller = poller
        self._sync = sync
        self._deletion = deletion
        self._reporter = reporter
        self._schedule = schedule
        self._defaults = defaults

    async def reconcile(self, work: WorkItem[ObjectRef]) -> Result:
        """Bring a source as far as possible now; return when to reconcile it again."""
        key = work.key
        source = self._controller.sources.cache.find(key.namespace, key.name)
        if source is None:
            self._schedule.forget(key.place)
            self._store.drop(key.place)
            self._reporter.forget(key.place)
            return DONE
        state = self._load(source)
        if is_deleting(source):
            self._schedule.forget(state.name)
            return await self._deletion.reconcile(state)
        try:
            state, spec = self._read_spec(state)
        except UserError as error:
            return await self._stall(state, error)
        source = await ensure_finalizer(self._controller, state.source)
        state = self._store.put(replace(state, source=source))
        if spec.suspend:
            return await self._suspend(state)
        request = partial(self._controller.request, key, Trigger.POLL)
        self._schedule.every(state.name, spec.interval, request)
        missing = self._missing_dependency(state, spec)
        if missing:
            return await self._wait_for(state, missing)

        pin = valid_pin(spec, datetime.now(UTC))
        attempt = Attempt(requested(state.source), pin)
        has_expired = pin is None and "pin" in status_of(state.source)
        is_requested = self._store.has(state.name, Trigger.POLL)
        if is_requested or state.is_fetch_outdated or has_expired:
            state, trouble = await self._poll(state, spec, pin)
            attempt = replace(attempt, error=trouble)
        fetched = state.fetched
        if fetched is None:
            draft = self._reporter.draft(state, Phase.FAILED)
            conclusion = conclude_without_revision(draft, state.history, spec, attempt)
            return await self._report(replace(state, history=conclusion.history), conclusion)
        last = (status_of(state.source).get("history") or [{}])[0]
        history = begin_run(state.history, fetched.facts, last, datetime.now(UTC))
        state = replace(state, history=history)

        if self._sync.is_needed(state) or self._sync.can_continue(state):
            state = await self._sync.sync(state, spec, fetched)
        elif self._store.has(state.name, Trigger.HEALTH) or (state.result and state.result.waiting):
            state = await self._sync.check_health(state, spec)

        now = Now(datetime.now(UTC), asyncio.get_running_loop().time())
        result = state.result or SyncResult()
        draft = self._reporter.draft(state, Phase.HEALTHY)
        conclusion = conclude(result, state.history, now, draft, fetched.facts, spec, attempt)
        state = replace(state, history=conclusion.history, result=conclusion.result)
        return await self._report(state, conclusion)

    async def _report(self, state: SourceState, conclusion: Conclusion) -> Result:
        self._store.put(state)
        await self._reporter.write(state, conclusion.report)
        return DONE if conclusion.requeue is None else Result(conclusion.requeue)

    # Observe

    def _load(self, source: KubeObject) -> SourceState:
        key = ObjectRef.of(source)
        state = self._store.find(key.place)
        if state is not None and state.source["metadata"]["uid"] == source["metadata"]["uid"]:
            return self._store.put(replace(state, source=source))
        inventories = self._controller.inventories
        if not inventories.informer.is_synced:
            text = "inventories are not known yet: what a source made would be forgotten"
            raise NotYet("inventory-unknown", text)
        return self._store.put(SourceState(key, source, inventories.load(key)))

    def _read_spec(self, state: SourceState) -> tuple[SourceState, SourceSpec]:
        """Parse a spec that changed, and handle a request to reconcile."""
        generation = state.source["metadata"].get("generation") or 0
        former, spec = state.spec, state.spec
        if spec is None or state.generation != generation:
            spec = read_spec(state.source, self._defaults)
            state = replace(
                state,
                spec=spec,
                generation=generation,
                memory=Memory(kept=state.memory.kept, established=state.memory.established),
                history=replace(state.history, attempts=0),
            )
            self._store.put(state)
            is_limited = former is None or _permissions(former) == _permissions(spec)
            if not is_limited:
                self._wake_instances(state, only_unhealthy=False)
        request = requested(state.source)
        if request and request != status_of(state.source).get("lastHandledReconcileAt"):
            self._store.trigger(state.name, Trigger.POLL | Trigger.FETCH | Trigger.SYNC)
            state = replace(state, history=replace(state.history, attempts=0))
            self._wake_instances(state, only_unhealthy=True)
        return state, spec

    async def _poll(
        self, state: SourceState, spec: SourceSpec, pin: Pin | None
    ) -> tuple[SourceState, KroGitopsError | None]:
        """Poll git; as long as it does not answer, drift is corrected by the last revision."""
        self._store.take(state.name, Trigger.POLL)
        is_expected = self._store.take(state.name, Trigger.FETCH)
        polling = asyncio.create_task(self._poller.poll(state, spec, pin, is_expected=is_expected))
        try:
            while True:
                await asyncio.wait({polling}, timeout=_GIT_TIMEOUT)
                if polling.done():
                    break
                fetched = state.fetched
                if fetched and not state.is_fetch_outdated and self._sync.is_needed(state):
                    state = self._store.put(await self._sync.sync(state, spec, fetched))
        finally:
            if polling.cancel():
                self._store.trigger(state.name, Trigger.POLL)  # it was not answered
        polled = polling.result()
        if polled.error is not None:
            self._store.trigger(state.name, Trigger.POLL)
        return self._store.put(self._with_poll(state, spec, polled)), polled.error

    def _with_poll(self, state: SourceState, spec: SourceSpec, polled: Polled) -> SourceState:
        """Return the state with what a poll found."""
        known = replace(state, webhook_path=polled.webhook_path, mirror=polled.mirror)
        if polled.error is not None:
            return known
        history = replace(state.history, fetch_failures=0)
        former, found = state.fetched, polled.fetched
        if found is None:
            return replace(known, history=history)
        self._poller.check_history(state, spec, found)
        # A commit without a change of our files only moves the revision, unless its message may
        # lift the limit of pruning.
        is_braked = state.result is not None and bool(state.result.braked)
        is_same = former is not None and former.files == found.files
        is_moved = is_same and not state.is_fetch_outdated and not is_braked
        claims = state.claims
        if not is_moved:
            # Claimed at once: the source that had an object so far must not delete it meanwhile.
            items = unclaimed(found.snapshot, claims.applied, state.memory.desired)
            coming = coming_claims(state.key.namespace, spec.allow, items)
            claims = Claims(claims.applied, coming)
        return replace(
            known,
            fetched=found,
            fetched_generation=state.generation,
            synced=found if is_moved and state.synced is former else state.synced,
            claims=claims,
            history=replace(history, attempts=0),
        )

    def _missing_dependency(self, state: SourceState, spec: SourceSpec) -> str:
        """Return which source of `spec.dependsOn` is not ready; empty if all are."""
        cache = self._controller.sources.cache
        for needed in spec.depends_on:
            namespace = needed.namespace or state.key.namespace
            found = cache.find(namespace, needed.name)
            if found is None:
                return f"there is no source {namespace}/{needed.name}"
            if _is_ready(found):
                continue
            needs = {ObjectRef.of(each).place: _depends_on(each) for each in cache}
            order = layers({name: needed & needs.keys() for name, needed in needs.items()})
            cycle = next((c[:-1] for c in order.cycles if state.name in c), ())
            if cycle:
                start = cycle.index(state.name)
                path = (*cycle[start:], *cycle[:start], state.name)
                return f"sources wait for each other: {' → '.join(path)}"
            return f"source {namespace}/{needed.name} is not ready"
        return ""

    # Other outcomes

    async def _suspend(self, state: SourceState) -> Result:
        self._schedule.forget(state.name)
        report = self._reporter.draft(state, Phase.SUSPENDED)
        report.handled = requested(state.source)
        former = {each.type: each for each in parse_conditions(state.source)}.get(status.READY)
        report_suspended(report, former)
        await self._reporter.write(state, report)
        return DONE

    async def _stall(self, state: SourceState, error: UserError) -> Result:
        """Report an invalid spec; only a new one helps."""
        self._schedule.forget(state.name)
        report = self._reporter.draft(state, Phase.FAILED)
        report.handled = requested(state.source)
        report_error(report, status.STALLED, error)
        await self._reporter.write(state, report)
        return DONE

    async def _wait_for(self, state: SourceState, missing: str) -> Result:
        report = self._reporter.draft(state, Phase.WAITING)
        # Handled now, or every reconcile would wake its instances.
        report.handled = requested(state.source)
        report.set_condition(status.READY, FALSE, status.DEPENDENCY, missing)
        report.set_condition(status.RECONCILING, TRUE, status.DEPENDENCY, missing)
        report.set_condition(status.DEPENDENCY, TRUE, status.DEPENDENCY, missing)
        await self._reporter.write(state, report)
        return Result(_DEPENDENCY_DELAY)

    def _wake_instances(self, state: SourceState, *, only_unhealthy: bool) -> None:
        """Have instances reconciled: permissions changed, or a retry is requested."""
        engine = self._controller.engine
        kind, is_instance = None, False
        for entry in state.inventory:
            if entry.ref.kind is not kind:
                kind = entry.ref.kind
                is_instance = engine.is_instance(kind)
            if not is_instance:
                continue
            if only_unhealthy:
                seen = engine.instance(entry.ref)
                if seen is None or state.healthy.get(entry.key) is seen:
                    continue
            engine.wake(entry.ref)


def valid_pin(spec: SourceSpec, now: datetime) -> Pin | None:
    """Return the pin of a source, unless it has expired."""
    pin = spec.pin
    if pin is None or not pin.expires:
        return pin
    until = parse_time(pin.expires)
    return pin if until is None or now < until else None


def _permissions(spec: SourceSpec) -> tuple[object, ...]:
    """Return what decides what the instances of a source may do."""
    return spec.service_account, spec.allow


def _depends_on(source: KubeObject) -> set[str]:
    """Return the sources that one depends on, as written in its spec."""
    own = source["metadata"]["namespace"]
    listed = (source.get("spec") or {}).get("dependsOn") or ()
    return {f"{each.get('namespace') or own}/{each.get('name')}" for each in listed}


def _is_ready(source: KubeObject) -> bool:
    ready = {each.type: each.status for each in parse_conditions(source)}.get(status.READY)
    observed = status_of(source).get("observedGeneration")
    return ready == TRUE and observed == source["metadata"].get("generation")
