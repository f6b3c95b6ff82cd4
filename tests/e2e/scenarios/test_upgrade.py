"""
A controller is replaced while definitions and instances stand: kro's by ours, or by itself.

Whatever was written before must be understood as it stands: no revision is issued that nobody
asked for, nothing is rewritten, and what is deleted later goes as if it had been ours all along.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest

from kro_gitops.kube.api import MergePatch, WriteOptions
from kube_objects.refs import KubeObject, ObjectRef
from tests.builders import config_map, resource
from tests.connection import connect
from tests.e2e.scenarios.controllers import KRO, Controller, start_controller, target, version_of
from tests.e2e.scenarios.parts import revision_numbers, revisions
from tests.e2e.scenarios.samples import (
    NAME,
    deployment,
    external,
    serve,
    service,
    settle,
    shows,
    standing,
)
from tests.e2e.scenarios.world import World, condition
from tools.cluster.plane import Plane

KEPT = 5  # revisions
DEFAULTS = {"allow_crd_deletion": None, "rgd_max_graph_revisions": KEPT}  # as charts have them
LEGACY = "ResourceGraphAccepted"


class Upgrade:
    """A control plane on which one controller follows another."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane
        self._running = ExitStack()

    def start(self, named: str) -> Controller:
        """End the controller that runs, and start this one."""
        self.stop()
        started = start_controller(self.plane.kubeconfig, named, **DEFAULTS)
        return self._running.enter_context(started)

    def stop(self) -> None:
        """End the controller that runs."""
        self._running.close()


@pytest.fixture
def upgrade(own_plane: Plane) -> Iterator[Upgrade]:
    made = Upgrade(own_plane)
    yield made
    made.stop()


@pytest.fixture
async def standing_world(upgrade: Upgrade) -> AsyncIterator[World]:
    """Give a world that another controller was the first to look after."""
    named = _predecessor()
    controller = await asyncio.to_thread(upgrade.start, named)
    async with connect(upgrade.plane.kubeconfig) as opened:
        world = World(opened.client, controller, target=named, version=version_of(named))
        await world.open()
        yield world


def _predecessor() -> str:
    """Choose whose work is taken over: kro's, unless it is not built here."""
    try:
        version_of(KRO)
    except FileNotFoundError:
        return target()
    return KRO


async def test_a_new_controller_takes_over_what_stands(
    standing_world: World, upgrade: Upgrade
) -> None:
    world = standing_world
    definitions = _definitions(world)
    instances = [_instance(world, each) for each in definitions]
    await world.create(standing(world, config_map("outside", env="prod"), labels={"town": "x"}))
    await asyncio.gather(*(serve(world, each) for each in definitions))
    await settle(world, *instances)
    before = {each["metadata"]["name"]: await world.get(each) for each in definitions}
    issued = await _issued(world, definitions)
    children = [x for x in instances if await _is_there(world, f"{x['metadata']['name']}-a")]
    assert len(children) == 9

    await asyncio.to_thread(upgrade.stop)
    refs = [world.ref("v1", "ConfigMap", f"{x['metadata']['name']}-a") for x in children]
    await asyncio.gather(*map(world.delete, refs))  # to see who is looked after again
    world.controller = await asyncio.to_thread(upgrade.start, target())

    await asyncio.gather(*(shows(world, ref, {"kind": "ConfigMap"}) for ref in refs))
    await _all_sound(world, definitions)
    for name, old in before.items():
        now = await world.get(old)
        assert now["metadata"]["generation"] == old["metadata"]["generation"], name
        assert now["status"]["topologicalOrder"] == old["status"]["topologicalOrder"], name
    assert await _issued(world, definitions) == issued
    await asyncio.gather(*map(world.settled, instances))
    await shows(world, _named(instances, "selected"), {"status": {"size": "1"}})
    await shows(world, _named(instances, "linked"), {"status": {"door": "linked-pods"}})
    assert not await _is_there(world, "conditional-b")

    await settle(world, _instance(world, definitions[0], name="newcomer"))
    assert await _is_there(world, "newcomer-a")
    await _edits_are_counted_by_their_meaning(world, definitions)
    await _what_is_deleted_goes(world, definitions[0], instances[0])
    assert world.controller.is_running


