"""Quantities; each pair was seen on a real API server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_objects.quantity import QuantityError, canonical_quantity, parse_quantity, round_to_milli


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("0.5", "500m"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("0.1Gi", "107374182400m"),
        ("1000", "1k"),
        ("1e3", "1e3"),
        ("1.50", "1500m"),
        ("1.500", "1.500"),
        ("+5", "+5"),
        ("-0.5", "-500m"),
        ("00", "0"),
        (".", "0"),
        ("0.0000000001", "1n"),
        ("1048576Ki", "1Gi"),
    ],
)
def test_a_quantity_is_written_in_one_form(text: str, written: str) -> None:
    assert canonical_quantity(text) == written


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "quantities must match the regular expression"),
        ("abc", "quantities must match the regular expression"),
        ("1XX", "quantities must match the regular expression"),
        ("1KM", "unable to parse quantity's suffix"),
    ],
)
def test_what_is_no_quantity_is_refused(text: str, why: str) -> None:
    with pytest.raises(QuantityError, match=why):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("text", "rounded"),
    [("100n", "1m"), ("-451.37n", "-1m"), ("-89.74e-2", "-898e-3"), ("1.5", "1.5"), ("1e3", "1e3")],
)
def test_amounts_of_resources_are_rounded_away_from_zero(text: str, rounded: str) -> None:
    assert round_to_milli(text) == rounded


AMOUNTS = st.from_regex(r"-?[0-9]{1,6}(\.[0-9]{1,3})?(n|u|m|k|M|G|Ki|Mi|Gi)?", fullmatch=True)


@given(AMOUNTS)
def test_writing_anew_changes_neither_value_nor_text(text: str) -> None:
    written = canonical_quantity(text)
    assert canonical_quantity(written) == written
    assert parse_quantity(written) == parse_quantity(text)


@given(AMOUNTS, AMOUNTS)
def test_quantities_are_in_order(one: str, other: str) -> None:
    left, right = parse_quantity(one), parse_quantity(other)
    assert (left < right) + (left == right) + (left > right) == 1
    assert (left < right) == (right > left)


def test_a_sum_that_cannot_be_written_out_is_an_error() -> None:
    with pytest.raises(QuantityError, match="digits apart"):
        parse_quantity("1e99999").plus(parse_quantity("1"))


def test_a_sum_is_written_like_its_first_part_that_is_not_zero() -> None:
    assert parse_quantity("0").plus(parse_quantity("1Gi")).text == "1Gi"
    assert parse_quantity("1e3").plus(parse_quantity("2k")).text == "3e3"


@given(AMOUNTS, AMOUNTS)
def test_what_is_added_can_be_subtracted(one: str, other: str) -> None:
    left, right = parse_quantity(one), parse_quantity(other)
    assert left.plus(right).minus(right) == left
