"""A pass over an instance: what it asks for, in which order, and what stops it."""

from typing import Any

import pytest

from kro_gitops.engine.applyset import GroupKind, Inventory, applyset_id
from kro_gitops.engine.plan.steps import NodeState
from kro_gitops.engine.status import State, project, summarize
from kro_gitops.metadata import (
    APPLY_ORDER,
    APPLYSET_PART_OF,
    DESIRED_HASH,
    NODE_ID,
    OWNED,
)
from kube_objects.refs import ObjectRef
from tests.builders import config_map, definition, graph, instance, resource
from tests.small_cluster import SmallCluster, owned


def message(run: Any) -> str:
    return summarize(run).condition.message or ""


def chain() -> Any:
    """Three config maps, each of which reads the one before; the last is declared first."""
    return graph(
        definition(
            resource("last", config_map("last", from_="${middle.data.x}")),
            resource("middle", config_map("middle", x="${first.data.x + '!'}")),
            resource("first", config_map("first", x="${schema.spec.x}")),
            spec={"x": "string"},
        )
    )


def test_a_condition_that_fails_stops_the_pass_before_anything_is_applied() -> None:
    made = graph(
        definition(
            resource("one", config_map("one", x="1")),
            resource("two", config_map("two", x="${one.data.x}")),
            resource(
                "three",
                config_map("three", x="${two.data.x}"),
                includeWhen=["${schema.spec.on}"],
            ),
            spec={"on": "boolean"},
        )
    )
    cluster = SmallCluster()
    run = cluster.run(made, instance())
    assert cluster.applied == []
    assert run.halt is not None
    assert (run.halt.node, run.halt.code) == ("three", "data-missing")
    assert run.halt.place == ("spec", "resources", 2, "includeWhen", 0)


# Levels


def test_all_levels_are_made_in_one_pass() -> None:
    cluster = SmallCluster()
    run = cluster.run(chain(), instance({"x": "hi"}))
    assert cluster.applied == ["first", "middle", "last"]
    assert cluster.named("last")["data"] == {"from_": "hi!"}
    assert summarize(run).state is State.ACTIVE
    assert run.is_complete


def test_what_does_not_depend_on_each_other_is_asked_for_at_once() -> None:
    made = graph(
        definition(
            resource("one", config_map("one")),
            resource("two", config_map("two")),
            resource("three", config_map("three", x="${one.metadata.name}")),
        )
    )
    cluster = SmallCluster()
    run = cluster.begin(made, instance())
    steps = run.advance()
    assert [step.node for step in steps] == ["one", "two"]


def test_an_instance_that_is_as_it_should_be_asks_for_nothing() -> None:
    cluster = SmallCluster()
    cluster.run(chain(), instance({"x": "hi"}))
    run = cluster.run(chain(), instance({"x": "hi"}))
    assert cluster.steps == []
    assert summarize(run).state is State.ACTIVE


def test_only_what_follows_from_a_change_is_applied_again() -> None:
    made = graph(
        definition(
            resource("still", config_map("still", x="always")),
            resource("moved", config_map("moved", x="${schema.spec.x}")),
            spec={"x": "string"},
        )
    )
    cluster = SmallCluster()
    cluster.run(made, instance({"x": "1"}))
    cluster.run(made, instance({"x": "2"}))
    assert cluster.applied == ["moved"]


def test_a_child_somebody_took_a_field_from_is_applied_again() -> None:
    cluster = SmallCluster()
    cluster.run(chain(), instance({"x": "hi"}))
    cluster.put(cluster.named("middle"), owned({"f:metadata": {"f:labels": {}}}))
    cluster.run(chain(), instance({"x": "hi"}))
    assert cluster.applied == ["middle"]


def test_children_say_in_which_wave_they_go() -> None:
    cluster = SmallCluster()
    cluster.run(chain(), instance({"x": "hi"}))
    waves = {
        name: cluster.named(name)["metadata"]["annotations"][APPLY_ORDER]
        for name in ("first", "middle", "last")
    }
    assert waves == {"first": "1", "middle": "2", "last": "3"}
    assert cluster.named("first")["metadata"]["labels"][NODE_ID] == "first"


def test_expressions_do_not_see_what_we_report() -> None:
    made = graph(definition(resource("cm", config_map(x="${string(has(schema.metadata))}"))))
    run = SmallCluster().begin(made, {**instance(), "status": {"state": "ACTIVE"}})
    assert "status" not in run.values["schema"]


# Waiting


