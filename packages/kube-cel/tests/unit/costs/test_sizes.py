import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_cel.costs.sizes import MAX_COST, UNKNOWN, Path, Size, plus, scaled, times

numbers = st.integers(0, MAX_COST)
sizes = st.builds(lambda a, b: Size(min(a, b), max(a, b)), numbers, numbers)


@given(numbers, numbers)
def test_numbers_stop_at_the_largest(left: int, right: int) -> None:
    assert plus(left, right) == min(left + right, MAX_COST)
    assert times(left, right) == min(left * right, MAX_COST)


@given(numbers, st.sampled_from((0.1, 0.2, 0.25, 1.0, 2.1, 32.0)))
def test_a_fraction_is_rounded_up_and_stops_at_the_largest(number: int, factor: float) -> None:
    assert 0 <= scaled(number, factor) <= MAX_COST
    if number < 2**50:
        assert 0 <= scaled(number, factor) - number * factor < 1


@pytest.mark.parametrize(
    ("number", "factor", "expected"),
    [
        (40, 0.1, 4),
        (41, 0.1, 5),
        (0, 0.1, 0),
        (MAX_COST, 0.1, 1844674407370955264),
        (MAX_COST, 2.0, MAX_COST),
    ],
)
def test_a_fraction_is_what_go_makes_of_it(number: int, factor: float, expected: int) -> None:
    assert scaled(number, factor) == expected


@given(sizes, sizes)
def test_either_of_two_sizes_lies_in_what_they_have_in_common(left: Size, right: Size) -> None:
    either = left.or_else(right)
    assert either == right.or_else(left)
    assert either.least <= left.least <= left.most <= either.most
    assert left.or_else(UNKNOWN) == UNKNOWN


@given(st.lists(st.text(max_size=3), max_size=9))
def test_a_path_is_its_steps(steps: list[str]) -> None:
    path = Path.of("self")
    for step in steps:
        path = path.below(step)
    assert path.names == ["self", *steps]


def test_paths_that_share_room_overwrite_each_other() -> None:
    variable = Path.of("self").below("list").below("@items")
    first = variable.below("texts")
    variable.below("index")
    assert first.names == ["self", "list", "@items", "index"]


def test_paths_without_room_do_not() -> None:
    full = Path.of("self").below("list")
    first = full.below("a")
    full.below("b")
    assert first.names == ["self", "list", "a"]
