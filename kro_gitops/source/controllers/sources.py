"""
A source: fetch, compare, carry out, report.

Git is asked only when somebody wants that: the clock, a webhook, a person, or a new spec. Between
two commits only what changed on the cluster is looked at. Whatever goes wrong, the last revision
that was read stays at work, and nothing is deleted on account of something that could not be read.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from kro_gitops.control.outcome import DONE, Result
from kro_gitops.control.workqueue import WorkItem
from kro_gitops.engine.instance_metadata import is_going
from kro_gitops.errors import KroGitopsError, NotYet, UserError
from kro_gitops.kube.informer import Informer
from kro_gitops.source import status
from kro_gitops.source.accounts import Phase
from kro_gitops.source.controllers.carrying import Carrier
from kro_gitops.source.controllers.concluding import Attempt, Conclusions, begin_run
from kro_gitops.source.controllers.finalizers import Finalizers
from kro_gitops.source.controllers.inventories import Inventories
from kro_gitops.source.controllers.leaving import Leaving
from kro_gitops.source.controllers.observing import SourceObserver
from kro_gitops.source.controllers.polling import Poller
from kro_gitops.source.controllers.registry import Held, Registry
from kro_gitops.source.controllers.reporting import Reporter, of_error, requested, status_of
from kro_gitops.source.layers import layers
from kro_gitops.source.spec import Pin, SourceSpec
from kro_gitops.source.spec_reading import Defaults, read_spec
from kube_objects.conditions import FALSE, TRUE, UNKNOWN, parse_conditions
from kube_objects.refs import KubeObject, ObjectRef
from kube_objects.times import parse_time

_PATIENCE = 1.0  # seconds for git to answer before drift is looked at meanwhile
_DEPENDENCY = 2.0  # seconds until a source that waits for another looks again


@dataclass(frozen=True, slots=True)
class Hands:
    """What it takes to work on sources."""

    informer: Informer
    registry: Registry
    inventories: Inventories
    finalizers: Finalizers
    poller: Poller
    carrier: Carrier
    conclusions: Conclusions
    leaving: Leaving
    reporter: Reporter
    observer: SourceObserver


@dataclass(frozen=True, slots=True)
class Clockwork:
    """How sources are woken."""

    every: Callable[[Held, float], None]  # poll from now on every so many seconds
    never: Callable[[str], None]
    act_for: Callable[[Held], None]  # its instances are to be looked at under its present account
    retry: Callable[[Held], None]  # those of them that are not ready are to be tried at once


class Sources:
    """Keeps the cluster as sources want it."""

    def __init__(self, hands: Hands, defaults: Defaults, clockwork: Clockwork) -> None:
        self._hands = hands
        self._defaults = defaults
        self._clockwork = clockwork

    async def reconcile(self, work: WorkItem[ObjectRef]) -> Result:
        """Bring a source as far as it can come now."""
        key = work.key
        source = self._hands.informer.cache.find(key.namespace, key.name)
        if source is None:
            self._forget(key)
            return DONE
        held = self._held(source)
        if is_going(source):
            self._clockwork.never(held.name)
            return await self._hands.leaving.reconcile(held)
        try:
            spec = self._spec(held)
        except UserError as error:
            return await self._stall(held, error)
        await self._hands.finalizers.ensure(held)
        if spec.suspend:
            return await self._suspend(held)
        self._clockwork.every(held, spec.interval)
        missing = self._missing_dependency(held, spec)
        if missing:
            return await self._wait_for(held, missing)
        return await self._bring_on(held, spec)

    async def _bring_on(self, held: Held, spec: SourceSpec) -> Result:
        asked, pin = requested(held.source), valid_pin(spec, datetime.now(UTC))
        trouble: KroGitopsError | None = None
        has_expired = pin is None and "pin" in status_of(held.source)
        if held.wants_poll or held.fetched is None or has_expired:
            trouble = await self._poll(held, spec, pin)
        attempt = Attempt(asked, pin, trouble)
        if held.fetched is None:
            return await self._hands.conclusions.without_revision(held, spec, attempt)
        begin_run(held, held.fetched)
        if held.is_dirty or self._hands.carrier.may_go_on(held):
            await self._hands.carrier.carry_out(held, spec, held.fetched)
        elif held.is_stirred or (held.account is not None and held.account.waiting):
            await self._hands.carrier.look_again(held, spec)
        return await self._hands.conclusions.conclude(held, spec, held.fetched, attempt)

    async def _poll(self, held: Held, spec: SourceSpec, pin: Pin | None) -> KroGitopsError | None:
        """Ask git; as long as it does not answer, what is there is kept as it should be."""
        polling = asyncio.create_task(self._hands.poller.poll(held, spec, pin))
        try:
            while True:
                await asyncio.wait({polling}, timeout=_PATIENCE)
                if polling.done():
                    return polling.result()
                if held.fetched is not None and held.is_dirty and not held.is_respecified:
                    await self._hands.carrier.carry_out(held, spec, held.fetched)
        finally:
            if polling.cancel():
                held.wants_poll = True  # it was not answered

    # What is wanted

    def _held(self, source: KubeObject) -> Held:
        key = ObjectRef.of(source)
        held = self._hands.registry.find(key.place)
        if held is None or held.source["metadata"]["uid"] != source["metadata"]["uid"]:
            if not self._hands.inventories.informer.is_synced:
                text = "inventories are not known yet: what a source made would be forgotten"
                raise NotYet("inventory-unknown", text)
            held = Held(key, source, self._hands.inventories.load(key))
            self._hands.registry.put(held)
        held.source = source
        return held

    def _spec(self, held: Held) -> SourceSpec:
        generation = held.source["metadata"].get("generation") or 0
        if held.spec is None or held.generation != generation:
            former = held.spec
            held.spec = read_spec(held.source, self._defaults)
            held.generation = generation
            held.begin_anew()
            if former is not None and _powers(former) != _powers(held.spec):
                self._clockwork.act_for(held)
        asked = requested(held.source)
        if asked and asked != status_of(held.source).get("lastHandledReconcileAt"):
            held.wants_poll = held.is_dirty = held.is_called = True
            held.attempts = 0
            self._clockwork.retry(held)
        return held.spec

    def _missing_dependency(self, held: Held, spec: SourceSpec) -> str:
        for needed in spec.depends_on:
            namespace = needed.namespace or held.key.namespace
            found = self._hands.informer.cache.find(namespace, needed.name)
            if found is None:
                return f"there is no source {namespace}/{needed.name}"
            if not _is_ready(found):
                ring = self._ring(held.name)
                if ring:
                    return f"sources wait for each other: {' → '.join(ring)}"
                return f"source {namespace}/{needed.name} is not ready"
        return ""

    def _ring(self, name: str) -> list[str]:
        """Return the way by which a source waits for itself; empty if there is none."""
        needs = {ObjectRef.of(each).place: _needed(each) for each in self._hands.informer.cache}
        found = layers({each: needed & needs.keys() for each, needed in needs.items()})
        ring = next((list(cycle[:-1]) for cycle in found.cycles if name in cycle), [])
        start = ring.index(name) if ring else 0
        return [*ring[start:], *ring[:start], name] if ring else []

    # Other ways out

    async def _suspend(self, held: Held) -> Result:
        self._clockwork.never(held.name)
        held.wants_poll = held.is_dirty = True  # when it is resumed
        report = self._hands.reporter.begin(held, Phase.SUSPENDED)
        report.handled = requested(held.source)
        text = "suspended: neither commits nor drift are looked at"
        former = {each.type: each for each in parse_conditions(held.source)}.get(status.READY)
        if former is None:
            report.say(status.READY, UNKNOWN, "Suspended", text)
        else:  # what was said last still holds
            reason = former.reason or "Suspended"
            report.say(status.READY, former.status, reason, former.message or "")
        report.say(status.SUSPENDED, TRUE, "Suspended", text)
        await self._hands.reporter.write(held, report)
        return DONE

    async def _stall(self, held: Held, error: UserError) -> Result:
        """Say what is wrong with a spec; only a new one helps."""
        self._clockwork.never(held.name)
        report = self._hands.reporter.begin(held, Phase.FAILED)
        report.handled = requested(held.source)
        of_error(report, status.STALLED, error)
        await self._hands.reporter.write(held, report)
        return DONE

    async def _wait_for(self, held: Held, missing: str) -> Result:
        report = self._hands.reporter.begin(held, Phase.WAITING)
        report.handled = requested(held.source)  # else its instances are woken at every look
        report.say(status.READY, FALSE, status.DEPENDENCY, missing)
        report.say(status.RECONCILING, TRUE, status.DEPENDENCY, missing)
        report.say(status.DEPENDENCY, TRUE, status.DEPENDENCY, missing)
        await self._hands.reporter.write(held, report)
        return Result(_DEPENDENCY)

    def _forget(self, key: ObjectRef) -> None:
        self._clockwork.never(key.place)
        self._hands.registry.drop(key.place)
        self._hands.observer.standing(key.place, "", 0)


def valid_pin(spec: SourceSpec, now: datetime) -> Pin | None:
    """Return the pin that holds now."""
    pin = spec.pin
    if pin is None or not pin.expires:
        return pin
    until = parse_time(pin.expires)
    return pin if until is None or now < until else None


def _powers(spec: SourceSpec) -> tuple[object, ...]:
    """Return what decides what the instances of a source may do."""
    return spec.service_account, spec.allow


def _needed(source: KubeObject) -> set[str]:
    """Return the sources that one depends on, as it is written."""
    own = source["metadata"]["namespace"]
    listed = (source.get("spec") or {}).get("dependsOn") or ()
    return {f"{each.get('namespace') or own}/{each.get('name')}" for each in listed}


def _is_ready(source: KubeObject) -> bool:
    ready = {each.type: each.status for each in parse_conditions(source)}.get(status.READY)
    observed = status_of(source).get("observedGeneration")
    return ready == TRUE and observed == source["metadata"].get("generation")
