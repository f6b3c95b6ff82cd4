"""Instances that bring about definitions."""

import asyncio

from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.e2e.scenarios.parts import exists, node, serve
from tests.e2e.scenarios.world import World

DEFINITION = Kind("kro.run", "v1alpha1", "ResourceGraphDefinition")


async def test_an_instance_makes_a_definition_and_takes_it_away(world: World) -> None:
    outer = _outer(world)
    instance = world.instance("Factory", "factory", {"made": "Gadget", "type": "string"})
    inner = ObjectRef(DEFINITION, "", f"factory-{world.namespace}")
    await serve(world, outer, instance)
    await asyncio.gather(
        world.in_state(instance, "ACTIVE", within=30), world.active(inner, within=30)
    )
    gadget = world.instance("Gadget", "gadget", {"value": "text"})
    await world.create(gadget)
    await world.in_state(gadget, "ACTIVE")
    await world.delete(gadget)
    await world.gone(gadget)

    await world.delete(instance)
    await asyncio.gather(world.gone(inner, within=30), world.gone(instance, within=30))


async def test_two_instances_make_two_definitions(world: World) -> None:
    outer = _outer(world)
    types = {"Counter": "integer", "Banner": "string"}
    instances = [
        world.instance("Factory", kind.lower(), {"made": kind, "type": type_})
        for kind, type_ in types.items()
    ]
    inner = [ObjectRef(DEFINITION, "", f"{kind.lower()}-{world.namespace}") for kind in types]
    await serve(world, outer, *instances)
    await asyncio.gather(
        *(world.in_state(each, "ACTIVE", within=30) for each in instances),
        *(world.active(each, within=30) for each in inner),
    )
    for each, type_ in zip(inner, types.values(), strict=True):
        made = await exists(world, each)
        assert made["spec"]["schema"]["spec"] == {"value": type_}

    await asyncio.gather(*(world.delete(each) for each in instances))
    await asyncio.gather(*(world.gone(each, within=30) for each in inner))
    await asyncio.gather(*(world.gone(each, within=30) for each in instances))
    await world.delete(outer)
    await world.gone(outer, within=30)


def _outer(world: World) -> KubeObject:
    schema = {
        "apiVersion": "v1alpha1",
        "kind": "${schema.spec.made}",
        "group": world.group,
        "spec": {"value": "${schema.spec.type}"},
    }
    inner = {
        "apiVersion": DEFINITION.api_version,
        "kind": DEFINITION.kind,
        "metadata": {"name": "${schema.metadata.name}-${schema.metadata.namespace}"},
        "spec": {"schema": schema, "resources": []},
    }
    spec = {"made": "string", "type": "string"}
    return world.definition("Factory", spec, resources=[node("inner", inner)])
