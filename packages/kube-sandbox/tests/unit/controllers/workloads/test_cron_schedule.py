"""When a cron schedule comes next."""

from datetime import UTC, datetime

import pytest

from kube_sandbox.controllers.workloads.cron_schedule import Schedule

NOW = datetime(2026, 11, 16, 12, 30, 15, tzinfo=UTC)  # a Monday


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* * * * *", "2026-11-16T12:31"),
        ("*/15 * * * *", "2026-11-16T12:45"),
        ("5 * * * *", "2026-11-16T13:05"),
        ("0 9 * * 1-5", "2026-11-17T09:00"),
        ("0 9 * * mon", "2026-11-23T09:00"),
        ("0 0 1 jan *", "2027-01-01T00:00"),
        ("0 0 29 2 *", "2028-02-29T00:00"),
        ("0 0 13 * 5", "2026-11-20T00:00"),
        ("0 0 * * 7", "2026-11-22T00:00"),
        ("10,40 12-14/2 * * *", "2026-11-16T12:40"),
        ("@hourly", "2026-11-16T13:00"),
        ("@yearly", "2027-01-01T00:00"),
    ],
)
def test_the_next_time(text: str, expected: str) -> None:
    found = Schedule.parse(text).after(NOW)
    assert found is not None
    assert found.isoformat(timespec="minutes").startswith(expected)


def test_some_times_never_come() -> None:
    assert Schedule.parse("0 0 31 2 *").after(NOW) is None


@pytest.mark.parametrize(
    "text", ["", "* * * *", "60 * * * *", "a * * * *", "5-1 * * * *", "*/0 * * * *"]
)
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Schedule.parse(text)
