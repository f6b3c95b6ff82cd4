"""The same pass with different knowledge: what is unknown offline, and what is rejected anyway."""

from typing import Any

import pytest

from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.engine.plan.children import Family, Rules
from kro_gitops.engine.plan.evaluation import Bounds
from kro_gitops.engine.plan.fields import UNKNOWN, plan_fields, visible_values
from kro_gitops.engine.plan.instance import Pass
from kro_gitops.engine.plan.node_run import Halt
from kro_gitops.engine.plan.offline import UID, OfflineKnowledge, stored_instance
from kro_gitops.engine.plan.placeholder import Placeholder
from kro_gitops.engine.plan.steps import Apply, Read, Select
from kro_gitops.metadata import COLLECTION_SIZE, DESIRED_HASH, INSTANCE_ID
from tests.builders import config_map, definition, graph, instance, resource
from tests.small_cluster import SmallCluster

SPEC = {"names": "[]string", "on": "boolean", "size": "integer | default=1", "place": "string"}
SPEC |= {"missing": "string", "anything": "object"}


def offline(made: Graph, obj: dict[str, Any], bounds: Bounds | None = None) -> Pass:
    """Run a pass offline; every step is answered with what it asked for."""
    stored = stored_instance(made, obj, "default")
    knowledge = OfflineKnowledge(made.read, made.ready_when_reads)
    run = Pass(made, stored, Family(stored, Rules()), knowledge, bounds or Bounds())
    while steps := run.advance():
        for step in steps:
            match step:
                case Apply():
                    run.applied(step, step.object)
                case Read():
                    run.found(step, [step.body])
                case Select():
                    run.unknown(step)
    return run


def live(made: Graph, obj: dict[str, Any], bounds: Bounds | None = None) -> Pass:
    return SmallCluster().run(made, obj, bounds)


REJECTED = {
    "identity-collision": (
        [resource("c", config_map("x-${n}"), forEach=[{"n": "${schema.spec.names}"}])],
        {"names": ["a", "a"]},
    ),
    "duplicate-target": ([resource("a", config_map("x")), resource("b", config_map("x"))], {}),
    "collection-too-large": (
        [resource("c", config_map("x-${n}"), forEach=[{"n": "${schema.spec.names}"}])],
        {"names": ["a", "b", "c"]},
    ),
    "evaluation-failed": (
        [resource("c", config_map("x", v="${string(1 / (schema.spec.size - 1))}"))],
        {},
    ),
    "data-missing": ([resource("c", includeWhen=["${schema.spec.on}"])], {}),
    "reserved-metadata": (
        [
            resource(
                "c",
                {
                    **config_map("x"),
                    "metadata": {"name": "x", "labels": "${{'gitops.kro.run/x': 'y'}}"},
                },
            )
        ],
        {},
    ),
}


@pytest.mark.parametrize("code", REJECTED)
def test_what_is_rejected_live_is_rejected_offline(code: str) -> None:
    nodes, spec = REJECTED[code]
    made = graph(definition(*nodes, spec=SPEC))
    obj, bounds = instance({"size": 1, **spec}), Bounds(collection_size=2)
    halts: list[Halt | None] = [live(made, obj, bounds).halt, offline(made, obj, bounds).halt]
    assert halts[0] is not None
    assert halts[0] == halts[1]
    assert halts[0].code == code


def test_a_cluster_scoped_instance_must_give_its_children_a_namespace() -> None:
    body = config_map("x")
    body["metadata"]["namespace"] = "${schema.spec.place}"
    made = graph(definition(resource("c", body), spec=SPEC, scope="Cluster"))
    obj = instance({"place": ""})
    del obj["metadata"]["namespace"]
    halts = [live(made, obj).halt, offline(made, obj).halt]
    assert halts[0] == halts[1]
    assert halts[0] is not None
    assert halts[0].code == "namespace-missing"
    assert halts[0].place == ("spec", "resources", 0, "template", "metadata", "namespace")


NAMELESS = {
    "empty": {"name": "${schema.spec.place}"},
    "null": {"name": "${schema.spec.?missing}"},
    "no text": {"name": "${schema.spec.anything.number}"},
}
GENERATED = {"generateName": "x-"}


