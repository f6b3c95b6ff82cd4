"""
Namespaces that are restored from a backup into another cluster.

All objects have new uids, and a tool created them that is not ours. Some tools keep owner
references, which then name instances that do not exist.
"""

import asyncio
from typing import Any

import pytest

from kro_gitops.kube.api import DeleteOptions, Propagation, Selection, WriteOptions
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.e2e.faults.stage import staged
from tests.e2e.scenarios.parts import config_map, deployment, node, serve, service
from tests.e2e.scenarios.world import World
from tools.cluster.plane import Plane
from tools.cluster.targets import started_plane

TOOL = WriteOptions(manager="velero-server")
NAME = "${schema.metadata.name}"
KINDS = (Kind("", "v1", "ConfigMap"), Kind("", "v1", "Service"), Kind("apps", "v1", "Deployment"))


def definitions(world: World) -> tuple[KubeObject, KubeObject]:
    """Return a definition, and one whose instances have an instance of the first as a child."""
    inner = world.definition(
        "Inner",
        {"x": "string"},
        resources=[node("cm", config_map(f"{NAME}-inner", {"x": "${schema.spec.x}"}))],
        name="inner",
    )
    outer = world.definition(
        "Outer",
        {"x": "string"},
        status={"x": "${cm.data.x}"},
        resources=[
            node("cm", config_map(NAME, {"x": "${schema.spec.x}"})),
            node("app", deployment(NAME)),
            node("web", service(NAME, "main")),
            node("inner", world.instance("Inner", NAME, {"x": "${schema.spec.x}"}, namespace="")),
        ],
        name="outer",
    )
    return inner, outer


async def backup(world: World) -> list[KubeObject]:
    """Return the instances and children of a namespace, as a tool keeps them."""
    kinds = (
        *KINDS,
        *(world.ref(f"{world.group}/v1alpha1", kind, "").kind for kind in ("Inner", "Outer")),
    )
    found: list[KubeObject] = []
    for kind in kinds:
        listing = await world.cluster.list(
            Selection(kind, world.namespace, labels="kro.run/owned=true")
        )
        found += listing.items
    return found


def restorable(obj: KubeObject, namespace: str, *, owners: bool) -> KubeObject:
    """Return an object as it is created again."""
    kept: tuple[str, ...] = ("name", "labels", "annotations", "finalizers")
    kept += ("ownerReferences",) if owners else ()
    metadata = {key: obj["metadata"][key] for key in kept if key in obj["metadata"]}
    rest: dict[str, Any] = {key: obj[key] for key in obj if key not in ("metadata", "status")}
    if rest["kind"] == "Service":
        rest["spec"] = {key: rest["spec"][key] for key in ("ports", "selector")}
    return {**rest, "metadata": {**metadata, "namespace": namespace}}


@pytest.mark.parametrize("owners", [True, False], ids=["with owners", "without owners"])
@pytest.mark.parametrize("running", [True, False], ids=["while running", "before the start"])
async def test_a_restored_namespace_is_taken_over(
    own_plane: Plane, owners: bool, running: bool
) -> None:
    async with staged(own_plane.kubeconfig) as world:
        made = definitions(world)
        for each in made:
            await serve(world, each)
        await world.create(world.instance("Outer", "front", {"x": "1"}))
        await world.settled(world.instance("Outer", "front"))
        await world.settled(world.instance("Inner", "front"))
        objects, namespace, group = await backup(world), world.namespace, world.group
    assert len(objects) == 6
    # With owner references that name nothing, the garbage collector deletes what is restored: that
    # is Kubernetes' doing, and tools do not keep them. Without, it must find nothing to delete.
    with started_plane(controllers=not owners) as plane:
        async with staged(plane.kubeconfig) as world:
            world.group = group
            await _rename(world, namespace)
            for each in made:
                await serve(world, each)
            if not running:
                await asyncio.to_thread(world.controller.stop)
            restored = {}
            for obj in objects:
                created = await world.cluster.create(
                    restorable(obj, namespace, owners=owners), TOOL
                )
                restored[ObjectRef.of(created)] = created["metadata"]["uid"]
            if not running:
                await asyncio.to_thread(world.controller.start)
            await _taken_over(world, restored)


async def _rename(world: World, namespace: str) -> None:
    """Have the namespace of the other cluster: its name is part of the apply sets' ids."""
    world.namespace = namespace
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    await world.cluster.create(body)


