"""Amounts that add up; how sums are written was seen in quotas of a real API server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_objects.quantity import parse_amount
from kube_sandbox.admission.plugins.resource_sums import (
    added,
    amounts,
    increased,
    listed,
    texts,
)


@pytest.mark.parametrize(
    ("parts", "total"),
    [
        pytest.param(("0", "1Gi"), "1Gi", id="nothing has no form"),
        pytest.param(("1G", "1Gi"), "2073741824", id="the first says how"),
        pytest.param(("4Gi", "1536Mi"), "5632Mi", id="powers of two"),
        pytest.param(("250m", "700m"), "950m", id="thousandths"),
        pytest.param(("500m", "500m"), "1", id="thousandths that make a whole"),
        pytest.param(("512Mi", "512Mi"), "1Gi", id="the next power"),
        pytest.param(("1e3", "1"), "1001", id="exponents that are none"),
    ],
)
def test_sums(parts: tuple[str, str], total: str) -> None:
    left, right = parts
    assert str(parse_amount(left).plus(parse_amount(right))) == total


CANONICAL = st.sampled_from(["0", "1", "100m", "1500m", "1Ki", "512Mi", "3Gi", "5G", "7M", "2k"])


@given(st.dictionaries(st.sampled_from("abc"), CANONICAL))
def test_what_is_read_is_written_again(found: dict[str, str]) -> None:
    assert texts(amounts(found)) == dict(sorted(found.items()))


@given(CANONICAL, CANONICAL)
def test_what_is_added_can_be_taken_away(left: str, right: str) -> None:
    total = added(amounts({"a": left}), amounts({"a": right}))
    rest = increased(total, amounts({"a": right}))
    assert rest["a"].nanos == parse_amount(left).nanos


def test_there_is_never_less_than_nothing() -> None:
    assert listed(increased(amounts({"a": "1"}), amounts({"a": "2", "b": "3"}))) == "a=0,b=0"


def test_an_amount_that_cannot_be_written_out_counts_as_very_large() -> None:
    total = added(amounts({"a": "1e999999999"}), amounts({"a": "1"}))
    assert total["a"] > parse_amount("1E")
