"""
Records Kubernetes Events, aggregated and rate-limited: `kubectl describe` shows them.

`record` returns at once; a task writes the Event later. An Event is dropped rather than waited for,
and each sort of failure is logged once. What is written, and when, is decided in
`event_aggregation`.
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
    """Accepts Events at once, and writes them from a task: `run`."""

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
        self._events = EventAggregator(self._limits)
        self._pace = TokenBucket(self._limits.per_second, self._limits.process_burst)
        self._recorded = asyncio.Event()
        self._logged: set[str] = set()

    @property
    def dropped(self) -> int:
        """Return how many were never written."""
        return self._events.dropped

    def record(
        self,
        about: KubeObject,
        type: EventType,
        reason: str,
        message: str,
        component: str | None = None,
    ) -> None:
        """Record what happened to an object; neither waits nor raises. For the loop's thread."""
        key = EventKey.of(about, type, reason, message)
        if not key.about.name:
            return  # an Event must name its object
        key = replace(key, component=component or self._component)
        self._events.add(key, self._clock(), _now())
        self._recorded.set()

    async def run(self) -> None:
        """Write what was recorded, until cancelled."""
        while True:
            self._recorded.clear()
            event = self._events.take_due(_now())
            if event is None:
                # Wait until an Event is due, or another one is recorded.
                due = self._events.next_due()
                try:
                    async with asyncio.timeout_at(due):
                        await self._recorded.wait()
                except TimeoutError:
                    pass
            else:
                await asyncio.sleep(self._pace.reserve(_now()))
                try:
                    await self._send(event)
                except NotFound as error:
                    if event.is_written:
                        self._events.gone(event, _now())
                    else:
                        self._failed(event, error)  # its namespace has gone
                except Exception as error:  # an Event that cannot be written must not end us
                    self._failed(event, error)
                else:
                    self._events.written(event, _now())
                    # The next outage is logged again.
                    self._logged.discard(ClusterUnavailable.__name__)

    async def _send(self, event: AggregatedEvent) -> None:
        obj = event.to_object(self._host)
        if not event.is_written:
            try:
                await self._cluster.create(obj)
            except AlreadyExists:
                pass  # the answer to an earlier attempt was lost
            else:
                return
        await self._cluster.patch(ObjectRef.of(obj), MergePatch(event.changes()))

    def _failed(self, event: AggregatedEvent, error: Exception) -> None:
        """Retry if the cluster is out of reach, else drop the Event; log each reason once."""
        if isinstance(error, ClusterUnavailable):
            self._events.failed(event, _now())
        else:
            self._events.given_up(event, _now())
        is_terminating = isinstance(error, ApiError) and any(
            cause.reason == _TERMINATING for cause in error.causes
        )
        if is_terminating:
            what = _TERMINATING
        else:
            named = ClusterUnavailable if isinstance(error, ClusterUnavailable) else type(error)
            what = named.__name__
        if what in self._logged:
            return
        self._logged.add(what)
        key = event.key
        log.warning(
            "event not written",
            extra={
                "object": str(key.about),
                "reason": key.reason,
                "error": str(error),
                "repeated": "such failures are not logged again",
            },
        )


def _now() -> float:
    """Return the time by which events are paced: the loop's, which does not jump."""
    return asyncio.get_running_loop().time()
