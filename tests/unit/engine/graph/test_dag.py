import pytest
from hypothesis import given
from hypothesis import strategies as st

from kro_gitops.engine.graph import dag

EXAMPLE = {"z": ["m"], "m": [], "a": [], "q": ["z", "a"]}


def test_a_name_precedes_an_earlier_listed_one_only_if_that_one_waits() -> None:
    assert dag.order(EXAMPLE) == ("m", "z", "a", "q")


def test_listed_order_is_kept_where_nothing_waits() -> None:
    assert dag.order({"d": ["c"], "c": [], "b": [], "a": ["d"]}) == ("c", "d", "b", "a")


def test_waves_are_peeled_from_the_side_of_the_dependents() -> None:
    assert dag.waves(EXAMPLE) == {"q": 3, "z": 2, "a": 2, "m": 1}


def test_a_name_without_edges_is_in_the_last_wave() -> None:
    assert dag.waves({"a": [], "b": ["a"], "lonely": []})["lonely"] == 2


@pytest.mark.parametrize(
    ("needs", "cycle"),
    [
        pytest.param({"a": ["b"], "b": ["a"]}, ("a", "b", "a"), id="two that need each other"),
        pytest.param({"a": ["a"]}, ("a", "a"), id="one that needs itself"),
        pytest.param({"x": ["a"], "a": ["b"], "b": ["a"]}, ("a", "b", "a"), id="a ring behind one"),
        pytest.param(EXAMPLE, (), id="none"),
    ],
)
def test_a_cycle_is_shown_as_a_closed_path(
    needs: dict[str, list[str]], cycle: tuple[str, ...]
) -> None:
    assert dag.find_cycle(needs) == cycle


def test_a_long_chain_is_no_problem() -> None:
    names = [f"n{i}" for i in range(5_000)]
    needs = {name: names[i + 1 : i + 2] for i, name in enumerate(names)}
    assert dag.find_cycle(needs) == ()
    assert dag.order(needs) == tuple(reversed(names))


@given(st.lists(st.sets(st.integers(0, 11)), min_size=1, max_size=12))
def test_every_order_respects_every_need(raw: list[set[int]]) -> None:
    needs = {str(i): [str(j) for j in sorted(below) if j < i] for i, below in enumerate(raw)}
    order = dag.order(needs)
    waves = dag.waves(needs)
    assert sorted(order) == sorted(needs)
    for name, needed in needs.items():
        for other in needed:
            assert order.index(other) < order.index(name)
            assert waves[other] < waves[name]
