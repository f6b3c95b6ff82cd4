"""
Reconciles a source: observe git, plan and execute, report.

Git is asked only if something requires it: the timer, a webhook, a person or a new spec. A poll
runs beside reconciles, so that a slow remote holds no worker; its end reconciles the source again.
Between two commits only what changed in the cluster is compared. Whatever fails, the last revision
that was read stays in force, and nothing is deleted because of something that could not be read.
"""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from kro_gitops.control.outcome import DONE, Result
from kro_gitops.control.schedule import Schedule
from kro_gitops.control.workqueue import WorkItem
from kro_gitops.engine.instance_metadata import is_deleting
from kro_gitops.errors import NotYet, UserError
from kro_gitops.source.api.parse import Defaults, read_spec
from kro_gitops.source.api.types import Pin, SourceSpec
from kro_gitops.source.controllers.context import ControllerContext
from kro_gitops.source.controllers.deletion import SourceDeletion, ensure_finalizer, has_finalizer
from kro_gitops.source.controllers.fetch import Polled, Poller, poll_question
from kro_gitops.source.controllers.held_children import with_held_children
from kro_gitops.source.controllers.plan_requests import PlanRequests
from kro_gitops.source.controllers.reporter import Reporter, requested, status_of
from kro_gitops.source.controllers.state import SourceState, Trigger
from kro_gitops.source.controllers.sync import SourceSync
from kro_gitops.source.files.revision import Library
from kro_gitops.source.plan import status
from kro_gitops.source.plan.claims import Claims, coming_claims, unclaimed
from kro_gitops.source.plan.conclude import (
    Attempt,
    Conclusion,
    Now,
    begin_run,
    conclude,
    conclude_without_revision,
    fetch_delay,
    overdue_after,
    report_error,
    report_suspended,
)
from kro_gitops.source.plan.model import Memory
from kro_gitops.source.plan.order import layers
from kro_gitops.source.plan.pins import valid_pin, with_valid_pins
from kro_gitops.source.plan.result import Phase
from kube_objects.conditions import FALSE, TRUE, parse_conditions
from kube_objects.refs import KubeObject, ObjectRef

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
        plans: PlanRequests,
        schedule: Schedule,
        defaults: Defaults,
    ) -> None:
        self._controller = controller
        self._store = controller.store
        self._poller = poller
        self._sync = sync
        self._deletion = deletion
        self._reporter = reporter
        self._plans = plans
        self._schedule = schedule
        self._defaults = defaults

    async def reconcile(self, work: WorkItem[ObjectRef]) -> Result:
        """Bring a source as far as possible now; return when to reconcile it again."""
        key, reporter = work.key, self._reporter
        source = self._controller.sources.cache.find(key.namespace, key.name)
        if source is None:
            return await self._forget(key)
        state = self._load(source)
        if is_deleting(source):
            self._schedule.forget(state.name)
            self._poller.cancel(state.name)
            return await self._deletion.reconcile(state)
        try:
            state, spec = self._read_spec(state)
        except UserError as error:  # only a new spec helps
            self._schedule.forget(state.name)
            self._poller.cancel(state.name)
            report = reporter.draft(state, Phase.FAILED)
            report.handled = requested(state.source)
            report_error(report, status.STALLED, error)
            await reporter.write(state, report)
            return DONE
        held = await ensure_finalizer(self._controller, state.source)
        if held is None:
            return DONE  # it is gone; the watch reports it
        state = self._store.put(replace(state, source=held))
        self._plans.update(state)
        if spec.suspend:
            self._schedule.forget(state.name)
            self._poller.cancel(state.name)
            report = reporter.draft(state, Phase.SUSPENDED)
            report.handled = requested(state.source)
            former = {each.type: each for each in parse_conditions(state.source)}.get(status.READY)
            report_suspended(report, former)
            await reporter.write(state, report)
            return DONE
        request = partial(self._controller.request, key, Trigger.POLL)
        self._schedule.every(state.name, spec.interval, request)
        missing = self._missing_dependency(state, spec)
        if missing:
            report = reporter.draft(state, Phase.WAITING)
            # Handled now, or every reconcile would wake its instances.
            report.handled = requested(state.source)
            report.set_condition(status.READY, FALSE, status.DEPENDENCY, missing)
            report.set_condition(status.RECONCILING, TRUE, status.DEPENDENCY, missing)
            report.set_condition(status.DEPENDENCY, TRUE, status.DEPENDENCY, missing)
            await reporter.write(state, report)
            return Result(_DEPENDENCY_DELAY)
        return await self._reconcile_revision(state, spec)

    async def _forget(self, key: ObjectRef) -> Result:
        """Drop what is remembered of a source that is gone."""
        gone = self._store.find(key.place)
        self._schedule.forget(key.place)
        self._poller.cancel(key.place)
        if gone is not None and key.place in self._store.lost:
            result = await self._deletion.reconcile_lost(gone)
            if result is not DONE:
                return result
        self._store.drop(key.place)
        self._controller.budget.release(key.place)
        self._reporter.forget(key.place)
        self._plans.forget(key.place)
        if gone is not None:  # instances that stay have lost the account that acts for them
            self._wake_instances(gone, only_unhealthy=False)
        return DONE

    async def _reconcile_revision(self, state: SourceState, spec: SourceSpec) -> Result:
        """Poll git if required, sync what it has, and report."""
        pin, loop = valid_pin(spec, datetime.now(UTC)), asyncio.get_running_loop()
        spec = with_valid_pins(spec, datetime.now(UTC))
        state, is_polled = self._poll(state, spec, pin)
        running, overdue = self._poller.running(state.name), None
        if running is not None and not is_polled:
            waited = loop.time() - running.since
            if waited < _GIT_TIMEOUT:
                return Result(_GIT_TIMEOUT - waited)  # its end wakes the source sooner
            overdue = running.due if waited >= overdue_after(spec) else None
        retry = None if running is not None else max(state.retry_at - loop.time(), 0.0)
        attempt = Attempt(state.answered, pin, state.fetch_error, retry, overdue)
        fetched = state.fetched
        if fetched is None:
            draft = self._reporter.draft(state, Phase.FAILED)
            conclusion = conclude_without_revision(draft, state.history, spec, attempt)
            state = replace(state, history=conclusion.history)
            return await self._report(state, conclusion)
        if not state.is_held:
            # Before the first apply: the API server may have accepted our finalizer and removed
            # the source all the same (kubernetes/kubernetes#77988).
            found = await self._controller.cluster.find(state.key)
            is_same = (
                found is not None and found["metadata"]["uid"] == state.source["metadata"]["uid"]
            )
            if found is None or not is_same or is_deleting(found):
                return DONE  # the watch reports it
            state = self._store.put(replace(state, is_held=True))
        last = (status_of(state.source).get("history") or [{}])[0]
        history = begin_run(state.history, fetched.facts, last, datetime.now(UTC))
        state = replace(state, history=history)

        is_synced = False
        if running is not None and state.is_fetch_outdated:
            pass  # the files were chosen by another spec
        elif self._sync.is_needed(state) or self._sync.can_continue(state):
            state, is_synced = await self._sync.sync(state, spec, fetched), True
        elif self._store.has(state.name, Trigger.HEALTH) or (state.result and state.result.waiting):
            state = await self._sync.check_health(state, spec)

        now = Now(datetime.now(UTC), asyncio.get_running_loop().time())
        result = with_held_children(state, self._controller.engine)
        draft = self._reporter.draft(state, Phase.HEALTHY)
        pause = None if is_synced else max(state.retry_sync_at - loop.time(), 0.0)
        counts = self._controller.engine.take_counts(state.name)
        attempt = replace(attempt, seconds=state.sync_seconds, pause=pause, children=counts)
        conclusion = conclude(result, state.history, now, draft, fetched.facts, spec, attempt)
        state = replace(
            state,
            history=conclusion.history,
            result=conclusion.result,
            retry_sync_at=conclusion.retry_at,
        )
        running = self._poller.running(state.name)
        if running is not None and overdue is None:
            # To report then that it is overdue.
            left = max(running.since + overdue_after(spec) - loop.time(), 0.1)
            requeue = left if conclusion.requeue is None else min(left, conclusion.requeue)
            conclusion = replace(conclusion, requeue=requeue)
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
        self._store.lost.discard(key.place)  # what another one of that name left is taken over
        is_held = has_finalizer(source)
        library = Library(reserve=partial(self._controller.budget.reserve, key.place))
        inventory = inventories.load(key)
        return self._store.put(SourceState(key, source, inventory, is_held, library))

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
                fetch_error=None,
                retry_at=0.0,
                memory=Memory(kept=state.memory.kept, established=state.memory.established),
                history=replace(state.history, attempts=0),
            )
            self._store.put(state)
            is_limited = former is None or _permissions(former) == _permissions(spec)
            if not is_limited:
                self._wake_instances(state, only_unhealthy=False)
        request = requested(state.source)
        known = (state.requested, status_of(state.source).get("lastHandledReconcileAt"))
        if request and request not in known:
            self._store.trigger(state.name, Trigger.POLL | Trigger.FETCH | Trigger.SYNC)
            history = replace(state.history, attempts=0)
            state = self._store.put(replace(state, requested=request, history=history))
            self._wake_instances(state, only_unhealthy=True)
        return state, spec

    def _poll(
        self, state: SourceState, spec: SourceSpec, pin: Pin | None
    ) -> tuple[SourceState, bool]:
        """Take the answer of a poll that has finished, if any, and start the next if it is due."""
        finished, polled, name = self._poller.take(state.name), None, state.name
        if finished is not None:
            is_current = finished.question == poll_question(state, spec, pin)
            is_answer = is_current and finished.task.exception() is None
            if not is_answer or finished.task.result().error is not None:
                self._store.trigger(name, Trigger.POLL)
            if is_current:
                polled = finished.task.result()
                state = self._store.put(self._with_poll(state, spec, polled))
        has_expired = pin is None and "pin" in status_of(state.source)
        has_expired |= state.lacks_pins(spec)
        is_due = self._store.has(name, Trigger.POLL)
        is_due |= polled is None and (state.is_fetch_outdated or has_expired)
        # A request is answered at once; a poll that failed is repeated when its time has come.
        is_expected = self._store.has(name, Trigger.FETCH)
        if is_expected or (is_due and asyncio.get_running_loop().time() >= state.retry_at):
            former = self._poller.running(name)
            self._poller.start(state, spec, pin, is_expected=is_expected)
            # If one is running, the triggers stay for the next: it may have asked too early.
            if self._poller.running(name) is not former:
                self._store.take(name, Trigger.POLL | Trigger.FETCH)
                if former is not None:
                    # Abandoned, but its thread may still read files into the library.
                    state = self._store.put(replace(state, library=state.library.emptied()))
        return state, polled is not None

    def _with_poll(self, state: SourceState, spec: SourceSpec, polled: Polled) -> SourceState:
        """Return the state with what a poll found."""
        failures = 0 if polled.error is None else state.history.fetch_failures + 1
        history = replace(state.history, fetch_failures=failures)
        known = replace(
            state,
            webhook_path=polled.webhook_path,
            mirror=polled.mirror,
            fetch_error=polled.error,
            retry_at=0.0,
            answered=polled.requested,
            history=history,
        )
        if polled.error is not None:
            delay = fetch_delay(failures, spec)
            return replace(known, retry_at=asyncio.get_running_loop().time() + delay)
        former, found = state.fetched, polled.fetched
        if found is None:
            return known
        self._poller.check_history(state, spec, found)
        # A commit without a change of our files only moves the revision, unless its message may
        # lift the limit of pruning.
        is_braked = state.result is not None and bool(state.result.braked)
        is_same = former is not None and former.files == found.files
        is_same = is_same and former is not None and former.pinned == found.pinned
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
            ready = {each.type: each.status for each in parse_conditions(found)}.get(status.READY)
            is_observed = status_of(found).get("observedGeneration") == found["metadata"].get(
                "generation"
            )
            if ready == TRUE and is_observed:
                continue
            needs: dict[str, set[str]] = {}
            for source in cache:
                own = source["metadata"]["namespace"]
                listed = (source.get("spec") or {}).get("dependsOn") or ()
                needs[ObjectRef.of(source).place] = {
                    f"{each.get('namespace') or own}/{each.get('name')}" for each in listed
                }
            order = layers({name: needed & needs.keys() for name, needed in needs.items()})
            cycle = next((c[:-1] for c in order.cycles if state.name in c), ())
            if cycle:
                start = cycle.index(state.name)
                path = (*cycle[start:], *cycle[:start], state.name)
                return f"sources wait for each other: {' → '.join(path)}"
            return f"source {namespace}/{needed.name} is not ready"
        return ""

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


def _permissions(spec: SourceSpec) -> tuple[object, ...]:
    """Return what decides what the instances of a source may do."""
    return spec.service_account, spec.allow, spec.brake
