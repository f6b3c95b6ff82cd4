"""A controller that restarts serves every definition again at once, whatever they share."""

import asyncio

from kube_objects.refs import KubeObject
from tests.builders import config_map, resource
from tests.e2e.faults.stage import often
from tests.e2e.scenarios.parts import serve
from tests.e2e.scenarios.world import World

DEFINITIONS = 12
TIME_OUT = "cache sync timeout"


def _reading(world: World, number: int) -> KubeObject:
    """Build a definition that reads a field of its child that no other definition reads."""
    first = config_map("${schema.metadata.name}-first", **{f"key{number}": "value"})
    second = config_map("${schema.metadata.name}-second", copy=f"${{first.data.key{number}}}")
    resources = [resource("first", first), resource("second", second)]
    return world.definition(f"Stall{number}", resources=resources)


async def test_no_definition_is_inactive_because_another_shares_its_child_kind(
    world: World,
) -> None:
    definitions = [_reading(world, number) for number in range(DEFINITIONS)]
    stalls = [world.instance(f"Stall{number}", f"s{number}") for number in range(DEFINITIONS)]
    await asyncio.gather(*(serve(world, each) for each in definitions))
    for stall in stalls:
        await world.create(stall)
    await asyncio.gather(*(world.settled(stall) for stall in stalls))
    before = [_transitions(each) for each in await asyncio.gather(*map(world.get, definitions))]

    for _ in range(often(in_full=8, in_ci=3)):
        await asyncio.to_thread(world.controller.restart)
        for number, stall in enumerate(stalls):
            await world.merge(
                world.ref("v1", "ConfigMap", f"s{number}-second"), {"data": {"copy": "drift"}}
            )
            await world.settled(stall, within=15)
    after = [_transitions(each) for each in await asyncio.gather(*map(world.get, definitions))]
    assert after == before
    assert TIME_OUT not in world.controller.log.read_text()


def _transitions(definition: KubeObject) -> list[tuple[str, str, str]]:
    """Return the conditions of a definition and when each last changed."""
    found = definition["status"]["conditions"]
    return [(each["type"], each["status"], each["lastTransitionTime"]) for each in found]
