"""Children are labelled as one set, the instance records which kinds it made, and what is not
wanted any longer goes."""

import asyncio
from typing import Any

from kube_objects.refs import KubeObject, ObjectRef
from tests.e2e.scenarios.parts import becomes, config_map, deployment, exists, node, serve
from tests.e2e.scenarios.parts import service_account as account
from tests.e2e.scenarios.stamps import (
    DEFINITION_ID,
    DEFINITION_NAME,
    GROUP_KINDS,
    ID,
    INDEX,
    MANAGED_BY,
    NODE,
    SIZE,
    all_exist,
    apply_set_id,
    is_stamped,
    records,
    stamps_of_children,
)
from tests.e2e.scenarios.world import World, annotations, labels

NAME = "${schema.metadata.name}"


def secret(name: str, **data: str) -> KubeObject:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}


def _config(world: World, name: str) -> ObjectRef:
    return world.ref("v1", "ConfigMap", name)


async def test_instances_and_children_are_stamped(world: World) -> None:
    definition = world.definition(
        "Meter",
        {"rate": "float"},
        resources=[node("settings", config_map(NAME, {"rate": "${string(schema.spec.rate)}"}))],
    )
    instance = world.instance("Meter", "gauge", {"rate": 2.75})
    await serve(world, definition, instance)

    served = await world.get(definition)
    parent = await is_stamped(
        world,
        instance,
        labelled={
            ID: apply_set_id(instance),
            "kro.run/owned": "true",
            "kro.run/kro-version": world.version,
            DEFINITION_ID: served["metadata"]["uid"],
            DEFINITION_NAME: served["metadata"]["name"],
        },
        annotated=records(world, "ConfigMap"),
        within=10,
    )
    assert MANAGED_BY not in labels(parent)

    child = await exists(world, _config(world, "gauge"), within=10)
    assert child["data"] == {"rate": "2.75"}
    wanted = stamps_of_children(world, parent) | {NODE: "settings"}
    assert {key: labels(child).get(key) for key in wanted} == wanted
    assert not {DEFINITION_ID, DEFINITION_NAME} & labels(child).keys()


async def test_children_of_several_kinds_are_one_set(world: World) -> None:
    resources = [
        node("settings", config_map(f"{NAME}-settings", {"a": "1"})),
        node("password", secret(f"{NAME}-password", word="open")),
        node("runner", account(f"{NAME}-runner")),
    ]
    definition = world.definition("Trio", {"size": "integer | default=1"}, resources=resources)
    instance = world.instance("Trio", "band")
    await serve(world, definition, instance)
    await world.in_state(instance, "ACTIVE", within=20)

    parent = await is_stamped(
        world,
        instance,
        labelled={ID: apply_set_id(instance)},
        annotated=records(world, "ConfigMap,Secret,ServiceAccount"),
    )
    wanted = stamps_of_children(world, parent)
    children = {"settings": "ConfigMap", "password": "Secret", "runner": "ServiceAccount"}
    await asyncio.gather(
        *(
            is_stamped(
                world,
                world.ref("v1", kind, f"band-{name}"),
                labelled=wanted | {NODE: name},
                within=10,
            )
            for name, kind in children.items()
        )
    )


async def test_a_child_that_is_excluded_goes_and_its_kind_is_forgotten(world: World) -> None:
    resources = [
        node("settings", config_map(NAME, {"a": "1"})),
        node("password", secret(NAME, word="open"), includeWhen=["${schema.spec.locked}"]),
    ]
    definition = world.definition("Door", {"locked": "boolean"}, resources=resources)
    instance = world.instance("Door", "front", {"locked": True})
    await serve(world, definition, instance)
    settings, password = _config(world, "front"), world.ref("v1", "Secret", "front")
    await all_exist(world, settings, password)
    await is_stamped(world, instance, annotated=records(world, "ConfigMap,Secret"))

    await world.merge(instance, {"spec": {"locked": False}})

    await world.gone(password, within=30)
    await is_stamped(world, instance, annotated=records(world, "ConfigMap"))
    assert await world.find(settings) is not None


