"""
Which Events are written, and when: folding, limits and a bounded queue, without a cluster.

What happens again to the same object is the same Event with a higher count, and it is written at
most once in a while. An object about which there is always something new to say is cut short, by
the same bucket that Kubernetes' own components have. What is not written yet waits in a queue; if
it gets too long, the oldest is dropped and counted: news is worth more.

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
    remembered: int = 1024  # Events that can still be folded, and objects with a bucket
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

    happening: EventKey
    first: datetime
    last: datetime
    count: int = 1
    is_written: bool = False  # the Event exists in the cluster
    not_before: float = 0.0
    failures: int = 0

    @property
    def name(self) -> str:
        """Name the Event: the object's name, and a hash that no other Event has."""
        parts = (self.happening, format_time(self.first), self.first.microsecond)
        digest = hashlib.sha256(repr(parts).encode(errors="replace")).hexdigest()[:_HASH_DIGITS]
        return f"{_name_prefix(self.happening.about.name)}.{digest}"

    def to_object(self, host: str) -> KubeObject:
        """Write the Event as `kubectl describe` reads it."""
        happening = self.happening
        about = self.happening.about
        found = {
            "apiVersion": about.kind.api_version,
            "kind": about.kind.kind,
            "name": about.name,
            "namespace": about.namespace,
            "uid": self.happening.uid,
            "resourceVersion": self.happening.resource_version,
        }
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": self.name, "namespace": happening.namespace},
            "involvedObject": {key: value for key, value in found.items() if value},
            "type": happening.type,
            "reason": happening.reason,
            "message": happening.message,
            "source": {"component": happening.component, "host": host},
            "reportingComponent": happening.component,
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

    def add(self, happening: EventKey, at: datetime, now: float) -> None:
        """Take something in that happened."""
        text = happening.message
        most = self.limits.message
        happening = replace(
            happening, message=text if len(text) <= most else f"{text[: most - 1]}…"
        )
        known = self._known.get(happening)
        if known is not None:
            self._known[happening] = replace(known, count=known.count + 1, last=at)
            self._known.move_to_end(happening)
            self._enqueue(happening)
        elif self._take(happening.subject, now):
            self._known[happening] = AggregatedEvent(happening, at, at, not_before=now)
            while len(self._known) > self.limits.remembered:
                oldest, _ = self._known.popitem(last=False)
                if oldest in self._waiting:
                    del self._waiting[oldest]
                    self.dropped += 1
            self._enqueue(happening)
        else:
            self.dropped += 1

    def take_due(self, now: float) -> AggregatedEvent | None:
        """Return an Event that is to be written now, the one that waited longest."""
        for happening in self._waiting:
            folded = self._known[happening]
            if folded.not_before > now:
                continue
            # The first time is paid for when it is taken in.
            if folded.is_written and not folded.failures:
                # Take a token, or return how long it takes until there is one.
                subject = folded.happening.subject
                if self._take(subject, now):
                    wait = 0.0
                else:
                    wait = self._bucket(subject, now).wait(self.limits)
                if wait:
                    self._known[happening] = replace(folded, not_before=now + wait)
                    continue
            del self._waiting[happening]
            return folded
        return None

    def next_due(self) -> float | None:
        """Return when the next Event is to be written, or `None` if none waits."""
        times = (self._known[happening].not_before for happening in self._waiting)
        return min(times, default=None)

    def written(self, folded: AggregatedEvent, now: float) -> None:
        """Note that the cluster knows an Event as it was when it was taken."""
        not_before = now + self.limits.interval
        self._note(folded, is_written=True, failures=0, not_before=not_before)

    def gone(self, folded: AggregatedEvent, now: float) -> None:
        """Note that the cluster has forgotten an Event, as it does after an hour."""
        self._note(folded, is_written=False, failures=folded.failures + 1, not_before=now)
        self._enqueue_again(folded)

    def failed(self, folded: AggregatedEvent, now: float) -> None:
        """Note that an Event could not be written; it is tried again a few times."""
        failures = folded.failures + 1
        if failures >= self.limits.attempts:
            self.given_up(folded, now)
            return
        not_before = now + self.limits.pause
        self._note(folded, is_written=folded.is_written, failures=failures, not_before=not_before)
        self._enqueue_again(folded)

    def given_up(self, folded: AggregatedEvent, now: float) -> None:
        """Note that an Event is not worth another attempt, until it happens again."""
        self.dropped += 1
        not_before = now + self.limits.interval
        self._note(folded, is_written=folded.is_written, failures=0, not_before=not_before)

    def _note(
        self, folded: AggregatedEvent, *, is_written: bool, failures: int, not_before: float
    ) -> None:
        """Change what is known, if it still is; counts may have grown meanwhile."""
        known = self._known.get(folded.happening)
        if known is not None and known.first == folded.first:
            self._known[folded.happening] = replace(
                known, is_written=is_written, failures=failures, not_before=not_before
            )

    def _enqueue_again(self, folded: AggregatedEvent) -> None:
        if folded.happening in self._known:
            self._enqueue(folded.happening)

    def _enqueue(self, happening: EventKey) -> None:
        self._waiting.setdefault(happening)
        while len(self._waiting) > self.limits.queued:
            self._waiting.popitem(last=False)
            self.dropped += 1

    def _take(self, subject: tuple[ObjectRef, str], now: float) -> bool:
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


def _name_prefix(name: str) -> str:
    """Return what of an object's name may stand in an Event's; roles may have colons, say."""
    plain = re.sub(r"[^-a-z0-9.]", "-", name.lower())
    plain = re.sub(r"-*\.[-.]*", ".", plain)[: MAX_NAME_LENGTH - _HASH_DIGITS - 1]
    return plain.strip("-.") or "event"
