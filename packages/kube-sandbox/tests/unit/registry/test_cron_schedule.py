import contextlib
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_sandbox.registry.cron_schedule import ScheduleError, parse_schedule

NOW = datetime(2026, 11, 16, 12, 30, 15, tzinfo=UTC)  # a Monday


@given(st.integers(0, 59), st.integers(0, 23), st.integers(1, 31), st.integers(1, 12))
def test_numbers_within_their_bounds_are_a_schedule(
    minute: int, hour: int, day: int, month: int
) -> None:
    parse_schedule(f"{minute} {hour} {day} {month} *")
    parse_schedule(f"*/{minute + 1} {hour}-23 {day}/2 {month},12 MON-fri")


@given(st.text())
def test_whatever_is_written_is_judged(text: str) -> None:
    with contextlib.suppress(ScheduleError):
        parse_schedule(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@every 1.5h", ""),
        ("@every 0", ""),
        ("@every 10", "missing unit in duration"),
        ("@every 1h0", "missing unit in duration"),
        ("@every 9999999h", 'time: invalid duration "9999999h"'),
        ("0 0 * * 7", "end of range (7) above maximum (6): 7"),
        ("TZ=Mars/Base * * * * *", "provided bad location Mars/Base: unknown time zone Mars/Base"),
        ("TZ=UTC", "slice bounds out of range"),
        ("@every -5m", ""),
        ("@every .", 'failed to parse duration @every .: time: invalid duration "."'),
        ("@hourly ", "unrecognized descriptor: @hourly "),
        ("0 0 * * 99999999999999999999", 'strconv.Atoi: parsing "99999999999999999999"'),
        ("0 0 31-1 * *", "beginning of range (31) beyond end of range (1): 31-1"),
    ],
)
def test_a_schedule_is_judged_in_the_words_of_the_library(text: str, message: str) -> None:
    if not message:
        parse_schedule(text)
        return
    with pytest.raises(ScheduleError) as told:
        parse_schedule(text)
    assert message in str(told.value)


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
        ("0 0 */2 * 5", "2026-11-17T00:00"),
        ("0 0 * * 5,", "2026-11-20T00:00"),
        ("? 9 * * *", "2026-11-17T09:00"),
        ("TZ=Europe/Rome 0 14 * * *", "2026-11-16T14:00+01:00"),
        ("CRON_TZ=America/New_York @daily", "2026-11-17T00:00-05:00"),
        ("TZ=UTC 0 14 * * *", "2026-11-16T14:00"),
        ("10,40 12-14/2 * * *", "2026-11-16T12:40"),
        ("@hourly", "2026-11-16T13:00"),
        ("@yearly", "2027-01-01T00:00"),
    ],
)
def test_the_next_time(text: str, expected: str) -> None:
    found = parse_schedule(text).after(NOW)
    assert found is not None
    assert found.isoformat(timespec="minutes").startswith(expected)


def test_some_times_never_come() -> None:
    assert parse_schedule("0 0 31 2 *").after(NOW) is None


@given(st.text(alphabet="0123456789*/,-?@everydailymon hTZ=UC ", max_size=20))
def test_what_is_accepted_can_be_run(text: str) -> None:
    try:
        schedule = parse_schedule(text)
    except ScheduleError:
        return
    found = schedule.after(NOW)
    assert found is None or found > NOW


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("@every 90s", 90), ("@every 1h1.5s", 3601), ("@every 10ms", 1), ("@every -5m", 1)],
)
def test_a_constant_delay_is_a_number_of_whole_seconds(text: str, seconds: int) -> None:
    assert parse_schedule(text).after(NOW) == NOW + timedelta(seconds=seconds)


def test_a_time_that_a_clock_change_leaves_out_is_skipped() -> None:
    rome = ZoneInfo("Europe/Rome")
    found = parse_schedule("30 2 * * *").after(datetime(2026, 3, 28, 12, tzinfo=rome))
    assert found is not None
    assert found.isoformat() == "2026-03-30T02:30:00+02:00"


def test_a_time_that_comes_twice_matches_twice() -> None:
    schedule = parse_schedule("TZ=Europe/Rome 30 2 * * *")
    first = schedule.after(datetime(2026, 10, 24, 12, tzinfo=UTC))
    assert first is not None
    second = schedule.after(first)
    assert second is not None
    assert second.astimezone(UTC) - first.astimezone(UTC) == timedelta(hours=1)
