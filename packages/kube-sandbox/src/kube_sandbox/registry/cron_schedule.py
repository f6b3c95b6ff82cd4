"""
Cron schedules: `*/5 * * * *`, `@daily`, `@every 90s`, `TZ=Europe/Rome 0 9 * * 1-5`.

Kubernetes uses one library to validate CronJobs and to run them; so the same parser serves both
here, and what is accepted can be run. Error messages are the library's.

Follows cron 3.0.1 parser.go Parser.Parse, getField, getRange, parseDescriptor; spec.go
SpecSchedule.Next; constantdelay.go ConstantDelaySchedule.Next; kubernetes 1.35
pkg/apis/batch/validation/validation.go validateScheduleFormat.
"""

import re
import zoneinfo
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta, tzinfo

from kube_objects.go_text import quote

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY = "@every "
_INTEGER = re.compile("[+-]?[0-9]+", re.ASCII)
_DURATION = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")
_MICROSECOND, _MILLISECOND, _SECOND = 10**3, 10**6, 10**9
_UNITS = {
    "ns": 1,
    "us": _MICROSECOND,
    "µs": _MICROSECOND,  # U+00B5, micro sign
    "μs": _MICROSECOND,  # U+03BC, Greek letter mu
    "ms": _MILLISECOND,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
}
_MAX_INT64 = 2**63 - 1
_SEARCH_LIMIT = 5 * 366  # days: a leap day comes sooner
_MINUTE = timedelta(minutes=1)


class ScheduleError(ValueError):
    """A text is no schedule; the message is the library's."""


@dataclass(frozen=True, slots=True)
class _Bounds:
    least: int
    most: int
    names: dict[str, int] = field(default_factory=dict)


_FIELDS = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Bounds(0, 6, {name: number for number, name in enumerate(_DAYS)}),
)


@dataclass(frozen=True, slots=True)
class _Field:
    """The numbers that match; `is_star` if all do because the field says so."""

    numbers: frozenset[int]
    is_star: bool


