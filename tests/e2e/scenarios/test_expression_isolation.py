"""What an instance says is data: only definitions have expressions."""

import pytest

from tests.e2e.scenarios.parts import becomes, config_map, node, serve
from tests.e2e.scenarios.world import World


@pytest.mark.parametrize(
    "value",
    ["echo ${HOME} && echo ${NOT_A_NODE.field}", "${carrier.data.token}"],
    ids=["unknown names", "a name of the graph"],
)
async def test_a_value_that_looks_like_an_expression_arrives_as_it_is(
    world: World, value: str
) -> None:
    definition = world.definition(
        "Script",
        {"text": "string"},
        resources=[
            node("carrier", config_map("${schema.metadata.name}-carrier", {"token": "sesame"})),
            node("made", config_map("${schema.metadata.name}", {"text": "${schema.spec.text}"})),
        ],
    )
    instance = world.instance("Script", "script", {"text": value})
    await serve(world, definition, instance)
    await becomes(world, world.ref("v1", "ConfigMap", "script"), "data.text", value)
    await world.in_state(instance, "ACTIVE")


async def test_an_annotation_that_looks_like_an_expression_does_no_harm(world: World) -> None:
    template = config_map("${schema.metadata.name}", {"key": "value"})
    definition = world.definition("Annotated", resources=[node("made", template)])
    noted = {"note": "run ${SOME_VARIABLE} and ${made.data.key}"}
    instance = world.instance("Annotated", "annotated", annotations=noted)
    await serve(world, definition, instance)
    shown = await world.in_state(instance, "ACTIVE")
    assert shown["metadata"]["annotations"]["note"] == noted["note"]
