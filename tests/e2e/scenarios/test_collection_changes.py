"""Collections over time: they grow and shrink, become ready, drift and are put right."""

import asyncio
from typing import Any

from kube_objects.refs import KubeObject, ObjectRef
from tests.e2e.scenarios.parts import becomes, config_map, exists, node, serve
from tests.e2e.scenarios.stamps import all_exist
from tests.e2e.scenarios.world import World

NAME = "${schema.metadata.name}"


def pod(name: str, **container: Any) -> KubeObject:
    main = {"name": "main", "image": "busybox", **container}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [main]},
    }


def _over_values(name: str, template: KubeObject, **more: Any) -> KubeObject:
    return node(name, template, forEach=[{"value": "${schema.spec.values}"}], **more)


def _config(world: World, name: str) -> ObjectRef:
    return world.ref("v1", "ConfigMap", name)


def _deep_chain(world: World) -> KubeObject:
    """Define: a base, a collection, a collection over it, a summary, pods over the second."""
    summary = {"first": "${string(size(first))}", "second": "${string(size(second))}"}
    resources = [
        node("base", config_map(f"{NAME}-base", {"prefix": "${schema.spec.prefix}"})),
        _over_values(
            "first",
            config_map(
                f"{NAME}-first-${{value}}", {"value": "${value}", "prefix": "${base.data.prefix}"}
            ),
        ),
        node(
            "second",
            config_map(f"{NAME}-second-${{one.data.value}}", {"value": "${one.data.value}"}),
            forEach=[{"one": "${first}"}],
        ),
        node("summary", config_map(f"{NAME}-summary", summary)),
        node(
            "pods",
            pod(f"{NAME}-${{two.data.value}}", command=["echo", "${summary.data.second} in all"]),
            forEach=[{"two": "${second}"}],
        ),
    ]
    status = {
        "first": "${string(size(first))}",
        "second": "${string(size(second))}",
        "pods": "${string(size(pods))}",
    }
    fields = {"prefix": "string", "values": "[]string"}
    return world.definition("Chain", fields, status=status, resources=resources)


def _links(world: World, value: str) -> list[ObjectRef]:
    return [
        _config(world, f"iron-first-{value}"),
        _config(world, f"iron-second-{value}"),
        world.ref("v1", "Pod", f"iron-{value}"),
    ]


async def _counts(world: World, instance: KubeObject, count: str) -> None:
    async def check() -> None:
        status = (await world.get(instance))["status"]
        assert {status.get(key) for key in ("first", "second", "pods")} == {count}, status

    await world.until(check, within=30)
    await becomes(world, _config(world, "iron-summary"), "data.second", count, within=30)


async def test_a_deep_chain_grows_and_shrinks(world: World) -> None:
    instance = world.instance("Chain", "iron", {"prefix": "p", "values": ["a", "b"]})
    definition = _deep_chain(world)
    await world.create(definition)
    await world.active(definition, within=15)
    await world.create(instance)
    await world.in_state(instance, "ACTIVE", within=60)
    await all_exist(world, *_links(world, "a"), *_links(world, "b"))
    await _counts(world, instance, "2")

    await world.merge(instance, {"spec": {"values": ["a", "b", "c"]}})
    await all_exist(world, *_links(world, "c"), within=30)
    await _counts(world, instance, "3")

    await world.merge(instance, {"spec": {"values": ["a", "c"]}})
    await asyncio.gather(*(world.gone(ref, within=30) for ref in _links(world, "b")))
    await _counts(world, instance, "2")
    await all_exist(world, *_links(world, "a"), *_links(world, "c"))


def _crew(world: World) -> KubeObject:
    data = {"count": "${string(size(workers))}", "first": "${workers[0].metadata.name}"}
    resources = [
        _over_values(
            "workers",
            pod(f"{NAME}-${{value}}"),
            readyWhen=["${each.status.phase == 'Running'}"],
        ),
        node("foreman", config_map(f"{NAME}-foreman", data)),
    ]
    return world.definition("Crew", {"values": "[]string"}, resources=resources)


