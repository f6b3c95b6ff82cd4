"""External references: objects that a definition reads and never writes."""

import asyncio
import secrets

from kube_objects.refs import KubeObject
from tests.e2e.scenarios.parts import (
    becomes,
    config_map,
    deployment,
    external,
    node,
    serve,
)
from tests.e2e.scenarios.world import World

SELECTED = "${string(size(found))}"


async def test_an_external_object_is_waited_for_and_then_followed(world: World) -> None:
    definition = world.definition(
        "Mirror",
        resources=[
            external("original", "apps/v1", "Deployment", name="original"),
            node(
                "copy",
                deployment("${schema.metadata.name}-copy", replicas="${original.spec.replicas}"),
            ),
        ],
    )
    instance = world.instance("Mirror", "mirror")
    copy = world.ref("apps/v1", "Deployment", "mirror-copy")
    await world.create(definition)
    await world.active(definition)
    assert await _order(world, definition) == {"original", "copy"}

    await world.create(instance)
    await world.in_state(instance, "IN_PROGRESS", within=20)
    assert await world.find(copy) is None

    original = await world.create(deployment("original", replicas=2, namespace=world.namespace))
    await world.in_state(instance, "ACTIVE", within=20)
    await becomes(world, copy, "spec.replicas", 2)
    await world.merge(original, {"spec": {"replicas": 4}})
    await becomes(world, copy, "spec.replicas", 4, within=3)


async def test_a_cluster_scoped_object_is_read_by_a_name_from_the_instance(world: World) -> None:
    target = await world.create(_crd(world, "Probe", annotations={"stage": "pending"}))
    definition = world.definition(
        "StageReader",
        {"target": "string"},
        status={"stage": "${target.metadata.annotations['stage']}"},
        resources=[
            external(
                "target",
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                name="${schema.spec.target}",
            )
        ],
    )
    instance = world.instance("StageReader", "reader", {"target": target["metadata"]["name"]})
    await serve(world, definition, instance)
    await becomes(world, instance, "status.stage", "pending")
    await world.merge(target, {"metadata": {"annotations": {"stage": "ready"}}})
    await becomes(world, instance, "status.stage", "ready", within=3)


async def test_an_empty_selector_finds_everything_in_its_namespace(world: World) -> None:
    known = "found.filter(c, c.metadata.name.startsWith('setting-'))"
    definition = world.definition(
        "Inventory",
        status={
            "count": "${size(found)}",
            "values": "${" + known + ".map(c, c.data.value).sort().join(',')}",
        },
        resources=[external("found", "v1", "ConfigMap", namespace=world.namespace, selector={})],
    )
    first, _ = await asyncio.gather(
        world.create(config_map("setting-a", {"value": "one"}, namespace=world.namespace)),
        world.create(config_map("setting-b", {"value": "two"}, namespace=world.namespace)),
    )
    instance = world.instance("Inventory", "inventory")
    await serve(world, definition, instance)
    shown = await becomes(world, instance, "status.values", "one,two")
    assert shown["status"]["count"] >= 2
    await world.merge(first, {"data": {"value": "zero"}})
    await becomes(world, instance, "status.values", "two,zero", within=3)


async def test_a_selector_without_a_namespace_looks_into_all(world: World) -> None:
    team = f"team-{secrets.token_hex(3)}"
    others = await asyncio.gather(world.another_namespace(), world.another_namespace())
    namespaces = [world.namespace, *others]
    await asyncio.gather(*(_member(world, each, "here", team) for each in namespaces))
    definition = world.definition(
        "Census", status={"count": SELECTED}, resources=[_by_label({"team": team})]
    )
    instance = world.instance("Census", "census")
    await serve(world, definition, instance)
    await becomes(world, instance, "status.count", "3")


async def test_a_value_is_copied_from_an_external_object_and_kept_current(world: World) -> None:
    definition = world.definition(
        "Copier",
        resources=[
            external("origin", "v1", "ConfigMap", name="origin"),
            node(
                "replica",
                config_map("${schema.metadata.name}-replica", {"value": "${origin.data.value}"}),
            ),
        ],
    )
    origin = await world.create(config_map("origin", {"value": "old"}, namespace=world.namespace))
    instance = world.instance("Copier", "copier")
    await serve(world, definition, instance)
    replica = world.ref("v1", "ConfigMap", "copier-replica")
    await becomes(world, replica, "data.value", "old")
    await world.merge(origin, {"data": {"value": "new"}})
    await becomes(world, replica, "data.value", "new", within=3)


