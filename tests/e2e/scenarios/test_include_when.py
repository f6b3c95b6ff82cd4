"""Nodes that are left out, and what depends on them."""

import asyncio

from kube_objects.refs import KubeObject
from tests.e2e.scenarios.parts import (
    config_map,
    deployment,
    exists,
    node,
    serve,
    service,
    service_account,
)
from tests.e2e.scenarios.world import World

NAME = "${schema.metadata.name}"


async def test_whatever_depends_on_a_node_left_out_is_left_out_too(world: World) -> None:
    definition = world.definition("Mesh", {"first": "boolean"}, resources=_mesh())
    instance = world.instance("Mesh", "mesh", {"first": False})
    await serve(world, definition, instance)
    served = await world.get(definition)
    assert served["status"]["topologicalOrder"] == [
        "deploymentA",
        "serviceAccountA",
        "deploymentB",
        "serviceA",
        "serviceAccountB",
        "serviceB",
    ]
    await world.in_state(instance, "ACTIVE", within=20)
    await exists(world, world.ref("v1", "ServiceAccount", "mesh-a"))
    await exists(world, world.ref("apps/v1", "Deployment", "mesh-b"))
    left_out = [
        world.ref("apps/v1", "Deployment", "mesh-a"),
        world.ref("v1", "Service", "mesh-a"),
        world.ref("v1", "ServiceAccount", "mesh-b"),
        world.ref("v1", "Service", "mesh-b"),
    ]
    await asyncio.gather(*(world.absent(each) for each in left_out))


async def test_a_condition_on_the_instance_leaves_out_the_dependants(world: World) -> None:
    definition = world.definition(
        "Optional",
        {"wanted": "boolean"},
        resources=[
            _map("always"),
            _map("gated", includeWhen=["${schema.spec.wanted}"]),
            _map("child", of="gated"),
        ],
    )
    instance = world.instance("Optional", "optional", {"wanted": False})
    await serve(world, definition, instance)
    await world.in_state(instance, "ACTIVE", within=20)
    await exists(world, world.ref("v1", "ConfigMap", "optional-always"))
    await _absent(world, "optional-gated", "optional-child")


async def test_a_condition_on_another_object_leaves_out_the_dependants(world: World) -> None:
    switch = config_map(f"{NAME}-switch", {"enabled": "${string(schema.spec.wanted)}"})
    definition = world.definition(
        "Switched",
        {"wanted": "boolean"},
        resources=[
            node("switch", switch),
            _map("gated", includeWhen=["${switch.data.enabled == 'true'}"]),
            _map("child", of="gated"),
            _map("unrelated"),
        ],
    )
    instance = world.instance("Switched", "switched", {"wanted": False})
    await serve(world, definition, instance)
    await world.in_state(instance, "ACTIVE", within=20)
    await exists(world, world.ref("v1", "ConfigMap", "switched-switch"))
    await exists(world, world.ref("v1", "ConfigMap", "switched-unrelated"))
    await _absent(world, "switched-gated", "switched-child")


async def test_a_condition_on_a_status_is_waited_for(world: World) -> None:
    enough = "${source.status.availableReplicas == source.spec.replicas}"
    definition = world.definition(
        "Rollout",
        resources=[
            node("source", deployment(NAME, replicas=2)),
            _map("gated", includeWhen=[enough]),
            _map("child", of="gated"),
        ],
    )
    instance = world.instance("Rollout", "rollout")
    await serve(world, definition, instance)
    source = await exists(world, world.ref("apps/v1", "Deployment", "rollout"))
    await world.in_state(instance, "IN_PROGRESS")
    await _absent(world, "rollout-gated", "rollout-child")

    status = {"status": {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2}}
    await world.merge(source, status, subresource="status")
    await exists(world, world.ref("v1", "ConfigMap", "rollout-gated"), within=30)
    await exists(world, world.ref("v1", "ConfigMap", "rollout-child"), within=30)
    await world.in_state(instance, "ACTIVE")


async def _absent(world: World, *names: str) -> None:
    refs = [world.ref("v1", "ConfigMap", each) for each in names]
    await asyncio.gather(*(world.absent(each) for each in refs))


def _map(name: str, of: str = "", **rules: list[str]) -> KubeObject:
    data = {"parent": "${" + of + ".metadata.name}"} if of else {}
    return node(name, config_map(f"{NAME}-{name}", data), **rules)


def _mesh() -> list[KubeObject]:
    """Two chains that meet in the last node; the root of the first can be left out."""
    second = deployment(f"{NAME}-b")
    second["spec"]["template"]["spec"]["serviceAccountName"] = "${serviceAccountA.metadata.name}"
    both = {
        "first": "${deploymentA.metadata.name}",
        "second": "${deploymentB.metadata.name}",
    }
    return [
        node("deploymentA", deployment(f"{NAME}-a"), includeWhen=["${schema.spec.first}"]),
        node("deploymentB", second),
        node("serviceAccountA", service_account(f"{NAME}-a")),
        node(
            "serviceAccountB",
            service_account(f"{NAME}-b", annotations={"for": "${serviceA.metadata.name}"}),
        ),
        node("serviceA", service(f"{NAME}-a", app="${deploymentA.metadata.name}")),
        node("serviceB", service(f"{NAME}-b", app="both", annotations=both)),
    ]
