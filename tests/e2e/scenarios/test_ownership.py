"""Whose a child is: field managers, two instances after one object, children taken out of use."""

import asyncio

from tests.builders import config_map, resource
from tests.e2e.scenarios.controllers import better
from tests.e2e.scenarios.samples import messages, placed, serve, settle, shows
from tests.e2e.scenarios.world import World, labels

PART_OF = "applyset.kubernetes.io/part-of"


async def test_children_are_applied_by_one_manager_of_a_fixed_name(world: World) -> None:
    await serve(
        world, world.definition("Deed", resources=[resource("paper", config_map(kept="y"))])
    )
    await settle(world, world.instance("Deed", "house"))
    paper = await shows(world, world.ref("v1", "ConfigMap", "house"), {"data": {"kept": "y"}}, 30)
    managers = [(each["manager"], each["operation"]) for each in paper["metadata"]["managedFields"]]
    assert ("kro.run/applyset", "Apply") in managers


async def test_the_first_of_two_instances_keeps_an_object_both_want(world: World) -> None:
    flag = resource("flag", config_map("only-one", owner="${schema.spec.owner}"))
    await serve(world, world.definition("Claim", {"owner": "string"}, resources=[flag]))
    first = world.instance("Claim", "first", {"owner": "ann"})
    second = world.instance("Claim", "second", {"owner": "bob"})
    await settle(world, first)
    ref = world.ref("v1", "ConfigMap", "only-one")
    member = labels(await shows(world, ref, {"data": {"owner": "ann"}}, within=30))[PART_OF]
    assert member

    await world.create(second)

    async def unchanged() -> None:
        found = await world.get(ref)
        assert found["data"] == {"owner": "ann"}
        assert labels(found)[PART_OF] == member

    await asyncio.gather(
        world.in_state(second, "ERROR", within=30), world.holds(unchanged, during=2.0)
    )
    assert f"{world.namespace}/only-one" in messages(await world.get(second))


async def test_a_child_no_longer_defined_goes_although_another_is_not_ready(world: World) -> None:
    gate = resource(
        "gate",
        config_map("${schema.metadata.name}-gate", open="no"),
        readyWhen=['${gate.data.open == "yes"}'],
    )
    retired = resource("retired", config_map("${schema.metadata.name}-retired"))
    definition = world.definition("Castle", resources=[gate, retired])
    await serve(world, definition)
    castle = world.instance("Castle", "old")
    await world.create(castle)
    gate_ref, retired_ref = (world.ref("v1", "ConfigMap", f"old-{x}") for x in ("gate", "retired"))
    await shows(world, gate_ref, {"data": {"open": "no"}}, within=30)
    await shows(world, retired_ref, {"kind": "ConfigMap"}, within=30)
    await world.in_state(castle, "IN_PROGRESS")

    await world.merge(definition, {"spec": {"resources": [gate]}})
    await world.gone(retired_ref, within=60)
    assert await world.find(gate_ref) is not None
    await world.active(definition)


@better("it adopts any object of the right name")
async def test_better_an_object_of_another_owner_cannot_be_read(world: World) -> None:
    theirs = placed(config_map("vault", key="canary"), labels={"kro.run/owned": "true"})
    theirs["metadata"]["namespace"] = world.namespace
    await world.create(theirs)
    thief = world.definition(
        "Thief",
        resources=[
            resource("vault", config_map("vault")),
            resource("loot", config_map("loot", key="${vault.data.?key.orValue('none')}")),
        ],
        status={"loot": "${vault.data.?key.orValue('none')}"},
    )
    await serve(world, thief)
    await world.create(world.instance("Thief", "cat"))
    found = await world.in_state(world.instance("Thief", "cat"), "ERROR", within=30)
    assert "canary" not in str(found)
    assert "loot" not in found["status"]
    assert await world.find(world.ref("v1", "ConfigMap", "loot")) is None
