"""What is refused, by the API server or by us, and that the refused can be deleted."""

from typing import Any

import pytest

from kro_gitops.kube.responses import Invalid
from kube_objects.refs import KubeObject
from tests.builders import config_map, resource
from tests.e2e.scenarios.samples import deployment, serve, settle, shows
from tests.e2e.scenarios.world import World, condition


@pytest.mark.parametrize(
    "aliases",
    [
        pytest.param({"shortNames": ["KI"]}, id="short name in capitals"),
        pytest.param({"shortNames": ["ki", "ki"]}, id="short name twice"),
        pytest.param({"shortNames": ["k" * 64]}, id="short name too long"),
        pytest.param({"categories": ["Town"]}, id="category in capitals"),
        pytest.param({"categories": ["town", "town"]}, id="category twice"),
    ],
)
async def test_bad_aliases_are_refused(world: World, aliases: dict[str, Any]) -> None:
    definition = world.definition("Kiosk", {"street": "string"}, **aliases)
    with pytest.raises(Invalid):
        await world.create(definition)


@pytest.mark.parametrize(
    "kind",
    ["kiosk", "Ki_osk", "Ki-osk", "7Kiosks", "Ki.osk", "Kiosk?", "K" + "iosk" * 16],
)
async def test_bad_kinds_are_refused(world: World, kind: str) -> None:
    with pytest.raises(Invalid, match="kind"):
        await world.create(world.definition(kind, {"street": "string"}, name="kiosk"))


async def test_a_bad_expression_is_reported_and_the_definition_can_go(world: World) -> None:
    definition = world.definition(
        "Kiosk", resources=[resource("note", config_map("${Not an expression}"))]
    )
    await world.create(definition)
    await world.inactive(definition, within=10)
    assert not (await world.get(definition))["status"].get("topologicalOrder")

    await world.delete(definition)
    await world.gone(definition)


@pytest.mark.parametrize(
    ("selector", "complaint"),
    [
        pytest.param(
            {"matchLabels": "team=blue"},
            "expected object type for path metadata.selector.matchLabels",
            id="labels as text",
        ),
        pytest.param(
            {"matchLabels": {"team": "blue"}, "matchTeam": "blue"},
            "schema not found for field matchTeam",
            id="unknown field",
        ),
        pytest.param(
            {"matchExpressions": [{"key": "team", "operator": "Resembles"}]},
            "invalid label selector",
            id="unknown operator",
        ),
    ],
)
async def test_a_bad_selector_is_reported(
    world: World, selector: dict[str, Any], complaint: str
) -> None:
    everybody = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"selector": selector},
    }
    definition = world.definition("Census", resources=[{"id": "people", "externalRef": everybody}])
    await world.create(definition)
    await world.inactive(definition, within=10)

    async def reported() -> None:
        ready = condition(await world.get(definition), "Ready")
        assert ready["status"] == "False"
        assert complaint in ready["message"]

    await world.until(reported, within=10)
    await world.delete(definition)
    await world.gone(definition)


async def test_a_definition_recovers_from_a_cycle(world: World) -> None:
    definition = world.definition("Wheel", resources=[resource("hub", config_map())])
    await serve(world, definition)

    ring = [
        resource("left", config_map("left", other="${right.metadata.name}")),
        resource("right", config_map("right", other="${left.metadata.name}")),
    ]
    await world.change(definition, _with_resources(ring))
    await world.inactive(definition, within=10)

    spoke = resource("spoke", deployment(ports=[{"containerPort": 777}]))
    await world.change(definition, _with_resources([spoke]))
    await world.active(definition)

    await settle(world, world.instance("Wheel", "front"))
    made = await shows(world, world.ref("apps/v1", "Deployment", "front"), {"kind": "Deployment"})
    container = made["spec"]["template"]["spec"]["containers"][0]
    assert [port["containerPort"] for port in container["ports"]] == [777]
    assert await world.find(world.ref("v1", "ConfigMap", "front")) is None


def _with_resources(resources: list[dict[str, Any]]) -> Any:
    def change(definition: KubeObject) -> None:
        definition["spec"]["resources"] = resources

    return change
