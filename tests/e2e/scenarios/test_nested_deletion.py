"""An instance whose child is an instance whose child is an instance: all go with the first."""

import asyncio

from kube_objects.refs import KubeObject, ObjectRef
from tests.e2e.scenarios.parts import config_map, deployment, node, service
from tests.e2e.scenarios.stamps import all_exist
from tests.e2e.scenarios.world import World

NAME = "${schema.metadata.name}"


def _child(world: World, kind: str, **spec: str) -> KubeObject:
    return {
        "apiVersion": f"{world.group}/v1alpha1",
        "kind": kind,
        "metadata": {"name": f"{NAME}-{kind.lower()}"},
        "spec": spec,
    }


def _definitions(world: World) -> list[KubeObject]:
    """Write definitions so that each refers to the one before it."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"{NAME}-key"},
        "stringData": {"of": "${schema.spec.motto}"},
    }
    motto = {"motto": "${schema.spec.motto}"}
    return [
        world.definition(
            "Room",
            {"motto": "string"},
            resources=[node("sign", config_map(f"{NAME}-sign", motto)), node("key", secret)],
        ),
        world.definition(
            "Floor",
            {"motto": "string"},
            resources=[
                node("sign", config_map(f"{NAME}-sign", motto)),
                node("room", _child(world, "Room", motto="${schema.spec.motto} inside")),
                node("bell", service(f"{NAME}-bell", "bell")),
            ],
        ),
        world.definition(
            "House",
            {"motto": "string"},
            resources=[
                node("sign", config_map(f"{NAME}-sign", motto)),
                node("floor", _child(world, "Floor", motto="${schema.spec.motto} upstairs")),
                node("lift", deployment(f"{NAME}-lift")),
            ],
        ),
    ]


async def test_three_levels_come_and_go_with_the_first(world: World) -> None:
    for definition in _definitions(world):
        await world.create(definition)
        await world.active(definition)
    house = world.instance("House", "villa", {"motto": "welcome"})
    floor = world.instance("Floor", "villa-floor")
    room = world.instance("Room", "villa-floor-room")
    await world.create(house)

    for instance in (house, floor, room):
        await world.in_state(instance, "ACTIVE", within=30)
    leaves = [
        world.ref("v1", "ConfigMap", "villa-sign"),
        world.ref("apps/v1", "Deployment", "villa-lift"),
        world.ref("v1", "ConfigMap", "villa-floor-sign"),
        world.ref("v1", "Service", "villa-floor-bell"),
        world.ref("v1", "ConfigMap", "villa-floor-room-sign"),
        world.ref("v1", "Secret", "villa-floor-room-key"),
    ]
    await all_exist(world, *leaves)
    sign = await world.get(leaves[4])
    assert sign["data"]["motto"] == "welcome upstairs inside"

    await world.delete(house)

    going = (*map(ObjectRef.of, (house, floor, room)), *leaves)
    await asyncio.gather(*(world.gone(each, within=30) for each in going))
