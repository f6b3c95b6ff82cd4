"""Where we are more careful with children than kro: whose they are, and that none is forgotten."""

import asyncio

from kro_gitops.kube.api import WriteOptions
from kube_objects.refs import KubeObject
from tests.builders import config_map, resource
from tests.e2e.scenarios.controllers import better
from tests.e2e.scenarios.samples import (
    NAME,
    autoscaler,
    messages,
    serve,
    settle,
    shows,
    standing,
)
from tests.e2e.scenarios.world import World, annotations, labels

GROUP_KINDS = "applyset.kubernetes.io/contains-group-kinds"
ADOPT = "gitops.kro.run/adopt"
HELD = "scenarios.example.org/held"


@better("it forgets a kind as soon as the DELETE was accepted")
async def test_better_a_kind_is_remembered_until_its_last_object_is_gone(world: World) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME}}
    definition = world.definition(
        "Office",
        {"staffed": "boolean"},
        resources=[
            resource("desk", config_map()),
            resource("clerk", account, includeWhen=["${schema.spec.staffed}"]),
        ],
    )
    await serve(world, definition)
    office = world.instance("Office", "post", {"staffed": True})
    clerk = world.ref("v1", "ServiceAccount", "post")
    await settle(world, office)
    assert annotations(await world.get(office))[GROUP_KINDS] == "ConfigMap,ServiceAccount"
    await world.merge(clerk, {"metadata": {"finalizers": [HELD]}})

    await world.merge(office, {"spec": {"staffed": False}})

    async def going() -> None:
        assert (await world.get(clerk))["metadata"]["deletionTimestamp"]

    async def remembered() -> None:
        assert annotations(await world.get(office))[GROUP_KINDS] == "ConfigMap,ServiceAccount"

    await world.until(going)
    await world.holds(remembered, during=2.0)

    await world.merge(clerk, {"metadata": {"finalizers": None}})
    await world.gone(clerk)
    await shows(world, office, {"metadata": {"annotations": {GROUP_KINDS: "ConfigMap"}}})
    await world.settled(office)


@better("names over 63 characters are no label values, and every apply fails")
async def test_better_a_long_name_is_no_trouble(world: World) -> None:
    name = "a-village-whose-name-" + "goes-on-and-" * 5 + "on"
    assert len(name) > 63
    await serve(world, world.definition("Village", resources=[resource("map", config_map())]))
    village = world.instance("Village", name)
    await settle(world, village)
    child = world.ref("v1", "ConfigMap", name)
    assert len(labels(await world.get(child))["kro.run/instance-name"]) <= 63

    await world.delete(village)
    await world.gone(village)
    assert await world.find(child) is None


@better("objects that somebody else made are taken over, and later deleted, without a word")
async def test_better_a_strangers_object_is_left_alone(world: World) -> None:
    stranger = await _made_by(world, "gardener", config_map("plot", crop="beans"))
    await serve(world, _plots(world))
    plot = world.instance("Plot", "plot", {"crop": "peas"})
    await world.create(plot)

    async def reported() -> None:
        found = await world.get(plot)
        assert found["status"]["state"] == "ERROR"
        assert "plot" in messages(found)
        assert "gardener" in messages(found)

    async def untouched() -> None:
        found = await world.get(stranger)
        assert found["metadata"]["resourceVersion"] == stranger["metadata"]["resourceVersion"]

    await asyncio.gather(world.until(reported), world.holds(untouched, during=2.0))

    await world.delete(stranger)
    await world.settled(plot)
    await shows(world, stranger, {"data": {"crop": "peas"}})


@better("an instance that never had an object deletes it")
async def test_better_a_strangers_object_outlives_the_instance(world: World) -> None:
    stranger = await _made_by(world, "gardener", config_map("plot", crop="beans"))
    await serve(world, _plots(world))
    plot = world.instance("Plot", "plot", {"crop": "peas"})
    await world.create(plot)
    await world.in_state(plot, "ERROR")

    await world.delete(plot)
    await world.gone(plot)
    found = await world.get(stranger)
    assert found["metadata"]["uid"] == stranger["metadata"]["uid"]
    assert found["data"] == {"crop": "beans"}


@better("taking an object over is not a decision: it always does")
async def test_better_a_strangers_object_is_adopted_on_demand(world: World) -> None:
    stranger = await _made_by(world, "gardener", config_map("plot", crop="beans", fence="wood"))
    await serve(world, _plots(world))
    plot = world.instance("Plot", "plot", {"crop": "peas"})
    await world.create(plot)
    await world.in_state(plot, "ERROR")

    await world.merge(plot, {"metadata": {"annotations": {ADOPT: "true"}}})
    await world.settled(plot)
    found = await world.get(stranger)
    assert found["metadata"]["uid"] == stranger["metadata"]["uid"]
    assert found["data"] == {"crop": "peas", "fence": "wood"}
    assert labels(found)["kro.run/instance-name"] == "plot"


@better("one object through two versions is applied twice, each undoing the other")
async def test_better_one_object_in_two_versions_is_a_conflict(world: World) -> None:
    definition = world.definition(
        "Lift",
        resources=[
            resource("old", autoscaler(version="v1", targetCPUUtilizationPercentage=50)),
            resource("new", autoscaler(version="v2", maxReplicas=9)),
        ],
    )
    await serve(world, definition)
    lift = world.instance("Lift", "east")
    await world.create(lift)

    async def reported() -> None:
        text = messages(await world.get(lift))
        assert "resourceID: new conflicts with resourceID: old" in text

    scaler = world.ref("autoscaling/v2", "HorizontalPodAutoscaler", "east")
    await asyncio.gather(world.until(reported), world.absent(scaler, during=2.0))


def _plots(world: World) -> KubeObject:
    plot = resource("plot", config_map(crop="${schema.spec.crop}"))
    return world.definition("Plot", {"crop": "string"}, resources=[plot])


async def _made_by(world: World, manager: str, obj: KubeObject) -> KubeObject:
    """Have somebody else make an object in our namespace."""
    return await world.cluster.apply(standing(world, obj), WriteOptions(manager=manager))
