"""Children are watched from the moment they exist."""

from tests.e2e.scenarios.parts import becomes, config_map, exists, node, serve
from tests.e2e.scenarios.world import World


async def test_a_child_edited_by_somebody_else_is_set_right(world: World) -> None:
    template = config_map("${schema.metadata.name}", {"key": "${schema.spec.value}"})
    definition = world.definition(
        "Watched", {"value": "string"}, resources=[node("made", template)]
    )
    instance = world.instance("Watched", "watched", {"value": "wanted"})
    await serve(world, definition, instance)
    for each in (await world.get(definition))["status"]["conditions"]:
        assert each["status"] == "True", each
    made = await exists(world, world.ref("v1", "ConfigMap", "watched"), within=10)
    await world.settled(instance)

    await world.merge(made, {"data": {"key": "tampered", "theirs": "kept"}})
    seen = await becomes(world, made, "data.key", "wanted", within=3)
    assert seen["data"]["theirs"] == "kept"
