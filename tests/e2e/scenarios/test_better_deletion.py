"""Where deleting goes better than with kro: at once, without a definition, with all owned."""

import asyncio

from kube_objects.refs import KubeObject
from tests.builders import config_map, resource
from tests.connection import connect
from tests.e2e.scenarios.controllers import better, start_controller, target, version_of
from tests.e2e.scenarios.samples import NAME, job, serve, settle, shows
from tests.e2e.scenarios.world import World
from tools.cluster.plane import Plane

SOON = 4.0  # seconds; kro needs its interval of 5 for each wave, and one more


def _tower(world: World) -> KubeObject:
    """Build a definition whose children go in two waves."""
    return world.definition(
        "Tower",
        resources=[
            resource("base", config_map(f"{NAME}-base", stone="grey")),
            resource("top", config_map(f"{NAME}-top", on="${base.metadata.name}")),
        ],
    )


async def _children(world: World, name: str) -> list[KubeObject]:
    refs = [world.ref("v1", "ConfigMap", f"{name}-{part}") for part in ("base", "top")]
    return [found for found in [await world.find(ref) for ref in refs] if found]


@better("each wave takes an interval, since nobody watches what is deleted")
async def test_better_waves_follow_each_other_at_once(world: World) -> None:
    await serve(world, _tower(world))
    tower = world.instance("Tower", "north")
    await settle(world, tower)
    assert len(await _children(world, "north")) == 2

    await world.delete(tower)
    await world.gone(tower, within=SOON)
    assert not await _children(world, "north")


@better("without a definition nobody looks after an instance, and its finalizer stays")
async def test_better_an_instance_goes_with_its_definition_and_crd(world: World) -> None:
    definition = _tower(world)
    await serve(world, definition)
    tower = world.instance("Tower", "south")
    await settle(world, tower)

    await world.delete(definition)
    crd = world.crd_of(definition, "towers")
    await asyncio.gather(world.gone(definition), world.gone(tower), world.gone(crd))
    assert not await _children(world, "south")


@better("without a definition nobody looks after an instance, and its finalizer stays")
async def test_better_an_instance_outlives_its_definition_and_can_be_deleted(
    own_plane: Plane,
) -> None:
    named = target()
    controller = await asyncio.to_thread(
        start_controller, own_plane.kubeconfig, named, allow_crd_deletion=False
    )
    with controller:
        async with connect(own_plane.kubeconfig) as opened:
            world = World(opened.client, controller, target=named, version=version_of(named))
            await world.open()
            definition = _tower(world)
            await serve(world, definition)
            tower = world.instance("Tower", "west")
            await settle(world, tower)
            await world.delete(definition)
            await world.gone(definition)
            assert len(await _children(world, "west")) == 2

            await world.delete(tower)
            await world.gone(tower)
            assert not await _children(world, "west")
            assert await world.find(world.crd_of(definition, "towers")) is not None


@better("a Job is deleted the default way, which leaves its Pods behind")
async def test_better_a_job_does_not_leave_its_pods_behind(world: World) -> None:
    """To orphan Pods, the API server adds a finalizer that the garbage collector takes away."""
    await serve(world, world.definition("Batch", resources=[resource("task", job())]))
    batch, task = world.instance("Batch", "nightly"), world.ref("batch/v1", "Job", "nightly")
    await settle(world, batch)
    await shows(world, task, {"kind": "Job"})

    await world.delete(batch)

    async def going() -> KubeObject | None:
        found = await world.find(task)
        assert found is None or "deletionTimestamp" in found["metadata"]
        return found

    left = await world.until(going)
    assert "orphan" not in (left or {"metadata": {}})["metadata"].get("finalizers", [])
