"""Conditions that the author of a definition writes, in place of the built-in ones."""

import asyncio

from kube_objects.refs import KubeObject
from tests.e2e.scenarios.parts import (
    BUILT_IN,
    becomes,
    condition_types,
    config_map,
    node,
    says,
    serve,
)
from tests.e2e.scenarios.world import World, condition

FROM_SPEC = "schema.spec.healthy ? 'True' : 'False'"
A_SECOND = 1.1  # times are told in seconds: within one, a change could not be seen


async def test_the_authors_conditions_are_shown_and_no_others(world: World) -> None:
    written = _condition("Reachable", "'True'", "Answered", "the service answers")
    instance = await _shown(world, [written])
    shown = await says(
        world,
        instance,
        "Reachable",
        status="True",
        reason="Answered",
        message="the service answers",
    )
    assert condition(shown, "Reachable")["observedGeneration"] == shown["metadata"]["generation"]
    assert condition(shown, "Reachable")["lastTransitionTime"]
    assert condition_types(shown) == {"Reachable"}


async def test_a_time_is_kept_while_the_generation_goes_on(world: World) -> None:
    instance = await _shown(world, [_condition("Reachable", "'True'")])
    before = condition(await says(world, instance, "Reachable", status="True"), "Reachable")
    await asyncio.sleep(A_SECOND)
    await world.merge(instance, {"spec": {"text": "new"}})
    shown = await says(world, instance, "Reachable", observedGeneration=2)
    assert condition(shown, "Reachable") == {**before, "observedGeneration": 2}


async def test_without_author_conditions_the_four_of_kro_are_shown(world: World) -> None:
    instance = await _shown(world, [])
    shown = await says(world, instance, "Ready", status="True")
    assert condition_types(shown) == BUILT_IN


async def test_the_author_decides_what_ready_is(world: World) -> None:
    written = _condition("Ready", "'False'", "AuthorSaysNo", "not today")
    instance = await _shown(world, [written])
    shown = await says(
        world, instance, "Ready", status="False", reason="AuthorSaysNo", message="not today"
    )
    assert condition_types(shown) == {"Ready"}


async def test_a_condition_follows_the_instance(world: World) -> None:
    instance = await _shown(world, [_condition("Healthy", FROM_SPEC)])
    await says(world, instance, "Healthy", status="True")
    await world.merge(instance, {"spec": {"healthy": False}})
    await says(world, instance, "Healthy", status="False", observedGeneration=2)


async def test_a_condition_of_kro_is_read_though_the_author_overrides_it(world: World) -> None:
    written = [
        _condition("ResourcesReady", "'True'"),
        _condition("Truth", "runtime.condition(schema, 'ResourcesReady').status"),
    ]
    instance = await _shown(world, written, readyWhen=["${made.data.text == 'never'}"])
    await says(world, instance, "Truth", status="False")
    await says(world, instance, "ResourcesReady", status="True")


async def test_a_type_given_twice_is_dropped_and_the_state_is_an_error(world: World) -> None:
    written = [
        _condition("Lasting", "'True'"),
        "${runtime.newCondition({type: schema.spec.text, status: 'True'})}",
        "${runtime.newCondition({type: schema.spec.same, status: 'False'})}",
    ]
    instance = await _shown(world, written, spec={"text": "Twice", "same": "Twice"})
    shown = await world.in_state(instance, "ERROR")
    assert condition_types(shown) == {"Lasting"}
    assert condition(shown, "Lasting")["status"] == "True"


async def test_the_time_of_an_overridden_condition_is_the_authors(world: World) -> None:
    """kro's own value changes (a child becomes ready), the author's does not."""
    instance = await _shown(
        world,
        [_condition("ResourcesReady", "'False'")],
        readyWhen=["${made.data.text == 'new'}"],
    )
    before = condition(await says(world, instance, "ResourcesReady"), "ResourcesReady")
    await world.in_state(instance, "IN_PROGRESS")
    await asyncio.sleep(A_SECOND)
    await world.merge(instance, {"spec": {"text": "new"}})
    shown = await says(world, instance, "ResourcesReady", observedGeneration=2)
    assert condition(shown, "ResourcesReady") == {**before, "observedGeneration": 2}
    shown = await world.in_state(instance, "ACTIVE")
    assert condition(shown, "ResourcesReady") == {**before, "observedGeneration": 2}


async def test_a_condition_that_cannot_be_said_now_stays_as_it_was(world: World) -> None:
    written = "${runtime.newCondition({type: 'Known', status: made.data[schema.spec.key]})}"
    instance = await _shown(world, [written], spec={"key": "verdict"})
    before = condition(await says(world, instance, "Known", status="True"), "Known")
    await world.merge(instance, {"spec": {"key": "missing", "text": "seen"}})
    await becomes(world, world.ref("v1", "ConfigMap", "subject"), "data.text", "seen")

    async def unchanged() -> None:
        shown = await world.get(instance)
        assert condition_types(shown) == {"Known"}
        assert condition(shown, "Known") == before

    await world.holds(unchanged, during=2)


async def test_without_the_block_the_conditions_of_kro_come_back(world: World) -> None:
    definition = _definition(world, [_condition("Reachable", "'True'")])
    instance = world.instance("Subject", "subject", {"healthy": True})
    await serve(world, definition, instance)
    await says(world, instance, "Reachable", status="True")
    await world.merge(definition, {"spec": {"schema": {"status": {"conditions": None}}}})
    shown = await says(world, instance, "Ready", status="True")
    assert condition_types(shown) == BUILT_IN


def _condition(kind: str, status: str, reason: str = "Said", message: str = "so") -> str:
    fields = f"type: '{kind}', status: {status}, reason: '{reason}', message: '{message}'"
    return "${runtime.newCondition({" + fields + "})}"


def _definition(world: World, conditions: list[str], **rules: list[str]) -> KubeObject:
    spec = {
        "healthy": "boolean | default=true",
        "text": 'string | default="old"',
        "same": 'string | default="same"',
        "key": 'string | default="verdict"',
    }
    data = {"text": "${schema.spec.text}", "verdict": "True"}
    return world.definition(
        "Subject",
        spec,
        status={"conditions": conditions} if conditions else None,
        resources=[node("made", config_map("${schema.metadata.name}", data), **rules)],
    )


async def _shown(
    world: World,
    conditions: list[str],
    spec: dict[str, str] | None = None,
    **rules: list[str],
) -> KubeObject:
    instance = world.instance("Subject", "subject", spec)
    await serve(world, _definition(world, conditions, **rules), instance)
    return instance
