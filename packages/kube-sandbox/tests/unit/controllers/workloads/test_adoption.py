"""What controllers take in, and what they let go of."""

from typing import Any

import pytest
from sandbox_testing.simulated_cluster import World

from kube_sandbox.controllers.workloads.plan_steps import Settings

LABELS = {"a": "b"}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "a", "image": "x"}]}}


@pytest.fixture
def world() -> World:
    """Return a world where workloads are looked after."""
    return World(Settings())


def workload(kind: str, **spec: Any) -> Any:
    """Make a workload."""
    given = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE}
    metadata = {"name": "web"}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": {**given, **spec}}


def owners(world: World, bucket: str) -> list[str]:
    """Return the kinds of those who control the objects of a bucket; empty without one."""
    found = (each["metadata"].get("ownerReferences") or [{}] for each in world.all(bucket))
    return [each[0].get("kind", "") for each in found]


@pytest.mark.parametrize(
    ("kind", "bucket"),
    [
        ("Deployment", "replicasets.apps"),
        ("ReplicaSet", "pods"),
        ("StatefulSet", "pods"),
        ("StatefulSet", "controllerrevisions.apps"),
        ("DaemonSet", "pods"),
    ],
)
def test_a_workload_that_is_made_anew_takes_in_what_the_old_one_left(
    world: World, kind: str, bucket: str
) -> None:
    made = world.add(workload(kind))
    world.run(5)
    before = {each["metadata"]["uid"] for each in world.all(bucket)}
    world.remove(made, "Orphan")
    world.run(1)
    assert owners(world, bucket) == [""]
    world.add(workload(kind))
    world.run(5)
    assert owners(world, bucket) == [kind]
    assert {each["metadata"]["uid"] for each in world.all(bucket)} == before


def test_a_pod_that_is_no_longer_selected_is_let_go_and_replaced(world: World) -> None:
    world.add(workload("ReplicaSet"))
    world.run(5)
    (pod,) = world.all("pods")
    changed = {**pod, "metadata": {**pod["metadata"], "labels": {"a": "c"}}}
    world.change(changed)
    world.run(5)
    assert sorted(owners(world, "pods")) == ["", "ReplicaSet"]


def bare_pod(name: str) -> Any:
    """Make a pod that nobody controls."""
    metadata = {"name": name, "labels": LABELS}
    spec = {"containers": [{"name": "a", "image": "x"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def test_a_pod_that_comes_later_and_is_selected_is_one_too_many(world: World) -> None:
    world.add(workload("ReplicaSet"))
    world.run(5)
    world.add(bare_pod("late"))
    world.run(5)
    assert "late" not in world.names("pods")
    assert owners(world, "pods") == ["ReplicaSet"]


def test_a_stateful_set_takes_in_only_pods_of_its_names(world: World) -> None:
    world.add(bare_pod("other-0"))
    world.add(workload("StatefulSet", serviceName="web"))
    world.run(5)
    assert owners(world, "pods") == ["", "StatefulSet"]


def test_what_another_controls_stays_its_own(world: World) -> None:
    world.add(workload("ReplicaSet"))
    world.run(5)
    world.add({**workload("ReplicaSet"), "metadata": {"name": "second"}})
    world.run(5)
    names = [each["metadata"]["ownerReferences"][0]["name"] for each in world.all("pods")]
    assert sorted(names) == ["second", "web"]