@pytest.mark.parametrize(
    ("sort", "metadata"),
    [
        *(("template", each) for each in (*NAMELESS.values(), GENERATED)),
        *(("externalRef", each) for each in NAMELESS.values()),
    ],
)
def test_an_object_without_a_name_is_rejected(sort: str, metadata: dict[str, str]) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    made = graph(definition({"id": "c", sort: body}, spec=SPEC))
    obj = instance({"place": "", "anything": {"number": 5}})
    halts = [live(made, obj).halt, offline(made, obj).halt]
    assert halts[0] == halts[1]
    assert halts[0] is not None
    assert (halts[0].code, halts[0].text) == ("name-missing", 'node "c": name is required')


def test_a_reference_of_a_cluster_scoped_instance_must_have_a_namespace() -> None:
    named = {"name": "x", "namespace": "${schema.spec.place}"}
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named}
    made = graph(definition({"id": "c", "externalRef": reference}, spec=SPEC, scope="Cluster"))
    obj = instance({"place": ""})
    del obj["metadata"]["namespace"]
    halts = [live(made, obj).halt, offline(made, obj).halt]
    assert halts[0] == halts[1]
    assert halts[0] is not None
    assert halts[0].code == "namespace-missing"


def test_every_fault_of_a_level_is_found_offline() -> None:
    nodes = [resource(name, config_map(name, v="${string(1 / 0)}")) for name in ("a", "b")]
    made = graph(definition(*nodes))
    assert [fault.node for fault in live(made, instance()).faults] == ["a"]
    assert [fault.node for fault in offline(made, instance()).faults] == ["a", "b"]


def test_what_only_a_cluster_gives_is_a_placeholder() -> None:
    (target,) = offline(graph(definition(resource())), instance()).targets()
    metadata = target.object["metadata"]
    assert metadata["labels"][INSTANCE_ID] is UID
    assert metadata["labels"][DESIRED_HASH] == UID
    assert metadata["ownerReferences"][0]["uid"] is UID


def test_a_child_whose_namespace_is_unknown_may_have_an_owner() -> None:
    body = config_map("x")
    body["metadata"]["namespace"] = "${schema.metadata.uid}"
    (target,) = offline(graph(definition(resource("c", body))), instance()).targets()
    owners = target.object["metadata"]["ownerReferences"]
    assert owners == Placeholder(UID.reads, "optional_type(list(map(string, dyn)))")


def test_a_pattern_does_not_know_its_place_in_the_collection() -> None:
    each = resource("c", config_map("x-${k}"), forEach=[{"k": "${[schema.metadata.uid]}"}])
    (target,) = offline(graph(definition(each)), instance()).targets()
    assert target.object["metadata"]["labels"][COLLECTION_SIZE] == Placeholder(UID.reads, "string")


def test_readiness_is_assumed_where_it_is_unknown_and_judged_where_it_is_known() -> None:
    unknown = ["${a.metadata.uid != ''}"]
    known = ["${a.data.x == 'other'}"]
    for conditions, is_there in ((unknown, True), (known, False)):
        made = graph(
            definition(
                resource("a", config_map("a", x="1"), readyWhen=conditions),
                resource("b", config_map("b", x="${a.data.x}")),
            )
        )
        names = [target.ref.name for target in offline(made, instance()).targets()]
        assert ("b" in names) is is_there


def test_a_field_that_cannot_be_evaluated_leaves_the_others_their_values() -> None:
    body = config_map("x", good="${schema.spec.place}", bad="${other.data.x}", sum="${string(1/0)}")
    made = graph(
        definition(resource("c", body), resource("other", config_map("y", x="1")), spec=SPEC)
    )
    values = visible_values(made, instance({"place": "here"}), {})
    found = plan_fields(made.nodes["c"], values, None)
    assert found.at(("data", "good")) == "here"
    assert found.at(("data", "bad")) is UNKNOWN
    assert found.at(("data", "sum")) is UNKNOWN
    assert found.body["data"] == {"good": "here"}


def test_the_fields_of_an_item_are_those_of_its_place_in_the_collection() -> None:
    nodes = resource(
        "c",
        config_map("${n}-${m}", n="${n}"),
        forEach=[{"n": "${schema.spec.names}"}, {"m": "${['p', 'q']}"}],
    )
    made = graph(definition(nodes, spec=SPEC))
    values = visible_values(made, instance({"names": ["a", "b"]}), {})
    found = plan_fields(made.nodes["c"], values, 2)
    assert found.body["metadata"]["name"] == "b-p"
    assert [(each.name, each.index) for each in found.iterations] == [("n", 1), ("m", 0)]
    assert plan_fields(made.nodes["c"], values, 9).iterations == ()