@dataclass(frozen=True, slots=True)
class FieldSchedule:
    """Times whose minute, hour, day and month match; in `zone` if the schedule names one."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: _Field
    months: frozenset[int]
    weekdays: _Field
    zone: tzinfo | None = None

    def after(self, moment: datetime) -> datetime | None:
        """
        Return the next time after a moment; None if there is none within five years.

        The result is in the schedule's time zone, or else in the moment's. A time that a clock
        change leaves out is skipped, and one that comes twice matches twice.
        """
        zone = self.zone or moment.tzinfo or UTC
        here = moment.astimezone(UTC).replace(second=0, microsecond=0) + _MINUTE
        day = here.astimezone(zone).date()
        for _ in range(_SEARCH_LIMIT):
            by_date = day.day in self.days.numbers
            by_week = day.isoweekday() % 7 in self.weekdays.numbers
            # A day must match both fields, unless both are restricted: then one is enough.
            either = not (self.days.is_star or self.weekdays.is_star)
            is_day = by_date or by_week if either else by_date and by_week
            if is_day and day.month in self.months:
                while (local := here.astimezone(zone)).date() == day:
                    if local.hour not in self.hours:
                        here += (60 - local.minute) * _MINUTE
                    elif local.minute not in self.minutes:
                        here += _MINUTE
                    else:
                        return local
            day += timedelta(days=1)
            here = datetime.combine(day, time(), zone).astimezone(UTC)
        return None


@dataclass(frozen=True, slots=True)
class ConstantDelay:
    """`@every`: a number of whole seconds after the last time."""

    delay: timedelta

    def after(self, moment: datetime) -> datetime | None:
        """Return the next time after a moment."""
        return moment.replace(microsecond=0) + self.delay


Schedule = FieldSchedule | ConstantDelay


def parse_schedule(text: str) -> Schedule:
    """Read a schedule; raise `ScheduleError`."""
    zone: tzinfo | None = None
    if text.startswith(("TZ=", "CRON_TZ=")):
        setting, blank, rest = text.partition(" ")
        if not blank:
            # The library fails here in the manner of Go, and Kubernetes passes it on.
            reason = "runtime error: slice bounds out of range [:-1]"
            raise ScheduleError(f"invalid schedule format: {reason}")
        name = setting.partition("=")[2]
        if name in ("", "UTC"):
            parse_zone: tzinfo = UTC
        else:
            try:
                parse_zone = zoneinfo.ZoneInfo(name)
            except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
                reason = f"unknown time zone {name}"
                raise ScheduleError(f"provided bad location {name}: {reason}") from None
        zone, text = parse_zone, rest.strip()
    if text.startswith(_EVERY):
        # Read `@every 1h30m`; what is below a second is one, fractions of seconds are cut off.
        written = text.removeprefix(_EVERY)
        sign, rest = (written[:1], written[1:]) if written[:1] in ("+", "-") else ("", written)
        shown, nanos, wrong = quote(written), 0, "" if rest else "invalid"
        while rest and rest != "0" and not wrong:
            match = _DURATION.match(rest)
            if match is None or not (match[1] or match[2]):
                wrong = "invalid"
            elif not match[3]:
                wrong = "missing unit in"
            elif match[3] not in _UNITS:
                wrong = f"unknown unit {quote(match[3])} in"
            else:
                unit, fraction = _UNITS[match[3]], match[2] or ""
                nanos += int(match[1] or 0) * unit + int(fraction or 0) * unit // 10 ** len(
                    fraction
                )
                wrong = "invalid" if nanos > _MAX_INT64 else ""
                rest = rest[match.end() :]
                if rest == "0":
                    wrong = "missing unit in"  # a zero without a unit must stand alone
        if wrong:
            raise ScheduleError(f"failed to parse duration {text}: time: {wrong} duration {shown}")
        return ConstantDelay(timedelta(seconds=1 if sign == "-" else max(1, nanos // _SECOND)))
    if text.startswith("@") and text not in _DESCRIPTORS:
        raise ScheduleError(f"unrecognized descriptor: {text}")
    parts = _DESCRIPTORS.get(text, text).split()
    if len(parts) != len(_FIELDS):
        listed = " ".join(parts)
        raise ScheduleError(
            f"expected exactly {len(_FIELDS)} fields, found {len(parts)}: [{listed}]"
        )
    minutes, hours, days, months, weekdays = map(_parse_field, parts, _FIELDS)
    return FieldSchedule(minutes.numbers, hours.numbers, days, months.numbers, weekdays, zone)


def _parse_field(text: str, bounds: _Bounds) -> _Field:
    numbers: set[int] = set()
    is_star = False
    for part in filter(None, text.split(",")):
        span, *steps = part.split("/")
        ends = span.split("-")
        is_open = ends[0] in ("*", "?")
        if is_open:
            first, last = bounds.least, bounds.most
        else:
            first = last = _parse_number(ends[0], bounds)
            if len(ends) > 2:
                raise ScheduleError(f"too many hyphens: {part}")
            if len(ends) == 2:
                last = _parse_number(ends[1], bounds)
        if len(steps) > 1:
            raise ScheduleError(f"too many slashes: {part}")
        step = _parse_integer(steps[0]) if steps else 1
        if steps and len(ends) == 1:
            last = bounds.most
        if first < bounds.least:
            message = f"beginning of range ({first}) below minimum ({bounds.least}): {part}"
            raise ScheduleError(message)
        if last > bounds.most:
            raise ScheduleError(f"end of range ({last}) above maximum ({bounds.most}): {part}")
        if first > last:
            message = f"beginning of range ({first}) beyond end of range ({last}): {part}"
            raise ScheduleError(message)
        if step == 0:
            raise ScheduleError(f"step of range should be a positive number: {part}")
        numbers.update(range(first, last + 1, step))
        is_star = is_star or (is_open and step == 1)
    return _Field(frozenset(numbers), is_star)


def _parse_number(text: str, bounds: _Bounds) -> int:
    found = bounds.names.get(text.lower())
    return _parse_integer(text) if found is None else found


def _parse_integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        reason = f"strconv.Atoi: parsing {quote(text)}: invalid syntax"
        raise ScheduleError(f"failed to parse int from {text}: {reason}")
    number = int(text)
    if abs(number) > _MAX_INT64:
        reason = f"strconv.Atoi: parsing {quote(text)}: value out of range"
        raise ScheduleError(f"failed to parse int from {text}: {reason}")
    if number < 0:
        raise ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number
