"""Which parts of each node are read."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kro_gitops.engine.graph.read_paths import (
    covers,
    graph_read_paths,
    merge_paths,
    pick,
    read_paths_of,
)
from tests.builders import config_map, definition, graph, resource

parts = st.recursive(
    st.none(), lambda below: st.dictionaries(st.sampled_from("abc"), below, max_size=3)
)
values = st.recursive(
    st.integers(), lambda below: st.dictionaries(st.sampled_from("abc"), below, max_size=3)
)


def seen(*resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    return dict(graph_read_paths(graph(definition(*resources, **more))))


def test_templates_tell_what_they_read() -> None:
    found = seen(
        resource("a", config_map("a")),
        resource("b", config_map("b", x="${a.data.x}", y="${a.metadata.name}")),
    )
    assert found == {"a": {"data": {"x": None}, "metadata": {"name": None}}}


def test_the_whole_includes_its_parts() -> None:
    found = seen(
        resource("a", config_map("a")),
        resource("b", config_map("b", x="${a.data.x}", y="${string(size(a.data))}")),
    )
    assert found == {"a": {"data": None}}


def test_conditions_and_status_are_read_too() -> None:
    found = seen(
        resource("a", config_map("a"), readyWhen=["${a.data.ready == 'yes'}"]),
        resource("b", config_map("b"), includeWhen=["${a.data.wanted == 'yes'}"]),
        status={
            "out": "${a.data.out}",
            "conditions": ["${runtime.newCondition({type: 'A', status: a.data.ok})}"],
        },
    )
    assert found == {"a": {"data": {"ready": None, "wanted": None, "out": None, "ok": None}}}


def test_an_item_of_a_collection_goes_by_another_name() -> None:
    found = seen(
        resource(
            "all",
            config_map("${w}"),
            forEach=[{"w": "${schema.spec.words}"}],
            readyWhen=["${each.data.done == 'yes'}"],
        ),
        spec={"words": "[]string"},
    )
    assert found == {"all": {"data": {"done": None}}}


def test_a_list_that_is_looped_over_is_read_whole() -> None:
    found = seen(
        resource("a", config_map("a")),
        resource("b", config_map("${'b-' + w}"), forEach=[{"w": "${a.data.words.split(',')}"}]),
        resource("c", config_map("c", x="${b.map(i, i.data.x).join(',')}")),
    )
    assert found["a"] == {"data": {"words": None}}
    assert found["b"] is None


def test_a_name_that_may_stand_for_two_reads_its_owner() -> None:
    found = seen(
        resource("a", config_map("a")),
        resource("b", config_map("b", x="${a.data.some__dash__key}")),
    )
    assert found == {"a": {"data": None}}


def test_dependencies_tell_it_node_by_node() -> None:
    made = graph(
        definition(resource("a", config_map("a")), resource("b", config_map("b", x="${a.data.x}")))
    )
    assert read_paths_of(made.nodes["b"].dependencies) == {"a": {"data": {"x": None}}}


def test_what_is_no_object_is_picked_whole() -> None:
    assert pick({"a": [1, {"b": 2}]}, {"a": {"b": None}}) == {"a": [1, {"b": 2}]}
    assert pick({"a": 1, "b": 2}, {"a": None, "c": None}) == {"a": 1}
    assert pick({"a": 1}, None) == {"a": 1}


@given(parts, parts)
def test_a_merger_covers_both(one: Any, other: Any) -> None:
    both = merge_paths(one, other)
    assert covers(both, one)
    assert covers(both, other)
    assert merge_paths(other, one) == both


@given(values, parts, parts)
def test_what_covers_more_picks_more(value: Any, one: Any, other: Any) -> None:
    assert pick(pick(value, merge_paths(one, other)), one) == pick(value, one)


@given(parts)
def test_everything_covers_all_and_itself(one: Any) -> None:
    assert covers(None, one)
    assert covers(one, one)
    assert covers(one, None) == (one is None)
