"""What an instance reports: its state, kro's words in a stable order, its projected fields."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kro_gitops.engine.instance_metadata import is_suspended
from kro_gitops.engine.plan.evaluation import Bounds, Evaluator
from kro_gitops.engine.status import (
    ALL_READY,
    IS_MANAGED,
    IS_RESOLVED,
    RESOURCES,
    State,
    builtin,
    conditions_of,
    not_managed,
    not_resolved,
    project,
    summarize,
    under_deletion,
)
from kro_gitops.metadata import RECONCILE
from tests.builders import config_map, definition, graph, instance, resource
from tests.small_cluster import SmallCluster

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def projected(status: dict[str, Any], **values: Any) -> Any:
    made = graph(definition(resource("cm"), resource("b", config_map("b")), status=status))
    return project(made, {"schema": instance(), **values}, Evaluator(Bounds()))


# The state of a pass


def test_a_graph_of_nothing_is_active() -> None:
    verdict = summarize(SmallCluster().run(graph(definition()), instance()))
    assert (verdict.state, verdict.condition) == (State.ACTIVE, ALL_READY)


def test_troubles_stand_in_the_order_of_the_graph() -> None:
    made = graph(
        definition(
            resource("z", config_map("z", x="${y.metadata.name}")),
            resource("y", config_map("y")),
            resource("x", config_map("x"), readyWhen=["${x.data.ok == 'yes'}"]),
        )
    )
    texts = set()
    for _ in range(3):
        cluster = SmallCluster()
        cluster.refused = {"z": "no z", "x": "no x"}
        texts.add(summarize(cluster.run(made, instance())).condition.message)
    assert texts == {"resource reconciliation failed: apply results contain errors: no z\nno x"}


def test_an_error_outweighs_what_waits() -> None:
    made = graph(
        definition(
            resource("a", config_map("a"), readyWhen=["${a.data.ok == 'yes'}"]),
            resource("b", config_map("b")),
        )
    )
    cluster = SmallCluster()
    assert summarize(cluster.run(made, instance())).state is State.IN_PROGRESS
    cluster = SmallCluster()
    cluster.refused = {"b": "no"}
    verdict = summarize(cluster.run(made, instance()))
    assert verdict.state is State.ERROR
    assert verdict.failures == ("no",)


def test_a_readiness_that_cannot_be_told_is_an_error() -> None:
    made = graph(
        definition(resource("a", config_map("a", n="many"), readyWhen=["${int(a.data.n) > 1}"]))
    )
    verdict = summarize(SmallCluster().run(made, instance()))
    assert verdict.state is State.ERROR
    assert verdict.failures == (
        'node "a": failed to evaluate readyWhen expression: "int(a.data.n) > 1" '
        "(eval \"int(a.data.n) > 1\": type conversion error from 'string' to 'int')",
    )


# Suspension


@pytest.mark.parametrize("word", ["suspended", "disabled", "Suspended", "DISABLED"])
def test_reconciliation_can_be_suspended(word: str) -> None:
    assert is_suspended(instance(annotations={RECONCILE: word}))


@pytest.mark.parametrize("annotations", [None, {}, {RECONCILE: "enabled"}, {RECONCILE: ""}])
def test_anything_else_does_not_suspend(annotations: dict[str, str] | None) -> None:
    assert not is_suspended(instance(annotations=annotations))


# Conditions


def test_conditions_stand_in_kros_order() -> None:
    fresh = instance(generation=1, creationTimestamp="2025-12-31T23:59:59Z")
    conditions = conditions_of(fresh, NOW)
    for each in (IS_MANAGED, IS_RESOLVED, ALL_READY):
        conditions.set(each, NOW)
    written = builtin(conditions)
    order = ["InstanceManaged", "GraphResolved", "ResourcesReady", "Ready"]
    assert [each["type"] for each in written] == order
    ready = written[-1]
    assert (ready["status"], ready["reason"], ready["message"]) == ("True", "Ready", "")


def test_what_others_reported_is_not_taken_for_ours() -> None:
    theirs = {"type": "Theirs", "status": "True"}
    found = conditions_of({**instance(), "status": {"conditions": [theirs]}}, NOW)
    assert "Theirs" not in [each["type"] for each in builtin(found)]


@pytest.mark.parametrize(
    ("condition", "status", "message"),
    [
        (not_managed("finalizer/labeling failed: x"), "False", "finalizer/labeling failed: x"),
        (not_resolved("no graph"), "False", "no graph"),
        (under_deletion("deleting resources"), "Unknown", "deleting resources"),
    ],
)
def test_ready_repeats_what_is_wrong(condition: Any, status: str, message: str) -> None:
    conditions = conditions_of(instance(generation=1), NOW)
    for each in (IS_MANAGED, IS_RESOLVED, ALL_READY, condition):
        conditions.set(each, NOW)
    assert (conditions.root.status, conditions.root.message) == (status, message)


def test_under_deletion_is_about_the_children() -> None:
    assert under_deletion("x").type == RESOURCES


# Projection


def test_fields_are_filled_in() -> None:
    found = projected({"name": "${cm.metadata.name}"}, cm=config_map("shop"))
    assert found.fields == {"name": "shop"}
    assert found.problems == ()


def test_what_is_not_known_yet_is_left_out() -> None:
    status = {"a": "${cm.data.x}", "b": "${b.data.x}", "text": "${cm.data.x}-${b.data.x}"}
    found = projected(status, cm=config_map("cm", x="1"))
    assert found.fields == {"a": "1"}
    assert found.problems == ()


def test_a_mistake_costs_one_field() -> None:
    status = {"good": "${cm.data.x}", "bad": "${int(cm.data.x)}"}
    found = projected(status, cm=config_map("cm", x="many"))
    assert found.fields == {"good": "many"}
    assert found.problems == (
        "eval \"int(cm.data.x)\": type conversion error from 'string' to 'int'",
    )


def test_nested_fields_and_lists_keep_their_place() -> None:
    status = {"net": {"names": ["${cm.metadata.name}", "${b.metadata.name}"]}}
    found = projected(status, cm=config_map("one"), b=config_map("two"))
    assert found.fields == {"net": {"names": ["one", "two"]}}


def test_null_is_as_good_as_nothing() -> None:
    status = {"maybe": "${cm.?data.x}", "whole": "${cm.metadata}"}
    found = projected(status, cm={"metadata": {"name": "n", "labels": None}})
    assert found.fields == {"whole": {"name": "n"}}
