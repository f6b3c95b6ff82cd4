"""Mistakes that waiting does not correct: the instance is in ERROR, and recovers when they are."""

from typing import Any

import pytest

from kube_objects.refs import KubeObject
from tests.e2e.scenarios.controllers import better
from tests.e2e.scenarios.parts import config_map, deployment, node, serve
from tests.e2e.scenarios.world import World, condition

NAME = "${schema.metadata.name}"
VALUE = "${schema.spec.x}"
SAME = [node("one", config_map(f"{NAME}-{VALUE}")), node("two", config_map(f"{NAME}-1"))]
FIELD = [node("cm", config_map(VALUE))]
LABEL = [node("cm", config_map(NAME, labels={"example.org/x": VALUE}))]


@pytest.mark.parametrize(
    ("nodes", "bad", "good"),
    [
        pytest.param(FIELD, "Not_A_Name", "a-name", id="a name with capitals"),
        pytest.param(FIELD, "n" * 254, "a-name", id="a name that is too long"),
        pytest.param(LABEL, "v" * 64, "v", id="a label that is too long"),
    ],
)
async def test_a_mistake_in_a_name_is_an_error(
    world: World, nodes: list[dict[str, Any]], bad: str, good: str
) -> None:
    await _recovers(world, nodes, bad, good)


@better("the instance stays in progress")
async def test_better_two_resources_that_are_one_object_are_an_error(world: World) -> None:
    await _recovers(world, SAME, "1", "2")


async def _recovers(world: World, nodes: list[dict[str, Any]], bad: str, good: str) -> None:
    """Have an instance that is in ERROR with one value and settles with another."""
    await serve(world, world.definition("Shop", {"x": "string"}, resources=nodes))
    await world.create(front := world.instance("Shop", "front", {"x": bad}))
    failed = await world.in_state(front, "ERROR")
    ready = condition(failed, "Ready")
    assert ready["status"] == "False", ready
    assert ready["message"], ready

    async def stays() -> None:
        found: KubeObject = await world.get(front)
        assert found["status"]["state"] == "ERROR", found["status"]

    await world.holds(stays, during=2.0)
    await world.merge(front, {"spec": {"x": good}})
    await world.settled(front)


async def test_a_change_of_an_immutable_field_is_an_error(world: World) -> None:
    app = deployment(NAME)
    app["spec"]["selector"]["matchLabels"]["x"] = VALUE
    app["spec"]["template"]["metadata"]["labels"]["x"] = VALUE
    made = world.definition("Shop", {"x": "string"}, resources=[node("app", app)])
    await serve(world, made, front := world.instance("Shop", "front", {"x": "1"}))
    await world.settled(front)
    await world.merge(front, {"spec": {"x": "2"}})
    failed = await world.in_state(front, "ERROR")
    assert "field is immutable" in condition(failed, "Ready")["message"]
    await world.merge(front, {"spec": {"x": "1"}})
    await world.settled(front)
