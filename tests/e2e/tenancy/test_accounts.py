"""As whom instances act, seen by their users: with a source, without one, after it is gone."""

import asyncio
import json

import pytest

from kro_gitops.kube.api import MergePatch
from kro_gitops.metadata import SOURCE, SOURCE_HASH
from kube_objects.refs import KubeObject, ObjectRef
from tests.e2e.following.apart import world_apart
from tests.e2e.following.objects import account, grant, named, rule
from tests.e2e.following.world import Git, SourceWorld, config_map
from tests.e2e.scenarios.world import condition
from tests.e2e.tenancy.stage import template
from tools.cluster.plane import Plane

pytestmark = pytest.mark.timeout(150)


def text_of(instance: KubeObject) -> str:
    """Return what the conditions of an instance say."""
    return json.dumps(instance.get("status", {}).get("conditions", []))


async def says(world: SourceWorld, instance: KubeObject, *words: str) -> None:
    """Wait until the conditions of an instance contain all of these words."""

    async def check() -> None:
        found = text_of(await world.get(instance))
        assert all(each in found for each in words), found

    await world.until(check, 20.0)


async def test_an_instance_created_by_hand_acts_as_the_default_account(
    own_plane: Plane, git: Git
) -> None:
    async with world_apart(own_plane, git, default_service_account="robot") as world:
        await world.active(await world.create(world.shop()))
        front = await world.create(world.front())
        await says(world, front, "forbidden", f"system:serviceaccount:{world.namespace}:robot")
        assert await world.find(named(world, "front-settings")) is None
        await account(world, "robot")
        await grant(world, "robot", [rule("", "configmaps")])
        await world.merge(front, {"spec": {"color": "red"}})
        await world.settled(front)
        await world.delete(front)
        await world.gone(front)
        assert await world.find(named(world, "front-settings")) is None


async def test_an_orphaned_instance_waits_until_its_metadata_is_removed(
    own_plane: Plane, git: Git
) -> None:
    async with world_apart(own_plane, git) as world:
        await world.active(await world.create(world.shop()))
        await account(world, "robot")
        await grant(world, "robot", [rule("", "configmaps"), rule(world.group, "shops")])
        world.commit({"front.yaml": world.front(), "back.yaml": world.front("back")})
        spec = {"serviceAccountName": "robot", "deletionPolicy": "Orphan"}
        await world.follow(closed=True, **spec)
        await world.ready()
        await world.settled(world.front())
        await world.delete(world.source_ref())
        await world.gone(world.source_ref())
        source = f"{world.namespace}/repo"
        await says(world, world.front(), "is not reconciled", source, "--default-service-account")
        # The child stays as it is, whatever the instance says now.
        await world.merge(world.front(), {"spec": {"color": "red"}})
        await says(world, world.front(), "is not reconciled")
        assert (await world.get(named(world, "front-settings")))["data"] == {"color": "blue"}
        # A deletion waits, and says so; nothing is deleted as the controller.
        await world.delete(world.front("back"))
        await says(world, world.front("back"), "deletion blocked", source)
        assert await world.find(named(world, "back-settings")) is not None
        nothing = {"annotations": {SOURCE: None}, "labels": {SOURCE_HASH: None}}
        for name in ("front", "back"):
            ref = ObjectRef.of(world.front(name))
            await world.cluster.patch(ref, MergePatch({"metadata": nothing}))
        await world.settled(world.front())
        assert (await world.get(named(world, "front-settings")))["data"] == {"color": "red"}
        await world.gone(world.front("back"))
        assert await world.find(named(world, "back-settings")) is None


async def test_limits_that_become_narrower_are_reported_by_instances(
    own_plane: Plane, git: Git
) -> None:
    async with world_apart(own_plane, git) as world:
        other = await world.another_namespace()
        far = {**config_map("far"), "metadata": {"name": "far", "namespace": other}}
        definition = world.definition("Far", {}, resources=[template("far", far)])
        await world.active(await world.create(definition))
        instance = world.instance("Far", "one")
        world.commit({"one.yaml": instance})
        await world.follow(closed=True, allow={"namespaces": [other]})
        await world.ready()
        await world.settled(instance)
        await world.respec(allow={"namespaces": []})
        await says(world, instance, f"source {world.namespace}/repo", other)
        assert (await world.get(instance))["status"]["state"] == "ERROR"
        assert condition(await world.get(instance), "Ready")["status"] == "False"
        assert await world.find(named(world, "far", other)) is not None  # its owner decides
        await world.respec(allow={"namespaces": [other]})
        await world.settled(instance)


async def test_nested_instances_act_as_their_source_also_after_a_restart(
    own_plane: Plane, git: Git
) -> None:
    async with world_apart(own_plane, git) as world:
        await world.active(await world.create(world.shop()))
        inner = world.front("${schema.metadata.name}-inner")
        del inner["metadata"]["namespace"]
        outer = world.definition("Mall", {}, resources=[template("inner", inner)])
        await world.active(await world.create(outer))
        await account(world, "robot")
        await grant(world, "robot", [rule("", "configmaps"), rule(world.group, "shops", "malls")])
        mall = world.instance("Mall", "west")
        world.commit({"mall.yaml": mall})
        await world.follow(closed=True, serviceAccountName="robot")
        await world.ready()
        await world.settled(mall)
        nested = world.front("west-inner")
        await world.settled(nested)
        before = [await world.get(mall), await world.get(nested)]
        await asyncio.to_thread(world.controller.restart)
        await world.ready()
        await world.delete(named(world, "west-inner-settings"))

        async def back() -> None:
            assert await world.find(named(world, "west-inner-settings")) is not None

        await world.until(back, 20.0)
        for former in before:
            now = await world.get(former)
            assert condition(now, "Ready") == condition(former, "Ready")  # never left Ready
