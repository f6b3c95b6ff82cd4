import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube_cel.scalars import Timestamp
from kube_cel.time_formats import (
    MAX_SECONDS,
    MIN_SECONDS,
    SECOND,
    format_timestamp,
    format_timestamp_utc,
    parse_date,
    parse_date_time,
    parse_duration,
    parse_duration_words,
    parse_timestamp,
)
from kube_objects.go_numbers import format_duration


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01T00:00:00.1234567899Z", 123456789),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1969-12-31T23:59:59-00:00", -SECOND),
        ("0001-01-01T00:00:00Z", MIN_SECONDS * SECOND),
        ("9999-12-31T23:59:59Z", MAX_SECONDS * SECOND),
        ("2024-02-29T12:30:45.5Z", 1709209845_500_000_000),
    ],
)
def test_rfc_3339_is_read(text: str, nanos: int) -> None:
    assert parse_timestamp(text).nanos == nanos


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2024-01-01",
        "2024-01-01T00:00:00",
        "2024-01-01t00:00:00Z",
        "2024-01-01T00:00:00z",
        "2024-02-30T00:00:00Z",
        "2024-01-01T24:00:00Z",
        "2024-01-01T00:00:60Z",
        "2024-01-01T00:00:00+24:00",
        "2024-01-01 00:00:00Z",
        "2024-01-01T00:00:00,5Z",
        "２０２４-01-01T00:00:00Z",
    ],
)
def test_what_go_would_not_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_timestamp(text)


def test_year_zero_lies_before_all_that_cel_knows() -> None:
    assert parse_timestamp("0000-06-01T00:00:00Z").nanos < MIN_SECONDS * SECOND


def test_a_date_time_may_lack_its_zone() -> None:
    assert parse_date_time("1970-01-01T00:00:01.5").nanos == 1_500_000_000


def test_a_date_is_midnight() -> None:
    assert parse_date("1970-01-02").nanos == 86400 * SECOND


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (Timestamp(0), "1970-01-01T00:00:00Z"),
        (Timestamp(1_500_000_000), "1970-01-01T00:00:01.5Z"),
        (Timestamp(0, 2 * 3600), "1970-01-01T02:00:00+02:00"),
        (Timestamp(0, -5400), "1969-12-31T22:30:00-01:30"),
        (Timestamp(MIN_SECONDS * SECOND), "0001-01-01T00:00:00Z"),
    ],
)
def test_a_moment_is_printed_in_its_own_zone(moment: Timestamp, text: str) -> None:
    assert format_timestamp(moment) == text


def test_objects_hold_times_in_utc_and_whole_seconds() -> None:
    assert format_timestamp_utc(Timestamp(1_999_999_999, 3600)) == "1970-01-01T00:00:01Z"


@settings(max_examples=200)
@given(
    st.integers((MIN_SECONDS + 86400) * SECOND, (MAX_SECONDS - 86400) * SECOND),
    st.integers(-23 * 60, 23 * 60),
)
def test_a_printed_moment_reads_back_as_the_same(nanos: int, minutes: int) -> None:
    moment = Timestamp(nanos, minutes * 60)
    again = parse_timestamp(format_timestamp(moment))
    assert (again.nanos, again.offset) == (moment.nanos, moment.offset)


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("0", 0),
        ("1ns", 1),
        ("1us", 10**3),
        ("1µs", 10**3),
        ("1ms", 10**6),
        ("1.5h", 5400 * SECOND),
        (".5s", SECOND // 2),
        ("1.s", SECOND),
        ("1h30m", 5400 * SECOND),
        ("-1m", -60 * SECOND),
        ("+1m", 60 * SECOND),
        ("9223372036854775807ns", 2**63 - 1),
    ],
)
def test_durations_are_read_as_go_reads_them(text: str, nanos: int) -> None:
    assert parse_duration(text) == nanos


@pytest.mark.parametrize(
    "text", ["", "-", "1", "1d", "s", ".s", "1h ", " 1h", "1 h", "1e3s", "9223372036854775808ns"]
)
def test_what_is_no_duration_for_go_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_duration(text)


@settings(max_examples=200)
@given(st.integers(-(2**52), 2**52))
def test_a_printed_duration_reads_back_as_the_same(nanos: int) -> None:
    assert parse_duration(format_duration(nanos)) == nanos


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("1m", 60 * SECOND),
        ("1 day", 86400 * SECOND),
        ("2 weeks", 14 * 86400 * SECOND),
        ("1 day 3 hours", 27 * 3600 * SECOND),
        ("5 secs", 5 * SECOND),
    ],
)
def test_schemas_also_allow_durations_in_words(text: str, nanos: int) -> None:
    assert parse_duration_words(text) == nanos


def test_other_words_are_no_duration() -> None:
    with pytest.raises(ValueError, match="soon"):
        parse_duration_words("soon")
