"""Garbage collection; each outcome was seen on a real control plane."""

import pytest
from sandbox_testing.owned_objects import config_map, ref
from sandbox_testing.simulated_cluster import World

from kube_sandbox.controllers.garbage_collector import Graph, Node, Owner, Place, ReportInvalidOwner


def owners_of(world: World, name: str) -> list[str]:
    """Return the names of an object's owners."""
    found = world.find("configmaps", name)
    return [each["name"] for each in found["metadata"].get("ownerReferences", ())]


@pytest.fixture
def world() -> World:
    """Return a cluster without workloads."""
    return World()


def test_dependents_go_with_their_owner(world: World) -> None:
    owner = world.add(config_map("owner"))
    child = world.add(config_map("child", ref(owner)))
    world.add(config_map("grandchild", ref(child)))
    world.add(config_map("other"))
    world.run()
    assert world.names("configmaps") == ["child", "grandchild", "other", "owner"]
    world.remove(owner)
    world.run()
    assert world.names("configmaps") == ["other"]


def test_an_owner_of_another_uid_or_namespace_is_none(world: World) -> None:
    owner = world.add(config_map("owner"))
    world.add(config_map("baduid", {**ref(owner), "uid": "nope"}))
    world.add(config_map("cross", ref(owner), namespace="m"))
    world.add(config_map("unknown", {**ref(owner), "kind": "Foo", "apiVersion": "f/v1"}))
    world.run()
    assert world.names("configmaps") == ["owner", "unknown"]
    (event,) = world.all("events")
    assert event["reason"] == "OwnerRefInvalidNamespace"
    assert event["message"] == (
        "ownerRef [v1/ConfigMap, namespace: m, name: owner, uid: uid-1] "
        'does not exist in namespace "m"'
    )
    assert event["metadata"]["namespace"] == "m"


def test_a_namespaced_owner_of_what_has_no_namespace_is_told_of_once(world: World) -> None:
    owner = world.add(config_map("owner"))
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "role", "ownerReferences": [ref(owner)]},
    }
    made = world.add(role)
    world.run()
    world.change({**made, "rules": []})
    world.run()
    world.remove(owner)
    world.run()
    assert world.names("clusterroles.rbac.authorization.k8s.io") == ["role"]
    (event,) = world.all("events")
    assert event["message"].endswith('uid: uid-1] does not exist in namespace ""')
    assert event["metadata"]["namespace"] == "default"


def test_in_the_foreground_an_owner_waits_for_those_that_hold_it_up(world: World) -> None:
    a, b = world.add(config_map("a")), world.add(config_map("b"))
    world.add(config_map("both", ref(a, blockOwnerDeletion=True), ref(b)))
    only = world.add(
        config_map("only", ref(a, blockOwnerDeletion=True), finalizers=["f.example.com/x"])
    )
    world.add(config_map("grand", ref(only, blockOwnerDeletion=True)))
    world.add(config_map("unblocked", ref(a)))
    world.run()
    world.remove(a, "Foreground")
    world.run()
    assert world.names("configmaps") == ["a", "b", "both", "only"]
    assert owners_of(world, "both") == ["b"]
    assert world.find("configmaps", "a")["metadata"]["finalizers"] == ["foregroundDeletion"]
    held = world.find("configmaps", "only")
    assert held["metadata"]["finalizers"] == ["f.example.com/x"]
    del held["metadata"]["finalizers"]
    world.change(held)
    world.run()
    assert world.names("configmaps") == ["b", "both"]


def test_orphans_stay_and_forget_their_owner(world: World) -> None:
    owner = world.add(config_map("owner"))
    world.add(config_map("child", ref(owner)))
    world.run()
    world.remove(owner, "Orphan")
    world.run()
    assert world.names("configmaps") == ["child"]
    assert owners_of(world, "child") == []


def test_a_dependent_with_another_owner_stays(world: World) -> None:
    a, b = world.add(config_map("a")), world.add(config_map("b"))
    world.add(config_map("both", ref(a), ref(b)))
    world.run()
    world.remove(a)
    world.run()
    assert owners_of(world, "both") == ["b"]
    world.remove(b)
    world.run()
    assert world.names("configmaps") == []


def test_two_that_own_each_other_can_go(world: World) -> None:
    a = world.add(config_map("a"))
    b = world.add(config_map("b", ref(a, blockOwnerDeletion=True)))
    a["metadata"]["ownerReferences"] = [ref(b, blockOwnerDeletion=True)]
    world.change(a)
    world.run()
    world.remove(a, "Foreground")
    world.run()
    assert world.names("configmaps") == []


def test_an_owner_whose_kind_is_served_later_is_looked_for_then() -> None:
    places: dict[str, Place] = {"ConfigMap": Place("configmaps", True)}
    graph = Graph(lambda _, kind: places.get(kind))
    owner = Owner("f/v1", "Foo", "gone", "u-2")
    node = Node("configmaps", "v1", "ConfigMap", "n", "a", "u-1", (owner,))
    assert graph.put(node) == ["u-1"]
    assert graph.steps("u-1") == []
    places["Foo"] = Place("foos.f", True)
    assert graph.served("f/v1", "Foo") == ["u-1"]
    (step,) = graph.steps("u-1")
    assert not isinstance(step, ReportInvalidOwner)
    assert step.node == node
