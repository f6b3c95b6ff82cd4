import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube_cel.library.quantity import GLOBALS, MEMBERS, Quantity
from kube_cel.values import EvaluationError, UInt, equals

KIND = "kubernetes.Quantity"
MAX_INT = 2**63 - 1
NO_INTEGER = "cannot convert value to integer"


def quantity(text: str) -> Quantity:
    parsed = GLOBALS["quantity"](text)
    assert isinstance(parsed, Quantity)
    return parsed


def call(name: str, *arguments: Any) -> Any:
    return MEMBERS[name, KIND](*arguments)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        pytest.param("1000m", "1", id="milli"),
        pytest.param("1000000u", "1", id="micro"),
        pytest.param("1000000000n", "1", id="nano"),
        pytest.param("1k", "1000", id="kilo"),
        pytest.param("1M", "1e6", id="mega"),
        pytest.param("1G", "1E9", id="giga"),
        pytest.param("1T", "1e+12", id="tera"),
        pytest.param("1P", "1e15", id="peta"),
        pytest.param("1E", "1e18", id="exa, not an exponent"),
        pytest.param("1Ki", "1024", id="kibi"),
        pytest.param("1.5Gi", "1536Mi", id="a fraction of gibi"),
        pytest.param("1Ei", "1024Pi", id="exbi"),
        pytest.param("1e-3", "1m", id="a negative exponent"),
        pytest.param("0001.50", "1.5", id="zeros at both ends"),
        pytest.param("1.", "1", id="no digit behind the point"),
        pytest.param(".5", "500m", id="no digit before the point"),
        pytest.param("+", "0", id="only a sign"),
        pytest.param("-", "0", id="only a minus"),
        pytest.param(".", "0", id="only a point"),
        pytest.param("k", "0", id="only a suffix"),
        pytest.param("-0", "0", id="minus zero"),
        pytest.param("0.1n", "1n", id="finer than nano is rounded up"),
        pytest.param("-0.1n", "-1n", id="away from zero"),
        pytest.param("1.0000000001", "1000000001n", id="rounded up beyond nine places"),
        pytest.param("1e-999999999", "1n", id="much finer than nano"),
        pytest.param("100Ei", str(MAX_INT), id="binary ones end at int64"),
        pytest.param("-100Ei", str(-MAX_INT), id="negative ones, too"),
        pytest.param("1e4294967297", "10", id="exponents wrap around"),
    ],
)
def test_equal_quantities_may_be_written_in_many_ways(text: str, same: str) -> None:
    left, right = quantity(text), quantity(same)
    assert call("compareTo", left, right) == 0
    assert equals(left, right)
    assert equals(right, left)
    assert hash(left) == hash(right)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "",
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            id="nothing",
        ),
        pytest.param(
            "1 Gi",
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            id="a blank",
        ),
        pytest.param("1K", "unable to parse quantity's suffix", id="no such suffix"),
        pytest.param("1ki", "unable to parse quantity's suffix", id="a small k"),
        pytest.param("1e", "unable to parse quantity's suffix", id="no exponent"),
        pytest.param(
            "1e99999999999999999999", "unable to parse quantity's suffix", id="no such exponent"
        ),
        pytest.param(".e-20", "unable to parse numeric part of quantity", id="no digits"),
        pytest.param("1" * 5_000, "unable to parse numeric part of quantity", id="too many"),
    ],
)
def test_what_is_no_quantity_is_refused(text: str, message: str) -> None:
    assert GLOBALS["isQuantity"](text) is False
    with pytest.raises(EvaluationError) as caught:
        quantity(text)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [
        ("1m", "1"),
        ("-1", "0"),
        ("-2", "-1"),
        ("0", "1n"),
        ("1023", "1Ki"),
        ("999k", "1M"),
        ("1e18", "1.1E"),
        ("1e998", "1e999"),
        ("-1e999999999", "-1"),
        ("1", "1e999999999"),
        ("12345678901234567890", "12345678901234567890.1"),
    ],
)
def test_quantities_are_ordered_by_value(smaller: str, larger: str) -> None:
    left, right = quantity(smaller), quantity(larger)
    assert call("compareTo", left, right) == -1
    assert call("compareTo", right, left) == 1
    assert call("isLessThan", left, right) is True
    assert call("isLessThan", right, left) is False
    assert call("isGreaterThan", right, left) is True
    assert call("isGreaterThan", left, left) is False
    assert not equals(left, right)