async def test_a_child_follows_what_another_says(world: World) -> None:
    enabled = "${schema.spec.enabled ? 'true' : 'false'}"
    resources = [
        node("switch", config_map(f"{NAME}-switch", {"enabled": enabled})),
        node(
            "lamp",
            config_map(f"{NAME}-lamp", {"lit": "yes"}),
            includeWhen=["${switch.data.enabled == 'true'}"],
        ),
    ]
    definition = world.definition("Light", {"enabled": "boolean"}, resources=resources)
    instance = world.instance("Light", "hall", {"enabled": True})
    await serve(world, definition, instance)
    switch, lamp = _config(world, "hall-switch"), _config(world, "hall-lamp")
    await all_exist(world, switch, lamp, within=30)

    await world.merge(instance, {"spec": {"enabled": False}})

    await becomes(world, switch, "data.enabled", "false", within=40)
    await world.gone(lamp, within=40)
    assert await world.find(switch) is not None


async def test_what_needs_an_excluded_child_goes_with_it(world: World) -> None:
    enabled = "${schema.spec.enabled ? 'true' : 'false'}"
    resources = [
        node("stock", config_map(f"{NAME}-stock", {"enabled": enabled})),
        node(
            "stem",
            config_map(f"{NAME}-stem", {"sap": "sweet"}),
            includeWhen=["${stock.data.enabled == 'true'}"],
        ),
        node("leaf", config_map(f"{NAME}-leaf", {"sap": "${stem.data.sap}"})),
    ]
    definition = world.definition("Plant", {"enabled": "boolean"}, resources=resources)
    instance = world.instance("Plant", "fern", {"enabled": True})
    await serve(world, definition, instance)
    stock, stem, leaf = (_config(world, f"fern-{part}") for part in ("stock", "stem", "leaf"))
    await all_exist(world, stock, stem, leaf, within=30)

    await world.merge(instance, {"spec": {"enabled": False}})

    await world.gone(stem, within=40)
    await world.gone(leaf, within=40)
    assert await world.find(stock) is not None


async def test_a_child_follows_the_status_of_another(world: World) -> None:
    resources = [
        node("engine", deployment(NAME)),
        node(
            "signal",
            config_map(NAME, {"go": "yes"}),
            includeWhen=["${engine.status.conditions[0].status == 'True'}"],
        ),
    ]
    definition = world.definition("Train", {"line": "string"}, resources=resources)
    instance = world.instance("Train", "express", {"line": "1"})
    await serve(world, definition, instance)
    engine, signal = world.ref("apps/v1", "Deployment", "express"), _config(world, "express")
    await exists(world, engine, within=30)
    await world.absent(signal)

    await world.merge(engine, _available("True"), subresource="status")
    await exists(world, signal, within=30)
    await world.in_state(instance, "ACTIVE", within=20)

    await world.merge(engine, _available("False"), subresource="status")
    await world.gone(signal, within=40)


def _available(status: str) -> dict[str, Any]:
    return {"status": {"conditions": [{"type": "Available", "status": status}]}}


async def test_the_recorded_kinds_grow_and_shrink(world: World) -> None:
    resources = [
        node("settings", config_map(NAME, {"a": "1"})),
        node("password", secret(NAME, word="open"), includeWhen=["${schema.spec.locked}"]),
        node("runner", account(NAME), includeWhen=["${schema.spec.runs}"]),
    ]
    definition = world.definition(
        "Box", {"locked": "boolean", "runs": "boolean"}, resources=resources
    )
    instance = world.instance("Box", "crate", {"locked": False, "runs": False})
    await serve(world, definition, instance)
    uid = (await exists(world, _config(world, "crate")))["metadata"]["uid"]
    phases = [
        (False, False, "ConfigMap"),
        (True, False, "ConfigMap,Secret"),
        (True, True, "ConfigMap,Secret,ServiceAccount"),
        (False, True, "ConfigMap,ServiceAccount"),
        (False, False, "ConfigMap"),
    ]
    for locked, runs, recorded in phases:
        await world.merge(instance, {"spec": {"locked": locked, "runs": runs}})
        await _is_there(world, "Secret", locked)
        await _is_there(world, "ServiceAccount", runs)
        await is_stamped(world, instance, annotated={GROUP_KINDS: recorded})
        assert (await world.get(_config(world, "crate")))["metadata"]["uid"] == uid


async def _is_there(world: World, kind: str, wanted: bool) -> None:
    ref = world.ref("v1", kind, "crate")
    if wanted:
        await exists(world, ref, within=30)
    else:
        await world.gone(ref, within=30)


