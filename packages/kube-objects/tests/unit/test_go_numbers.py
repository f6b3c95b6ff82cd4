import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube_objects.go_numbers import (
    format_double,
    format_duration,
    format_json_double,
    format_seconds,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1"),
        (0.1, "0.1"),
        (-2.5, "-2.5"),
        (100000.0, "100000"),
        (1000000.0, "1e+06"),
        (123456789.0, "1.23456789e+08"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1e20, "1e+20"),
        (1e-300, "1e-300"),
        (0.0, "0"),
        (-0.0, "-0"),
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles_are_printed_as_go_prints_them(number: float, text: str) -> None:
    assert format_double(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (2.0, "2"),
        (1.5, "1.5"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1.5e-10, "1.5e-10"),
        (-0.0, "-0"),
    ],
)
def test_doubles_in_json_have_rules_of_their_own(number: float, text: str) -> None:
    assert format_json_double(number) == text


@settings(max_examples=200)
@given(FINITE)
def test_printed_doubles_read_back_as_the_same(number: float) -> None:
    assert float(format_double(number)) == number
    assert float(format_json_double(number)) == number


@pytest.mark.parametrize(
    ("nanos", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1_500, "1.5µs"),
        (250_000_000, "250ms"),
        (1_500_000_000, "1.5s"),
        (90 * 10**9, "1m30s"),
        (3600 * 10**9, "1h0m0s"),
        (86400 * 10**9, "24h0m0s"),
        (-90 * 10**9, "-1m30s"),
    ],
)
def test_durations_are_printed_as_go_prints_them(nanos: int, text: str) -> None:
    assert format_duration(nanos) == text


@pytest.mark.parametrize(
    ("nanos", "text"),
    [
        (90 * 10**9, "90s"),
        (-500_000_000, "-0.5s"),
        (0, "0s"),
        (1, "0.000000001s"),
        (946664999_000000997, "946664999.000001s"),  # more digits than a double has
        (10**18, "1000000000s"),
    ],
)
def test_cel_prints_durations_in_seconds(nanos: int, text: str) -> None:
    assert format_seconds(nanos) == text
