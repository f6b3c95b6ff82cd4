"""
Decides which Events are written, and when: aggregation, limits and a bounded queue.

What happens again to the same object is the same Event with a higher count, and it is written at
most once per interval. The number of different Events about one object is limited by the same token
bucket that Kubernetes' own components have. Events that are not written yet wait in a queue; if it
is full, the oldest is dropped and counted.

Times are arguments: `now` paces (seconds of any clock that does not jump), `at` is written.
"""

import hashlib
import re
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from kube_objects.refs import KubeObject, ObjectRef
from kube_objects.times import format_time

EventType = Literal["Normal", "Warning"]

MAX_NAME_LENGTH = 253
_HASH_DIGITS = 16
# Cluster-scoped objects have their Events here; the API server accepts no other place.
_CLUSTER_SCOPED_NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class EventLimits:
    """How much may be written; buckets are those of Kubernetes' own components."""

    burst: int = 25  # Events about one object, at once
    refill: float = 300.0  # seconds until the object may have another
    interval: float = 10.0  # seconds between two writes of the same Event
    per_second: float = 10.0  # writes of this process
    process_burst: int = 50
    queued: int = 1000  # Events that wait to be written
    remembered: int = 1024  # Events that can still be event, and objects with a bucket
    message: int = 1024  # characters
    attempts: int = 3  # times that one write is tried
    pause: float = 5.0  # seconds between two of them


@dataclass(frozen=True, slots=True)
class EventKey:
    """Something that happened to an object: what makes two of them the same Event."""

    about: ObjectRef
    uid: str
    type: EventType
    reason: str
    message: str
    component: str
    resource_version: str = field(default="", compare=False)

    @classmethod
    def of(cls, about: KubeObject, type_: EventType, reason: str, message: str) -> "EventKey":
        """Take what identifies an object; who reports it is filled in later."""
        metadata = about.get("metadata")
        found = metadata if isinstance(metadata, dict) else {}
        uid, version = str(found.get("uid") or ""), str(found.get("resourceVersion") or "")
        return cls(ObjectRef.of(about), uid, type_, reason, message, "", version)

    @property
    def subject(self) -> tuple[ObjectRef, str]:
        """Return the one object it is about; another of the same name has another uid."""
        return self.about, self.uid

    @property
    def namespace(self) -> str:
        """Return where the Event goes."""
        return self.about.namespace or _CLUSTER_SCOPED_NAMESPACE


@dataclass(frozen=True, slots=True)
class AggregatedEvent:
    """One Event: how often it happened, and what of that the cluster knows."""

    key: EventKey
    first: datetime
    last: datetime
    count: int = 1
    is_written: bool = False  # the Event exists in the cluster
    not_before: float = 0.0
    failures: int = 0

    @property
    def name(self) -> str:
        """Name the Event: the object's name, and a hash that no other Event has."""
        parts = (self.key, format_time(self.first), self.first.microsecond)
        digest = hashlib.sha256(repr(parts).encode(errors="replace")).hexdigest()[:_HASH_DIGITS]
        # Names of objects may have characters that names of Events may not: roles have colons.
        plain = re.sub(r"[^-a-z0-9.]", "-", self.key.about.name.lower())
        plain = re.sub(r"-*\.[-.]*", ".", plain)[: MAX_NAME_LENGTH - _HASH_DIGITS - 1]
        return f"{plain.strip('-.') or 'event'}.{digest}"

    def to_object(self, host: str) -> KubeObject:
        """Write the Event as `kubectl describe` reads it."""
        key = self.key
        about = self.key.about
        found = {
            "apiVersion": about.kind.api_version,
            "kind": about.kind.kind,
            "name": about.name,
            "namespace": about.namespace,
            "uid": self.key.uid,
            "resourceVersion": self.key.resource_version,
        }
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": self.name, "namespace": key.namespace},
            "involvedObject": {key: value for key, value in found.items() if value},
            "type": key.type,
            "reason": key.reason,
            "message": key.message,
            "source": {"component": key.component, "host": host},
            "reportingComponent": key.component,
            "reportingInstance": host,
            "firstTimestamp": format_time(self.first),
            **self.changes(),
        }

    def changes(self) -> KubeObject:
        """Return what is different each time."""
        return {"count": self.count, "lastTimestamp": format_time(self.last)}


@dataclass(slots=True)
class _Bucket:
    """What an object may still have."""

    tokens: float
    seen: float

    def refill(self, now: float, limits: EventLimits) -> None:
        grown = max(0.0, now - self.seen) / limits.refill
        self.tokens = min(float(limits.burst), self.tokens + grown)
        self.seen = now

    def wait(self, limits: EventLimits) -> float:
        """Return how long it takes until there is one."""
        return max(0.0, 1.0 - self.tokens) * limits.refill


