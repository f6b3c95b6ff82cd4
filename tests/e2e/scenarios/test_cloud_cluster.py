"""A dozen cloud objects that hand each other identifiers through their status, from end to end."""

import asyncio
from typing import Any

from kube_objects.refs import KubeObject, ObjectRef
from tests.e2e.scenarios.crds import API_VERSION
from tests.e2e.scenarios.parts import exists, node
from tests.e2e.scenarios.world import World, condition

# The order in which they can be made; where several can, the one declared first.
ORDER = [
    "controlRole",
    "network",
    "gateway",
    "routes",
    "subnetEast",
    "subnetWest",
    "cluster",
    "adminRole",
    "address",
    "nat",
    "nodeRole",
    "nodes",
]
DEPENDENCIES = {
    "gateway": {"network"},
    "routes": {"network", "gateway"},
    "subnetEast": {"network", "routes"},
    "subnetWest": {"network", "routes"},
    "cluster": {"controlRole", "subnetEast", "subnetWest"},
    "nat": {"subnetWest", "address"},
    "nodes": {"cluster", "subnetEast", "subnetWest", "nodeRole"},
}
# Who fills which status, in an order in which each can.
STATUSES: dict[tuple[str, str], dict[str, str]] = {
    ("Role", "control"): {"arn": "arn:role/control"},
    ("Network", "main"): {"networkID": "net-7"},
    ("Gateway", "door"): {"gatewayID": "gw-3"},
    ("RouteTable", "public"): {"routeTableID": "rt-5"},
    ("Subnet", "east"): {"subnetID": "sub-e"},
    ("Subnet", "west"): {"subnetID": "sub-w"},
    ("Cluster", "prod"): {"arn": "arn:cluster/prod"},
    ("Role", "admin"): {"arn": "arn:role/admin"},
    ("Address", "outside"): {"allocationID": "alloc-1"},
    ("NatGateway", "out"): {"natGatewayID": "nat-2"},
    ("Role", "node"): {"arn": "arn:role/node"},
    ("NodeGroup", "pool"): {"arn": "arn:nodes/pool"},
}
SUBNETS = ["${subnetEast.status.subnetID}", "${subnetWest.status.subnetID}"]


def _cloud(kind: str, called: str, /, **spec: Any) -> KubeObject:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": called}, "spec": spec}


def _subnet(name: str, zone: str) -> KubeObject:
    return _cloud(
        "Subnet",
        name,
        networkID="${network.status.networkID}",
        zone=zone,
        routeTables=["${routes.status.routeTableID}"],
    )


def _routes() -> KubeObject:
    route = {"cidr": "0.0.0.0/0", "gatewayID": "${gateway.status.gatewayID}"}
    network = "${network.status.networkID}"
    return _cloud("RouteTable", "public", networkID=network, routes=[route])


def _cluster() -> KubeObject:
    role = "${controlRole.status.arn}"
    named = {"name": "${schema.spec.name}", "version": "${schema.spec.version}"}
    return _cloud("Cluster", "${schema.spec.name}", roleARN=role, subnetIDs=SUBNETS, **named)


def _nat() -> KubeObject:
    subnet, address = "${subnetWest.status.subnetID}", "${address.status.allocationID}"
    return _cloud("NatGateway", "out", subnetID=subnet, allocationID=address)


def _nodes() -> KubeObject:
    named = {"clusterName": "${cluster.spec.name}", "roleARN": "${nodeRole.status.arn}"}
    return _cloud("NodeGroup", "pool", subnetIDs=SUBNETS, **named)


def _resources() -> list[KubeObject]:
    """Declare consumers before what they need, so that the order is a result."""
    return [
        node("cluster", _cluster()),
        node("controlRole", _cloud("Role", "control", name="control")),
        node("network", _cloud("Network", "main", cidr="10.8.0.0/16")),
        node("gateway", _cloud("Gateway", "door", networkID="${network.status.networkID}")),
        node("routes", _routes()),
        node("subnetEast", _subnet("east", "zone-a")),
        node("subnetWest", _subnet("west", "zone-b")),
        node("adminRole", _cloud("Role", "admin", name="admin")),
        node("address", _cloud("Address", "outside")),
        node("nat", _nat()),
        node("nodeRole", _cloud("Role", "node", name="node")),
        node("nodes", _nodes()),
    ]


def _definition(world: World) -> KubeObject:
    return world.definition(
        "CloudCluster",
        {"name": "string", "version": "string"},
        status={
            "networking": {
                "network": "${network.status.networkID}",
                "east": "${subnetEast.status.subnetID}",
                "west": "${subnetWest.status.subnetID}",
            },
            "clusterARN": "${cluster.status.arn}",
        },
        resources=_resources(),
    )


def _children(world: World) -> list[ObjectRef]:
    return [world.ref(API_VERSION, kind, name) for kind, name in STATUSES]


async def _versions(world: World) -> dict[str, str]:
    found = await asyncio.gather(*map(world.get, _children(world)))
    return {str(ObjectRef.of(obj)): obj["metadata"]["resourceVersion"] for obj in found}


async def _quiet_versions(world: World) -> dict[str, str]:
    async def check() -> dict[str, str]:
        before = await _versions(world)
        await asyncio.sleep(1.5)
        assert before == await _versions(world)
        return before

    return await world.until(check, within=90)


async def _check_definition(world: World, definition: KubeObject) -> None:
    served = await world.active(definition, within=20)
    assert served["status"]["topologicalOrder"] == ORDER
    listed = {
        each["id"]: [dependency["id"] for dependency in each["dependencies"]]
        for each in served["status"]["resources"]
    }
    assert {name: set(ids) for name, ids in listed.items()} == DEPENDENCIES
    assert all(len(ids) == len(set(ids)) for ids in listed.values())
    ready = condition(served, "Ready")
    assert (ready["status"], ready["observedGeneration"]) == ("True", 1)


async def _fill_statuses(world: World) -> None:
    for (kind, name), status in STATUSES.items():
        ref = world.ref(API_VERSION, kind, name)
        await exists(world, ref, within=20)
        await world.merge(ref, {"status": status}, subresource="status")


async def test_a_cloud_cluster_is_made_changed_and_taken_away(world: World) -> None:
    definition = _definition(world)
    await world.create(definition)
    await _check_definition(world, definition)
    instance = world.instance("CloudCluster", "estate", {"name": "prod", "version": "1.31"})
    await world.create(instance)

    await _fill_statuses(world)

    settled = await world.settled(instance)
    assert settled["status"]["networking"] == {"network": "net-7", "east": "sub-e", "west": "sub-w"}
    assert settled["status"]["clusterARN"] == "arn:cluster/prod"
    nodes = await world.get(world.ref(API_VERSION, "NodeGroup", "pool"))
    assert nodes["spec"]["subnetIDs"] == ["sub-e", "sub-w"]

    before = await _quiet_versions(world)
    await world.merge(instance, {"spec": {"version": "1.32"}})
    cluster = world.ref(API_VERSION, "Cluster", "prod")

    async def upgraded() -> None:
        assert (await world.get(cluster))["spec"]["version"] == "1.32"

    await world.until(upgraded, within=60)
    after = await _quiet_versions(world)
    assert {name for name in before if before[name] != after[name]} == {str(cluster)}

    await world.delete(instance)
    await world.gone(instance, within=60)
    await asyncio.gather(*map(world.gone, _children(world)))
    await world.delete(definition)
    await world.gone(definition)
