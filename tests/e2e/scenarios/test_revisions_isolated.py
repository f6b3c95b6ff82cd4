"""
Graph revisions under limits and across restarts, on a cluster where nobody else is disturbed.

The control plane is this file's own; every scenario starts a controller with the flags it needs,
and restarts it at will.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from kro_gitops.kube.api import Selection
from kube_objects.refs import KubeObject
from tests.connection import connect
from tests.e2e.scenarios.controllers import better, start_controller, target, version_of
from tests.e2e.scenarios.crds import definitions, install
from tests.e2e.scenarios.parts import (
    REVISION,
    at,
    becomes,
    config_map,
    labelled,
    node,
    recorded,
    revision_numbers,
    revisions,
    serve,
)
from tests.e2e.scenarios.world import World, condition
from tools.cluster.parts import ToolError
from tools.cluster.plane import Plane
from tools.cluster.targets import may_be_missing, started_plane

NAME = "${schema.metadata.name}"
LIMIT = 5


@pytest.fixture(scope="module")
def secluded() -> Iterator[Plane]:
    """Give a control plane on which no other controller runs."""
    try:
        with started_plane(controllers=False) as plane:
            yield plane
    except ToolError as error:
        if not may_be_missing():
            pytest.fail(str(error))
        pytest.skip(f"no scenario ran on a real API server: {error}")


async def test_every_edit_beyond_the_limit_drops_the_oldest_revision(
    secluded: Plane,
) -> None:
    async with _world(secluded, limit=LIMIT) as world:
        definition = _settings(world)
        await serve(world, definition)
        for number in range(2, LIMIT * 2 + 1):
            await _edit_default(world, definition, f"value-{number}")
            await _issued(world, definition, number)
            expected = list(range(max(1, number - LIMIT + 1), number + 1))
            await _kept(world, definition, expected)


async def test_an_instance_moves_on_while_old_revisions_are_dropped(
    secluded: Plane,
) -> None:
    async with _world(secluded, limit=LIMIT) as world:
        definition = _settings(world)
        instance = world.instance("Settings", "sticky", {"value": "sticky"})
        made = world.ref("v1", "ConfigMap", "sticky")
        await serve(world, definition, instance)
        await becomes(world, made, "data.value", "sticky")
        for number in range(2, LIMIT + 4):
            await world.change(definition, labelled(f"rev-{number}"))
            await _issued(world, definition, number)
            child = await becomes(world, made, "metadata.labels.round", f"rev-{number}")
            assert child["data"] == {"value": "sticky"}
            expected = list(range(max(1, number - LIMIT + 1), number + 1))
            await _kept(world, definition, expected)


async def test_a_restart_issues_nothing_for_what_did_not_change(secluded: Plane) -> None:
    async with _world(secluded) as world:
        definition = _settings(world)
        await serve(world, definition)
        await _kept(world, definition, [1])
        world.controller.restart()
        await _issues_nothing(world, definition, 1)
        name = definition["metadata"]["name"]
        selected = await world.cluster.list(
            Selection(REVISION, fields=f"spec.snapshot.name={name}")
        )
        assert [each["spec"]["revision"] for each in selected.items] == [1]


async def test_numbers_go_on_where_they_were_before_a_restart(secluded: Plane) -> None:
    async with _world(secluded) as world:
        definition = _settings(world)
        instance = world.instance("Settings", "survivor", {"value": "before"})
        made = world.ref("v1", "ConfigMap", "survivor")
        await serve(world, definition, instance)
        await becomes(world, made, "data.value", "before")
        await _edit_default(world, definition, "second")
        await _issued(world, definition, 2)

        world.controller.restart()
        await _issues_nothing(world, definition, 2)
        await world.until(lambda: _says_all_is_well(world, definition, revision=2), within=20)
        await world.merge(instance, {"spec": {"value": "after"}})
        await becomes(world, made, "data.value", "after", within=30)
        await _edit_default(world, definition, "third")
        await _issued(world, definition, 3)
        await _kept(world, definition, [1, 2, 3])


async def test_rapid_edits_leave_no_gap_and_end_with_the_last(secluded: Plane) -> None:
    async with _world(secluded, limit=50) as world:
        definition = _settings(world)
        await serve(world, definition)
        for number in range(1, 9):
            await _edit_default(world, definition, f"churn-{number}")

        async def settled() -> None:
            current = await world.get(definition)
            kept = await revisions(world, definition)
            numbers = [each["spec"]["revision"] for each in kept]
            assert current["status"]["state"] == "Active"
            assert numbers == list(range(1, len(kept) + 1))
            assert len(kept) >= 2
            assert current["status"]["lastIssuedRevision"] == numbers[-1]
            assert kept[-1]["spec"]["snapshot"]["spec"] == current["spec"]

        await world.until(settled, within=40)


async def test_edits_and_restarts_in_turn_issue_one_revision_each(secluded: Plane) -> None:
    async with _world(secluded) as world:
        definition = _settings(world)
        await serve(world, definition)
        for number in (2, 3, 4):
            await _edit_default(world, definition, f"cycle-{number}")
            await _issued(world, definition, number)
            world.controller.restart()
            await _issues_nothing(world, definition, number)
        instance = world.instance("Settings", "late", {"value": "served"})
        await world.create(instance)
        await becomes(world, world.ref("v1", "ConfigMap", "late"), "data.value", "served", 30)
        await _issued(world, definition, 4)
        await _kept(world, definition, [1, 2, 3, 4])


@better("a restart paints instances ERROR until their revision is compiled")
async def test_better_a_restart_does_not_show_in_instances(secluded: Plane) -> None:
    async with _world(secluded) as world:
        definition = _settings(world)
        instance = world.instance("Settings", "calm", {"value": "before"})
        await serve(world, definition, instance)
        await world.settled(instance)
        async with recorded(world, instance) as seen:
            world.controller.restart()
            await world.merge(instance, {"spec": {"value": "after"}})
            await becomes(world, world.ref("v1", "ConfigMap", "calm"), "data.value", "after")
            await world.settled(instance)
        assert len(seen) > 1
        assert {at(each, "status.state") for each in seen} <= {"ACTIVE", "IN_PROGRESS"}
        assert {condition(each, "GraphResolved")["status"] for each in seen} == {"True"}


@better("instances are served by the latest revision or not at all")
async def test_better_the_previous_revision_serves_while_the_latest_does_not_compile(
    secluded: Plane,
) -> None:
    async with _world(secluded) as world:
        await install(world, "Address")
        definition = _settings(world)
        instance = world.instance("Settings", "served", {"value": "before"})
        made = world.ref("v1", "ConfigMap", "served")
        await serve(world, definition, instance)
        await world.change(definition, _add_address)
        await _issued(world, definition, 2)
        await world.settled(instance)

        world.controller.stop()
        (crd,) = definitions("Address")
        await world.delete(crd)
        await world.gone(crd)
        world.controller.start()
        await world.merge(instance, {"spec": {"value": "after"}})
        await becomes(world, made, "data.value", "after", within=20)
        assert at(await world.get(instance), "status.state") != "ERROR"


@asynccontextmanager
async def _world(plane: Plane, limit: int = 20) -> AsyncIterator[World]:
    """Open a world under a controller of its own that keeps so many revisions."""
    named = target()
    async with connect(plane.kubeconfig) as opened:
        with start_controller(plane.kubeconfig, named, rgd_max_graph_revisions=limit) as running:
            world = World(opened.client, running, target=named, version=version_of(named))
            await world.open()
            try:
                yield world
            except AssertionError as failure:
                failure.add_note(f"End of the controller's log:\n{running.tail()}")
                raise
            await world.close()


async def _issued(world: World, definition: KubeObject, number: int) -> None:
    await becomes(world, definition, "status.lastIssuedRevision", number, within=30)
    await world.active(definition)


async def _kept(world: World, definition: KubeObject, expected: list[int]) -> None:
    async def check() -> None:
        numbers = await revision_numbers(world, definition)
        assert numbers == expected, numbers

    await world.until(check, within=30)


async def _issues_nothing(world: World, definition: KubeObject, number: int) -> None:
    async def check() -> None:
        assert (await revision_numbers(world, definition))[-1] == number
        assert at(await world.get(definition), "status.lastIssuedRevision") == number

    await world.holds(check, during=2)


async def _says_all_is_well(world: World, definition: KubeObject, revision: int) -> None:
    found = await world.get(definition)
    assert found["status"]["state"] == "Active"
    assert found["status"]["lastIssuedRevision"] == revision
    expected = {
        "Ready": ("Ready", ""),
        "GraphAccepted": ("Valid", "resource graph and schema are valid"),
        "GraphRevisionsResolved": ("Resolved", f"revision {revision} compiled and active"),
    }
    for kind, (reason, message) in expected.items():
        shown = condition(found, kind)
        assert shown.pop("lastTransitionTime")
        assert shown == {
            "type": kind,
            "status": "True",
            "reason": reason,
            "message": message,
            "observedGeneration": found["metadata"]["generation"],
        }


async def _edit_default(world: World, definition: KubeObject, value: str) -> None:
    edit = {"value": f'string | default="{value}"'}
    await world.merge(definition, {"spec": {"schema": {"spec": edit}}})


def _add_address(definition: KubeObject) -> None:
    address = {
        "apiVersion": "cloud.example.org/v1alpha1",
        "kind": "Address",
        "metadata": {"name": NAME},
        "spec": {"tags": {"for": NAME}},
    }
    definition["spec"]["resources"].append(node("address", address))


def _settings(world: World) -> KubeObject:
    return world.definition(
        "Settings",
        {"value": 'string | default="first"'},
        resources=[node("settings", config_map(NAME, {"value": "${schema.spec.value}"}))],
    )
