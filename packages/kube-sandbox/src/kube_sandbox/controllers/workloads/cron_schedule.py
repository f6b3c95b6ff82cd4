"""
Cron schedules: when is the next time?

Five fields (minute, hour, day of month, month, day of week) with lists, ranges, steps and names, or
one of the words (`@hourly`). A day must match both of its fields, unless both are restricted: then
one is enough.

Follows cron 3.0.1 parser.go Parser.Parse, getField; spec.go SpecSchedule.Next.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

_WORDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_SEARCH_LIMIT = 5 * 366  # days: a leap day comes sooner


@dataclass(frozen=True, slots=True)
class Schedule:
    """When something is to happen."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool

    @classmethod
    def parse(cls, text: str) -> "Schedule":
        """Read a schedule; raise `ValueError` if it is none."""
        fields = _WORDS.get(text, text).split()
        if len(fields) != 5:
            raise ValueError(f"expected exactly 5 fields, found {len(fields)}: {text}")
        names: tuple[tuple[str, ...], ...] = ((), (), (), _MONTHS, _DAYS)
        found = [
            _field(each, *bounds, known)
            for each, bounds, known in zip(fields, _RANGES, names, strict=True)
        ]
        found[4] = frozenset(each % 7 for each in found[4])
        free = [each[:1] in "*?" for each in fields]
        minutes, hours, days, months, weekdays = found
        return cls(minutes, hours, days, months, weekdays, free[2], free[4])

    def after(self, moment: datetime) -> datetime | None:
        """Return the next time after a moment, in its time zone; `None` if there is none."""
        here = (moment + timedelta(minutes=1)).replace(second=0, microsecond=0)
        for _ in range(_SEARCH_LIMIT):
            if here.month in self.months and self._is_day(here):
                found = self._within(here)
                if found is not None:
                    return found
            here = (here + timedelta(days=1)).replace(hour=0, minute=0)
        return None

    def _is_day(self, day: datetime) -> bool:
        by_date, by_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return by_date and by_week if self.any_day or self.any_weekday else by_date or by_week

    def _within(self, day: datetime) -> datetime | None:
        for hour in sorted(each for each in self.hours if each >= day.hour):
            start = day.minute if hour == day.hour else 0
            minutes = [each for each in self.minutes if each >= start]
            if minutes:
                return day.replace(hour=hour, minute=min(minutes))
        return None


def _field(text: str, least: int, most: int, names: tuple[str, ...]) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        span, slash, step = part.partition("/")
        first, dash, last = span.partition("-")
        low = least if first in ("*", "?") else _number(first, names, least)
        high = most if first in ("*", "?") or (slash and not dash) else low
        high = _number(last, names, least) if dash else high
        stride = int(step) if slash else 1
        if not least <= low <= high <= most or stride < 1:
            raise ValueError(f"out of range: {part}")
        found.update(range(low, high + 1, stride))
    return frozenset(found)


def _number(text: str, names: tuple[str, ...], least: int) -> int:
    lowered = text.lower()
    if lowered in names:
        return names.index(lowered) + least
    return int(text)
