"""One resource of a definition, many objects: `forEach`."""

import asyncio
from typing import Any

from kube_objects.refs import KubeObject, ObjectRef
from tests.e2e.scenarios.parts import becomes, config_map, exists, node, serve
from tests.e2e.scenarios.samples import messages
from tests.e2e.scenarios.stamps import NAMESPACES, all_exist, is_stamped
from tests.e2e.scenarios.world import World, condition

NAME = "${schema.metadata.name}"


def items(name: str = "copies", **more: Any) -> KubeObject:
    """Declare one ConfigMap for each of `spec.values`."""
    template = config_map(f"{NAME}-${{value}}", {"key": "${value}"})
    return node(name, template, forEach=[{"value": "${schema.spec.values}"}], **more)


def refs(world: World, name: str, *suffixes: str) -> list[ObjectRef]:
    return [world.ref("v1", "ConfigMap", f"{name}-{suffix}") for suffix in suffixes]


async def test_each_value_becomes_an_object(world: World) -> None:
    definition = world.definition("Shelf", {"values": "[]string"}, resources=[items()])
    instance = world.instance("Shelf", "low", {"values": ["pear", "plum", "fig"]})
    await serve(world, definition, instance)
    assert condition(await world.get(definition), "Ready")["status"] == "True"

    made = await all_exist(world, *refs(world, "low", "pear", "plum", "fig"))

    assert [each["data"]["key"] for each in made] == ["pear", "plum", "fig"]
    await world.in_state(instance, "ACTIVE")


async def test_two_iterators_make_every_pair(world: World) -> None:
    template = config_map(f"{NAME}-${{town}}-${{tier}}", {"town": "${town}", "tier": "${tier}"})
    each = node(
        "pairs",
        template,
        forEach=[{"town": "${schema.spec.towns}"}, {"tier": "${schema.spec.tiers}"}],
    )
    fields = {"towns": "[]string", "tiers": "[]string"}
    definition = world.definition("Matrix", fields, resources=[each])
    spec = {"towns": ["oslo", "rome"], "tiers": ["web", "db"]}
    instance = world.instance("Matrix", "m", spec)
    await serve(world, definition, instance)

    names = ("oslo-web", "oslo-db", "rome-web", "rome-db")
    made = await all_exist(world, *refs(world, "m", *names))

    assert [f"{each['data']['town']}-{each['data']['tier']}" for each in made] == list(names)
    await world.in_state(instance, "ACTIVE")


async def test_an_excluded_collection_makes_nothing(world: World) -> None:
    each = items(includeWhen=["${schema.spec.enabled}"])
    fields = {"values": "[]string", "enabled": "boolean"}
    definition = world.definition("Hedge", fields, resources=[each])
    instance = world.instance("Hedge", "yew", {"values": ["a", "b"], "enabled": False})
    await serve(world, definition, instance)
    await world.in_state(instance, "ACTIVE")
    await asyncio.gather(*map(world.absent, refs(world, "yew", "a", "b")))


async def test_a_collection_is_switched_on_and_off(world: World) -> None:
    each = items(includeWhen=["${schema.spec.enabled}"])
    fields = {"values": "[]string", "enabled": "boolean"}
    definition = world.definition("Fence", fields, resources=[each])
    instance = world.instance("Fence", "iron", {"values": ["a", "b"], "enabled": False})
    await serve(world, definition, instance)
    await world.in_state(instance, "ACTIVE")

    await world.merge(instance, {"spec": {"enabled": True}})
    await all_exist(world, *refs(world, "iron", "a", "b"), within=30)

    await world.merge(instance, {"spec": {"enabled": False}})
    for ref in refs(world, "iron", "a", "b"):
        await world.gone(ref, within=30)


async def test_items_read_another_resource(world: World) -> None:
    data = {"key": "${value}", "release": "${base.data.release}"}
    each = node(
        "copies",
        config_map(f"{NAME}-${{value}}", data),
        forEach=[{"value": "${schema.spec.values}"}],
    )
    base = node("base", config_map(f"{NAME}-base", {"release": "r12"}))
    definition = world.definition("Reader", {"values": "[]string"}, resources=[base, each])
    instance = world.instance("Reader", "lib", {"values": ["one", "two"]})
    await serve(world, definition, instance)
    for value in ("one", "two"):
        (ref,) = refs(world, "lib", value)
        assert (await exists(world, ref))["data"] == {"key": value, "release": "r12"}
    await world.in_state(instance, "ACTIVE")


async def test_what_is_iterated_may_depend_on_another_resource(world: World) -> None:
    base = node("base", config_map(f"{NAME}-base", {"enabled": "true", "prefix": "p"}))
    each = node(
        "copies",
        config_map(f"{NAME}-${{value}}", {"prefix": "${base.data.prefix}"}),
        forEach=[{"value": "${has(base.data.enabled) ? schema.spec.values : []}"}],
    )
    definition = world.definition("Gated", {"values": "[]string"}, resources=[base, each])
    instance = world.instance("Gated", "gate", {"values": ["x", "y"]})
    await serve(world, definition, instance)
    made = await all_exist(world, *refs(world, "gate", "x", "y"), within=30)
    assert [each["data"] for each in made] == [{"prefix": "p"}, {"prefix": "p"}]
    await world.in_state(instance, "ACTIVE")


