"""Repairs of a child that another controller keeps changing or deleting back off."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from kro_gitops.kube.api import DeleteOptions, MergePatch, WriteOptions
from kro_gitops.kube.responses import NotFound
from kro_gitops.metadata import CHILD_MANAGER
from kube_objects.refs import ObjectRef
from tests.builders import config_map, instance, resource
from tests.integration.cluster import Controllers, InProcessCluster
from tests.integration.conftest import Scene
from tests.integration.test_engine import config_map_ref, create, serve

Play = Callable[[Scene], None]
RIVAL = WriteOptions(manager="rival", force=True)
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "no-such-uid"}
CHILD = config_map_ref("corner")


def applies(cluster: InProcessCluster) -> int:
    """Count the applies of the child."""
    return sum(
        1
        for each in cluster.transport.sent
        if each.method == "PATCH"
        and each.path.endswith("/configmaps/corner")
        and CHILD_MANAGER in str(each.query)
    )


async def rival(cluster: InProcessCluster, act: Callable[[], Awaitable[Any]]) -> None:
    """Undo what the controller does to the child, soon and every time."""
    while True:
        found = await cluster.client.find(CHILD)
        if found is not None and found["data"] == {"x": "ours"}:
            await act()
        await asyncio.sleep(0.25)


async def steal(cluster: InProcessCluster) -> None:
    await cluster.client.patch(CHILD, MergePatch({"data": {"x": "theirs"}}), RIVAL)


async def delete(cluster: InProcessCluster) -> None:
    with suppress(NotFound):
        await cluster.client.delete(CHILD, DeleteOptions())


async def message(cluster: InProcessCluster) -> str:
    found = await cluster.get(instance())
    conditions = {each["type"]: each for each in found["status"]["conditions"]}
    return str(conditions["ResourcesReady"].get("message"))


async def stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


async def serve_child(cluster: InProcessCluster, **fields: Any) -> None:
    await serve(
        cluster,
        resource("cm", {**config_map(x="${schema.spec.x}"), **fields}),
        spec={"x": "string"},
    )
    await create(cluster, instance({"x": "ours"}))
    await cluster.in_state(instance(), "ACTIVE")


def test_an_owner_that_does_not_exist_makes_no_hot_loop(play: Play) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        body = config_map(x="ours")
        body["metadata"] = {**body["metadata"], "ownerReferences": [OWNER]}
        await serve(cluster, resource("cm", body))
        await create(cluster, instance())
        await asyncio.sleep(60)
        assert applies(cluster) <= 12

        await asyncio.sleep(3600)
        assert applies(cluster) <= 30

    play(scene)


def test_a_child_that_a_controller_keeps_changing_is_repaired_ever_less_often(play: Play) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        await serve_child(cluster)
        task = asyncio.create_task(rival(cluster, lambda: steal(cluster)))
        await asyncio.sleep(60)
        assert 8 <= applies(cluster) <= 12
        # The instance stays ready, as with kro, and says what goes on.
        found = await cluster.in_state(instance(), "ACTIVE")
        assert "ConfigMap town/corner is changed again and again by field manager 'rival'" in str(
            found["status"]["conditions"]
        )

        await asyncio.sleep(900)
        assert applies(cluster) <= 20

        # A change of the spec is no repair: it is applied at once.
        await cluster.client.patch(ObjectRef.of(instance()), MergePatch({"spec": {"x": "newer"}}))

        async def applied() -> None:
            assert (await cluster.get(CHILD))["data"] == {"x": "newer"}

        await cluster.eventually(applied, within=1.0)
        await stopped(task)

        async def quiet() -> None:
            assert "again and again" not in await message(cluster)

        await cluster.eventually(quiet)

    play(scene)


def test_a_child_that_is_left_alone_again_is_repaired_and_then_no_longer_mentioned(
    play: Play,
) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        await serve_child(cluster)
        task = asyncio.create_task(rival(cluster, lambda: steal(cluster)))
        await asyncio.sleep(30)
        await stopped(task)
        assert "again and again" in await message(cluster)

        async def repaired() -> None:
            assert (await cluster.get(CHILD))["data"] == {"x": "ours"}
            assert "again and again" not in await message(cluster)

        await cluster.eventually(repaired, within=300.0, every=1.0)
        await steal(cluster)

        async def at_once() -> None:
            assert (await cluster.get(CHILD))["data"] == {"x": "ours"}

        await cluster.eventually(at_once, within=1.0)

    play(scene)


def test_a_child_that_a_controller_keeps_deleting_is_created_ever_less_often(play: Play) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        await serve_child(cluster)
        task = asyncio.create_task(rival(cluster, lambda: delete(cluster)))
        await asyncio.sleep(60)
        assert 8 <= applies(cluster) <= 12
        assert "ConfigMap town/corner is deleted again and again" in await message(cluster)
        await asyncio.sleep(900)
        assert applies(cluster) <= 20
        await stopped(task)
        await cluster.in_state(instance(), "ACTIVE", within=600.0, every=1.0)

    play(scene)


def test_the_first_repairs_follow_at_once(play: Play) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        await serve_child(cluster)
        for _ in range(4):
            await steal(cluster)

            async def repaired() -> None:
                assert (await cluster.get(CHILD))["data"] == {"x": "ours"}

            await cluster.eventually(repaired, within=0.5)
        assert "again and again" not in await message(cluster)

    play(scene)
