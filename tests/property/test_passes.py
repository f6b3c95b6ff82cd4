"""
Passes over graphs that nobody thought of.

A graph is drawn: config maps that read some of those before them, some left out by a switch, some
in a collection. Whatever it is, children come after what they read, a second pass finds nothing to
do, and what a pass made on the way is what a pass in one go would have made.
"""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from objects_testing.budgets import examples

from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.engine.plan.steps import Apply
from kro_gitops.engine.status import State, summarize
from tests.builders import config_map, definition, graph, instance, resource
from tests.small_cluster import SmallCluster

SLOW = settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow])


@st.composite
def resources(draw: st.DrawFn) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    single: list[str] = []
    for number in range(draw(st.integers(1, 5))):
        name = f"n{number}"
        read = draw(st.sets(st.sampled_from(single), max_size=2)) if single else set()
        data = {f"from{each}": f"${{{each}.data.own}}" for each in sorted(read)}
        more: dict[str, Any] = {}
        if draw(st.booleans()):
            more["includeWhen"] = [f"${{schema.spec.{draw(st.sampled_from(['on', 'off']))}}}"]
        if draw(st.integers(0, 3)) == 0:
            more["forEach"] = [{"word": "${schema.spec.words}"}]
            template = config_map(f"${{'{name}-' + word}}", own="${word}", **data)
        else:
            template = config_map(name, own=f"{name}-${{schema.spec.words[0]}}", **data)
            single.append(name)
        found.append(resource(name, template, **more))
    return draw(st.permutations(found))


def made(drawn: list[dict[str, Any]]) -> Graph:
    spec = {"on": "boolean", "off": "boolean", "words": "[]string"}
    return graph(definition(*drawn, spec=spec))


words = st.lists(st.sampled_from("abcd"), min_size=1, max_size=4, unique=True)


def asked(named: list[str]) -> dict[str, Any]:
    return instance({"on": True, "off": False, "words": named})


def shape(cluster: SmallCluster) -> dict[str, Any]:
    return {ref.name: (obj["data"], obj.owned) for ref, obj in cluster.children.items()}


@SLOW
@given(resources(), words)
def test_a_second_pass_asks_for_nothing(drawn: list[dict[str, Any]], named: list[str]) -> None:
    made_of, cluster = made(drawn), SmallCluster()
    run = cluster.run(made_of, asked(named))
    assert summarize(run).state is State.ACTIVE
    assert run.is_complete
    assert set(cluster.names) == {each.ref.name for each in run.targets()}
    again = cluster.run(made_of, asked(named))
    assert cluster.steps == []
    assert summarize(again).state is State.ACTIVE
    assert again.inventory() == run.inventory()


@SLOW
@given(resources(), words)
def test_children_come_after_what_they_read(drawn: list[dict[str, Any]], named: list[str]) -> None:
    made_of, cluster = made(drawn), SmallCluster()
    cluster.run(made_of, asked(named))
    nodes = [step.node for step in cluster.steps if isinstance(step, Apply)]
    last = {node: position for position, node in enumerate(nodes)}
    for position, node in enumerate(nodes):
        needs = [each.id for each in made_of.nodes[node].dependencies if each.id in last]
        assert all(last[need] < position for need in needs)


@SLOW
@given(resources(), words, words)
def test_the_way_does_not_matter(
    drawn: list[dict[str, Any]], before: list[str], after: list[str]
) -> None:
    made_of, straight, roundabout = made(drawn), SmallCluster(), SmallCluster()
    straight.run(made_of, asked(after))
    roundabout.run(made_of, asked(before))
    run = roundabout.run(made_of, asked(after))
    desired = {each.ref.name for each in run.targets()}
    kept = {name: each for name, each in shape(roundabout).items() if name in desired}
    assert kept == shape(straight)


@SLOW
@given(resources(), words, st.data())
def test_failures_cost_only_what_depends_on_them(
    drawn: list[dict[str, Any]], named: list[str], data: st.DataObject
) -> None:
    made_of, whole = made(drawn), SmallCluster()
    whole.run(made_of, asked(named))
    if not whole.names:
        return
    refused = data.draw(st.sampled_from(whole.names))
    cluster = SmallCluster()
    cluster.refused = {refused: "no"}
    run = cluster.run(made_of, asked(named))
    assert summarize(run).state is State.ERROR
    assert not run.is_complete
    # Once it is allowed, the rest is made and nothing else is touched.
    there = set(cluster.names)
    cluster.refused = {}
    run = cluster.run(made_of, asked(named))
    assert summarize(run).state is State.ACTIVE
    assert not there & set(cluster.applied)
    assert shape(cluster) == shape(whole)