@dataclass(slots=True)
class EventAggregator:
    """The Events that were met lately, and those of them that wait to be written."""

    limits: EventLimits = field(default_factory=EventLimits)
    dropped: int = 0
    _known: OrderedDict[EventKey, AggregatedEvent] = field(default_factory=OrderedDict)
    _waiting: OrderedDict[EventKey, None] = field(default_factory=OrderedDict)
    _buckets: OrderedDict[tuple[ObjectRef, str], _Bucket] = field(default_factory=OrderedDict)

    def add(self, key: EventKey, at: datetime, now: float) -> None:
        """Take something in that happened."""
        text = key.message
        most = self.limits.message
        key = replace(key, message=text if len(text) <= most else f"{text[: most - 1]}…")
        known = self._known.get(key)
        if known is not None:
            self._known[key] = replace(known, count=known.count + 1, last=at)
            self._known.move_to_end(key)
            self._enqueue(key)
        elif self._take(key.subject, now):
            self._known[key] = AggregatedEvent(key, at, at, not_before=now)
            while len(self._known) > self.limits.remembered:
                oldest, _ = self._known.popitem(last=False)
                if oldest in self._waiting:
                    del self._waiting[oldest]
                    self.dropped += 1
            self._enqueue(key)
        else:
            self.dropped += 1

    def take_due(self, now: float) -> AggregatedEvent | None:
        """Return an Event that is to be written now, the one that waited longest."""
        for key in self._waiting:
            event = self._known[key]
            if event.not_before > now:
                continue
            # The first time is paid for when it is taken in.
            if event.is_written and not event.failures:
                # Take a token, or return how long it takes until there is one.
                subject = event.key.subject
                if self._take(subject, now):
                    wait = 0.0
                else:
                    wait = self._bucket(subject, now).wait(self.limits)
                if wait:
                    self._known[key] = replace(event, not_before=now + wait)
                    continue
            del self._waiting[key]
            return event
        return None

    def next_due(self) -> float | None:
        """Return when the next Event is to be written, or `None` if none waits."""
        times = (self._known[key].not_before for key in self._waiting)
        return min(times, default=None)

    def written(self, event: AggregatedEvent, now: float) -> None:
        """Note that the cluster knows an Event as it was when it was taken."""
        not_before = now + self.limits.interval
        self._note(event, is_written=True, failures=0, not_before=not_before)

    def gone(self, event: AggregatedEvent, now: float) -> None:
        """Note that the cluster has forgotten an Event, as it does after an hour."""
        self._note(event, is_written=False, failures=event.failures + 1, not_before=now)
        self._enqueue_again(event)

    def failed(self, event: AggregatedEvent, now: float) -> None:
        """Note that an Event could not be written; it is tried again a few times."""
        failures = event.failures + 1
        if failures >= self.limits.attempts:
            self.given_up(event, now)
            return
        not_before = now + self.limits.pause
        self._note(event, is_written=event.is_written, failures=failures, not_before=not_before)
        self._enqueue_again(event)

    def given_up(self, event: AggregatedEvent, now: float) -> None:
        """Note that an Event is not worth another attempt, until it happens again."""
        self.dropped += 1
        not_before = now + self.limits.interval
        self._note(event, is_written=event.is_written, failures=0, not_before=not_before)

    def _note(
        self, event: AggregatedEvent, *, is_written: bool, failures: int, not_before: float
    ) -> None:
        """Change what is known, if it still is; counts may have grown meanwhile."""
        known = self._known.get(event.key)
        if known is not None and known.first == event.first:
            self._known[event.key] = replace(
                known, is_written=is_written, failures=failures, not_before=not_before
            )

    def _enqueue_again(self, event: AggregatedEvent) -> None:
        if event.key in self._known:
            self._enqueue(event.key)

    def _enqueue(self, key: EventKey) -> None:
        self._waiting.setdefault(key)
        while len(self._waiting) > self.limits.queued:
            self._waiting.popitem(last=False)
            self.dropped += 1

    def _take(self, subject: tuple[ObjectRef, str], now: float) -> bool:
        """Take a token for an Event about a subject; return False if there is none left."""
        bucket = self._bucket(subject, now)
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    def _bucket(self, subject: tuple[ObjectRef, str], now: float) -> _Bucket:
        bucket = self._buckets.setdefault(subject, _Bucket(float(self.limits.burst), now))
        bucket.refill(now, self.limits)
        self._buckets.move_to_end(subject)
        while len(self._buckets) > self.limits.remembered:
            self._buckets.popitem(last=False)
        return bucket
