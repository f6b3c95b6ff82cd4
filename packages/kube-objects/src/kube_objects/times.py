"""
Timestamps, as Kubernetes writes them.

Most fields have whole seconds, a Lease has microseconds. In memory a time is an aware `datetime` in
UTC with its full precision; only formatting truncates it.
"""

from datetime import UTC, datetime, timedelta


def parse_time(value: object) -> datetime | None:
    """Parse a timestamp; return `None` if it is absent, malformed or without an offset."""
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value)
        # Without an offset the time is ambiguous.
        return found.astimezone(UTC) if found.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def format_time(moment: datetime) -> str:
    """Format a time with seconds: `2026-03-01T09:30:00Z`."""
    return _in_utc(moment).isoformat(timespec="seconds") + "Z"


def format_micro_time(moment: datetime) -> str:
    """Format a time with microseconds: `2026-03-01T09:30:00.000000Z`."""
    return _in_utc(moment).isoformat(timespec="microseconds") + "Z"


def format_span(span: timedelta) -> str:
    """Format a duration as `kubectl get` formats ages: `90s`, `5m30s`, `3h`, `2d4h`."""
    seconds = int(span.total_seconds())
    if seconds < 0:
        return "<invalid>" if seconds < -1 else "0s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    return _two(days // 365, "y", days % 365, "d") if days < 2920 else f"{days // 365}y"


def _two(large: int, unit: str, small: int, part: str) -> str:
    return f"{large}{unit}{small}{part}" if small else f"{large}{unit}"


def _in_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None)
