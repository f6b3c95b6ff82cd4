"""
Take a key, reconcile it, act on the outcome.

A fixed number of workers share one queue. A reconcile that raises is contained: its key is tried
again as the table in `outcome` defines, or as soon as the API server is back, and the others are
not affected. An error of the loop itself is not contained: it ends the process.

Idle workers cost nothing. Each waits on a future of its own; an added key wakes one of them, and a
worker that finds more to do wakes the next. One timer stands for all keys that are due later.

All of this belongs to one event loop: keys are added from there.
"""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

from kro_gitops.control.outcome import Level, Outcome, Result, RetryDelays, of_error, of_result
from kro_gitops.control.workqueue import WorkItem, WorkQueue

K = TypeVar("K", bound=Hashable)

log = logging.getLogger(__name__)

_LEVELS = {
    Level.INFO: logging.INFO,
    Level.WARNING: logging.WARNING,
    Level.ERROR: logging.ERROR,
}


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """How a loop runs; times in seconds."""

    workers: int = 16
    time_limit: float = 300.0  # for one reconcile
    grace: float = 60.0  # for reconciles in progress when the loop stops
    pace: RetryDelays = field(default_factory=RetryDelays)
    jitter: Callable[[], float] = random.Random().random  # not the generator of the module `random`


@dataclass(frozen=True, slots=True)
class ReconcileReport:
    """One reconcile, for metrics and events."""

    key: Hashable
    outcome: Outcome  # what was reported before is not reported again
    error: Exception | None
    waited: float
    seconds: float


class Observer(Protocol):
    """Receives what happens in a loop, for metrics and Events."""

    def taken(self, key: Hashable, waited: float) -> None:
        """Called when a reconcile begins."""

    def finished(self, report: ReconcileReport) -> None:
        """Called when a reconcile ended."""


class NullObserver:
    """An observer that does nothing."""

    def taken(self, key: Hashable, waited: float) -> None:
        """Ignore it."""

    def finished(self, report: ReconcileReport) -> None:
        """Ignore it."""


class Loop(Generic[K]):
    """Works on keys until it is stopped."""

    def __init__(
        self,
        queue: WorkQueue[K],
        reconcile: Callable[[WorkItem[K]], Awaitable[Result]],
        settings: LoopSettings | None = None,
        observer: Observer | None = None,
    ) -> None:
        self._queue = queue
        self._reconcile = reconcile
        self._settings = settings or LoopSettings()
        self._observer = observer or NullObserver()
        self._stopping = asyncio.Event()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._reported: dict[K, str] = {}
        self._failed_by_outage: set[K] = set()

    def add(self, key: K) -> None:
        """Queue a key now."""
        self._queue.add(key, _now())
        self._wake_idle_worker()

    def add_after(self, key: K, delay: float) -> None:
        """Queue a key after a delay, unless it is due sooner already."""
        now = _now()
        self._queue.add_at(key, now + delay, now)
        self._wake_idle_worker()

    def discard(self, key: K) -> None:
        """Drop a key."""
        self._queue.discard(key)
        self._failed_by_outage.discard(key)
        self._reported.pop(key, None)

    def retry_after_outage(self) -> None:
        """Retry at once what failed because the API server did not answer: it is back."""
        now = _now()
        for key in self._failed_by_outage:
            self._queue.expedite(key, now)
        self._failed_by_outage.clear()
        self._wake_idle_worker()

    def stop(self) -> None:
        """Take no more keys; `run` returns when what is in work is done."""
        self._stopping.set()
        while self._idle:
            self._wake_one()

    async def run(self) -> None:
        """Work until stopped; what is not done within the grace is cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                workers = [
                    group.create_task(self._worker(), name=f"worker-{number}")
                    for number in range(self._settings.workers)
                ]
                await self._stopping.wait()
                _, late = await asyncio.wait(workers, timeout=self._settings.grace)
                for worker in late:
                    worker.cancel()
        finally:
            self._cancel_timer()

    async def _worker(self) -> None:
        while not self._stopping.is_set():
            work = self._queue.take(_now())
            if work is None:
                # Sleep until there may be something to do.
                wake = asyncio.get_running_loop().create_future()
                self._idle.append(wake)
                self._set_timer()
                await wake
            else:
                self._wake_idle_worker()
                began = _now()
                self._observer.taken(work.key, work.waited)
                key, settings, error = work.key, self._settings, None
                try:
                    try:
                        async with asyncio.timeout(settings.time_limit):
                            outcome = of_result(await self._reconcile(work))
                    except Exception as raised:  # of any type: the table decides what follows
                        error, failures = raised, work.failures + 1
                        outcome = of_error(error, failures, settings.pace, settings.jitter())
                    if outcome.is_outage:
                        self._failed_by_outage.add(key)
                    else:
                        self._failed_by_outage.discard(key)
                    if outcome.is_failure:
                        self._queue.failed(key)
                    if outcome.forgets_failures:
                        self._queue.succeeded(key)
                    if outcome.after is not None:
                        self._queue.again_at(key, _now() + outcome.after)
                finally:
                    # Also when cancelled: a key is given back, whatever happened.
                    self._queue.done(work.key, _now())
                # The same mistake of an author is reported once.
                if error is None:
                    self._reported.pop(key, None)
                elif outcome.once:
                    words = f"{type(error).__name__}: {error}"
                    if self._reported.get(key) == words:
                        outcome = replace(outcome, level=Level.NOTHING, event=False)
                    self._reported[key] = words
                seconds = _now() - began
                if error is not None and outcome.level is not Level.NOTHING:
                    log.log(
                        _LEVELS[outcome.level],
                        "reconcile failed" if outcome.is_failure else "reconcile stopped",
                        exc_info=error if outcome.traceback else None,
                        extra={
                            "key": str(work.key),
                            "attempt": work.failures + 1,
                            "error": str(error),
                            "retry_after": outcome.after,
                        },
                    )
                self._observer.finished(
                    ReconcileReport(work.key, outcome, error, work.waited, seconds)
                )
                # A reconcile that never waited must not keep other tasks from running.
                await asyncio.sleep(0)

    def _wake_idle_worker(self) -> None:
        """Wake one idle worker if there is something for it; it wakes the next."""
        if self._queue.depth.ready:
            self._wake_one()
        self._set_timer()

    def _timer_fired(self) -> None:
        self._timer = None
        self._wake_one()

    def _wake_one(self) -> None:
        """Wake one idle worker, the one that waits longest."""
        while self._idle:
            wake = self._idle.popleft()
            if not wake.done():  # it is done if its worker was cancelled
                wake.set_result(None)
                return

    def _set_timer(self) -> None:
        """Set the timer to the first key that is due later, if a worker is idle."""
        due = self._queue.next_due() if self._idle else None
        if self._timer is not None and self._timer.when() == due:
            return
        self._cancel_timer()
        if due is not None:
            self._timer = asyncio.get_running_loop().call_at(due, self._timer_fired)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _now() -> float:
    return asyncio.get_running_loop().time()
