"""
Timestamps and durations: making them, and taking them apart.

Accessors use UTC unless they are given a zone, an IANA name or `±hh:mm`. Months, days of the
year, of the week and `getDayOfMonth` count from 0; `getDate` counts from 1.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from kube_cel.errors import EvaluationError
from kube_cel.scalars import Duration, Timestamp
from kube_cel.time_formats import (
    EPOCH,
    MAX_SECONDS,
    MIN_SECONDS,
    SECOND,
    is_rfc3339,
    parse_duration,
    parse_timestamp,
)
from kube_cel.type_names import conversion_failed, no_such_overload
from kube_objects.go_text import quote

_TIMESTAMP = "google.protobuf.Timestamp"
_DURATION = "google.protobuf.Duration"
_NUMBER = re.compile(r"[+-]?[0-9]+")


def timestamp(value: Any) -> Timestamp:
    """`timestamp(…)` of RFC 3339 text or seconds since 1970."""
    if type(value) is Timestamp:
        return value
    if type(value) is int:
        return _in_range(Timestamp(value * SECOND))
    if type(value) is not str:
        raise no_such_overload("timestamp", value)
    if not is_rfc3339(value):
        raise EvaluationError(f"invalid RFC 3339 timestamp {quote(value)}")
    try:
        return _in_range(parse_timestamp(value))
    except ValueError:  # of the right form, but no such day
        raise conversion_failed(value, _TIMESTAMP) from None


def duration(value: Any) -> Duration:
    """`duration(…)` of Go's text: `1h30m`."""
    if type(value) is Duration:
        return value
    if type(value) is not str:
        raise no_such_overload("duration", value)
    try:
        return Duration(parse_duration(value))
    except ValueError:
        raise conversion_failed(value, _DURATION) from None


def _in_range(moment: Timestamp) -> Timestamp:
    if MIN_SECONDS <= moment.nanos // SECOND <= MAX_SECONDS:
        return moment
    raise EvaluationError("timestamp overflow")


def local_time(moment: Timestamp, zone: str = "UTC") -> tuple[datetime, int]:
    """
    Return the calendar and clock of a zone at a moment, in whole seconds.

    On the first and the last day that CEL knows, a zone may be beyond Python's calendar. Its
    twin 400 years away, which has the same days of the week, is returned then; the number
    is what must be added to its year.
    """
    found, moved = find_zone(zone), 0
    utc = EPOCH + timedelta(seconds=moment.nanos // SECOND)
    try:
        return utc.astimezone(found), moved
    except OverflowError:
        moved = 400 if utc.year > 1 else -400
        return utc.replace(year=utc.year - moved).astimezone(found), moved


@lru_cache(maxsize=64)
def find_zone(name: str) -> tzinfo:
    """Find a zone by IANA name, or make one of `±hh:mm`."""
    if ":" in name:
        hours_text, _, minutes_text = name.partition(":")
        hours, minutes = _whole(hours_text), _whole(minutes_text)
        if not -23 <= hours <= 23:
            raise EvaluationError(f"timezone offset hours out of range [-23, 23]: {name}")
        if not 0 <= minutes <= 59:
            raise EvaluationError(f"timezone offset minutes out of range [0, 59]: {name}")
        sign = -1 if name[0] == "-" else 1
        return timezone(timedelta(minutes=hours * 60 + sign * minutes))
    if name in ("", "UTC", "Local"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ValueError, LookupError, OSError):  # whatever the zone database objects to
        raise EvaluationError(f"unknown time zone {name}") from None


def _whole(text: str) -> int:
    if len(text) > 18 or not _NUMBER.fullmatch(text):
        raise EvaluationError(f'strconv.Atoi: parsing "{text}": invalid syntax')
    return int(text)


def _accessor(name: str, read: Callable[[datetime], int]) -> Callable[..., int]:
    def get(moment: Timestamp, zone: Any = "UTC") -> int:
        if type(zone) is not str:
            raise no_such_overload(name, moment, zone)
        return read(local_time(moment, zone)[0])

    return get


def _full_year(moment: Timestamp, zone: Any = "UTC") -> int:
    if type(zone) is not str:
        raise no_such_overload("getFullYear", moment, zone)
    local, moved = local_time(moment, zone)
    return local.year + moved


def _milliseconds(moment: Timestamp, zone: Any = "UTC") -> int:
    if type(zone) is not str:
        raise no_such_overload("getMilliseconds", moment, zone)
    find_zone(zone)  # a zone that does not exist is an error here, too
    return moment.nanos % SECOND // 10**6


def _whole_units(unit: int) -> Callable[[Duration], int]:
    """Make an accessor that counts whole units of a duration, towards zero."""

    def count(span: Duration) -> int:
        whole = abs(span.nanos) // unit
        return whole if span.nanos >= 0 else -whole

    return count


_CALENDAR: Mapping[str, Callable[[datetime], int]] = {
    "getMonth": lambda t: t.month - 1,
    "getDate": lambda t: t.day,
    "getDayOfMonth": lambda t: t.day - 1,
    "getDayOfWeek": lambda t: t.isoweekday() % 7,
    "getDayOfYear": lambda t: t.timetuple().tm_yday - 1,
    "getHours": lambda t: t.hour,
    "getMinutes": lambda t: t.minute,
    "getSeconds": lambda t: t.second,
}
_SPANS = {
    "getHours": 3600 * SECOND,
    "getMinutes": 60 * SECOND,
    "getSeconds": SECOND,
    "getMilliseconds": 10**6,
}

GLOBALS: Mapping[str, Callable[..., Any]] = {"timestamp": timestamp, "duration": duration}

MEMBERS: Mapping[tuple[str, str], Callable[..., Any]] = {
    **{(name, _TIMESTAMP): _accessor(name, read) for name, read in _CALENDAR.items()},
    ("getFullYear", _TIMESTAMP): _full_year,
    ("getMilliseconds", _TIMESTAMP): _milliseconds,
    **{(name, _DURATION): _whole_units(unit) for name, unit in _SPANS.items()},
}
