"""Where an instance's status says more than kro's: broken fields, suspension, many troubles."""

import asyncio
import itertools

from kube_objects.refs import KubeObject
from tests.builders import config_map, resource
from tests.e2e.scenarios.controllers import better
from tests.e2e.scenarios.samples import ABSENT, NAME, messages, serve, settle, shows
from tests.e2e.scenarios.world import World, condition

RECONCILE = "kro.run/reconcile"


@better("a fatal error in one status expression keeps it from writing any status")
async def test_better_one_broken_field_leaves_the_others(world: World) -> None:
    definition = world.definition(
        "Meter",
        {"reading": "string"},
        status={"name": "${dial.metadata.name}", "reading": "${int(dial.data.reading)}"},
        resources=[resource("dial", config_map(reading="${schema.spec.reading}"))],
    )
    await serve(world, definition)
    meter = world.instance("Meter", "gas", {"reading": "many"})
    await world.create(meter)
    found = await shows(world, meter, {"status": {"name": "gas", "reading": ABSENT}})
    assert condition(found, "InstanceManaged")["status"] == "True"
    assert condition(found, "GraphResolved")["status"] == "True"
    assert found["status"]["state"]

    await world.merge(meter, {"spec": {"reading": "731"}})
    await shows(world, meter, {"status": {"name": "gas", "reading": 731}})
    await world.settled(meter)


@better("fields that come from children vanish from the status while it is suspended")
async def test_better_suspending_keeps_the_status(world: World) -> None:
    definition = world.definition(
        "Clock",
        {"hour": "string"},
        status={"face": "${face.data.hour}"},
        resources=[resource("face", config_map(hour="${schema.spec.hour}"))],
    )
    await serve(world, definition)
    clock = world.instance("Clock", "tower", {"hour": "nine"})
    await settle(world, clock)
    await shows(world, clock, {"status": {"face": "nine"}})

    suspend = {"metadata": {"annotations": {RECONCILE: "suspended"}}, "spec": {"hour": "ten"}}
    await world.merge(clock, suspend)

    async def suspended() -> None:
        ready = condition(await world.get(clock), "ResourcesReady")
        assert (ready["status"], ready["reason"]) == ("False", "ReconciliationSuspended")

    async def unchanged() -> None:
        assert (await world.get(clock))["status"]["face"] == "nine"
        assert (await world.get(world.ref("v1", "ConfigMap", "tower")))["data"] == {"hour": "nine"}

    await world.until(suspended)
    await world.holds(unchanged, during=1.0)

    await world.merge(clock, {"metadata": {"annotations": {RECONCILE: None}}})
    await shows(world, clock, {"status": {"face": "ten"}})
    await world.settled(clock)


@better("troubles are listed in random order, so the status is written on every pass")
async def test_better_troubles_are_listed_in_the_order_of_the_graph(world: World) -> None:
    names = [f"bell{number}" for number in range(7)]
    bells = [
        resource(
            name,
            config_map(f"{NAME}-{name}", rung="no"),
            readyWhen=[f'${{{name}.data.rung == "yes"}}'],
        )
        for name in names
    ]
    await serve(world, world.definition("Belfry", resources=bells))
    belfry = world.instance("Belfry", "minster")
    await world.create(belfry)

    async def all_named() -> KubeObject:
        found = await world.get(belfry)
        text = condition(found, "ResourcesReady")["message"]
        places = [text.find(f'"{name}"') for name in names]
        assert -1 not in places, text
        assert places == sorted(places), text
        return found

    first = await world.until(all_named)

    async def unchanged() -> None:
        assert messages(await world.get(belfry)) == messages(first)

    async def touch() -> None:
        """Wake the instance again and again, without changing what it waits for."""
        for number, name in zip(range(8), itertools.cycle(names)):
            child = world.ref("v1", "ConfigMap", f"minster-{name}")
            await world.merge(child, {"metadata": {"annotations": {"touched": f"{number}"}}})
            await asyncio.sleep(0.2)

    await asyncio.gather(touch(), world.holds(unchanged, during=2.0))