async def _taken_over(world: World, restored: dict[ObjectRef, str]) -> None:
    outer = await world.settled(world.instance("Outer", "front"))
    inner = await world.settled(world.instance("Inner", "front"))
    assert outer["status"]["x"] == "1"
    for ref, uid in restored.items():
        found = await world.get(ref)
        assert found["metadata"]["uid"] == uid, f"{ref} was created again"
        owner = inner if ref.name.endswith("-inner") else outer
        if ref != ObjectRef.of(outer):
            owners = found["metadata"]["ownerReferences"]
            assert [each["uid"] for each in owners] == [owner["metadata"]["uid"]], ref
    # They follow their instance, and go with it.
    await world.merge(outer, {"spec": {"x": "2"}})
    children = [ref for ref in restored if ref.kind.kind == "ConfigMap"]

    async def changed() -> None:
        for ref in children:
            assert (await world.get(ref))["data"] == {"x": "2"}

    await world.until(changed)
    await world.delete(outer)
    for ref in restored:
        await world.gone(ref)


@pytest.mark.parametrize("when", ["before the restore", "after the restore"])
async def test_what_leaves_the_template_leaves_restored_children(
    own_plane: Plane, when: str
) -> None:
    """The tool that restored a child owns all of its fields, until we take them over."""

    def shop(world: World, *, is_old: bool) -> KubeObject:
        data = {"x": "1", **({"y": "2"} if is_old else {})}
        app = deployment(NAME)
        if is_old:
            pods = app["spec"]["template"]["spec"]
            pods["containers"].append({"name": "log", "image": "log:1"})
        nodes = [node("cm", config_map(NAME, data)), node("app", app)]
        return world.definition("Outer", resources=nodes, name="outer")

    async with staged(own_plane.kubeconfig) as world:
        await serve(world, world.definition("Inner", resources=[], name="inner"))
        await serve(world, shop(world, is_old=True), world.instance("Outer", "front"))
        await world.settled(world.instance("Outer", "front"))
        objects, namespace, group = await backup(world), world.namespace, world.group
    with started_plane() as plane:
        async with staged(plane.kubeconfig) as world:
            world.group = group
            await _rename(world, namespace)
            is_before = when == "before the restore"
            await serve(world, shop(world, is_old=not is_before))
            uids = {}
            for obj in objects:
                created = await world.cluster.create(restorable(obj, namespace, owners=False), TOOL)
                uids[ObjectRef.of(created)] = created["metadata"]["uid"]
            await world.settled(world.instance("Outer", "front"))
            if not is_before:
                changed = shop(world, is_old=False)
                await world.merge(changed, {"spec": {"resources": changed["spec"]["resources"]}})

            async def follows() -> None:
                cm = await world.get(world.ref("v1", "ConfigMap", "front"))
                assert cm["data"] == {"x": "1"}
                app = await world.get(world.ref("apps/v1", "Deployment", "front"))
                pods = app["spec"]["template"]["spec"]
                assert [each["name"] for each in pods["containers"]] == ["main"]
                for each in (cm, app):
                    assert each["metadata"]["uid"] == uids[ObjectRef.of(each)]

            await world.until(follows)


async def test_an_instance_that_was_forced_away_waits_for_its_child_and_goes_on(
    own_plane: Plane,
) -> None:
    """A child that a finalizer holds carries the uid of the former instance."""
    async with staged(own_plane.kubeconfig) as world:
        made = world.definition("Shop", resources=[node("cm", config_map(NAME, {"x": "1"}))])
        await serve(world, made, shop := world.instance("Shop", "front"))
        await world.settled(shop)
        child = world.ref("v1", "ConfigMap", "front")
        await world.merge(child, {"metadata": {"finalizers": ["example.org/hold"]}})
        await world.delete(shop)

        async def is_leaving() -> None:
            assert "deletionTimestamp" in (await world.get(child))["metadata"]

        await world.until(is_leaving)
        await world.merge(shop, {"metadata": {"finalizers": None}})
        await world.gone(shop)
        await world.create(shop)
        waiting = await world.in_state(shop, "IN_PROGRESS")
        assert "is currently being deleted" in str(waiting["status"]["conditions"])
        await world.merge(child, {"metadata": {"finalizers": None}})
        await world.settled(shop)
        assert "deletionTimestamp" not in (await world.get(child))["metadata"]


async def test_an_object_of_another_apply_set_is_not_taken_over(own_plane: Plane) -> None:
    async with staged(own_plane.kubeconfig) as world:
        made = world.definition("Shop", resources=[node("cm", config_map("shared", {"x": "1"}))])
        await serve(world, made, first := world.instance("Shop", "first"))
        await world.settled(first)
        shared = world.ref("v1", "ConfigMap", "shared")
        copy = restorable(await world.get(shared), world.namespace, owners=False)
        await asyncio.to_thread(world.controller.stop)
        await world.cluster.delete(shared, DeleteOptions(propagation=Propagation.BACKGROUND))
        await world.cluster.create(copy, TOOL)
        await asyncio.to_thread(world.controller.start)
        await world.create(second := world.instance("Shop", "second"))
        failed = await world.in_state(second, "ERROR")
        assert "belongs to a different ApplySet" in str(failed["status"]["conditions"])
