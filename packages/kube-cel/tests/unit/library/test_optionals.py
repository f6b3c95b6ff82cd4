from typing import Any

import pytest

from kube_cel.errors import EvaluationError
from kube_cel.library.optionals import GLOBALS, MEMBERS
from kube_cel.scalars import NONE, Duration, OptionalValue, Timestamp, UInt

of_non_zero = GLOBALS["optional.ofNonZeroValue"]


@pytest.mark.parametrize(
    "zero",
    [None, False, 0, UInt(0), 0.0, "", b"", [], {}, Duration(0), Timestamp(-62135596800 * 10**9)],
)
def test_zero_values_become_none(zero: Any) -> None:
    assert of_non_zero(zero) is NONE


@pytest.mark.parametrize("value", [True, 1, "a", [0], {"a": 0}, Timestamp(0), NONE])
def test_other_values_are_kept(value: Any) -> None:
    kept = of_non_zero(value)
    assert kept.present
    assert kept.value is value


def test_unwrap_keeps_the_values_that_are_there() -> None:
    assert GLOBALS["optional.unwrap"]([OptionalValue(1), NONE, OptionalValue(None)]) == [1, None]


def test_unwrap_wants_optionals() -> None:
    with pytest.raises(EvaluationError, match="no such overload: unwrapOpt"):
        MEMBERS["unwrapOpt", "list"]([1])


def test_none_has_no_value() -> None:
    assert not MEMBERS["hasValue", "optional_type"](NONE)
    with pytest.raises(EvaluationError) as caught:
        MEMBERS["value", "optional_type"](NONE)
    assert str(caught.value) == "optional.none() dereference"
