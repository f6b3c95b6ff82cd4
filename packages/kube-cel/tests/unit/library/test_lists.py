from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube_cel.library.lists import GLOBALS, MEMBERS, sort_by
from kube_cel.library.quantity import Quantity
from kube_cel.values import (
    NONE,
    Duration,
    EvaluationError,
    ListView,
    OptionalValue,
    Timestamp,
    UInt,
)

NAN = float("nan")


def call(name: str, *arguments: Any) -> Any:
    return MEMBERS[name, "list"](*arguments)


def typed(value: Any) -> Any:
    """Make 1, 1.0, 1u and true different, which Python takes for the same."""
    if isinstance(value, list):
        return [typed(element) for element in value]
    return (type(value), value)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        pytest.param("slice", ([1, 2, 3, 4], 1, 3), [2, 3], id="slice"),
        pytest.param("slice", ([1], 1, 1), [], id="slice of nothing"),
        pytest.param("flatten", ([[1, [2]], [], 3],), [1, [2], 3], id="flatten one level"),
        pytest.param("flatten", ([1, [2, [3, [4]]]], 2), [1, 2, 3, [4]], id="flatten two levels"),
        pytest.param("flatten", ([[1]], 0), [[1]], id="flatten no level"),
        pytest.param("flatten", ([[[[1]]]], 2**63 - 1), [1], id="flatten all levels"),
        pytest.param("reverse", ([1, 2, 3],), [3, 2, 1], id="reverse"),
        pytest.param("sort", ([],), [], id="sort nothing"),
        pytest.param("sort", ([3, 1, 2],), [1, 2, 3], id="sort ints"),
        pytest.param("sort", (["b", "", "ü", "a"],), ["", "a", "b", "ü"], id="sort strings"),
        pytest.param("sort", ([True, False],), [False, True], id="sort bools"),
        pytest.param("sort", ([b"b", b"a"],), [b"a", b"b"], id="sort bytes"),
        pytest.param(
            "sort", ([Duration(2), Duration(-1)],), [Duration(-1), Duration(2)], id="durations"
        ),
        pytest.param("isSorted", ([],), True, id="isSorted of nothing"),
        pytest.param("isSorted", ([1, 1, 2.5],), True, id="isSorted across numbers"),
        pytest.param("isSorted", (["b", "a"],), False, id="isSorted, not"),
        pytest.param("isSorted", ([1, "a", 0],), True, id="isSorted passes over what has no order"),
        pytest.param("min", ([3, 1, 2],), 1, id="min"),
        pytest.param("max", ([1, 2.5, UInt(2)],), 2.5, id="max across numbers"),
        pytest.param("max", (["a", "c", "b"],), "c", id="max of strings"),
        pytest.param("min", ([1, "a"],), 1, id="min keeps the first without an order"),
        pytest.param("max", ([Timestamp(1), Timestamp(3)],), Timestamp(3), id="max of times"),
        pytest.param("sum", ([],), 0, id="sum of nothing"),
        pytest.param("sum", ([1, 2, 3],), 6, id="sum of ints"),
        pytest.param("sum", ([UInt(1), UInt(2)],), UInt(3), id="sum of uints"),
        pytest.param("sum", ([0.5, 0.25],), 0.75, id="sum of doubles"),
        pytest.param("sum", ([Duration(1), Duration(2)],), Duration(3), id="sum of durations"),
        pytest.param("indexOf", ([1, 2, 1], 1.0), 0, id="indexOf"),
        pytest.param("indexOf", ([[1], {"a": 2}], {"a": 2.0}), 1, id="indexOf a map"),
        pytest.param("indexOf", ([1, "1"], True), -1, id="indexOf tells true from 1"),
        pytest.param("lastIndexOf", ([1, 2, 1], 1), 2, id="lastIndexOf"),
        pytest.param("lastIndexOf", (["a"], "b"), -1, id="lastIndexOf finds nothing"),
    ],
)
def test_functions_of_lists(name: str, arguments: tuple[Any, ...], expected: Any) -> None:
    assert typed(call(name, *arguments)) == typed(expected)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        pytest.param(
            "slice",
            ([1, 2], -1, 1),
            "cannot slice(-1, 1), negative indexes not supported",
            id="slice from before the start",
        ),
        pytest.param(
            "slice",
            ([1, 2, 3, 4], 3, 1),
            "cannot slice(3, 1), start index must be less than or equal to end index",
            id="slice backwards",
        ),
        pytest.param(
            "slice", ([1, 2], 0, 3), "cannot slice(0, 3), list is length 2", id="slice beyond"
        ),
        pytest.param("flatten", ([1], -1), "level must be non-negative", id="flatten"),
        pytest.param(
            "flatten", ([1], "a"), "no such overload: flatten(list, string)", id="flatten by text"
        ),
        pytest.param(
            "sort", (["a", 1],), "list elements must have the same type", id="sort a mixture"
        ),
        pytest.param(
            "sort", ([1, 1.0],), "list elements must have the same type", id="sort two numbers"
        ),
        pytest.param("sort", ([[1]],), "list elements must be comparable", id="sort lists"),
        pytest.param("min", ([],), "min called on empty list", id="min of nothing"),
        pytest.param("max", ([],), "max called on empty list", id="max of nothing"),
        pytest.param("max", ([{}],), "no such overload: max(list)", id="max of maps"),
        pytest.param("isSorted", ([[]],), "no such overload: isSorted(list)", id="isSorted, lists"),
        pytest.param("min", ([1, None],), "no such overload", id="min meets null"),
        pytest.param("isSorted", ([1, 2, None],), "no such overload", id="isSorted meets null"),
        pytest.param("sum", (["a"],), "no such overload: sum(list)", id="sum of strings"),
        pytest.param("sum", ([Quantity(1)],), "no such overload: sum(list)", id="of quantities"),
        pytest.param("sum", ([1, 2.5],), "no such overload", id="sum of a mixture"),
        pytest.param("sum", ([2**63 - 1, 1],), "integer overflow", id="sum too large"),
        pytest.param(
            "sum", ([UInt(2**64 - 1), UInt(1)],), "unsigned integer overflow", id="unsigned"
        ),
        pytest.param("sum", ([Duration(2**62)] * 2,), "integer overflow", id="sum too long"),
    ],
)
def test_what_makes_no_sense_is_refused(
    name: str, arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(EvaluationError) as caught:
        call(name, *arguments)
    assert caught.value.message == message


def test_what_is_not_sorted_is_known_at_the_first_pair_out_of_order() -> None:
    assert call("isSorted", [2, 1, None]) is False


def test_distinct_keeps_the_first_of_equal_elements() -> None:
    mixture = [1, 1.0, UInt(1), True, "a", "a", [1], [1.0], {"a": 1}, {"a": 1.0}, None, None]
    assert typed(call("distinct", mixture)) == typed([1, True, "a", [1], {"a": 1}, None])
    assert call("distinct", ["b", "a", "b"]) == ["b", "a"]
    assert len(call("distinct", [NAN, NAN])) == 2


def test_distinct_of_many_maps_takes_no_time_to_speak_of() -> None:
    maps = [{"name": f"n{i % 5_000}", "port": i % 5_000} for i in range(10_000)]
    assert call("distinct", maps) == maps[:5_000]


def test_first_and_last_are_optional() -> None:
    assert call("first", []) is NONE
    assert call("last", []) is NONE
    assert call("first", [1, 2]).value == 1
    found = call("last", ListView(["a", "b"], str.upper))
    assert isinstance(found, OptionalValue)
    assert (found.present, found.value) == (True, "B")


def test_sort_by_keeps_the_order_of_equal_keys() -> None:
    pairs = [(2, "c"), (1, "a"), (2, "d"), (1, "b")]
    assert sort_by(pairs) == ["a", "b", "c", "d"]


def test_range_counts_from_zero() -> None:
    assert GLOBALS["lists.range"](3) == [0, 1, 2]
    with pytest.raises(EvaluationError, match=r"^lists\.range: size must be non-negative, got -1$"):
        GLOBALS["lists.range"](-1)


def test_nothing_too_long_is_built() -> None:
    doubled: list[Any] = [0] * 100_000
    for _ in range(60):
        doubled = [doubled, doubled]
    too_long = rf"^lists\.range: size {2**62} exceeds maximum allowed \(1000000\)$"
    with pytest.raises(EvaluationError, match=too_long):
        GLOBALS["lists.range"](2**62)
    with pytest.raises(EvaluationError, match="are allowed"):
        call("flatten", doubled, 100)


@settings(max_examples=100)
@given(st.lists(st.integers(-5, 5) | st.sampled_from([0.0, 1.0, 2.5]) | st.booleans()))
def test_distinct_leaves_no_two_equal_elements(elements: list[Any]) -> None:
    kept = call("distinct", elements)
    positions = [call("indexOf", elements, element) for element in kept]
    assert positions == sorted(set(positions))
    assert all(call("indexOf", kept, element) >= 0 for element in elements)


@settings(max_examples=100)
@given(st.lists(st.text(max_size=3)))
def test_what_is_sorted_is_sorted(elements: list[str]) -> None:
    ordered = call("sort", elements)
    assert call("isSorted", ordered)
    if elements:
        assert (ordered[0], ordered[-1]) == (call("min", elements), call("max", elements))
