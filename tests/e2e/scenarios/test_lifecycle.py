"""From creation over updates to deletion."""

import asyncio

from kube_objects.refs import KubeObject
from tests.e2e.scenarios.parts import becomes, deployment, exists, node, serve
from tests.e2e.scenarios.world import World


async def test_an_instance_is_updated_and_deleted_with_its_child(world: World) -> None:
    definition = world.definition(
        "App",
        {"image": "string", "replicas": "integer", "port": "integer | default=80"},
        resources=[
            node(
                "main",
                deployment(
                    "${schema.metadata.name}",
                    image="${schema.spec.image}",
                    replicas="${schema.spec.replicas}",
                    port="${schema.spec.port}",
                ),
            )
        ],
    )
    instance = world.instance("App", "shop", {"image": "shop:1", "replicas": 1})
    await serve(world, definition, instance)
    made = await exists(world, world.ref("apps/v1", "Deployment", "shop"))
    assert _container(made) == ("shop:1", 80)

    await world.merge(instance, {"spec": {"image": "shop:2", "replicas": 3, "port": 8080}})
    updated = await becomes(world, made, "spec.replicas", 3, within=20)
    assert _container(updated) == ("shop:2", 8080)

    await world.delete(instance)
    await asyncio.gather(world.gone(made, within=20), world.gone(instance, within=20))


def _container(found: KubeObject) -> tuple[str, int]:
    main = found["spec"]["template"]["spec"]["containers"][0]
    return main["image"], main["ports"][0]["containerPort"]
