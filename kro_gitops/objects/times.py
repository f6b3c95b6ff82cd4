"""
Points in time, as Kubernetes writes them.

Most fields have whole seconds, a Lease has microseconds. In memory a time is an aware
`datetime` in UTC and keeps what it has; only printing cuts.
"""

from datetime import UTC, datetime


def parse_time(value: object) -> datetime | None:
    """Read a timestamp; what is absent or cannot be read is `None`."""
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value)
        # Without an offset nobody knows which time is meant.
        return found.astimezone(UTC) if found.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def format_time(moment: datetime) -> str:
    """Print a time to the second: `2026-03-01T09:30:00Z`."""
    return _in_utc(moment).isoformat(timespec="seconds") + "Z"


def format_micro_time(moment: datetime) -> str:
    """Print a time to the microsecond: `2026-03-01T09:30:00.000000Z`."""
    return _in_utc(moment).isoformat(timespec="microseconds") + "Z"


def _in_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None)