async def test_what_needs_a_collection_waits_until_every_item_is_ready(world: World) -> None:
    instance = world.instance("Crew", "night", {"values": ["ann", "bob", "cyd"]})
    await serve(world, _crew(world), instance)
    workers = [world.ref("v1", "Pod", f"night-{name}") for name in ("ann", "bob", "cyd")]
    foreman = _config(world, "night-foreman")
    await all_exist(world, *workers)
    await world.in_state(instance, "IN_PROGRESS", within=20)
    await world.absent(foreman, during=1)
    running = {"status": {"phase": "Running"}}

    for worker in workers[:2]:
        await world.merge(worker, running, subresource="status")
    await world.absent(foreman, during=2)
    await world.merge(workers[2], running, subresource="status")

    made = await exists(world, foreman, within=30)
    assert made["data"] == {"count": "3", "first": "night-ann"}
    await world.in_state(instance, "ACTIVE", within=20)


async def test_items_that_are_ready_at_once_hold_nothing_up(world: World) -> None:
    data = {"ready": "true", "value": "${value}"}
    each = _over_values(
        "copies", config_map(f"{NAME}-${{value}}", data), readyWhen=["${each.data.ready == 'true'}"]
    )
    definition = world.definition("Quick", {"values": "[]string"}, resources=[each])
    instance = world.instance("Quick", "fox", {"values": ["a", "b"]})
    await serve(world, definition, instance)
    await world.in_state(instance, "ACTIVE")
    await all_exist(world, _config(world, "fox-a"), _config(world, "fox-b"))


async def test_an_instance_is_in_progress_until_its_items_are_ready(world: World) -> None:
    data = {"ready": "${string(schema.spec.done)}"}
    each = _over_values(
        "copies", config_map(f"{NAME}-${{value}}", data), readyWhen=["${each.data.ready == 'true'}"]
    )
    fields = {"values": "[]string", "done": "boolean"}
    definition = world.definition("Slow", fields, resources=[each])
    instance = world.instance("Slow", "snail", {"values": ["a", "b"], "done": False})
    await serve(world, definition, instance)
    await world.in_state(instance, "IN_PROGRESS", within=20)

    async def in_progress() -> None:
        assert (await world.get(instance))["status"]["state"] == "IN_PROGRESS"

    await world.holds(in_progress, during=2)
    await world.merge(instance, {"spec": {"done": True}})
    await world.in_state(instance, "ACTIVE", within=30)


def _plain(world: World, kind: str) -> KubeObject:
    """Define a kind with a collection of ConfigMaps, without any `readyWhen`."""
    data = {"value": "${value}", "prefix": "${schema.spec.prefix}"}
    each = _over_values("copies", config_map(f"{NAME}-${{value}}", data))
    fields = {"values": "[]string", "prefix": "string | default=p"}
    return world.definition(kind, fields, resources=[each])


async def test_an_item_that_drifts_is_put_right(world: World) -> None:
    instance = world.instance("Drift", "sand", {"values": ["a", "b"]})
    await serve(world, _plain(world, "Drift"), instance)
    await world.in_state(instance, "ACTIVE")
    ref = _config(world, "sand-b")

    await world.merge(ref, {"data": {"prefix": "tampered", "foreign": "key"}})

    await becomes(world, ref, "data.prefix", "p", within=30)


async def test_an_item_is_put_right_by_its_watch(world: World) -> None:
    instance = world.instance("Alert", "owl", {"values": ["a", "b", "c"]})
    await serve(world, _plain(world, "Alert"), instance)
    refs = [_config(world, f"owl-{value}") for value in "abc"]
    await all_exist(world, *refs)
    # Ready means that the last look found nothing to do, so there is none to come by the clock.
    await world.settled(instance)

    for ref in (refs[0], refs[1]):
        await world.merge(ref, {"data": {"value": "tampered"}})

    await becomes(world, refs[0], "data.value", "a", within=3)
    await becomes(world, refs[1], "data.value", "b", within=3)


async def test_an_object_with_the_name_of_a_former_item_is_left_alone(world: World) -> None:
    instance = world.instance("Shed", "snake", {"values": ["a", "b", "c"]})
    await serve(world, _plain(world, "Shed"), instance)
    await world.in_state(instance, "ACTIVE")
    former = _config(world, "snake-c")
    await exists(world, former)
    await world.merge(instance, {"spec": {"values": ["a", "b"]}})
    await world.gone(former)
    await world.settled(instance)

    stranger = config_map("snake-c", {"value": "mine"}, namespace=world.namespace)
    made = await world.create(stranger)

    async def untouched() -> None:
        found = await world.get(former)
        assert found["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]

    await world.holds(untouched, during=2)
