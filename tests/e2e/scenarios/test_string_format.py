"""Strings put together by `format`."""

from tests.e2e.scenarios.parts import config_map, node, serve
from tests.e2e.scenarios.world import World


async def test_format_puts_a_string_together(world: World) -> None:
    expression = "${'%s:%s'.format([schema.metadata.namespace, schema.metadata.name])}"
    definition = world.definition(
        "Formatted", resources=[node("made", config_map("formatted", {"key": expression}))]
    )
    instance = world.instance("Formatted", "text")
    await serve(world, definition, instance)
    await world.in_state(instance, "ACTIVE", within=20)
    made = await world.get(world.ref("v1", "ConfigMap", "formatted"))
    assert made["data"] == {"key": f"{world.namespace}:text"}
