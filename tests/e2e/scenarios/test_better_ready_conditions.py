"""`gitops.kro.run/ready-conditions`: which of the author's conditions count for Ready."""

from kube_objects.refs import KubeObject
from tests.e2e.scenarios.controllers import better
from tests.e2e.scenarios.parts import condition_types, config_map, node, says, serve
from tests.e2e.scenarios.world import World, condition

ONLY_OURS = "the annotation is ours"
TYPES = {"DatabaseReady", "Degraded", "Ready"}


@better(ONLY_OURS)
async def test_better_ready_adds_up_the_named_conditions(world: World) -> None:
    instance = world.instance("Database", "db", {"database": "True", "degraded": "False"})
    await serve(world, _definition(world), instance)
    shown = await says(world, instance, "Ready", status="True", observedGeneration=1)
    assert condition_types(shown) == TYPES
    assert condition(shown, "DatabaseReady")["status"] == "True"
    assert condition(shown, "Degraded")["status"] == "False"

    await world.merge(instance, {"spec": {"database": "False"}})
    shown = await says(world, instance, "Ready", status="False", observedGeneration=2)
    assert condition(shown, "DatabaseReady")["status"] == "False"
    assert condition_types(shown) == TYPES
    await world.merge(instance, {"spec": {"database": "True"}})
    await says(world, instance, "Ready", status="True", observedGeneration=3)


@better(ONLY_OURS)
async def test_better_a_condition_that_is_bad_news_counts_the_other_way(world: World) -> None:
    instance = world.instance("Database", "db", {"database": "True", "degraded": "True"})
    await serve(world, _definition(world), instance)
    shown = await says(world, instance, "Ready", status="False", observedGeneration=1)
    assert condition(shown, "Degraded")["status"] == "True"
    await world.merge(instance, {"spec": {"degraded": "False"}})
    await says(world, instance, "Ready", status="True", observedGeneration=2)


@better(ONLY_OURS)
async def test_better_what_is_not_known_is_not_ready(world: World) -> None:
    instance = world.instance("Database", "db", {"database": "Unknown", "degraded": "False"})
    await serve(world, _definition(world), instance)
    await says(world, instance, "DatabaseReady", status="Unknown", observedGeneration=1)
    shown = await says(world, instance, "Ready", observedGeneration=1)
    assert condition(shown, "Ready")["status"] != "True"


@better(ONLY_OURS)
async def test_better_the_built_in_conditions_count_too(world: World) -> None:
    definition = _definition(world, readyWhen=["${made.data.database == 'True'}"])
    definition["metadata"]["annotations"] = {"gitops.kro.run/ready-conditions": "!Degraded"}
    instance = world.instance("Database", "db", {"database": "False", "degraded": "False"})
    await serve(world, definition, instance)
    shown = await says(world, instance, "Ready", status="False", observedGeneration=1)
    assert shown["status"]["state"] == "IN_PROGRESS"
    assert condition_types(shown) == TYPES
    await world.merge(instance, {"spec": {"database": "True"}})
    await says(world, instance, "Ready", status="True", observedGeneration=2)


def _definition(world: World, **rules: list[str]) -> KubeObject:
    template = config_map("${schema.metadata.name}", {"database": "${schema.spec.database}"})
    definition = world.definition(
        "Database",
        {"database": "string", "degraded": "string"},
        status={
            "conditions": [
                "${runtime.newCondition({type: 'DatabaseReady', status: schema.spec.database})}",
                "${runtime.newCondition({type: 'Degraded', status: schema.spec.degraded})}",
            ]
        },
        resources=[node("made", template, **rules)],
    )
    counted = {"gitops.kro.run/ready-conditions": "DatabaseReady,!Degraded"}
    definition["metadata"]["annotations"] = counted
    return definition
