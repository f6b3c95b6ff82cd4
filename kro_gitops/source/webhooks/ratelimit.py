"""
How often a call may wake a source, and which calls were heard before.

Many pushes in a row need one look at the remote, as long as it is taken after the last of them.
So the first call wakes its source at once, and those that follow within `gap` are one later
wake-up. Nothing is lost; only who calls without end is turned away.

Times are handed in, of a clock that never goes back.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from enum import StrEnum

REMEMBERED = 24 * 3600.0  # seconds for which a delivery is known again
MOST_DELIVERIES = 10_000


class Outcome(StrEnum):
    """What becomes of a genuine call."""

    POKED = "poked"
    COALESCED = "coalesced"  # the source will be woken anyway, later than now
    IGNORED = "ignored"  # it is about something else
    REPEATED = "repeated"  # it was heard before
    LIMITED = "limited"


@dataclass(frozen=True, slots=True)
class Admission:
    """An outcome, and in how many seconds the source is woken, or may be called again."""

    outcome: Outcome
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class Pace:
    """What one source puts up with."""

    gap: float = 5.0  # seconds between two wake-ups
    burst: int = 60  # calls at once after a rest
    per_second: float = 1.0


@dataclass(slots=True)
class SourcePace:
    """The pace of one source: a bucket of calls, and the latest wake-up, which may be to come."""

    pace: Pace
    _tokens: float = field(init=False)
    _seen: float | None = field(init=False, default=None)
    _latest: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._tokens = float(self.pace.burst)

    def admit(self, now: float) -> Admission:
        """Count a call, and say when its source is to be woken."""
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
    """The calls heard lately; the oldest are forgotten first."""

    def __init__(self, most: int = MOST_DELIVERIES, remembered: float = REMEMBERED) -> None:
        self._most = most
        self._remembered = remembered
        self._heard: OrderedDict[tuple[str, ...], float] = OrderedDict()  # by time

    def has(self, delivery: tuple[str, ...], now: float) -> bool:
        """Say whether a call was heard before."""
        heard = self._heard.get(delivery)
        return heard is not None and now - heard < self._remembered

    def add(self, delivery: tuple[str, ...], now: float) -> None:
        """Remember a call."""
        self._heard[delivery] = now
        self._heard.move_to_end(delivery)
        while len(self._heard) > self._most or self._is_old(now):
            self._heard.popitem(last=False)

    def _is_old(self, now: float) -> bool:
        return now - next(iter(self._heard.values())) >= self._remembered
