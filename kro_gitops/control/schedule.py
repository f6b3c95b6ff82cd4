"""
Periodic work: calls that come back.

APScheduler keeps the times. It is chosen over a task that sleeps for each key because it has what
those always end up lacking: one timer for a thousand keys, an interval that can be changed while
it runs, jitter, and rules for calls that are late. The asyncio variant needs no thread.

Every call is spread: a key's first one comes somewhere in its first interval, the later ones at
the interval give or take the jitter. So sources that were created together, or that all exist at
start, do not ask their remotes together.

A loop that was blocked, or a machine that slept, has missed calls: they become one, which runs
however late. Calls run on the loop and must not block: they put a key onto a queue. If one raises,
that is a bug: it is logged, and the next call still comes.
"""

import logging
import random
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from apscheduler.job import Job
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

log = logging.getLogger(__name__)

# Its lines for every call, under internal numbers, are of no use; failures are logged here.
_LIBRARY_LOG = logging.getLogger("apscheduler")

_MISSED_RUN_OPTIONS = {
    "coalesce": True,  # many missed calls are one
    "misfire_grace_time": None,  # and no call is too late
    "max_instances": 1,
}


@dataclass(frozen=True, slots=True)
class _Entry:
    seconds: float
    call: Callable[[], None]
    job: Job


class Schedule:
    """Calls by key, each at its interval; belongs to one event loop, and runs once."""

    def __init__(self, jitter: float = 0.1) -> None:
        if not 0.0 <= jitter < 1.0:
            raise ValueError(f"the jitter is a part of the interval, not {jitter}")
        self._jitter = jitter
        self._entries: dict[Hashable, _Entry] = {}
        self._scheduler = AsyncIOScheduler(timezone=UTC, job_defaults=_MISSED_RUN_OPTIONS)

    def every(self, key: Hashable, seconds: float, call: Callable[[], None]) -> None:
        """Call again and again; the same key with another interval starts again."""
        if not seconds > 0.0:
            raise ValueError(f"an interval must be longer than 0, not {seconds} seconds")
        known = self._entries.get(key)
        if known is not None and known.seconds == seconds:
            self._entries[key] = _Entry(seconds, call, known.job)
            return
        self.forget(key)
        first = datetime.now(UTC) + timedelta(seconds=seconds * random.random())
        # The library only adds jitter; the interval is to be the middle, not the least.
        trigger = IntervalTrigger(
            seconds=seconds * (1.0 - self._jitter), jitter=2.0 * self._jitter * seconds
        )
        job = self._scheduler.add_job(self._run, trigger, args=(key,), next_run_time=first)
        self._entries[key] = _Entry(seconds, call, job)

    def forget(self, key: Hashable) -> None:
        """Call no more for a key; an unknown key is ignored."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            entry.job.remove()

    def start(self) -> None:
        """Begin; called on the event loop."""
        _LIBRARY_LOG.setLevel(logging.ERROR)
        self._scheduler.start()

    def stop(self) -> None:
        """Make no more calls from now on."""
        for key in tuple(self._entries):
            self.forget(key)
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    # A coroutine, because the library runs plain functions on threads.
    async def _run(self, key: Hashable) -> None:
        entry = self._entries.get(key)
        if entry is None:  # forgotten between its time and now
            return
        try:
            entry.call()
        except Exception:  # the others must go on
            log.exception("periodic work failed", extra={"key": str(key)})
