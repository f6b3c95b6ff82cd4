from typing import Any

import pytest

from kube_cel.library.quantity import parse_quantity
from kube_cel.library.sets import ValueSet
from kube_cel.values import ListView, MapView, OptionalValue, Timestamp, UInt


@pytest.mark.parametrize(
    ("value", "equal"),
    [
        pytest.param(1, 1.0, id="numbers"),
        pytest.param(UInt(2), 2, id="an unsigned number"),
        pytest.param([1, "a"], [1.0, "a"], id="lists"),
        pytest.param(2**53 + 1, float(2**53), id="an int beside a double"),
        pytest.param(ListView([1, 2], float, "set"), ListView([2, 1], float, "set"), id="sets"),
        pytest.param({"a": "x", "b": 1}, {"b": 1.0, "a": "x"}, id="maps"),
        pytest.param({"a": "x"}, MapView({"a": "x"}, str), id="a map and data"),
        pytest.param(Timestamp(1), Timestamp(1), id="timestamps"),
        pytest.param(OptionalValue(1), OptionalValue(1.0), id="optionals"),
        pytest.param(parse_quantity("1000m"), parse_quantity("1"), id="quantities"),
    ],
)
def test_equal_values_are_the_same_member(value: Any, equal: Any) -> None:
    members = ValueSet([value])
    assert equal in members
    assert not members.add(equal)


@pytest.mark.parametrize(
    ("value", "other"),
    [
        pytest.param(1, True, id="a number and a bool"),
        pytest.param("1", 1, id="a text and a number"),
        pytest.param("a", b"a", id="a text and bytes"),
        pytest.param([1], [1, 1], id="lists"),
        pytest.param({"a": "x"}, {"a": "y"}, id="maps"),
        pytest.param(float("nan"), float("nan"), id="not a number"),
    ],
)
def test_different_values_are_not(value: Any, other: Any) -> None:
    members = ValueSet([value])
    assert other not in members
    assert members.add(other)
