"""
How often a call may requeue a source, and which calls are repetitions.

Many pushes in a row need one poll of the remote, as long as it comes after the last of them. So
the first call requeues its source at once, and those that follow within `gap` share one later
poll. No push is lost; only a caller without end is rejected.

Times are parameters, of a monotonic clock.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from enum import StrEnum

REMEMBERED = 24 * 3600.0  # seconds for which a delivery is known again
MOST_DELIVERIES = 10_000


class Outcome(StrEnum):
    """The outcome of an authenticated call."""

    POKED = "poked"
    COALESCED = "coalesced"  # the source will be polled anyway, later than now
    IGNORED = "ignored"  # it is about something else
    REPEATED = "repeated"  # it was received before
    LIMITED = "limited"


@dataclass(frozen=True, slots=True)
class Admission:
    """An outcome, and in how many seconds the source is polled, or may be called again."""

    outcome: Outcome
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class Pace:
    """The rate limit of one source."""

    gap: float = 5.0  # seconds between two polls
    burst: int = 60  # calls at once after a pause
    per_second: float = 1.0


@dataclass(slots=True)
class SourcePace:
    """The rate limit of one source: a token bucket, and the latest poll, past or future."""

    pace: Pace
    _tokens: float = field(init=False)
    _seen: float | None = field(init=False, default=None)
    _latest: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._tokens = float(self.pace.burst)

    def admit(self, now: float) -> Admission:
        """Count a call, and return when to poll its source."""
        rested = 0.0 if self._seen is None else now - self._seen
        self._tokens = min(self.pace.burst, self._tokens + rested * self.pace.per_second)
        self._seen = now
        if self._tokens < 1:
            return Admission(Outcome.LIMITED, (1 - self._tokens) / self.pace.per_second)
        self._tokens -= 1
        if self._latest is not None and self._latest > now:
            return Admission(Outcome.COALESCED, self._latest - now)
        self._latest = now if self._latest is None else max(now, self._latest + self.pace.gap)
        return Admission(Outcome.POKED, self._latest - now)


class Deliveries:
    """The calls received lately; the oldest are dropped first."""

    def __init__(self, most: int = MOST_DELIVERIES, remembered: float = REMEMBERED) -> None:
        self._most = most
        self._remembered = remembered
        self._received: OrderedDict[tuple[str, ...], float] = OrderedDict()  # by time

    def has(self, delivery: tuple[str, ...], now: float) -> bool:
        """Return whether a call was received before."""
        received = self._received.get(delivery)
        return received is not None and now - received < self._remembered

    def add(self, delivery: tuple[str, ...], now: float) -> None:
        """Remember a call."""
        self._received[delivery] = now
        self._received.move_to_end(delivery)
        latest = now - self._remembered
        while len(self._received) > self._most or next(iter(self._received.values())) <= latest:
            self._received.popitem(last=False)
