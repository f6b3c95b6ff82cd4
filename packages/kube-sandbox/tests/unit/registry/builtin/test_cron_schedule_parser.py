import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_sandbox.registry.builtin.cron_schedule_parser import ScheduleError, check_schedule


@given(st.integers(0, 59), st.integers(0, 23), st.integers(1, 31), st.integers(1, 12))
def test_numbers_within_their_bounds_are_a_schedule(
    minute: int, hour: int, day: int, month: int
) -> None:
    check_schedule(f"{minute} {hour} {day} {month} *")
    check_schedule(f"*/{minute + 1} {hour}-23 {day}/2 {month},12 MON-fri")


@given(st.text())
def test_whatever_is_written_is_judged(text: str) -> None:
    with contextlib.suppress(ScheduleError):
        check_schedule(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@every 1.5h", ""),
        ("@every 0", ""),
        ("@every -5m", ""),
        ("@every .", 'failed to parse duration @every .: time: invalid duration "."'),
        ("@hourly ", "unrecognized descriptor: @hourly "),
        ("0 0 * * 99999999999999999999", 'strconv.Atoi: parsing "99999999999999999999"'),
        ("0 0 31-1 * *", "beginning of range (31) beyond end of range (1): 31-1"),
    ],
)
def test_a_schedule_is_judged_in_the_words_of_the_library(text: str, message: str) -> None:
    if not message:
        check_schedule(text)
        return
    with pytest.raises(ScheduleError) as told:
        check_schedule(text)
    assert message in str(told.value)
