from datetime import UTC, datetime, timedelta, timezone

import pytest

from kube_objects.times import format_micro_time, format_time, parse_time


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        pytest.param("2026-03-01T09:30:00Z", datetime(2026, 3, 1, 9, 30, tzinfo=UTC), id="seconds"),
        pytest.param(
            "2026-03-01T09:30:00.250000Z",
            datetime(2026, 3, 1, 9, 30, 0, 250000, tzinfo=UTC),
            id="microseconds",
        ),
        pytest.param(
            "2026-03-01T11:30:00+02:00", datetime(2026, 3, 1, 9, 30, tzinfo=UTC), id="an offset"
        ),
    ],
)
def test_times_are_read_as_utc(text: str, moment: datetime) -> None:
    read = parse_time(text)
    assert read == moment
    assert read is not None
    assert read.tzinfo is UTC


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, id="nothing"),
        pytest.param(1767225600, id="a number"),
        pytest.param("", id="empty"),
        pytest.param("yesterday", id="no time"),
        pytest.param("2026-03-01T09:30:00", id="no offset"),
        pytest.param("0001-01-01T00:00:00+05:00", id="before all time"),
    ],
)
def test_what_is_no_time_reads_as_none(value: object) -> None:
    assert parse_time(value) is None


def test_times_are_printed_in_utc_to_the_second_or_microsecond() -> None:
    moment = datetime(2026, 3, 1, 9, 30, 0, 987654, tzinfo=timezone(timedelta(hours=-3)))
    assert format_time(moment) == "2026-03-01T12:30:00Z"
    assert format_micro_time(moment) == "2026-03-01T12:30:00.987654Z"
    assert format_micro_time(moment.replace(microsecond=0)) == "2026-03-01T12:30:00.000000Z"