@pytest.mark.parametrize(
    ("name", "left", "right", "result"),
    [
        pytest.param("add", "50k", quantity("20"), "50020", id="add a quantity"),
        pytest.param("add", "50k", 20, "50020", id="add an int"),
        pytest.param("add", "0", quantity("1m"), "1m", id="add to zero"),
        pytest.param("add", "1Ei", quantity("1n"), "1152921504606846976.000000001", id="large"),
        pytest.param("add", str(MAX_INT), 1, "9223372036854775808", id="beyond int64"),
        pytest.param("sub", "1", quantity("1m"), "999m", id="subtract a quantity"),
        pytest.param("sub", "1Ki", 1024, "0", id="subtract an int"),
        pytest.param("sub", "0", -(2**63), "9223372036854775808", id="subtract the smallest int"),
    ],
)
def test_sums_are_exact(name: str, left: str, right: Any, result: str) -> None:
    assert equals(call(name, quantity(left), right), quantity(result))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("50k", 50_000),
        ("1Ki", 1024),
        ("-7", -7),
        ("2e3", 2000),
        ("999999999999999999", 999_999_999_999_999_999),
        ("0e999999999", 0),
    ],
)
def test_whole_numbers_turn_into_integers(text: str, number: int) -> None:
    assert call("isInteger", quantity(text)) is True
    assert call("asInteger", quantity(text)) == number


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("1.5", id="a fraction"),
        pytest.param("1000m", id="whole, but written in milli"),
        pytest.param("1.5Ki", id="whole, but written with a point"),
        pytest.param("1Ei", id="whole, but held as a big decimal"),
        pytest.param("9223372036854775807", id="too many digits"),
        pytest.param("1e19", id="too large"),
        pytest.param("1e999999999", id="much too large"),
    ],
)
def test_others_do_not(text: str) -> None:
    assert call("isInteger", quantity(text)) is False
    with pytest.raises(EvaluationError, match=f"^{NO_INTEGER}$"):
        call("asInteger", quantity(text))


def test_a_sum_is_an_integer_as_long_as_it_fits() -> None:
    assert call("asInteger", call("add", quantity("1Ki"), 1)) == 1025
    assert call("isInteger", call("add", quantity("500m"), quantity("500m"))) is False
    assert call("isInteger", call("add", quantity("999999999999999999"), MAX_INT)) is False


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("50m", 0.05),
        ("1Ki", 1024.0),
        ("500.000Ki", 512000.00000000006),  # by way of billionths, as in Kubernetes
        ("9223372036854775807u", 9223372036854.777),
        ("1e300", 1e300),
        ("-1e999", -math.inf),
        ("1" * 400, math.inf),
        ("0.1n", 1e-9),
    ],
)
def test_doubles_are_computed_as_in_kubernetes(text: str, number: float) -> None:
    assert call("asApproximateFloat", quantity(text)) == number


@pytest.mark.parametrize(("text", "expected"), [("1Gi", 1), ("-1n", -1), ("0.0", 0)])
def test_sign_is_a_function(text: str, expected: int) -> None:
    assert GLOBALS["sign"](quantity(text)) == expected


@pytest.mark.parametrize(
    ("name", "argument", "kind"),
    [
        pytest.param("add", 1.0, "double", id="a double"),
        pytest.param("sub", UInt(1), "uint", id="a uint"),
        pytest.param("compareTo", 1, "int", id="compare with an int"),
    ],
)
def test_other_numbers_do_not_mix(name: str, argument: Any, kind: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        call(name, quantity("1"), argument)
    assert caught.value.message == f"no such overload: {name}({KIND}, {kind})"


def test_sums_that_need_a_huge_number_are_refused_at_once() -> None:
    with pytest.raises(EvaluationError, match=r"^quantities are more than 4000 digits apart$"):
        call("add", quantity("1e999999999"), quantity("1"))


@settings(max_examples=100)
@given(st.integers(-(10**12), 10**12), st.integers(-(10**12), 10**12))
def test_adding_and_subtracting_cancel_out(left: int, right: int) -> None:
    one, other = quantity(f"{left}m"), quantity(f"{right}Ki")
    assert equals(call("sub", call("add", one, other), other), one)
    assert call("compareTo", one, other) == (left > right * 1024_000) - (left < right * 1024_000)