async def _edits_are_counted_by_their_meaning(world: World, all_of_them: list[KubeObject]) -> None:
    """Issue one revision for a change, and none for another way to write the same."""
    bare, *_ = all_of_them
    reordered = next(x for x in all_of_them if x["metadata"]["name"] == "reversed")

    async def count() -> int:
        return len(await revisions(world, bare)) + len(await revisions(world, reordered))

    def rewrite(definition: KubeObject) -> None:
        definition["spec"]["resources"].reverse()
        definition["spec"]["resources"][0] |= {"readyWhen": [], "includeWhen": []}

    def annotate(definition: KubeObject) -> None:
        metadata = definition["spec"]["resources"][0]["template"]["metadata"]
        metadata["annotations"] = {"edited": "yes"}

    assert await count() == 2
    await world.change(reordered, rewrite)
    await world.until(partial(_sound, world, reordered))
    assert await count() == 2

    await world.change(bare, annotate)
    await world.until(partial(_sound, world, bare))
    await shows(
        world,
        world.ref("v1", "ConfigMap", "bare-a"),
        {"metadata": {"annotations": {"edited": "yes"}}},
    )
    assert await revision_numbers(world, bare) == [1, 2]
    assert (await world.get(bare))["status"]["lastIssuedRevision"] == 2


async def _what_is_deleted_goes(world: World, definition: KubeObject, instance: KubeObject) -> None:
    assert await _is_there(world, "bare-a")
    await world.delete(instance)
    await world.gone(instance)
    assert not await _is_there(world, "bare-a")
    await settle(world, instance)
    assert await _is_there(world, "bare-a")

    uid = (await world.get(definition))["metadata"]["uid"]
    owners = [each["metadata"]["ownerReferences"] for each in await revisions(world, definition)]
    # The garbage collector, which does not run here, takes what this refers to.
    assert all((x["uid"], x["controller"]) == (uid, True) for each in owners for x in each)
    await world.delete(definition)
    await world.gone(definition)
    crd = await world.get(world.crd_of(definition, "bares"))
    assert crd["metadata"]["generation"] == 1
    assert "deletionTimestamp" not in crd["metadata"]


async def test_definitions_from_before_revisions_get_one_each(
    standing_world: World, upgrade: Upgrade
) -> None:
    world = standing_world
    definitions = [_plain(world, "Early"), _plain(world, "Older")]
    instances = [_instance(world, each) for each in definitions]
    await asyncio.gather(*(serve(world, each) for each in definitions))
    await settle(world, *instances)
    await asyncio.to_thread(upgrade.stop)
    for each in definitions:
        await _forget_revisions(world, each)
        assert await revision_numbers(world, each) == []

    world.controller = await asyncio.to_thread(upgrade.start, target())

    async def issued() -> None:
        assert [await revision_numbers(world, each) for each in definitions] == [[1], [1]]

    await world.until(issued)
    await _all_sound(world, definitions)
    await asyncio.gather(*map(world.settled, instances))

    edited = definitions[0]
    for step in range(KEPT + 1):
        template = config_map(f"{NAME}-a", step=f"{step}")
        await world.merge(edited, {"spec": {"resources": [resource("a", template)]}})
        await shows(world, world.ref("v1", "ConfigMap", "early-a"), {"data": {"step": f"{step}"}})
    await world.until(partial(_sound, world, edited))
    assert await revision_numbers(world, edited) == list(range(3, KEPT + 3))
    assert (await world.get(edited))["status"]["lastIssuedRevision"] == KEPT + 2
    assert await revision_numbers(world, definitions[1]) == [1]


