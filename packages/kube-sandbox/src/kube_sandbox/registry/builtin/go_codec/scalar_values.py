"""
Texts that Go decodes into values of its own and encodes in one form: times, durations, bytes.

Each reader returns the form of kube-apiserver's answer, or raises `GoValueError` with Go's message.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/apis/meta/v1/time.go Time.UnmarshalJSON;
k8s.io/apimachinery/pkg/apis/meta/v1/micro_time.go MicroTime.UnmarshalJSON; go 1.25 time/format.go
Parse, ParseDuration; encoding/base64/base64.go Encoding.Decode.
"""

import binascii
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from kube_sandbox.registry.field_errors import quoted

_SECONDS = "2006-01-02T15:04:05Z07:00"
_MICROS = "2006-01-02T15:04:05.000000Z07:00"
_USUAL = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII)
# What stands in a time, piece by piece: how it reads, how the layout has it, what it may be.
_PIECES = (
    (r"\d{4}", "2006", None),
    ("-", "-", None),
    (r"\d\d", "01", (1, 12, "month")),
    ("-", "-", None),
    (r"\d\d", "02", (1, 31, "day")),
    ("T", "T", None),
    (r"\d\d?", "15", (0, 23, "hour")),
    (":", ":", None),
    (r"\d\d", "04", (0, 59, "minute")),
    (":", ":", None),
    (r"\d\d", "05", (0, 59, "second")),
)
_ZERO_TIME = "0001-01-01T00:00:00Z"
_BASE64_LETTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


class GoValueError(ValueError):
    """A text cannot be read; the message is Go's."""


class GoTypeError(GoValueError):
    """A value is of a type that cannot be read."""

    def __init__(self, given: str, shown: str) -> None:
        super().__init__(given)
        self.given = given
        self.shown = shown


def type_name_of(value: Any) -> str:
    """Return what Go calls a JSON value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else "number"


def time(value: Any) -> str | None:
    """Read a time to the second; the beginning of all time is none."""
    return _time(value, _SECONDS)


def micro_time(value: Any) -> str | None:
    """Read a time to the microsecond."""
    return _time(value, _MICROS)


def _time(value: Any, layout: str) -> str | None:
    if not isinstance(value, str):
        raise GoTypeError(type_name_of(value), "string")
    match = _USUAL.fullmatch(value)
    is_micro = layout is _MICROS
    if match is None or (is_micro and len(match[2] or "") != 6):
        raise _parse_failure(value, layout)
    try:
        moment = datetime.fromisoformat(match[1])
    except ValueError:
        raise _parse_failure(value, layout) from None
    if match[3] != "Z":
        text = match[3]
        hours, minutes = int(text[1:3]), int(text[4:6])
        if hours > 24 or minutes > 60:
            raise GoValueError(
                f"{_error_prefix(value, layout)}: time zone offset hour out of range"
            )
        offset = timedelta(hours=hours, minutes=minutes)
        moment -= offset if text[0] == "+" else -offset
    message = moment.replace(microsecond=0).isoformat()
    found = f"{message}.{match[2]}Z" if is_micro else f"{message}Z"
    return None if found.startswith(_ZERO_TIME[:-1]) and moment.microsecond == 0 else found


def _error_prefix(value: str, layout: str) -> str:
    return f"parsing time {quoted(value)}"


def _parse_failure(value: str, layout: str) -> GoValueError:
    """Say where Go stops reading."""
    rest = value
    for pattern, shown, bounds in _PIECES:
        match = re.match(pattern, rest, re.ASCII)
        if match is None:
            return _layout_mismatch(value, layout, rest, shown)
        if bounds is not None and not bounds[0] <= int(match[0]) <= bounds[1]:
            return GoValueError(f"{_error_prefix(value, layout)}: {bounds[2]} out of range")
        rest = rest[match.end() :]
    fraction = re.match(r"[.,]\d+", rest, re.ASCII)
    if layout is _MICROS and (fraction is None or len(fraction[0]) != 7):
        return _layout_mismatch(value, layout, rest, ".000000")
    rest = rest[fraction.end() :] if fraction else rest
    zone = re.match(r"Z|[+-]\d\d:\d\d", rest, re.ASCII)
    if zone is None:
        return _layout_mismatch(value, layout, rest, "Z07:00")
    if zone.end() < len(rest):
        return GoValueError(
            f"{_error_prefix(value, layout)}: extra text: {quoted(rest[zone.end() :])}"
        )
    return GoValueError(f"{_error_prefix(value, layout)}: day out of range")


def _layout_mismatch(value: str, layout: str, rest: str, shown: str) -> GoValueError:
    return GoValueError(
        f'parsing time {quoted(value)} as "{layout}": cannot parse {quoted(rest)} as "{shown}"'
    )


def base64(text: str) -> str:
    """Read bytes; line breaks among them are skipped."""
    raw = text.encode()
    try:
        found = binascii.a2b_base64(raw, strict_mode=True)
    except binascii.Error:
        raw = raw.replace(b"\n", b"").replace(b"\r", b"")
        wrong = _wrong_letter(text.encode())
        if wrong is not None:
            raise GoValueError(f"illegal base64 data at input byte {wrong}") from None
        found = binascii.a2b_base64(raw)
    return binascii.b2a_base64(found, newline=False).decode()


def _wrong_letter(raw: bytes) -> int | None:
    """Return where Go finds the first byte that cannot stand there, or `None`."""
    count = 0
    at = 0
    while at < len(raw):
        letter = raw[at]
        if letter in b"\r\n":
            at += 1
            continue
        if letter == 0x3D:
            if count < 2:
                return at
            rest = [
                (place, raw[place])
                for place in range(at + 1, len(raw))
                if raw[place] not in b"\r\n"
            ]
            if count == 2:
                if not rest:
                    return len(raw)
                if rest[0][1] != 0x3D:
                    return rest[0][0] - 1 if rest[0][0] == at + 1 else rest[0][0]
                rest = rest[1:]
            return rest[0][0] if rest else None
        if letter not in _BASE64_LETTERS:
            return at
        count = (count + 1) % 4
        at += 1
    # Go points to where the unfinished group began.
    return None if not count else len(raw) - count


_DURATION = re.compile(r"([-+]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+|0)")
_AMOUNT = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_NANOS = {
    "ns": 1,
    "us": 1000,
    "µs": 1000,
    "μs": 1000,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}


def duration(value: Any) -> str:
    """Read a duration; it comes back as Go prints it."""
    if not isinstance(value, str):
        raise GoTypeError(type_name_of(value), "string")
    match = _DURATION.fullmatch(value)
    if match is None:
        raise GoValueError(f"time: invalid duration {quoted(value)}")
    nanos = 0
    for amount, unit in _AMOUNT.findall(match[2]):
        whole, _, part = amount.partition(".")
        nanos += int(whole or 0) * _NANOS[unit]
        nanos += int(part or 0) * _NANOS[unit] // 10 ** len(part)
    if not nanos:
        return "0s"
    sign = "-" if match[1] == "-" else ""
    for unit in ("ns", "µs", "ms"):
        if nanos < 1000 * _NANOS[unit]:
            return f"{sign}{_fraction(nanos, _NANOS[unit])}{unit}"
    minutes, rest = divmod(nanos, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    text = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{text}{_fraction(rest, 10**9)}s"


def _fraction(nanos: int, unit: int) -> str:
    whole, rest = divmod(nanos, unit)
    if not rest:
        return str(whole)
    return f"{whole}.{str(rest).zfill(len(str(unit)) - 1).rstrip('0')}"


def moment(text: str) -> datetime:
    """Return the time that a canonical text tells."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)
