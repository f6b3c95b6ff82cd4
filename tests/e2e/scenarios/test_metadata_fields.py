"""Metadata of an instance, read by a template."""

from tests.e2e.scenarios.parts import config_map, exists, node, serve
from tests.e2e.scenarios.world import World


async def test_a_template_reads_all_metadata_of_its_instance(world: World) -> None:
    data = {
        "name": "${schema.metadata.name}",
        "namespace": "${schema.metadata.namespace}",
        "uid": "${schema.metadata.uid}",
        "generation": "${string(schema.metadata.generation)}",
        "version": "${schema.metadata.resourceVersion}",
        "generateName": "${schema.metadata.?generateName.orValue('none')}",
        "labels": "${has(schema.metadata.labels) ? 'true' : 'false'}",
        "annotations": "${has(schema.metadata.annotations) ? 'true' : 'false'}",
    }
    template = config_map("${schema.metadata.name}-${schema.metadata.namespace}", data)
    definition = world.definition("Described", resources=[node("made", template)])
    instance = world.instance(
        "Described", "described", labels={"tier": "gold"}, annotations={"note": "kept"}
    )
    await serve(world, definition, instance)
    name = f"described-{world.namespace}"
    made = await exists(world, world.ref("v1", "ConfigMap", name), within=30)
    shown = await world.get(instance)
    assert made["data"].pop("version")
    assert made["data"] == {
        "name": "described",
        "namespace": world.namespace,
        "uid": shown["metadata"]["uid"],
        "generation": "1",
        "generateName": "none",
        "labels": "true",
        "annotations": "true",
    }
