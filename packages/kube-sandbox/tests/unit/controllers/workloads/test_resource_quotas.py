"""How quotas are counted; what stands in their status was seen on a real control plane."""

from datetime import UTC, datetime
from typing import Any

import pytest
from sandbox_testing.owned_objects import config_map
from sandbox_testing.simulated_cluster import KINDS, World

from kube_objects.refs import KubeObject
from kube_sandbox.controllers.manager import ControllerManager, ControllerManagerOptions
from kube_sandbox.controllers.workloads import resource_quotas
from kube_sandbox.controllers.workloads.plan_steps import PlanContext, Settings

QUOTA: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "q"},
    "spec": {"hard": {"configmaps": "3", "pods": "2", "requests.cpu": "1", "count/pods": "9"}},
}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "250m"}}}]},
}


MOMENT = PlanContext(datetime(2026, 11, 16, tzinfo=UTC), Settings())


def used(world: World) -> Any:
    return world.find("resourcequotas", "q")["status"]["used"]


@pytest.fixture
def world() -> World:
    return World()


def test_a_quota_is_counted_when_it_is_made(world: World) -> None:
    world.add(config_map("a"))
    world.add(POD)
    world.add(QUOTA)
    world.run()
    counted = {"configmaps": "1", "count/pods": "1", "pods": "1", "requests.cpu": "250m"}
    assert world.find("resourcequotas", "q")["status"] == {
        "hard": QUOTA["spec"]["hard"],
        "used": counted,
    }


def test_what_is_deleted_is_given_back(world: World) -> None:
    made = world.add(config_map("a"))
    world.add(QUOTA)
    world.run()
    world.remove(made)
    world.run()
    assert used(world)["configmaps"] == "0"


def test_a_pod_that_ends_gives_back_all_but_its_place(world: World) -> None:
    made = world.add(POD)
    world.add(QUOTA)
    world.run()
    world.set_status("kubelet", "pods", {**made, "status": {"phase": "Succeeded"}})
    world.run()
    assert used(world) == {"configmaps": "0", "count/pods": "1", "pods": "0", "requests.cpu": "0"}


def test_another_limit_is_counted_anew(world: World) -> None:
    world.add(config_map("a"))
    made = world.add(QUOTA)
    world.run()
    world.change({**made, "spec": {"hard": {"count/configmaps": "1"}}})
    world.run()
    assert world.find("resourcequotas", "q")["status"] == {
        "hard": {"count/configmaps": "1"},
        "used": {"count/configmaps": "1"},
    }


def test_what_no_kind_uses_is_not_said_to_be_used(world: World) -> None:
    world.add({**QUOTA, "spec": {"hard": {"count/widgets.example.com": "1", "secrets": "1"}}})
    world.run()
    assert used(world) == {"secrets": "0"}


def test_scopes_are_minded(world: World) -> None:
    world.add(POD)
    world.add({**QUOTA, "spec": {"hard": {"pods": "2"}, "scopes": ["Terminating"]}})
    world.run()
    assert used(world) == {"pods": "0"}


def test_what_was_noted_in_vain_is_put_right_after_a_while(world: World) -> None:
    made = world.add(QUOTA)
    world.run()
    found = world.find("resourcequotas", "q")
    found["status"]["used"]["configmaps"] = "2"
    world.set_status("kube-apiserver", "resourcequotas", {**made, "status": found["status"]})
    world.run(1)
    assert used(world)["configmaps"] == "2"
    world.run(300)
    assert used(world)["configmaps"] == "0"


def test_after_a_restart_every_quota_is_counted(world: World) -> None:
    world.add(QUOTA)
    world.run()
    before = world.store.version
    duties = ControllerManagerOptions(
        lambda *kind: KINDS.get(kind), world.background._duties.namespaced, Settings()
    )
    world.add(config_map("a"))
    restarted = ControllerManager(world.store, world, duties)
    restarted.start()
    restarted.run(world.now)
    assert world.store.version == before + 2
    assert used(world)["configmaps"] == "1"


def test_the_same_amounts_in_other_words_are_the_same() -> None:
    hard = {"requests.cpu": "1"}
    quota: KubeObject = {
        **QUOTA,
        "spec": {"hard": hard},
        "status": {"hard": hard, "used": {"requests.cpu": "0.25"}},
    }
    assert resource_quotas.plan(quota, {"pods": [POD]}, MOMENT).steps == ()


@pytest.mark.parametrize(
    ("bucket", "obj", "expected"),
    [
        ("pods", {"metadata": {"generation": 1}, "status": {"phase": "Running"}}, False),
        ("pods", {"metadata": {"generation": 2}, "status": {"phase": "Running"}}, True),
        ("pods", {"metadata": {}, "status": {"phase": "Failed"}}, True),
        ("services", {"metadata": {}}, True),
        ("configmaps", {"metadata": {}}, False),
    ],
)
def test_few_changes_give_anything_back(bucket: str, obj: KubeObject, expected: bool) -> None:
    assert resource_quotas.releases_quota(bucket, obj, is_gone=False) is expected


def test_what_is_counted_gives_back_when_it_goes() -> None:
    assert resource_quotas.releases_quota("configmaps", {"metadata": {}}, is_gone=True)
    assert not resource_quotas.releases_quota("events", {"metadata": {}}, is_gone=True)
