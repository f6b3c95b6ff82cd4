"""What ours does better than kro v0.9.4, so these scenarios are not for kro."""

import asyncio

from kube_objects.refs import KubeObject
from tests.e2e.scenarios.controllers import better
from tests.e2e.scenarios.parts import (
    at,
    becomes,
    config_map,
    deployment,
    exists,
    labelled,
    node,
    recorded,
    serve,
)
from tests.e2e.scenarios.world import World, condition, labels

NAME = "${schema.metadata.name}"
AT_ONCE = 5.0  # seconds: no back-off, no polling


@better("instances that are looked at while a revision compiles are painted ERROR")
async def test_better_an_edit_of_the_definition_does_not_show_in_instances(world: World) -> None:
    definition = _settings(world)
    definition["spec"]["resources"] += _bulk(20)
    instance = world.instance("Setting", "calm", {"value": "v-0"})
    made = world.ref("v1", "ConfigMap", "calm")
    await serve(world, definition, instance)
    await world.settled(instance)
    async with recorded(world, instance) as seen:
        for number in range(1, 5):
            # The instance is looked at while the new revision is compiled.
            await world.change(definition, labelled(f"rev-{number}"))
            for moment in range(5):
                await world.merge(instance, {"spec": {"value": f"v-{number}-{moment}"}})
                await asyncio.sleep(0.03)
        await becomes(world, made, "metadata.labels.round", "rev-4")
        await becomes(world, made, "data.value", "v-4-4")
        await world.settled(instance)
    assert {at(each, "status.state") for each in seen} <= {"ACTIVE", "IN_PROGRESS"}
    assert {condition(each, "GraphResolved")["status"] for each in seen} == {"True"}


@better("nothing watches for a missing CRD, the next attempt is left to the back-off")
async def test_better_a_definition_waits_for_the_kind_it_uses(world: World) -> None:
    parent = world.definition("Parent", resources=[node("child", _child(world, {"size": 1}))])
    child = world.definition("Child", {"size": "integer"})
    await world.create(parent)
    await world.inactive(parent)
    await asyncio.sleep(2)  # attempts that are merely repeated are far between by now
    await world.create(child)
    await exists(world, world.crd_of(child, "children"))
    await world.active(parent, within=AT_ONCE)


@better("schemas are remembered for five minutes, parents are not compiled again")
async def test_better_a_definition_is_compiled_again_when_a_kind_it_uses_changes(
    world: World,
) -> None:
    spec = {"size": 1, "colour": "red"}
    parent = world.definition("Parent", resources=[node("child", _child(world, spec))])
    child = world.definition("Child", {"size": "integer"})
    instance = world.instance("Parent", "parent")
    await serve(world, child)
    await world.create(parent)
    await world.inactive(parent)
    await world.merge(child, {"spec": {"schema": {"spec": {"colour": "string"}}}})
    await world.active(parent, within=AT_ONCE)
    await world.create(instance)
    await becomes(world, world.instance("Child", "parent"), "spec.colour", "red")


@better("a CRD is left alone unless its schema, names or columns change")
async def test_better_a_changed_label_of_the_kind_reaches_the_crd(world: World) -> None:
    definition = _settings(world)
    definition["spec"]["schema"]["metadata"] = {"labels": {"team": "red"}}
    await serve(world, definition)
    crd = world.crd_of(definition, "settings")
    assert labels(await world.get(crd))["team"] == "red"
    edit = {"metadata": {"labels": {"team": "blue"}}}
    await world.merge(definition, {"spec": {"schema": edit}})
    await becomes(world, crd, "metadata.labels.team", "blue", within=AT_ONCE)


@better("an edit of an instance's metadata does not wake it")
async def test_better_a_label_of_the_instance_reaches_the_template_that_reads_it(
    world: World,
) -> None:
    template = config_map(NAME, {"tier": "${schema.metadata.labels.tier}"})
    definition = world.definition("Tiered", resources=[node("made", template)])
    instance = world.instance("Tiered", "tiered", labels={"tier": "gold"})
    made = world.ref("v1", "ConfigMap", "tiered")
    await serve(world, definition, instance)
    await becomes(world, made, "data.tier", "gold")
    await world.settled(instance)
    for tier in ("silver", "bronze", "iron"):  # more often than anything is done by the clock
        await world.merge(instance, {"metadata": {"labels": {"tier": tier}}})
        await becomes(world, made, "data.tier", tier, within=3)


@better("an expression is evaluated once for all its uses, before the child is written")
async def test_better_the_status_is_of_the_pass_that_wrote_the_child(world: World) -> None:
    definition = world.definition(
        "Chain",
        {"value": "string"},
        status={"value": "${first.data.value}"},
        resources=[
            node("first", config_map(f"{NAME}-1", {"value": "${schema.spec.value}"})),
            node("second", config_map(f"{NAME}-2", {"value": "${first.data.value}"})),
        ],
    )
    instance = world.instance("Chain", "chain", {"value": "old"})
    await serve(world, definition, instance)
    await world.settled(instance)
    async with recorded(world, instance) as seen:
        await world.merge(instance, {"spec": {"value": "new"}})
        await becomes(world, world.ref("v1", "ConfigMap", "chain-2"), "data.value", "new")
        await world.settled(instance)
    assert {at(each, "status.value") for each in seen if _of_generation(each, 2)} == {"new"}


@better("readyWhen is evaluated once, before the child is written")
async def test_better_ready_is_of_the_pass_that_wrote_the_child(world: World) -> None:
    definition = world.definition(
        "Phased",
        {"phase": "string"},
        resources=[
            node(
                "first",
                config_map(f"{NAME}-1", {"phase": "${schema.spec.phase}"}),
                readyWhen=["${first.data.phase == 'done'}"],
            ),
            node("second", config_map(f"{NAME}-2", {"after": "${first.metadata.name}"})),
        ],
    )
    instance = world.instance("Phased", "phased", {"phase": "done"})
    await serve(world, definition, instance)
    await world.settled(instance)
    async with recorded(world, instance) as seen:
        await world.merge(instance, {"spec": {"phase": "begun"}})
        await becomes(world, world.ref("v1", "ConfigMap", "phased-1"), "data.phase", "begun")
        await world.in_state(instance, "IN_PROGRESS")
    assert {at(each, "status.state") for each in seen if _of_generation(each, 2)} == {"IN_PROGRESS"}


def _settings(world: World) -> KubeObject:
    return world.definition(
        "Setting",
        {"value": "string", "bulk": "boolean | default=false"},
        resources=[node("settings", config_map(NAME, {"value": "${schema.spec.value}"}))],
    )


def _bulk(count: int) -> list[KubeObject]:
    """Write nodes that take time to compile and are left out of instances."""
    return [
        node(
            f"bulk{number}",
            deployment(f"{NAME}-{number}", image="${schema.spec.value}"),
            includeWhen=["${schema.spec.bulk}"],
        )
        for number in range(count)
    ]


def _child(world: World, spec: KubeObject) -> KubeObject:
    return {
        "apiVersion": f"{world.group}/v1alpha1",
        "kind": "Child",
        "metadata": {"name": NAME},
        "spec": spec,
    }


def _of_generation(instance: KubeObject, generation: int) -> bool:
    """Say whether the status is about a generation: a status is written after the spec."""
    shown = instance["status"]["conditions"]
    return all(each.get("observedGeneration") == generation for each in shown)
