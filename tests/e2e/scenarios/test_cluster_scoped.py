"""Instances without a namespace, with children in one."""

import asyncio

from kro_gitops import metadata
from tests.e2e.scenarios.parts import becomes, config_map, exists, external, node, serve
from tests.e2e.scenarios.world import World, labels

TARGET = "${schema.spec.target}"


async def test_a_cluster_scoped_instance_reads_and_makes_namespaced_objects(world: World) -> None:
    definition = world.definition(
        "Policy",
        {"target": "string", "stages": "[]string"},
        scope="Cluster",
        status={
            "setting": "${settings.data.setting}",
            "teams": "${string(size(teams))}",
        },
        resources=[
            external("settings", "v1", "ConfigMap", name="settings", namespace=TARGET),
            external(
                "teams",
                "v1",
                "ConfigMap",
                namespace=TARGET,
                selector={"matchLabels": {"role": "team"}},
            ),
            node(
                "policy",
                config_map(
                    "${schema.metadata.name}-policy",
                    {"setting": "${settings.data.setting}"},
                    namespace=TARGET,
                ),
            ),
            node(
                "stages",
                config_map(
                    "${schema.metadata.name}-${stage}", {"stage": "${stage}"}, namespace=TARGET
                ),
                forEach=[{"stage": "${schema.spec.stages}"}],
            ),
        ],
    )
    place, team = world.namespace, {"role": "team"}
    await asyncio.gather(
        world.create(config_map("settings", {"setting": "strict"}, namespace=place)),
        world.create(config_map("red", namespace=place, labels=team)),
        world.create(config_map("blue", namespace=place, labels=team)),
    )
    name = f"policy-{world.namespace}"
    spec = {"target": world.namespace, "stages": ["test", "live"]}
    instance = world.instance("Policy", name, spec, namespace="")
    await serve(world, definition, instance)
    await world.in_state(instance, "ACTIVE", within=30)
    await becomes(world, instance, "status.teams", "2")
    shown = await becomes(world, instance, "status.setting", "strict")
    assert "namespace" not in shown["metadata"]

    children = [
        await exists(world, world.ref("v1", "ConfigMap", f"{name}-{each}"))
        for each in ("policy", "test", "live")
    ]
    assert [child["data"] for child in children] == [
        {"setting": "strict"},
        {"stage": "test"},
        {"stage": "live"},
    ]
    for child in children:
        assert labels(child)[metadata.INSTANCE_NAME] == name
        assert metadata.INSTANCE_NAMESPACE not in labels(child)

    await world.delete(instance)
    await asyncio.gather(*(world.gone(each, within=20) for each in (instance, *children)))
    await world.delete(definition)
    await world.gone(definition, within=20)