async def _forget_revisions(world: World, definition: KubeObject) -> None:
    """Make a definition look as a version of kro left it that had no revisions."""
    for each in await revisions(world, definition):
        await world.merge(each, {"metadata": {"finalizers": None}})
        await world.delete(each)
    found = await world.get(definition)
    old = {**condition(found, "GraphAccepted"), "type": LEGACY}
    status = {"lastIssuedRevision": None, "conditions": [*found["status"]["conditions"], old]}
    await world.cluster.patch(
        ObjectRef.of(found), MergePatch({"status": status}), WriteOptions(subresource="status")
    )


async def _issued(world: World, definitions: list[KubeObject]) -> list[tuple[str, str]]:
    """Name all revisions there are, so that no other can take their place."""
    found = [each for x in definitions for each in await revisions(world, x)]
    return [(each["metadata"]["name"], each["metadata"]["uid"]) for each in found]


async def _all_sound(world: World, definitions: list[KubeObject]) -> None:
    for each in definitions:
        await world.until(partial(_sound, world, each))


async def _sound(world: World, definition: KubeObject) -> None:
    """Hold when a definition is active and every condition is true of what is written now."""
    found = await world.get(definition)
    generation = found["metadata"]["generation"]
    assert found["status"]["state"] == "Active"
    for each in found["status"]["conditions"]:
        if each["type"] != LEGACY:
            assert (each["status"], each["observedGeneration"]) == ("True", generation), each


async def _is_there(world: World, name: str) -> bool:
    return await world.find(world.ref("v1", "ConfigMap", name)) is not None


def _named(instances: list[KubeObject], name: str) -> KubeObject:
    return next(each for each in instances if each["metadata"]["name"] == name)


def _instance(world: World, definition: KubeObject, name: str = "") -> KubeObject:
    kind = definition["spec"]["schema"]["kind"]
    made = world.instance(kind, name or kind.lower())
    group = definition["spec"]["schema"].get("group", "kro.run")
    return {**made, "apiVersion": f"{group}/v1alpha1"}


def _plain(world: World, kind: str, **extra: Any) -> KubeObject:
    """Build a definition that says no more than it must, and perhaps this."""
    resources = [resource("a", config_map(f"{NAME}-a"))]
    return world.definition(kind, resources=resources, name=kind.lower(), **extra)


def _definitions(world: World) -> list[KubeObject]:
    """Build definitions that write the same things in different ways."""
    by_default = _plain(world, "ByDefault")
    del by_default["spec"]["schema"]["group"]
    empty: dict[str, Any] = {"readyWhen": [], "includeWhen": [], "forEach": []}
    labelled = {"matchLabels": {"town": "x"}}
    town = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"selector": labelled}}

    def build(kind: str, *resources: dict[str, Any], **extra: Any) -> KubeObject:
        return world.definition(kind, resources=resources, name=kind.lower(), **extra)

    a, b = (resource(x, config_map(f"{NAME}-{x}")) for x in ("a", "b"))
    return [
        _plain(world, "Bare"),
        by_default,
        _plain(world, "Explicit", group="kro.run"),
        _plain(world, "Described", metadata={"labels": {}, "annotations": {}}),
        build("Emptied", {**a, **empty}),
        build("Mixed", {**a, "readyWhen": []}, b),
        build("Reversed", b, a),
        build("Conditional", a, {**b, "includeWhen": ["${false}"]}),
        build(
            "Outer",
            {"id": "outside", "externalRef": external("ConfigMap", "outside")},
            resource("a", config_map(f"{NAME}-a", env="${outside.data.env}")),
        ),
        build(
            "Selected",
            {"id": "town", "externalRef": town},
            status={"size": "${string(size(town))}"},
        ),
        build(
            "Linked",
            resource("pods", deployment(f"{NAME}-pods", replicas=1)),
            resource("door", service("${pods.metadata.name}")),
            status={"door": "${door.metadata.name}"},
        ),
    ]
