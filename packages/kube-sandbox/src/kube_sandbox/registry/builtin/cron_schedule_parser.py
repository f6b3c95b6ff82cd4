"""
When something is to happen again and again, in the notation of cron: `*/5 * * * *`, `@daily`.

Judged by the rules and in the words of the library that Kubernetes reads it with.

Follows cron 3.0.1 parser.go Parser.Parse, getRange, parseDescriptor; kubernetes 1.35
pkg/apis/batch/validation/validation.go validateScheduleFormat.
"""

import re
from dataclasses import dataclass, field

from kube_sandbox.registry.field_errors import quoted

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_DESCRIPTORS = frozenset(
    ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
)
_EVERY = "@every "
_INTEGER = re.compile("[+-]?[0-9]+", re.ASCII)
_DURATION = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")
_UNITS = frozenset(("ns", "us", "µs", "μs", "ms", "s", "m", "h"))
_MAX_INTEGER = 2**63 - 1


class ScheduleError(ValueError):
    """A text is no schedule; the message is the library's."""


@dataclass(frozen=True, slots=True)
class _Bounds:
    least: int
    most: int
    names: dict[str, int] = field(default_factory=dict)


_PLACES = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Bounds(0, 6, {name: number for number, name in enumerate(_DAYS)}),
)


def check_schedule(text: str) -> None:
    """Raise a `ScheduleError` if a text is no schedule."""
    if text.startswith(("TZ=", "CRON_TZ=")):
        text = _without_zone(text)
    if text.startswith("@"):
        _check_descriptor(text)
        return
    parts = text.split()
    if len(parts) != len(_PLACES):
        listed = " ".join(parts)
        raise ScheduleError(
            f"expected exactly {len(_PLACES)} fields, found {len(parts)}: [{listed}]"
        )
    for part, bounds in zip(parts, _PLACES, strict=True):
        for each in filter(None, part.split(",")):
            _check_range(each, bounds)


def _without_zone(text: str) -> str:
    _, blank, rest = text.partition(" ")
    if not blank:
        # The library fails here in the manner of Go, and Kubernetes tells it on.
        reason = "runtime error: slice bounds out of range [:-1]"
        raise ScheduleError(f"invalid schedule format: {reason}")
    return rest.strip()


def _check_descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith(_EVERY):
        raise ScheduleError(f"unrecognized descriptor: {text}")
    wrong = _invalid_duration(text.removeprefix(_EVERY))
    if wrong:
        raise ScheduleError(f"failed to parse duration {text}: {wrong}")


def _invalid_duration(text: str) -> str:
    """Return what is wrong with a duration as Go writes them, or nothing."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return ""
    shown = quoted(text)
    if not rest:
        return f"time: invalid duration {shown}"
    while rest:
        match = _DURATION.match(rest)
        if match is None or not (match[1] or match[2]):
            return f"time: invalid duration {shown}"
        if not match[3]:
            return f"time: missing unit in duration {shown}"
        if match[3] not in _UNITS:
            return f"time: unknown unit {quoted(match[3])} in duration {shown}"
        rest = rest[match.end() :]
    return ""


def _check_range(text: str, bounds: _Bounds) -> None:
    span, *steps = text.split("/")
    ends = span.split("-")
    if ends[0] in ("*", "?"):
        first, last = bounds.least, bounds.most
    else:
        first = last = _number(ends[0], bounds)
        if len(ends) > 2:
            raise ScheduleError(f"too many hyphens: {text}")
        if len(ends) == 2:
            last = _number(ends[1], bounds)
    if len(steps) > 1:
        raise ScheduleError(f"too many slashes: {text}")
    step = _integer(steps[0]) if steps else 1
    if steps and len(ends) == 1:
        last = bounds.most
    if first < bounds.least:
        raise ScheduleError(f"beginning of range ({first}) below minimum ({bounds.least}): {text}")
    if last > bounds.most:
        raise ScheduleError(f"end of range ({last}) above maximum ({bounds.most}): {text}")
    if first > last:
        raise ScheduleError(f"beginning of range ({first}) beyond end of range ({last}): {text}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {text}")


def _number(text: str, bounds: _Bounds) -> int:
    found = bounds.names.get(text.lower())
    return _integer(text) if found is None else found


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        reason = f"strconv.Atoi: parsing {quoted(text)}: invalid syntax"
        raise ScheduleError(f"failed to parse int from {text}: {reason}")
    number = int(text)
    if abs(number) > _MAX_INTEGER:
        reason = f"strconv.Atoi: parsing {quoted(text)}: value out of range"
        raise ScheduleError(f"failed to parse int from {text}: {reason}")
    if number < 0:
        raise ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number