def test_a_node_waits_for_data_in_kros_words() -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"ports": [{"port": 80}]},
    }
    made = graph(
        definition(
            resource("service", service),
            resource("cm", config_map(ip="${service.status.loadBalancer.ingress[0].ip}")),
        )
    )
    cluster = SmallCluster()
    run = cluster.run(made, instance())
    assert cluster.applied == ["web"]
    assert message(run) == (
        "resource reconciliation failed: waiting for unresolved resource: "
        'gvr "/v1, Resource=configmaps": node "cm": failed to evaluate expression: '
        'eval "service.status.loadBalancer.ingress[0].ip": no such key: status (data pending)'
    )
    assert summarize(run).state is State.IN_PROGRESS
    assert not run.is_complete

    cluster.change(
        "web", lambda obj: obj.update(status={"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}})
    )
    run = cluster.run(made, instance())
    assert cluster.applied == ["corner"]
    assert summarize(run).state is State.ACTIVE


def test_a_dependant_waits_until_its_dependency_is_ready() -> None:
    made = graph(
        definition(
            resource("first", config_map("first"), readyWhen=["${first.data.done == 'yes'}"]),
            resource("second", config_map("second", x="${first.metadata.name}")),
        )
    )
    cluster = SmallCluster()
    run = cluster.run(made, instance())
    assert cluster.applied == ["first"]
    verdict = summarize(run)
    assert verdict.state is State.IN_PROGRESS
    assert verdict.failures == ()
    assert verdict.condition.message == (
        "resource reconciliation failed: apply results contain errors: "
        'waiting for node "first": node "first": failed to evaluate readyWhen expression: '
        "\"first.data.done == 'yes'\" (waiting for readiness)"
    )
    assert run.runs["second"].pending == (
        'node "second": dependent node "first" not ready: node "first": failed to evaluate '
        "readyWhen expression: \"first.data.done == 'yes'\" (waiting for readiness) (data pending)"
    )

    cluster.change("first", lambda obj: obj["data"].update(done="no"))
    assert message(cluster.run(made, instance())) == (
        "resource reconciliation failed: apply results contain errors: "
        'waiting for node "first": readyWhen condition evaluated to false: '
        "\"first.data.done == 'yes'\" (waiting for readiness)"
    )

    cluster.change("first", lambda obj: obj["data"].update(done="yes"))
    assert summarize(cluster.run(made, instance())).state is State.ACTIVE
    assert cluster.applied == ["second"]


def test_a_failed_dependency_is_not_there_for_others() -> None:
    cluster = SmallCluster()
    cluster.refused["first"] = "admission says no"
    run = cluster.run(chain(), instance({"x": "hi"}))
    verdict = summarize(run)
    assert verdict.state is State.ERROR
    assert verdict.failures == ("admission says no",)
    assert message(run) == (
        "resource reconciliation failed: apply results contain errors: admission says no"
    )
    assert run.runs["middle"].pending == (
        'node "middle": dependent node "first" not ready: '
        'node "first": no observed state: waiting for readiness (data pending)'
    )


def test_a_child_that_cannot_be_changed_still_is_what_it_was_for_others() -> None:
    cluster = SmallCluster()
    cluster.run(chain(), instance({"x": "old"}))
    cluster.refused["first"] = "immutable"
    run = cluster.run(chain(), instance({"x": "new"}))
    assert cluster.applied == ["first"]
    assert summarize(run).state is State.ERROR
    assert cluster.named("last")["data"] == {"from_": "old!"}


# Left out


def optional_chain() -> Any:
    return graph(
        definition(
            resource("a", config_map("a"), includeWhen=["${schema.spec.on}"]),
            resource("b", config_map("b", x="${a.metadata.name}")),
            resource("c", config_map("c", x="${b.metadata.name}")),
            resource("d", config_map("d")),
            spec={"on": "boolean"},
        )
    )


def test_what_is_left_out_takes_its_dependants_with_it() -> None:
    cluster = SmallCluster()
    run = cluster.run(optional_chain(), instance({"on": False}))
    assert cluster.applied == ["d"]
    assert {name for name, each in run.runs.items() if each.state is NodeState.SKIPPED} == set(
        "abc"
    )
    assert summarize(run).state is State.ACTIVE
    assert run.is_complete
    assert [each.ref.name for each in run.targets()] == ["d"]


def test_what_comes_back_is_made() -> None:
    cluster = SmallCluster()
    cluster.run(optional_chain(), instance({"on": False}))
    cluster.run(optional_chain(), instance({"on": True}))
    assert cluster.applied == ["a", "b", "c"]


def test_a_condition_may_wait_for_another_node() -> None:
    made = graph(
        definition(
            resource("a", config_map("a")),
            resource("b", config_map("b"), includeWhen=["${a.data.wanted == 'yes'}"]),
        )
    )
    cluster = SmallCluster()
    run = cluster.run(made, instance())
    assert message(run) == (
        "resource reconciliation failed: waiting for unresolved resource: "
        'gvr "/v1, Resource=configmaps": includeWhen "a.data.wanted == \'yes\'": '
        "eval \"a.data.wanted == 'yes'\": no such key: wanted (data pending)"
    )
    cluster.change("a", lambda obj: obj.update(data={"wanted": "no"}))
    assert summarize(cluster.run(made, instance())).state is State.ACTIVE
    cluster.change("a", lambda obj: obj.update(data={"wanted": "yes"}))
    cluster.run(made, instance())
    assert cluster.applied == ["b"]


def test_a_condition_on_a_node_that_is_not_ready_says_so() -> None:
    made = graph(
        definition(
            resource("a", config_map("a"), readyWhen=["${a.data.done == 'yes'}"]),
            resource("b", config_map("b"), includeWhen=["${a.metadata.name == 'a'}"]),
        )
    )
    run = SmallCluster().run(made, instance())
    assert run.runs["b"].pending == (
        'includeWhen dependency "a" not ready: node "a": failed to evaluate readyWhen expression: '
        "\"a.data.done == 'yes'\" (waiting for readiness) (data pending)"
    )


def test_what_an_instance_lacks_in_a_condition_is_a_mistake() -> None:
    made = graph(
        definition(
            resource("a", config_map("a"), includeWhen=["${schema.spec.tags.on == 'x'}"]),
            spec={"tags": "map[string]string"},
        )
    )
    run = SmallCluster().run(made, instance({"tags": {}}))
    assert message(run) == (
        "resource reconciliation failed: "
        "includeWhen \"schema.spec.tags.on == 'x'\": "
        "eval \"schema.spec.tags.on == 'x'\": no such key: on"
    )
    assert summarize(run).state is State.ERROR


# What ends a pass


def test_a_mistake_in_one_node_ends_the_pass_before_anything_is_made() -> None:
    made = graph(
        definition(
            resource("a", config_map("a")),
            resource("b", config_map("b", x="${string(int(schema.spec.x))}")),
            spec={"x": "string"},
        )
    )
    cluster = SmallCluster()
    run = cluster.run(made, instance({"x": "many"}))
    assert cluster.applied == []
    verdict = summarize(run)
    assert verdict.state is State.ERROR
    assert verdict.condition.message == (
        'resource reconciliation failed: node "b": eval "string(int(schema.spec.x))": '
        "type conversion error from 'string' to 'int'"
    )
    assert verdict.failures
    assert not run.is_complete


def test_a_child_that_goes_ends_the_pass() -> None:
    cluster = SmallCluster()
    cluster.run(chain(), instance({"x": "hi"}))
    cluster.change(
        "first", lambda obj: obj["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z")
    )
    run = cluster.run(chain(), instance({"x": "new"}))
    assert cluster.applied == []
    verdict = summarize(run)
    assert verdict.condition.reason == "ResourceDeleting"
    assert verdict.condition.message == (
        'resource "town/first" for node "first" is currently being deleted; '
        "waiting for deletion to complete before continuing reconciliation"
    )
    assert verdict.state is State.IN_PROGRESS
    assert verdict.failures == ()
    assert not run.is_complete


def test_a_child_of_another_instance_is_not_taken() -> None:
    made = graph(definition(resource("cm", config_map("shared"))))
    cluster = SmallCluster()
    cluster.run(made, instance(name="other", uid="uid-of-other"))
    run = cluster.run(made, instance())
    assert cluster.applied == []
    theirs = applyset_id(ObjectRef.of(instance(name="other")))
    ours = applyset_id(ObjectRef.of(instance()))
    assert message(run) == (
        "resource reconciliation failed: apply results contain errors: "
        "resource belongs to a different ApplySet: town/shared (/v1, Kind=ConfigMap) "
        f'belongs to ApplySet "{theirs}", cannot reassign to "{ours}"'
    )
    assert summarize(run).state is State.ERROR
    assert cluster.named("shared")["metadata"]["labels"][APPLYSET_PART_OF] == theirs


def test_two_nodes_cannot_be_one_object() -> None:
    made = graph(
        definition(
            resource("a", config_map("same", x="1")), resource("b", config_map("same", x="2"))
        )
    )
    cluster = SmallCluster()
    run = cluster.run(made, instance())
    assert cluster.applied == []
    assert message(run) == (
        "resource reconciliation failed: found resources with conflicts: "
        "resourceID: b conflicts with resourceID: a"
    )
    assert summarize(run).state is State.ERROR


def test_two_versions_of_a_kind_are_one_object() -> None:
    spec = {
        "maxReplicas": 3,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
    }
    scaler: dict[str, Any] = {
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": spec,
    }
    made = graph(
        definition(
            resource("a", {"apiVersion": "autoscaling/v1", **scaler}),
            resource("b", {"apiVersion": "autoscaling/v2", **scaler}),
        )
    )
    run = SmallCluster().run(made, instance())
    assert "resourceID: b conflicts with resourceID: a" in message(run)


# Places


def test_children_of_a_cluster_scoped_instance_say_where_they_belong() -> None:
    template = config_map("cm")
    template["metadata"]["namespace"] = "${schema.spec.where}"
    made = graph(definition(resource("cm", template), spec={"where": "string"}, scope="Cluster"))
    everywhere = instance({"where": "town"})
    del everywhere["metadata"]["namespace"]
    cluster = SmallCluster()
    run = cluster.run(made, everywhere)
    assert [(ref.namespace, ref.name) for ref in cluster.children] == [("town", "cm")]
    assert run.inventory() == Inventory(frozenset({GroupKind("ConfigMap")}), frozenset({"town"}))

    everywhere["spec"]["where"] = ""
    run = cluster.run(made, everywhere)
    assert message(run) == (
        'resource reconciliation failed: node "cm" is namespaced and must resolve '
        "metadata.namespace when the instance is cluster-scoped"
    )


def test_the_inventory_counts_what_waits_by_its_kind() -> None:
    made = graph(
        definition(
            resource("a", config_map("a"), readyWhen=["${a.data.done == 'yes'}"]),
            resource(
                "b",
                {
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": {"name": "b", "namespace": "${a.metadata.name}"},
                },
            ),
        )
    )
    cluster = SmallCluster()
    run = cluster.begin(made, instance())
    run.advance()
    kinds = frozenset({GroupKind("ConfigMap"), GroupKind("Secret")})
    assert run.projection() == Inventory(kinds)
    assert run.inventory() == Inventory(frozenset({GroupKind("ConfigMap")}))


@pytest.mark.parametrize("is_on", [True, False])
def test_the_inventory_is_what_is_desired(is_on: bool) -> None:
    run = SmallCluster().run(optional_chain(), instance({"on": is_on}))
    assert run.projection() == run.inventory()
    assert len(list(run.targets())) == (4 if is_on else 1)


# Objects of other owners


def reader() -> Any:
    """Build a definition that copies what it sees of its child into status and another child."""
    return graph(
        definition(
            resource("taken", config_map("taken", ours="yes")),
            resource("copy", config_map("copy", value="${taken.data.?secret.orValue('unseen')}")),
            status={"value": "${taken.data.?secret.orValue('unseen')}"},
        )
    )


@pytest.mark.parametrize(
    "labels",
    [
        {OWNED: "true"},
        {OWNED: "true", APPLYSET_PART_OF: applyset_id(ObjectRef.of(instance()))},
        {OWNED: "true", APPLYSET_PART_OF: "applyset-of-another-instance-v1"},
    ],
    ids=["no apply set", "forged apply set", "another instance's"],
)
def test_an_object_of_another_owner_is_not_visible_to_expressions(labels: dict[str, str]) -> None:
    cluster = SmallCluster()
    theirs = config_map("taken", secret="canary")
    theirs["metadata"].update(namespace="town", labels=labels)
    cluster.put(theirs)
    cluster.refused["taken"] = "exists already and was made by somebody else"
    graph = reader()
    run = cluster.run(graph, instance())
    assert "taken" not in run.values
    assert "copy" not in cluster.names
    assert "canary" not in str(project(graph, run.values, run.evaluator))
    assert summarize(run).state is State.ERROR
    assert not run.is_complete


def test_a_child_of_ours_that_cannot_be_changed_is_still_visible() -> None:
    cluster = SmallCluster()
    cluster.run(reader(), instance())
    cluster.change("taken", lambda obj: obj["data"].update(secret="ours to read"))
    cluster.change("taken", lambda obj: obj["metadata"]["labels"].pop(DESIRED_HASH))
    cluster.refused["taken"] = "admission webhook denied the request"
    run = cluster.run(reader(), instance())
    assert run.values["taken"]["data"]["secret"] == "ours to read"
