from typing import Any

import pytest

from kube_cel.errors import EvaluationError
from kube_cel.library.timestamps import GLOBALS, MEMBERS, duration, timestamp
from kube_cel.scalars import Duration, Timestamp

LEAP_DAY = timestamp("2024-02-29T12:30:45.678Z")
SPAN = duration("-26h3m2.5s")


def ask(name: str, value: Any, *arguments: Any) -> Any:
    kind = "Timestamp" if isinstance(value, Timestamp) else "Duration"
    return MEMBERS[name, f"google.protobuf.{kind}"](value, *arguments)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("getFullYear", 2024),
        ("getMonth", 1),
        ("getDate", 29),
        ("getDayOfMonth", 28),
        ("getDayOfWeek", 4),
        ("getDayOfYear", 59),
        ("getHours", 12),
        ("getMinutes", 30),
        ("getSeconds", 45),
        ("getMilliseconds", 678),
    ],
)
def test_a_moment_is_taken_apart_in_utc(name: str, value: int) -> None:
    assert ask(name, LEAP_DAY) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("getHours", -26),
        ("getMinutes", -1563),
        ("getSeconds", -93782),
        ("getMilliseconds", -93782500),
    ],
)
def test_a_span_is_counted_in_whole_units(name: str, value: int) -> None:
    assert ask(name, SPAN) == value


@pytest.mark.parametrize(
    ("zone", "hours"),
    [
        ("America/New_York", 7),
        ("UTC", 12),
        ("", 12),
        ("+05:30", 18),
        ("-05:30", 7),
        ("02:00", 14),
        ("-00:45", 11),
    ],
)
def test_a_zone_is_a_name_or_an_offset(zone: str, hours: int) -> None:
    assert ask("getHours", LEAP_DAY, zone) == hours


def test_summer_time_counts() -> None:
    assert ask("getHours", timestamp("2024-07-01T12:00:00Z"), "America/New_York") == 8


def test_a_timestamp_written_elsewhere_is_still_read_in_utc() -> None:
    assert ask("getHours", timestamp("2024-01-01T01:00:00+02:00")) == 23


@pytest.mark.parametrize(
    ("zone", "message"),
    [
        ("Nope/Zone", "unknown time zone Nope/Zone"),
        ("America", "unknown time zone America"),
        ("../etc/passwd", "unknown time zone ../etc/passwd"),
        ("24:00", "timezone offset hours out of range [-23, 23]: 24:00"),
        ("01:60", "timezone offset minutes out of range [0, 59]: 01:60"),
        ("aa:00", 'strconv.Atoi: parsing "aa": invalid syntax'),
    ],
)
def test_an_unknown_zone_is_an_error(zone: str, message: str) -> None:
    for accessor in ("getHours", "getMilliseconds"):
        with pytest.raises(EvaluationError) as caught:
            ask(accessor, LEAP_DAY, zone)
        assert str(caught.value) == message


@pytest.mark.parametrize("accessor", ["getHours", "getFullYear", "getMilliseconds"])
def test_a_zone_must_be_a_text(accessor: str) -> None:
    with pytest.raises(EvaluationError, match=f"no such overload: {accessor}"):
        ask(accessor, LEAP_DAY, 1)


@pytest.mark.parametrize(
    ("accessor", "value"),
    [
        ("getFullYear", 0),
        ("getMonth", 11),
        ("getDate", 31),
        ("getDayOfYear", 365),
        ("getDayOfWeek", 0),
        ("getHours", 13),
    ],
)
def test_a_zone_may_be_in_the_year_before_the_first(accessor: str, value: int) -> None:
    assert ask(accessor, timestamp("0001-01-01T00:00:00Z"), "-11:00") == value


@pytest.mark.parametrize(
    ("accessor", "value"),
    [("getFullYear", 10000), ("getDayOfYear", 0), ("getDayOfWeek", 6), ("getHours", 8)],
)
def test_a_zone_may_be_in_the_year_after_the_last(accessor: str, value: int) -> None:
    assert ask(accessor, timestamp("9999-12-31T23:59:59Z"), "Asia/Tokyo") == value


@pytest.mark.parametrize("value", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", 0])
def test_timestamps_are_made_of_text_or_seconds(value: Any) -> None:
    assert isinstance(timestamp(value), Timestamp)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("2024-01-01", 'invalid RFC 3339 timestamp "2024-01-01"'),
        ('a"b', r'invalid RFC 3339 timestamp "a\"b"'),
        (
            "2024-02-30T00:00:00Z",
            "type conversion error from 'string' to 'google.protobuf.Timestamp'",
        ),
        ("0000-01-01T00:00:00Z", "timestamp overflow"),
        ("9999-12-31T23:59:59-01:00", "timestamp overflow"),
        (253402300800, "timestamp overflow"),
        (1.5, "no such overload: timestamp(double)"),
    ],
)
def test_no_other_timestamps_are(value: Any, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        timestamp(value)
    assert str(caught.value) == message


def test_a_duration_knows_no_days() -> None:
    with pytest.raises(EvaluationError) as caught:
        duration("1d")
    expected = "type conversion error from 'string' to 'google.protobuf.Duration'"
    assert str(caught.value) == expected


def test_conversions_of_their_own_kind_change_nothing() -> None:
    assert GLOBALS["timestamp"](LEAP_DAY) is LEAP_DAY
    assert GLOBALS["duration"](Duration(5)) == Duration(5)
