"""
A source that is deleted: what goes with it, in which order, and what stays.
"""

import asyncio
from typing import Any

import pytest

from kro_gitops.kube.api import Propagation, Selection
from kro_gitops.metadata import SOURCE
from kro_gitops.source.api.resources import SOURCE_INVENTORY_KIND
from kube_objects.refs import ObjectRef
from tests.e2e.following.apart import world_apart
from tests.e2e.following.objects import (
    ROLE_BINDING,
    account,
    data_of,
    edit,
    grant,
    named,
    rule,
    stays,
)
from tests.e2e.following.world import Git, SourceWorld, config_map
from tests.e2e.scenarios.world import annotations, condition
from tools.cluster.plane import Plane


async def following(world: SourceWorld, **spec: Any) -> None:
    """Follow a repository of a definition, an instance and a ConfigMap."""
    files = {"shop.yaml": world.shop(), "front.yaml": world.front()}
    world.commit({**files, "a.yaml": config_map("a", color="blue")})
    await world.follow(**spec)
    await world.ready()
    await world.settings()


async def without_inventories(world: SourceWorld) -> None:
    """Fail unless nothing is noted in our namespace any longer."""

    async def check() -> None:
        selection = Selection(SOURCE_INVENTORY_KIND, world.namespace)
        assert not (await world.cluster.list(selection)).items

    await world.until(check, 10.0)


async def all_gone(world: SourceWorld) -> None:
    """Return when nothing of what was followed is there."""
    await world.gone(world.source_ref(), 30.0)
    for each in (world.front(), world.shop(), named(world, "a"), named(world, "front-settings")):
        assert await world.find(each) is None, each
    await without_inventories(world)


@pytest.mark.parametrize(
    ("policy", "prune"),
    [("Delete", False), ("WaitForTermination", False), ("MirrorPrune", True)],
)
async def test_what_a_source_made_goes_with_it(
    policy: str, prune: bool, world: SourceWorld
) -> None:
    await following(world, deletionPolicy=policy, prune=prune)
    await world.delete(world.source_ref())
    await all_gone(world)


@pytest.mark.parametrize(("policy", "prune"), [("Orphan", True), ("MirrorPrune", False)])
async def test_what_a_source_made_stays_if_that_is_the_policy(
    policy: str, prune: bool, world: SourceWorld
) -> None:
    await following(world, deletionPolicy=policy, prune=prune)
    before = await world.get(world.front())
    await world.delete(world.source_ref())
    await world.gone(world.source_ref())
    await without_inventories(world)
    await stays(world, named(world, "a"), {"color": "blue"})
    # Without its source nobody says as whom the instance acts: it stays as it is until then.
    await stays(world, named(world, "front-settings"), {"color": "blue"})
    # Whoever follows the repository next takes it over, without a word.
    await world.follow("next")
    await world.ready(name="next")
    await world.settled(world.front())
    after = await world.get(world.front())
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert annotations(after)[SOURCE] == f"{world.namespace}/next"


async def test_instances_go_before_their_definition(world: SourceWorld) -> None:
    await following(world)
    child = named(world, "front-settings")
    await world.merge(child, {"metadata": {"finalizers": ["example.org/hold"]}})
    await world.delete(world.source_ref())
    await world.gone(named(world, "a"))

    async def in_order() -> None:
        instance, definition = await world.get(world.front()), await world.get(world.shop())
        assert "deletionTimestamp" in instance["metadata"]
        assert "deletionTimestamp" not in definition["metadata"]
        source = await world.get(world.source_ref())
        assert source["status"]["phase"] == "Deleting"
        assert "left to delete" in condition(source, "Ready")["message"]

    await world.until(in_order)
    await world.holds(in_order, during=1.5)
    await world.merge(child, {"metadata": {"finalizers": None}})
    await all_gone(world)


async def test_an_instance_made_by_hand_keeps_its_definition(world: SourceWorld) -> None:
    await following(world)
    by_hand = await world.create(world.front("by-hand"))
    await world.settled(by_hand)
    await world.delete(world.source_ref())
    await world.gone(world.source_ref())
    assert await world.find(world.front()) is None
    assert "deletionTimestamp" not in (await world.get(world.shop()))["metadata"]
    await world.settled(by_hand)


async def test_an_account_without_rights_holds_up_the_deletion_and_says_so(
    world: SourceWorld,
) -> None:
    await account(world, "robot")
    await grant(world, "robot", [rule("", "configmaps")])
    world.commit({"a.yaml": config_map("a", color="blue")})
    await world.follow(closed=True, serviceAccountName="robot")
    await world.ready()
    await world.delete(ObjectRef(ROLE_BINDING, world.namespace, "robot"))
    await world.delete(world.source_ref())

    async def told() -> None:
        ready = condition(await world.get(world.source_ref()), "Ready")
        assert ready["reason"] == "DeletionFailed"
        assert f"system:serviceaccount:{world.namespace}:robot" in ready["message"]

    await world.until(told)
    await data_of(world, named(world, "a"), {"color": "blue"})
    await edit(world, world.source_ref(), {"spec": {"deletionPolicy": "Orphan"}})
    await world.gone(world.source_ref())
    await data_of(world, named(world, "a"), {"color": "blue"})


@pytest.mark.timeout(150)
async def test_a_source_deleted_in_the_foreground_while_nobody_looks(
    plane_with_controllers: Plane, git: Git
) -> None:
    async with world_apart(plane_with_controllers, git) as world:
        await following(world)
        await asyncio.to_thread(world.controller.stop)
        await world.delete(world.source_ref(), propagation=Propagation.FOREGROUND)
        # The garbage collector goes for the inventory at once; it must not get it.
        await asyncio.sleep(2)
        assert len(await world.inventory()) == 3
        await asyncio.to_thread(world.controller.start)
        await all_gone(world)
