"""What kro leaves undone in collections: items out of its sight, of others, of missing kinds."""

import asyncio

from kube_objects.refs import KubeObject
from tests.e2e.scenarios import crds
from tests.e2e.scenarios.controllers import better
from tests.e2e.scenarios.parts import becomes, config_map, exists, node, serve
from tests.e2e.scenarios.samples import messages
from tests.e2e.scenarios.stamps import all_exist, apply_set_id
from tests.e2e.scenarios.world import World, condition, labels

NAME = "${schema.metadata.name}"
VALUES = [{"value": "${schema.spec.values}"}]


@better("it watches a collection in the namespace of the instance only")
async def test_better_items_in_another_namespace_are_repaired_when_all_is_quiet(
    world: World,
) -> None:
    there = await world.another_namespace()
    template = config_map(f"{NAME}-${{value}}", {"key": "${value}"}, namespace=there)
    each = node("copies", template, forEach=VALUES)
    definition = world.definition("Away", {"values": "[]string"}, resources=[each])
    instance = world.instance("Away", "calm", {"values": ["a", "b"]})
    await serve(world, definition, instance)
    await world.settled(instance)
    await asyncio.sleep(1)
    ref = world.ref("v1", "ConfigMap", "calm-a", there)

    await world.merge(ref, {"data": {"key": "tampered"}})
    await becomes(world, ref, "data.key", "a", within=3)

    await world.delete(ref)
    await exists(world, ref, within=3)


@better("it watches a collection in the namespace of the instance only")
async def test_better_items_without_a_namespace_are_repaired_when_all_is_quiet(
    world: World,
) -> None:
    name = f"{world.namespace}-${{value}}"
    template: KubeObject = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": {"value": "${value}"}},
        "rules": [],
    }
    each = node("copies", template, forEach=VALUES)
    definition = world.definition("Rank", {"values": "[]string"}, resources=[each])
    instance = world.instance("Rank", "army", {"values": ["major"]})
    await serve(world, definition, instance)
    await world.settled(instance)
    await asyncio.sleep(1)
    ref = world.ref(template["apiVersion"], "ClusterRole", f"{world.namespace}-major", "")

    await world.merge(ref, {"metadata": {"labels": {"value": "tampered"}}})

    async def restored() -> None:
        assert labels(await world.get(ref))["value"] == "major"

    await world.until(restored, within=3)


@better("it takes items over from another instance, and both fight for them")
async def test_better_an_item_of_another_instance_is_not_taken_over(world: World) -> None:
    template = config_map("shared-${value}", {"owner": NAME})
    each = node("copies", template, forEach=[{"value": "${schema.spec.values}"}])
    definition = world.definition("Claim", {"values": "[]string"}, resources=[each])
    first = world.instance("Claim", "first", {"values": ["mine"]})
    second = world.instance("Claim", "second", {"values": ["mine", "own"]})
    await serve(world, definition, first)
    await world.settled(first)
    shared = world.ref("v1", "ConfigMap", "shared-mine")

    await world.create(second)

    async def refused() -> None:
        found = await world.get(second)
        assert condition(found, "Ready")["status"] == "False"
        assert "belongs to a different ApplySet" in messages(found)
        assert apply_set_id(first) in messages(found)

    await world.until(refused)

    async def still_the_first() -> None:
        assert (await world.get(shared))["data"] == {"owner": "first"}
        assert (await world.get(first))["status"]["state"] == "ACTIVE"

    await world.holds(still_the_first, during=2)
    await world.delete(second)
    await world.gone(second)
    await still_the_first()


@better("when the kind of a collection is missing, it does not look at the instance again")
async def test_better_items_come_when_their_kind_does(world: World) -> None:
    (crd,) = crds.definitions("Address", group=world.group)
    await world.create(crd)
    await world.until(lambda: _is_established(world, crd))
    template: KubeObject = {
        "apiVersion": f"{world.group}/{crds.VERSION}",
        "kind": "Address",
        "metadata": {"name": f"{NAME}-${{value}}"},
    }
    each = node("copies", template, forEach=VALUES)
    definition = world.definition("Street", {"values": "[]string"}, resources=[each])
    await serve(world, definition)
    await world.delete(crd)
    await world.gone(crd)

    instance = world.instance("Street", "high", {"values": ["one", "two"]})
    await world.create(instance)
    await world.until(lambda: _is_looked_at(world, instance))
    await world.create(crd)

    made = [world.ref(template["apiVersion"], "Address", f"high-{n}") for n in ("one", "two")]
    await all_exist(world, *made, within=30)
    await world.settled(instance)


async def _is_looked_at(world: World, instance: KubeObject) -> None:
    ready = condition(await world.get(instance), "ResourcesReady")
    assert ready["status"] == "False"


async def _is_established(world: World, crd: KubeObject) -> None:
    found = await world.get(crd)
    states = {each["type"]: each["status"] for each in found["status"]["conditions"]}
    assert states["Established"] == "True"
