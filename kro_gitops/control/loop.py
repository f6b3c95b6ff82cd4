"""
Take a key, call reconcile, obey the outcome.

A fixed number of workers share one queue. A reconcile that raises is contained: its key is tried
again as the table in `outcome` says, and the others never notice. What the loop itself gets wrong
is not contained: then everything stops, loudly.

Idle workers cost nothing. Each waits on a future of its own; an added key wakes one of them, and
whoever finds more to do wakes the next. One timer stands for all keys that are due later.

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
from kro_gitops.kube.api import Identity

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
    jitter: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True)
class ReconcileReport:
    """One reconcile, for metrics and events."""

    key: Hashable
    identity: Identity | None
    outcome: Outcome  # what was said before is not said again
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
        self._said: dict[K, str] = {}

    def add(self, key: K, identity: Identity | None = None) -> None:
        """Queue a key now; `identity` is impersonated, None is the controller itself."""
        self._queue.add(key, identity, _now())
        self._wake_idle_worker()

    def add_after(self, key: K, delay: float, identity: Identity | None = None) -> None:
        """Queue a key after a delay, or sooner if that was wanted already."""
        now = _now()
        self._queue.add_at(key, identity, now + delay, now)
        self._wake_idle_worker()

    def discard(self, key: K) -> None:
        """Forget a key that nobody is to work on any more."""
        self._queue.discard(key)
        self._said.pop(key, None)

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
                try:
                    outcome, error = await self._outcome(work)
                    key = work.key
                    if outcome.is_failure:
                        self._queue.failed(key)
                    if outcome.forgets_failures:
                        self._queue.succeeded(key)
                    if outcome.after is not None:
                        self._queue.again_at(key, _now() + outcome.after)
                finally:
                    # Also when cancelled: a key is given back, whatever happened.
                    self._queue.done(work.key, _now())
                outcome = self._without_repetition(work.key, outcome, error)
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
                    ReconcileReport(work.key, work.identity, outcome, error, work.waited, seconds)
                )

    async def _outcome(self, work: WorkItem[K]) -> tuple[Outcome, Exception | None]:
        settings = self._settings
        try:
            async with asyncio.timeout(settings.time_limit):
                return of_result(await self._reconcile(work)), None
        except Exception as error:  # it may fail in any way: the table says what follows
            return of_error(error, work.failures + 1, settings.pace, settings.jitter()), error

    def _without_repetition(self, key: K, outcome: Outcome, error: Exception | None) -> Outcome:
        """Keep quiet about a mistake of which the author has been told in the same words."""
        if error is None:
            self._said.pop(key, None)
        elif outcome.once:
            words = f"{type(error).__name__}: {error}"
            if self._said.get(key) == words:
                return replace(outcome, level=Level.NOTHING, event=False)
            self._said[key] = words
        return outcome

    def _wake_idle_worker(self) -> None:
        """Wake one idle worker if there is something for it; it wakes the next."""
        if self._queue.depth.ready:
            self._wake_one()
        self._set_timer()

    def _timer_fired(self) -> None:
        self._timer = None
        self._wake_one()

    def _wake_one(self) -> None:
        while self._idle:
            wake = self._idle.popleft()
            if not wake.done():  # it is done if its worker was cancelled
                wake.set_result(None)
                return

    def _set_timer(self) -> None:
        """Set the timer to the first key that is due later, if anybody is there to hear it."""
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
