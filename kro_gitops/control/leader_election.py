"""
One active replica: campaign for a Lease, lead while it can be renewed, give it back.

The elector needs nothing of the process but an event loop, and may have one of its own: in a
thread beside the one that reconciles, so that no long computation there costs the lease. Everything
it is given must then belong to that thread; what it calls (`on_elected`) runs there, too. Only
`stop` and `leads_until` are for other threads.

A leader that cannot renew steps down well before others may take over: `renew_deadline` is shorter
than the lease.
"""

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum, auto
from functools import partial
from typing import Protocol

from kro_gitops.control.lease import LEASE_NAME, LeaseRecord, ObservedRecord, new_lease
from kube_objects.refs import KubeObject

log = logging.getLogger(__name__)


class LeaseStore(Protocol):
    """Reads and writes the Lease of the election."""

    async def get(self) -> KubeObject | None:
        """Return the Lease, or `None` if there is none yet."""

    async def update(self, lease: KubeObject) -> KubeObject:
        """
        Write the Lease, and return it as the server has it.

        Without a resourceVersion it is created. Raise if another client was faster.
        """


@dataclass(frozen=True, slots=True)
class ElectionConfig:
    """Who we are and for how long one leads; times in seconds, the defaults are kro's."""

    identity: str
    namespace: str
    name: str = LEASE_NAME
    duration: int = 15
    renew_deadline: float = 10.0
    retry_period: float = 2.0


@dataclass(frozen=True, slots=True)
class ClockAndJitter:
    """What comes from outside: the time of day, and jitter between 0 and 1."""

    clock: Callable[[], datetime] = field(default=partial(datetime.now, UTC))
    jitter: Callable[[], float] = field(default=random.random)


class ElectionResult(Enum):
    """Why an elector came to its end."""

    STOPPED = auto()
    LOST = auto()


class _Attempt(Enum):
    HELD = auto()
    TAKEN = auto()  # another client has it
    FAILED = auto()


class LeaderElector:
    """Campaigns for the Lease, renews it and releases it."""

    def __init__(
        self,
        leases: LeaseStore,
        terms: ElectionConfig,
        on_elected: Callable[[], None],
        chance: ClockAndJitter | None = None,
    ) -> None:
        self._leases = leases
        self._terms = terms
        self._on_elected = on_elected
        self._chance = chance or ClockAndJitter()
        self._lease: KubeObject | None = None
        self._sighting: ObservedRecord | None = None
        self._is_stopped = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        # By the clock of the event loop, which all threads of a process share.
        self.leads_until = 0.0

    def stop(self) -> None:
        """Ask the elector to give up the lease and return; from any thread, at any time."""
        self._is_stopped = True
        if self._loop is not None and self._stopping is not None:
            with suppress(RuntimeError):  # its loop is closed: it has returned already
                self._loop.call_soon_threadsafe(self._stopping.set)

    async def run(self) -> ElectionResult:
        """Campaign, lead, and return when that is over; a lost lease is not fought for again."""
        self._stopping = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        if self._is_stopped:
            self._stopping.set()
            return ElectionResult.STOPPED
        try:
            while await self._attempt(_now() + self._terms.renew_deadline) is not _Attempt.HELD:
                # Candidates that try at different times do not get into each other's way.
                await self._pause(self._terms.retry_period * (1 + self._chance.jitter()))
                if self._must_stop():
                    return ElectionResult.STOPPED
            log.info("elected", extra={"identity": self._terms.identity})
            self._on_elected()
            while not self._must_stop():
                await self._pause(min(self._terms.retry_period, self.leads_until - _now()))
                if self._must_stop():
                    break
                outcome = await self._attempt(self.leads_until)
                if outcome is _Attempt.TAKEN or (
                    outcome is _Attempt.FAILED and _now() >= self.leads_until
                ):
                    log.error("lost the lease", extra={"identity": self._terms.identity})
                    return ElectionResult.LOST
            # Let the next one lead at once instead of when the lease runs out.
            if self._lease is not None:
                record = LeaseRecord.parse(self._lease).released(self._chance.clock())
                try:
                    async with asyncio.timeout_at(self.leads_until):
                        await self._leases.update(record.onto(self._lease))
                except Exception as error:  # then it runs out by itself
                    log.warning("lease not released", extra={"error": str(error)})
            return ElectionResult.STOPPED
        finally:
            self.leads_until = 0.0

    async def _attempt(self, deadline: float) -> _Attempt:
        """Try once to get or renew the lease; after any error it is not ours."""
        began, terms = _now(), self._terms
        try:
            async with asyncio.timeout_at(deadline):
                lease = self._lease
                if lease is None or LeaseRecord.parse(lease).holder != terms.identity:
                    lease = await self._leases.get()
                if lease is not None and not self._look(lease).is_free(terms.identity, _now()):
                    return _Attempt.TAKEN
                lease = lease or new_lease(terms.namespace, terms.name)
                record = LeaseRecord.parse(lease)
                record = record.claimed(terms.identity, terms.duration, self._chance.clock())
                self._lease = await self._leases.update(record.onto(lease))
                self._look(self._lease)
        except Exception as error:  # the request may fail in any way: what counts is the deadline
            log.warning("lease not renewed", extra={"error": str(error) or type(error).__name__})
            self._lease = None
            return _Attempt.FAILED
        # From before the request: others may have seen it that early.
        self.leads_until = began + terms.renew_deadline
        return _Attempt.HELD

    def _look(self, lease: KubeObject) -> ObservedRecord:
        record, now = LeaseRecord.parse(lease), _now()
        former = self._sighting
        self._sighting = former.seen(record, now) if former else ObservedRecord(record, now)
        return self._sighting

    def _must_stop(self) -> bool:
        return self._stopping is not None and self._stopping.is_set()

    async def _pause(self, seconds: float) -> None:
        """Wait, but not for longer than until the stop."""
        assert self._stopping is not None, "an elector waits only while it runs"
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()


def _now() -> float:
    return asyncio.get_running_loop().time()
