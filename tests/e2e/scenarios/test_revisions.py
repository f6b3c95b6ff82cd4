"""Graph revisions: what instances are served from, and what becomes of bad edits."""

import pytest

from kro_gitops.kube.responses import Invalid
from kube_objects.refs import KubeObject
from tests.e2e.scenarios.parts import (
    at,
    becomes,
    config_map,
    deployment,
    node,
    revision_numbers,
    revisions,
    serve,
)
from tests.e2e.scenarios.world import World, condition

NAME = "${schema.metadata.name}"


async def test_a_bad_edit_issues_no_revision_and_instances_are_served_on(world: World) -> None:
    definition = _settings(world)
    instance = world.instance("Settings", "kept", {"value": "first"})
    made = world.ref("v1", "ConfigMap", "kept")
    await serve(world, definition, instance)
    await becomes(world, made, "data.value", "first")

    await world.change(definition, _close_a_circle)
    refused = await world.inactive(definition)
    generation = refused["metadata"]["generation"]
    assert refused["status"]["lastIssuedRevision"] == 1
    expected = {
        "GraphAccepted": ("False", generation),
        "GraphRevisionsResolved": ("True", generation),
    }
    for type_, (status, observed) in expected.items():
        shown = condition(refused, type_)
        assert (shown["status"], shown["observedGeneration"]) == (status, observed), type_
    assert condition(refused, "KindReady")["status"] == "True"
    assert condition(refused, "ControllerReady")["status"] == "True"
    assert condition(refused, "Ready")["status"] == "False"

    async def one_revision() -> None:
        assert await revision_numbers(world, definition) == [1]

    await world.merge(instance, {"spec": {"value": "second"}})
    await becomes(world, made, "data.value", "second")
    await world.holds(one_revision, during=2)


async def test_an_instance_is_served_from_the_compiled_revision(world: World) -> None:
    template = deployment(NAME, image="${schema.spec.image}", replicas="${schema.spec.replicas}")
    definition = world.definition(
        "Workload", {"image": "string", "replicas": "integer"}, resources=[node("main", template)]
    )
    instance = world.instance("Workload", "shop", {"image": "shop:7", "replicas": 3})
    await serve(world, definition, instance)
    made = await becomes(
        world, world.ref("apps/v1", "Deployment", "shop"), "spec.replicas", 3, within=20
    )
    assert made["spec"]["template"]["spec"]["containers"][0]["image"] == "shop:7"
    (revision,) = await revisions(world, definition)
    assert condition(revision, "Ready")["status"] == "True"
    assert revision["status"]["topologicalOrder"] == ["main"]


async def test_a_changed_default_is_a_new_revision(world: World) -> None:
    definition = _settings(world, default="one")
    instance = world.instance("Settings", "web", {"value": "given"})
    made = world.ref("v1", "ConfigMap", "web")
    await serve(world, definition, instance)
    await becomes(world, made, "data.value", "given")

    edit = {"spec": {"schema": {"spec": {"value": 'string | default="two"'}}}}
    await world.merge(definition, edit)
    await becomes(world, definition, "status.lastIssuedRevision", 2, within=20)
    await world.active(definition, within=20)
    await world.merge(instance, {"spec": {"value": "changed"}})
    await becomes(world, made, "data.value", "changed", within=60)


async def test_a_revision_cannot_be_edited(world: World) -> None:
    definition = _settings(world)
    await serve(world, definition)
    (revision,) = await revisions(world, definition)
    with pytest.raises(Invalid, match="immutable"):
        await world.merge(revision, {"spec": {"revision": 9}})


async def test_the_first_revision_serves_creation_and_update(world: World) -> None:
    definition = _settings(world)
    instance = world.instance("Settings", "web", {"value": "created"})
    made = world.ref("v1", "ConfigMap", "web")
    await serve(world, definition, instance)
    await becomes(world, made, "data.value", "created")
    await world.merge(instance, {"spec": {"value": "updated"}})
    await becomes(world, made, "data.value", "updated")
    assert at(await world.get(definition), "status.lastIssuedRevision") == 1
    assert await revision_numbers(world, definition) == [1]


def _settings(world: World, default: str = "none") -> KubeObject:
    return world.definition(
        "Settings",
        {"value": f'string | default="{default}"'},
        resources=[node("settings", config_map(NAME, {"value": "${schema.spec.value}"}))],
    )


def _close_a_circle(definition: KubeObject) -> None:
    one = config_map("one", {"other": "${two.metadata.name}"})
    two = config_map("two", {"other": "${one.metadata.name}"})
    definition["spec"]["resources"] = [node("one", one), node("two", two)]
