"""The instances that engines are measured with."""

from typing import Any

import pytest

from benchmarks.engine import workload
from kro_gitops.metadata import APPLYSET_ID, APPLYSET_PART_OF
from kube_objects.refs import ObjectRef


def test_the_floor_writes_what_an_engine_would() -> None:
    children = workload.children(workload.graph(), 7)
    assert list(children) == ["config", "deployment", "service"]
    assert len(children) == workload.CHILDREN
    assert children["config"]["data"]["greeting"] == workload.greeting_of(7)
    assert children["service"]["spec"]["selector"] == {"app": "app-7"}
    assert ObjectRef.of(children["config"]) == workload.config_ref(7)


def test_what_the_floor_writes_differs_from_instance_to_instance() -> None:
    compiled = workload.graph()
    names = {
        ObjectRef.of(child)
        for number in range(10)
        for child in workload.children(compiled, number).values()
    }
    assert len(names) == 30


def test_an_instance_is_marked_as_the_parent_of_its_children() -> None:
    children = workload.children(workload.graph(), 7)
    marked = workload.marked_instance(7, "some-uid", children)["metadata"]
    assert marked["finalizers"]
    assert "ConfigMap,Deployment.apps,Service" in marked["annotations"].values()
    member = workload.labels_of_child(7, "some-uid", "config")
    assert marked["labels"][APPLYSET_ID] == member[APPLYSET_PART_OF]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, False),
        ({"state": "ACTIVE"}, False),
        ({"state": "ACTIVE", "conditions": [{"type": "Ready", "status": "False"}]}, False),
        ({"state": "IN_PROGRESS", "conditions": [{"type": "Ready", "status": "True"}]}, False),
        (workload.status(1, "10.0.0.1", "2024-01-01T00:00:00Z")["status"], True),
    ],
)
def test_an_instance_is_ready_when_state_and_condition_say_so(
    status: dict[str, Any], expected: bool
) -> None:
    assert workload.is_ready({"status": status}) is expected


def test_an_instance_nobody_has_seen_to_is_not_ready() -> None:
    assert not workload.is_ready(workload.instance(1))
