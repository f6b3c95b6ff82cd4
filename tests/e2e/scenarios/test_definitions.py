"""Edits of a definition: what they reach, and what they leave alone."""

from kube_objects.refs import KubeObject
from tests.e2e.scenarios.parts import config_map, node, serve
from tests.e2e.scenarios.world import Named, World


async def test_an_annotation_of_the_definition_leaves_instances_alone(world: World) -> None:
    definition = _settings(world)
    instance = world.instance("Setting", "quiet", {"value": "kept"})
    made = world.ref("v1", "ConfigMap", "quiet")
    await serve(world, definition, instance)
    await world.settled(instance)
    before = [await _version(world, each) for each in (instance, made)]
    notes = {"note": "nothing changed", "kro.run/allow-breaking-changes": "true"}
    await world.merge(definition, {"metadata": {"annotations": notes}})

    async def untouched() -> None:
        assert [await _version(world, each) for each in (instance, made)] == before

    await world.holds(untouched, during=2)


async def test_a_changed_printer_column_reaches_the_crd(world: World) -> None:
    column = {"name": "Value", "type": "string", "jsonPath": ".spec.value"}
    definition = _settings(world)
    definition["spec"]["schema"]["additionalPrinterColumns"] = [column]
    await serve(world, definition)
    crd = world.crd_of(definition, "settings")
    assert _columns(await world.get(crd)) == [column]
    renamed = {**column, "name": "Setting"}
    edit = {"spec": {"schema": {"additionalPrinterColumns": [renamed]}}}
    await world.merge(definition, edit)

    async def current() -> None:
        assert _columns(await world.get(crd)) == [renamed]

    await world.until(current, within=5)


def _settings(world: World) -> KubeObject:
    template = config_map("${schema.metadata.name}", {"value": "${schema.spec.value}"})
    return world.definition("Setting", {"value": "string"}, resources=[node("made", template)])


def _columns(crd: KubeObject) -> list[KubeObject]:
    columns: list[KubeObject] = crd["spec"]["versions"][0]["additionalPrinterColumns"]
    return columns


async def _version(world: World, named: Named) -> str:
    version: str = (await world.get(named))["metadata"]["resourceVersion"]
    return version