async def test_a_selector_takes_its_values_from_the_instance(world: World) -> None:
    expression = {"key": "team", "operator": "In", "values": ["${schema.spec.teamName}"]}
    definition = world.definition(
        "TeamCensus",
        {"teamName": "string"},
        status={"count": SELECTED},
        resources=[
            external(
                "found",
                "v1",
                "ConfigMap",
                namespace=world.namespace,
                selector={"matchExpressions": [expression]},
            )
        ],
    )
    await asyncio.gather(
        _member(world, world.namespace, "a", "red"),
        _member(world, world.namespace, "b", "red"),
        _member(world, world.namespace, "c", "blue"),
    )
    instance = world.instance("TeamCensus", "census", {"teamName": "red"})
    await serve(world, definition, instance)
    await becomes(world, instance, "status.count", "2")


async def test_a_new_object_that_matches_is_noticed(world: World) -> None:
    definition = world.definition(
        "Lookout",
        status={"count": SELECTED},
        resources=[_by_label({"team": "green"}, namespace=world.namespace)],
    )
    await _member(world, world.namespace, "a", "green")
    instance = world.instance("Lookout", "lookout")
    await serve(world, definition, instance)
    await becomes(world, instance, "status.count", "1")
    await _member(world, world.namespace, "b", "green")
    await becomes(world, instance, "status.count", "2", within=3)


async def test_selected_objects_are_sorted_by_a_field(world: World) -> None:
    definition = world.definition(
        "Ranking",
        status={"names": "${found.sortBy(c, c.data.rank).map(c, c.metadata.name).join(',')}"},
        resources=[_by_label({"team": "ranked"}, namespace=world.namespace)],
    )
    ranks = {"alpha": "2", "bravo": "3", "charlie": "1"}
    await asyncio.gather(
        *(_member(world, world.namespace, name, "ranked", rank) for name, rank in ranks.items())
    )
    instance = world.instance("Ranking", "ranking")
    await serve(world, definition, instance)
    await becomes(world, instance, "status.names", "charlie,alpha,bravo")


async def test_a_kind_is_still_served_when_the_last_reader_of_it_is_gone(world: World) -> None:
    producer = world.definition(
        "Producer",
        {"value": "string"},
        resources=[
            node("made", config_map("${schema.metadata.name}", {"value": "${schema.spec.value}"}))
        ],
    )
    consumer = world.definition(
        "Consumer",
        resources=[
            external("source", f"{world.group}/v1alpha1", "Producer", name="source"),
            node(
                "copy",
                config_map("${schema.metadata.name}-copy", {"value": "${source.spec.value}"}),
            ),
        ],
    )
    source = world.instance("Producer", "source", {"value": "first"})
    reader = world.instance("Consumer", "reader")
    await serve(world, producer, source)
    await serve(world, consumer, reader)
    await becomes(world, world.ref("v1", "ConfigMap", "reader-copy"), "data.value", "first")

    await world.delete(reader)
    await world.gone(reader, within=20)
    await world.merge(source, {"spec": {"value": "second"}})
    await becomes(world, world.ref("v1", "ConfigMap", "source"), "data.value", "second", within=5)


async def _order(world: World, definition: KubeObject) -> set[str]:
    return set((await world.get(definition))["status"]["topologicalOrder"])


def _by_label(labels: dict[str, str], **metadata: str) -> KubeObject:
    return external("found", "v1", "ConfigMap", selector={"matchLabels": labels}, **metadata)


async def _member(world: World, namespace: str, name: str, team: str, rank: str = "") -> KubeObject:
    made = config_map(name, {"rank": rank}, namespace=namespace, labels={"team": team})
    return await world.create(made)


def _crd(world: World, kind: str, annotations: dict[str, str]) -> KubeObject:
    plural, group = f"{kind.lower()}s", f"beside.{world.group}"
    schema = {"openAPIV3Schema": {"type": "object"}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "annotations": annotations},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
