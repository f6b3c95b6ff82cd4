"""
Timestamps and durations as text: RFC 3339, Go's durations, and what Kubernetes schemas allow.

Parsers raise `ValueError` for invalid text; the caller adds the error message. There is no clock
here: CEL has no function that returns the current time.
"""

import re
from datetime import UTC, datetime, timedelta

from kube_cel.scalars import Timestamp

SECOND = 10**9
MIN_SECONDS = -62135596800
"""0001-01-01T00:00:00Z, the first moment CEL knows."""
MAX_SECONDS = 253402300799
"""9999-12-31T23:59:59Z, the last one."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = EPOCH.replace(tzinfo=None)  # zones are ours to add and subtract

_RFC3339 = re.compile(
    r"([0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])[Tt]"
    r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60))(?:\.([0-9]+))?"
    r"([Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)
_MAX_DURATION_LENGTH = 10_000  # characters, which are read one unit after the other
_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,  # U+00B5, the micro sign
    "μs": 10**3,  # U+03BC, the Greek letter
    "ms": 10**6,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_DURATION_PART = re.compile(r"([0-9]*)(?:(\.)([0-9]*))?([^0-9.]+)")
_UNIT_WORDS: tuple[tuple[tuple[str, ...], int], ...] = (
    (("ns", "nano"), 1),
    (("us", "µs", "micro"), 10**3),
    (("ms", "milli"), 10**6),
    (("s", "sec"), SECOND),
    (("m", "min"), 60 * SECOND),
    (("h", "hr", "hour"), 3600 * SECOND),
    (("d", "day"), 24 * 3600 * SECOND),
    (("w", "wk", "week"), 7 * 24 * 3600 * SECOND),
)
_COUNTED_WORD = re.compile(r"([0-9]+)\s*([A-Za-zµ]+)")


def is_rfc3339(text: str) -> bool:
    """Return whether `text` has the form of an RFC 3339 timestamp, real day or not."""
    return _RFC3339.fullmatch(text) is not None


def parse_timestamp(text: str) -> Timestamp:
    """Read an RFC 3339 timestamp; whether CEL knows such a moment is not checked."""
    parts = _RFC3339.fullmatch(text)
    if parts is None:
        raise ValueError(text)
    clock, fraction, zone = parts.groups()
    if clock[10] != "T" or zone == "z":  # the form allows small letters, Go does not
        raise ValueError(text)
    offset = 0
    if zone != "Z":
        offset = int(zone[1:3]) * 3600 + int(zone[4:6]) * 60
        offset = -offset if zone[0] == "-" else offset
    if clock.startswith("0000"):  # a year of the form but not of Python; out of range anyhow
        seconds = MIN_SECONDS - 366 * 86400 - offset
    else:
        since = datetime.fromisoformat(clock) - _NAIVE_EPOCH
        seconds = since.days * 86400 + since.seconds - offset
    if fraction is None:
        return Timestamp(seconds * SECOND, offset)
    return Timestamp(seconds * SECOND + int(fraction[:9].ljust(9, "0")), offset)


def parse_date_time(text: str) -> Timestamp:
    """Read a `date-time` as Kubernetes does: the zone may be left out, empty is the epoch."""
    if not text:
        return Timestamp(0)
    try:
        return parse_timestamp(text)
    except ValueError:
        return parse_timestamp(text + "Z")


def parse_date(text: str) -> Timestamp:
    """Read a `date`: YYYY-MM-DD, at midnight UTC."""
    return parse_timestamp(text + "T00:00:00Z")


def format_timestamp(moment: Timestamp) -> str:
    """Print as RFC 3339 in the zone it was written in, with as many digits as it has."""
    seconds, nanos = divmod(moment.nanos, SECOND)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    zone = "Z"
    if moment.offset:
        hours, minutes = divmod(abs(moment.offset) // 60, 60)
        zone = f"{'-' if moment.offset < 0 else '+'}{hours:02d}:{minutes:02d}"
    return _format_seconds(seconds + moment.offset) + fraction + zone


def format_timestamp_utc(moment: Timestamp) -> str:
    """Print as Kubernetes writes times into objects: UTC, whole seconds."""
    return _format_seconds(moment.nanos // SECOND) + "Z"


def parse_duration(text: str) -> int:
    """Read Go's form (`1h30m`, `-1.5s`, `0`) as nanoseconds."""
    if len(text) > _MAX_DURATION_LENGTH:
        raise ValueError(text[:20])
    sign, rest = (-1, text[1:]) if text[:1] == "-" else (1, text.removeprefix("+"))
    if rest == "0":
        return 0
    total, position = 0, 0
    while position < len(rest) or not rest:
        part = _DURATION_PART.match(rest, position)
        if part is None or part[4] not in _UNITS or not (part[1] or part[3]):
            raise ValueError(text)
        unit = _UNITS[part[4]]
        total += int(part[1] or "0") * unit
        digits = (part[3] or "")[:18]
        if digits:  # Go multiplies fractions as floating point; the last digit must be the same
            total += int(float(int(digits)) * (unit / 10.0 ** len(digits)))
        position = part.end()
    if not -(2**63) <= sign * total < 2**63:
        raise ValueError(text)
    return sign * total


def parse_duration_words(text: str) -> int:
    """Read a `duration` as Kubernetes does: Go's form, or words such as `2 weeks`."""
    if len(text) > _MAX_DURATION_LENGTH:
        raise ValueError(text[:20])
    try:
        return parse_duration(text)
    except ValueError:
        found = [int(count) * _unit_of(word.lower()) for count, word in _words(text)]
    if not any(_unit_of(word.lower()) for _, word in _words(text)):
        raise ValueError(text)
    return sum(found)


def _words(text: str) -> list[tuple[str, str]]:
    return [(match[1], match[2]) for match in _COUNTED_WORD.finditer(text)]


def _unit_of(word: str) -> int:
    """Return what a word is worth; the last name of a unit also matches as a prefix."""
    return sum(size for names, size in _UNIT_WORDS if word in names or word.startswith(names[-1]))


def _format_seconds(seconds: int) -> str:
    return (_NAIVE_EPOCH + timedelta(seconds=seconds)).isoformat()