async def test_a_collection_iterates_over_another(world: World) -> None:
    second = node(
        "second",
        config_map(f"{NAME}-again-${{from.data.key}}", {"origin": "${from.metadata.name}"}),
        forEach=[{"from": "${first}"}],
    )
    definition = world.definition(
        "Echo", {"values": "[]string"}, resources=[items("first"), second]
    )
    instance = world.instance("Echo", "cave", {"values": ["hi", "ho"]})
    await serve(world, definition, instance)
    made = await all_exist(world, *refs(world, "cave", "again-hi", "again-ho"), within=30)
    assert [each["data"]["origin"] for each in made] == ["cave-hi", "cave-ho"]
    await world.in_state(instance, "ACTIVE")


async def test_an_empty_list_is_fine(world: World) -> None:
    definition = world.definition("Void", {"values": "[]string"}, resources=[items()])
    instance = world.instance("Void", "none", {"values": []})
    await serve(world, definition, instance)
    await world.in_state(instance, "ACTIVE")


async def test_an_empty_collection_may_be_counted(world: World) -> None:
    total = node("total", config_map(f"{NAME}-total", {"count": "${string(size(copies))}"}))
    definition = world.definition("Tally", {"values": "[]string"}, resources=[items(), total])
    instance = world.instance("Tally", "zero", {"values": []})
    await serve(world, definition, instance)
    (ref,) = refs(world, "zero", "total")
    assert (await exists(world, ref, within=30))["data"] == {"count": "0"}
    await world.in_state(instance, "ACTIVE")


async def test_deleting_an_instance_deletes_its_items(world: World) -> None:
    definition = world.definition("Flock", {"values": "[]string"}, resources=[items()])
    instance = world.instance("Flock", "sheep", {"values": ["a", "b", "c"]})
    await serve(world, definition, instance)
    made = refs(world, "sheep", "a", "b", "c")
    await all_exist(world, *made)

    await world.delete(instance)

    for ref in made:
        await world.gone(ref, within=30)
    await world.gone(instance, within=30)
    await world.delete(definition)
    await world.gone(definition)


async def test_a_collection_has_a_limit(world: World) -> None:
    grid = [{"row": "${lists.range(34)}"}, {"column": "${lists.range(34)}"}]
    template = config_map(f"{NAME}-${{string(row)}}-${{string(column)}}")
    definition = world.definition(
        "Board", {"title": "string"}, resources=[node("cells", template, forEach=grid)]
    )
    instance = world.instance("Board", "go", {"title": "nineteen would do"})
    await serve(world, definition, instance)

    async def refused() -> None:
        found = await world.get(instance)
        assert "1000" in messages(found)
        assert found["status"]["state"] != "ACTIVE"

    await world.until(refused, within=60)
    await world.absent(world.ref("v1", "ConfigMap", "go-0-0"), during=0.5)


def _spread(world: World) -> KubeObject:
    """Define a kind whose items alternate between two namespaces."""
    template = config_map(
        f"{NAME}-${{string(i)}}",
        {"index": "${string(i)}"},
        namespace="${i % 2 == 0 ? schema.spec.here : schema.spec.there}",
    )
    each = node("copies", template, forEach=[{"i": "${lists.range(schema.spec.count)}"}])
    fields = {"here": "string", "there": "string", "count": "integer | default=4"}
    return world.definition("Spread", fields, resources=[each])


def _in_turn(world: World, name: str, there: str, count: int) -> list[ObjectRef]:
    places = (world.namespace, there)
    return [world.ref("v1", "ConfigMap", f"{name}-{i}", places[i % 2]) for i in range(count)]


async def test_items_in_two_namespaces_come_and_go(world: World) -> None:
    there = await world.another_namespace()
    instance = world.instance("Spread", "wide", {"here": world.namespace, "there": there})
    await serve(world, _spread(world), instance)
    made = _in_turn(world, "wide", there, 4)
    await all_exist(world, *made, within=30)
    await world.in_state(instance, "ACTIVE")
    await is_stamped(world, instance, annotated={NAMESPACES: there})

    await world.delete(instance)

    for ref in made:
        await world.gone(ref, within=30)


async def test_items_in_two_namespaces_are_repaired(world: World) -> None:
    there = await world.another_namespace()
    spec = {"here": world.namespace, "there": there, "count": 2}
    instance = world.instance("Spread", "sound", spec)
    await serve(world, _spread(world), instance)
    made = _in_turn(world, "sound", there, 2)
    await all_exist(world, *made)
    for index, ref in enumerate(made):
        await world.merge(ref, {"data": {"index": "tampered"}})
        await becomes(world, ref, "data.index", str(index), within=60)
