"""A network stack: one root, several children of one kind, a nested status."""

import asyncio

from kube_objects.refs import KubeObject
from tests.builders import resource
from tests.e2e.scenarios.crds import API_VERSION
from tests.e2e.scenarios.samples import NAME, serve, shows
from tests.e2e.scenarios.world import World, condition

ZONES = ("A", "B", "C")


async def test_a_network_with_subnets_is_built_from_the_root(world: World) -> None:
    definition = _stack(world)
    await serve(world, definition)
    await world.until(lambda: _is_ordered(world, definition), within=10)

    stack = world.instance("NetStack", "office")
    await world.create(stack)
    network = world.ref(API_VERSION, "Network", "office")
    await shows(world, network, {"spec": {"cidr": "10.0.0.0/16"}})
    await world.merge(network, {"status": {"networkID": "net-7"}}, subresource="status")
    dependants = [
        world.ref(API_VERSION, "SecurityGroup", "office"),
        *(world.ref(API_VERSION, "Subnet", f"office-{zone.lower()}") for zone in ZONES),
    ]
    await asyncio.gather(*(shows(world, x, {"spec": {"networkID": "net-7"}}) for x in dependants))
    given = [{"groupID": "sg-1"}, *({"subnetID": f"sub-{zone}"} for zone in ZONES)]
    for ref, status in zip(dependants, given, strict=True):
        await world.merge(ref, {"status": status}, subresource="status")

    found = {"networkID": "net-7", "group": "sg-1"} | {f"zone{z}": f"sub-{z}" for z in ZONES}
    await shows(world, stack, {"status": {"net": found}})
    await world.delete(stack)
    await world.gone(stack, within=20)
    assert not any(await asyncio.gather(*map(world.find, (network, *dependants))))


def _stack(world: World) -> KubeObject:
    network_id = "${network.status.networkID}"
    subnets = [
        resource(
            f"subnet{zone}",
            _cloud("Subnet", f"{NAME}-{zone.lower()}", networkID=network_id, zone=f"eu-1{zone}"),
        )
        for zone in ZONES
    ]
    return world.definition(
        "NetStack",
        status={
            "net": {
                "networkID": network_id,
                "group": "${wall.status.groupID}",
                **{f"zone{zone}": f"${{subnet{zone}.status.subnetID}}" for zone in ZONES},
            }
        },
        resources=[
            resource("network", _cloud("Network", NAME, cidr="10.0.0.0/16")),
            resource("wall", _cloud("SecurityGroup", NAME, networkID=network_id, description="x")),
            *subnets,
        ],
    )


def _cloud(kind: str, name: str, **spec: str) -> KubeObject:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


async def _is_ordered(world: World, definition: KubeObject) -> None:
    found = await world.get(definition)
    subnets = [f"subnet{zone}" for zone in ZONES]
    assert found["status"]["topologicalOrder"] == ["network", "wall", *subnets]
    needs = {each["id"]: each["dependencies"] for each in found["status"]["resources"]}
    assert needs == {each: [{"id": "network"}] for each in ("wall", *subnets)}
    ready = condition(found, "Ready")
    assert ready["status"] == "True"
    assert ready["observedGeneration"] == found["metadata"]["generation"]