async def test_items_of_a_collection_know_their_place(world: World) -> None:
    each = node(
        "seats",
        config_map(f"{NAME}-${{row}}", {"row": "${row}"}),
        forEach=[{"row": "${schema.spec.rows}"}],
    )
    definition = world.definition("Theatre", {"rows": "[]string"}, resources=[each])
    rows = ["stalls", "circle", "gallery"]
    instance = world.instance("Theatre", "globe", {"rows": rows})
    await serve(world, definition, instance)
    for index, row in enumerate(rows):
        wanted = {INDEX: str(index), SIZE: "3", NODE: "seats"}
        await is_stamped(world, _config(world, f"globe-{row}"), labelled=wanted)
    await is_stamped(world, instance, annotated=records(world, "ConfigMap"))


async def test_a_collection_that_shrinks_is_numbered_anew(world: World) -> None:
    each = node(
        "keys", secret(f"{NAME}-${{key}}", key="${key}"), forEach=[{"key": "${schema.spec.keys}"}]
    )
    definition = world.definition("Ring", {"keys": "[]string"}, resources=[each])
    instance = world.instance("Ring", "brass", {"keys": ["cellar", "attic", "gate"]})
    await serve(world, definition, instance)
    cellar, attic, gate = (
        world.ref("v1", "Secret", f"brass-{key}") for key in ("cellar", "attic", "gate")
    )
    await all_exist(world, cellar, attic, gate)

    await world.merge(instance, {"spec": {"keys": ["attic"]}})

    await world.gone(cellar, within=30)
    await world.gone(gate, within=30)
    await is_stamped(world, attic, labelled={INDEX: "0", SIZE: "1"}, within=10)


async def test_instances_of_two_kinds_do_not_touch_each_other(world: World) -> None:
    for kind in ("Hawk", "Dove"):
        child = node("nest", config_map(f"{NAME}-{kind.lower()}", {"kind": kind}))
        definition = world.definition(kind, {"wings": "integer | default=2"}, resources=[child])
        await serve(world, definition, world.instance(kind, "bird"))
    hawk, dove = world.instance("Hawk", "bird"), world.instance("Dove", "bird")
    assert apply_set_id(hawk) != apply_set_id(dove)
    await is_stamped(world, hawk, labelled={ID: apply_set_id(hawk)})
    await is_stamped(world, dove, labelled={ID: apply_set_id(dove)})
    await _disturbing_one_leaves(world, hawk, _config(world, "bird-dove"))


async def test_instances_of_one_kind_do_not_touch_each_other(world: World) -> None:
    child = node("nest", config_map(f"{NAME}-nest", {"of": NAME}))
    definition = world.definition("Finch", {"wings": "integer | default=2"}, resources=[child])
    one, two = world.instance("Finch", "one"), world.instance("Finch", "two")
    await serve(world, definition, one, two)
    for instance in (one, two):
        await is_stamped(
            world,
            instance,
            labelled={ID: apply_set_id(instance)},
            annotated=records(world, "ConfigMap"),
        )
    await _disturbing_one_leaves(world, one, _config(world, "two-nest"))
    await is_stamped(world, two, annotated=records(world, "ConfigMap"))


async def _disturbing_one_leaves(world: World, one: KubeObject, child: ObjectRef) -> None:
    """Annotate an instance, and see that a child of another stays as it is."""
    before = await exists(world, child)
    await world.merge(one, {"metadata": {"annotations": {"example.org/poke": "1"}}})

    async def untouched() -> None:
        now = (await world.get(child))["metadata"]
        assert now["resourceVersion"] == before["metadata"]["resourceVersion"]

    await world.holds(untouched, during=2)


async def test_labels_of_the_user_stay_beside_ours(world: World) -> None:
    child = node("settings", config_map(NAME, {"a": "1"}))
    definition = world.definition("Desk", {"drawers": "integer | default=3"}, resources=[child])
    instance = world.instance(
        "Desk", "oak", labels={"team": "blue"}, annotations={"example.org/note": "by the window"}
    )
    await serve(world, definition, instance)
    await world.in_state(instance, "ACTIVE")
    mine = {"team": "blue", ID: apply_set_id(instance)}
    noted = {"example.org/note": "by the window", **records(world, "ConfigMap")}
    await is_stamped(world, instance, labelled=mine, annotated=noted)

    await world.merge(instance, {"metadata": {"annotations": {"example.org/more": "yes"}}})
    await world.in_state(instance, "ACTIVE")

    found = await is_stamped(world, instance, labelled=mine, annotated=noted)
    assert annotations(found)["example.org/more"] == "yes"
