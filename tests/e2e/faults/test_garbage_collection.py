"""
Beside a garbage collector, as every cluster has one: it deletes what refers to owners that are
gone, so what we write about owners decides what stays, and in which order things go.

It takes up to half a minute until it knows a kind that has just been defined. A test that shows
that something stays must wait that long, or it shows nothing.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest

from kro_gitops.kube.api import Propagation
from kube_objects.refs import KubeObject, ObjectRef
from tests.e2e.faults.stage import FULL, LIMIT, staged
from tests.e2e.scenarios.parts import config_map, node, serve
from tests.e2e.scenarios.world import Named, World, annotations, condition, labels
from tools.cluster.parts import Part
from tools.cluster.plane import Plane

NAME = "${schema.metadata.name}"
HOLD = "example.org/hold"
KNOWN_AFTER = 45.0  # seconds until the garbage collector knows every kind
SLOW = pytest.mark.skipif(not FULL, reason="waits for the garbage collector; in test-full")


@pytest.fixture
async def world(plane_with_controllers: Plane) -> AsyncIterator[World]:
    """Give a world where garbage is collected."""
    async with staged(plane_with_controllers.kubeconfig) as made:
        yield made
        await made.close()


class Estate:
    """An instance with children in two waves, here, in another namespace, and in none."""

    def __init__(self, world: World, elsewhere: str, scope: str = "Namespaced") -> None:
        self._world = world
        here = world.namespace
        self.definition = world.definition(
            "Estate",
            scope=scope,
            resources=[
                node("base", config_map(f"{NAME}-base", {"a": "b"}, namespace=here)),
                node("top", config_map(f"{NAME}-top", _ON_BASE, namespace=here)),
                node("far", config_map(f"{NAME}-far", _ON_BASE, namespace=elsewhere)),
                node("role", _role(f"{here}-{NAME}")),
            ],
        )
        place = "" if scope == "Cluster" else here
        self.name = f"manor-{here}" if scope == "Cluster" else "manor"
        self.instance = world.instance("Estate", self.name, namespace=place)
        self.base = world.ref("v1", "ConfigMap", f"{self.name}-base")
        self.top = world.ref("v1", "ConfigMap", f"{self.name}-top")
        self.far = world.ref("v1", "ConfigMap", f"{self.name}-far", elsewhere)
        role = f"{here}-{self.name}"
        self.role = world.ref("rbac.authorization.k8s.io/v1", "ClusterRole", role, "")

    @property
    def children(self) -> tuple[ObjectRef, ...]:
        return self.base, self.top, self.far, self.role

    async def settle(self) -> None:
        await serve(self._world, self.definition, self.instance)
        await self._world.settled(self.instance, LIMIT)

    async def uids(self) -> list[str]:
        """Return which objects the children are; fail if one is missing or going."""
        found = [await self._world.get(ref) for ref in self.children]
        assert not [each for each in found if "deletionTimestamp" in each["metadata"]]
        return [each["metadata"]["uid"] for each in found]

    async def is_gone(self) -> None:
        """Return when the instance and all its children are gone."""
        named: list[Named] = [self.instance, *self.children]
        await asyncio.gather(*(self._world.gone(each, LIMIT) for each in named))


_ON_BASE = {"on": "${base.metadata.name}"}


def _role(name: str) -> KubeObject:
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    return {**kind, "metadata": {"name": name, "annotations": _ON_BASE}, "rules": []}


@pytest.fixture
async def estate(world: World) -> Estate:
    """Give an estate that is as it should be."""
    made = Estate(world, await world.another_namespace())
    await made.settle()
    return made


@pytest.mark.parametrize("scope", ["Namespaced", pytest.param("Cluster", marks=SLOW)])
async def test_no_child_is_collected_by_mistake(world: World, scope: str) -> None:
    estate = Estate(world, await world.another_namespace(), scope)
    await estate.settle()
    before = await estate.uids()
    await asyncio.sleep(KNOWN_AFTER)
    assert await estate.uids() == before
    await world.settled(estate.instance)

    await world.delete(estate.instance)
    await estate.is_gone()


async def test_in_the_background_children_go_in_reverse_order(world: World, estate: Estate) -> None:
    await _hold(world, estate.top)
    await world.delete(estate.instance, propagation=Propagation.BACKGROUND)
    await world.until(lambda: _is_going(world, estate.top), LIMIT)

    async def base_stays() -> None:
        found = await world.get(estate.base)
        assert "deletionTimestamp" not in found["metadata"]

    await world.holds(base_stays, during=5.0)
    assert condition(await world.get(estate.instance), "Ready")["status"] != "True"
    await _release(world, estate.top)
    await estate.is_gone()


@pytest.mark.parametrize("waits", [False, pytest.param(True, marks=SLOW)])
async def test_in_the_foreground_all_go(world: World, estate: Estate, waits: bool) -> None:
    await asyncio.sleep(KNOWN_AFTER if waits else 0)
    await world.delete(estate.instance, propagation=Propagation.FOREGROUND)
    await estate.is_gone()


@pytest.mark.parametrize("waits", [False, pytest.param(True, marks=SLOW)])
async def test_children_stay_if_they_are_to_be_orphaned(
    world: World, estate: Estate, waits: bool
) -> None:
    await asyncio.sleep(KNOWN_AFTER if waits else 0)
    before = await estate.uids()
    await world.delete(estate.instance, propagation=Propagation.ORPHAN)
    await world.gone(estate.instance, LIMIT)
    await _are_let_go(world, estate, before)


@SLOW
async def test_children_stay_though_nobody_saw_that_they_are_to_be_orphaned(
    world: World, estate: Estate
) -> None:
    """The garbage collector takes its finalizer away before a controller looks."""
    await asyncio.sleep(KNOWN_AFTER)
    before = await estate.uids()
    controller: Part = world.controller
    controller.kill()
    await world.delete(estate.instance, propagation=Propagation.ORPHAN)

    async def is_ours_to_finish() -> None:
        found = await world.get(estate.instance)
        assert found["metadata"]["finalizers"] == ["kro.run/finalizer"]

    await world.until(is_ours_to_finish, LIMIT)
    await asyncio.to_thread(world.controller.start)
    await world.gone(estate.instance, LIMIT)
    await _are_let_go(world, estate, before)


async def _are_let_go(world: World, estate: Estate, before: list[str]) -> None:
    """Fail unless all children are still there, and nothing on them is ours."""
    await asyncio.sleep(KNOWN_AFTER if FULL else 2.0)
    assert await estate.uids() == before
    for ref in estate.children:
        found = await world.get(ref)
        marks = [*labels(found), *annotations(found)]
        left = [each for each in marks if "kro.run/" in each or "applyset" in each]
        assert not left, ref
        assert not found["metadata"].get("ownerReferences"), ref


async def _hold(world: World, ref: ObjectRef) -> None:
    await world.merge(ref, {"metadata": {"finalizers": [HOLD]}})


async def _release(world: World, ref: ObjectRef) -> None:
    await world.merge(ref, {"metadata": {"finalizers": None}})


async def _is_going(world: World, ref: ObjectRef) -> None:
    found = await world.get(ref)
    assert "deletionTimestamp" in found["metadata"]
