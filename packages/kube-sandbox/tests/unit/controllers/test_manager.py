"""What keeps going without being asked: in turns, again after a refusal, after a restart."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from sandbox_testing.owned_objects import config_map, ref
from sandbox_testing.simulated_cluster import KINDS, World

from kube_objects.refs import KubeObject
from kube_sandbox.api_errors import StatusError
from kube_sandbox.controllers.manager import ControllerManager, ControllerManagerOptions
from kube_sandbox.controllers.workloads.plan_steps import Settings


class Reluctant(World):
    """A cluster that refuses to create pods at first."""

    refusals = 2

    def create(self, by: str, bucket: str, obj: KubeObject) -> None:
        """Create an object, perhaps."""
        if bucket == "pods" and self.refusals:
            self.refusals -= 1
            raise StatusError(403, "Forbidden", "exceeded quota")
        super().create(by, bucket, obj)


REPLICA_SET: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "metadata": {"name": "rs"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "a", "image": "x"}]},
        },
    },
}


def test_what_is_refused_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    world = Reluctant(Settings())
    world.add(REPLICA_SET)
    world.run(0.5)
    assert world.names("pods") == []
    world.run(5)
    assert len(world.names("pods")) == 1
    assert [each.message for each in caplog.records] == ["background step rejected"] * 2


def test_much_work_is_done_in_turns() -> None:
    world = World()
    owner = world.add(config_map("owner"))
    for index in range(300):
        world.add(config_map(f"c{index}", ref(owner)))
    world.remove(owner)
    assert world.background.run(world.now) == 0.0
    assert 0 < len(world.names("configmaps")) < 300
    world.run()
    assert world.names("configmaps") == []


def test_after_a_restart_everything_is_looked_at() -> None:
    world = World()
    owner = world.add(config_map("owner"))
    world.add(config_map("child", ref(owner)))
    world.add(config_map("lost", {**ref(owner), "uid": "gone"}))
    world.add(REPLICA_SET)
    duties = ControllerManagerOptions(lambda *kind: KINDS.get(kind), list, Settings())
    restarted = ControllerManager(world.store, world, duties)
    restarted.start()
    restarted.run(world.now)
    assert world.names("configmaps") == ["child", "owner"]
    assert len(world.names("pods")) == 1


async def test_it_wakes_up_when_something_changes() -> None:
    world = World()
    task = asyncio.create_task(world.background.serve(lambda: datetime.now(UTC)))
    await asyncio.sleep(0)
    owner = world.add(config_map("owner"))
    world.add(config_map("child", ref(owner)))
    empty = asyncio.Event()
    world.store.watch("configmaps", lambda _: None if world.names("configmaps") else empty.set())
    world.remove(owner)
    async with asyncio.timeout(5):
        await empty.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
