"""
Kubernetes Events, folded and rate-limited: what `kubectl describe` shows below an object.

Whoever has something to tell calls `record` and goes on; a task writes it when its time has come.
An Event is never worth trouble: it is dropped rather than waited for, and what goes wrong with one
is said once in the log. What is written, and when, is decided in `event_folding`.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from kro_gitops.errors import ClusterUnavailable
from kro_gitops.kube.api import MergePatch, Writer
from kro_gitops.kube.event_aggregation import (
    AggregatedEvent,
    EventAggregator,
    EventKey,
    EventLimits,
    EventType,
)
from kro_gitops.kube.ratelimit import TokenBucket
from kro_gitops.kube.responses import AlreadyExists, ApiError, NotFound
from kube_objects.refs import KubeObject, ObjectRef

log = logging.getLogger(__name__)

_TERMINATING = "NamespaceTerminating"  # a cause, beside the reason Forbidden


def controller_component(crd_name: str) -> str:
    """Name the reporter of an instance's Events as kro does."""
    return f"kro/{crd_name}-controller"


class EventRecorder:
    """Takes Events in at once, and writes them from a task: `run`."""

    def __init__(
        self,
        cluster: Writer,
        component: str,
        host: str,
        clock: Callable[[], datetime],
        limits: EventLimits | None = None,
    ) -> None:
        self._cluster = cluster
        self._component = component
        self._host = host
        self._clock = clock
        self._limits = limits or EventLimits()
        self._folding = EventAggregator(self._limits)
        self._pace = TokenBucket(self._limits.per_second, self._limits.process_burst)
        self._news = asyncio.Event()
        self._said: set[str] = set()

    @property
    def dropped(self) -> int:
        """Return how many were never written."""
        return self._folding.dropped

    def record(
        self,
        about: KubeObject,
        type: EventType,
        reason: str,
        message: str,
        component: str | None = None,
    ) -> None:
        """Tell what happened to an object; neither waits nor raises. For the loop's thread."""
        happening = EventKey.of(about, type, reason, message)
        if not happening.about.name:
            return  # nobody could find it
        happening = replace(happening, component=component or self._component)
        self._folding.add(happening, self._clock(), _now())
        self._news.set()

    async def run(self) -> None:
        """Write what was recorded, until cancelled."""
        while True:
            self._news.clear()
            folded = self._folding.take_due(_now())
            if folded is None:
                # Wait until an Event is due, or there is news.
                due = self._folding.next_due()
                try:
                    async with asyncio.timeout_at(due):
                        await self._news.wait()
                except TimeoutError:
                    pass
            else:
                await asyncio.sleep(self._pace.reserve(_now()))
                try:
                    await self._send(folded)
                except NotFound as error:
                    if folded.is_written:
                        self._folding.gone(folded, _now())
                    else:
                        self._failed(folded, error)  # its namespace has gone
                except Exception as error:  # an Event that cannot be written must not end us
                    self._failed(folded, error)
                else:
                    self._folding.written(folded, _now())
                    # The next outage is logged again.
                    self._said.discard(ClusterUnavailable.__name__)

    async def _send(self, folded: AggregatedEvent) -> None:
        event = folded.to_object(self._host)
        if not folded.is_written:
            try:
                await self._cluster.create(event)
            except AlreadyExists:
                pass  # the answer to an earlier attempt was lost
            else:
                return
        await self._cluster.patch(ObjectRef.of(event), MergePatch(folded.changes()))

    def _failed(self, folded: AggregatedEvent, error: Exception) -> None:
        """Try again what may go better soon, drop all else, and say it if it was not said."""
        if isinstance(error, ClusterUnavailable):
            self._folding.failed(folded, _now())
        else:
            self._folding.given_up(folded, _now())
        is_terminating = isinstance(error, ApiError) and any(
            cause.reason == _TERMINATING for cause in error.causes
        )
        if is_terminating:
            what = _TERMINATING
        else:
            named = ClusterUnavailable if isinstance(error, ClusterUnavailable) else type(error)
            what = named.__name__
        if what in self._said:
            return
        self._said.add(what)
        happening = folded.happening
        log.warning(
            "event not written",
            extra={
                "object": str(happening.about),
                "reason": happening.reason,
                "error": str(error),
                "repeated": "such failures are not logged again",
            },
        )


def _now() -> float:
    """Return the time by which events are paced: the loop's, which does not jump."""
    return asyncio.get_running_loop().time()
