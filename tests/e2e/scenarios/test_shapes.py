"""Children of unusual shape: odd API versions, whole CRDs, kinds that keep unknown fields."""

import asyncio
from typing import Any

import pytest

from kube_objects.refs import KubeObject
from tests.builders import config_map, resource
from tests.e2e.scenarios.samples import (
    NAME,
    custom_kind,
    deployment,
    external,
    install,
    messages,
    placed,
    serve,
    settle,
    shows,
    standing,
)
from tests.e2e.scenarios.world import World

SIZE = {"type": "string"}
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
ANY_VALUES = {
    "type": "object",
    "additionalProperties": {"x-kubernetes-preserve-unknown-fields": True},
}


@pytest.mark.parametrize("version", ["v1api20200601", "v1p1beta1"])
async def test_a_template_may_have_an_unusual_version(world: World, version: str) -> None:
    group = f"odd.{world.group}"
    await install(world, custom_kind(group, version, "Widget", size=SIZE))
    widget = _object(f"{group}/{version}", "Widget", NAME, size="large")
    await serve(world, world.definition("Shelf", resources=[resource("widget", widget)]))

    shelf = world.instance("Shelf", "upper")
    await settle(world, shelf)
    made = await world.get(world.ref(f"{group}/{version}", "Widget", "upper"))
    assert made["spec"] == {"size": "large"}


async def test_an_external_reference_may_have_an_unusual_version(world: World) -> None:
    group, version = f"odd.{world.group}", "v1api20200601"
    await install(world, custom_kind(group, version, "Widget", size=SIZE))
    await world.create(standing(world, _object(f"{group}/{version}", "Widget", "old", size="tiny")))
    definition = world.definition(
        "Label",
        resources=[
            {
                "id": "widget",
                "externalRef": external("Widget", "old", api_version=f"{group}/{version}"),
            },
            resource("note", config_map(size="${widget.spec.size}")),
        ],
    )
    await serve(world, definition)
    await settle(world, world.instance("Label", "price"))
    await shows(world, world.ref("v1", "ConfigMap", "price"), {"data": {"size": "tiny"}}, 30)


async def test_a_template_may_be_a_whole_crd(world: World) -> None:
    group = f"made.{world.group}"
    crd = custom_kind(group, "v1alpha1", "Gadget", size={**SIZE, "description": "How big."})
    definition = world.definition("Maker", resources=[resource("gadgets", crd)])
    await serve(world, definition)

    await settle(world, world.instance("Maker", "workshop"))
    await shows(world, crd, {"spec": {"names": {"kind": "Gadget"}}}, within=30)


async def test_an_empty_namespace_of_a_cluster_scoped_instance_is_named(world: World) -> None:
    lost = placed(config_map(kept="yes"), namespace="${schema.spec.home}")
    definition = world.definition(
        "Nomad", {"home": "string"}, scope="Cluster", resources=[resource("lost", lost)]
    )
    await serve(world, definition)
    nomad = world.instance("Nomad", f"{world.namespace}-nomad", {"home": ""}, namespace="")
    await world.create(nomad)

    async def named() -> None:
        assert "metadata.namespace" in messages(await world.get(nomad))

    await world.until(named, within=60)


async def test_unknown_fields_can_be_read_and_written(world: World) -> None:
    group = f"loose.{world.group}"
    await install(
        world,
        custom_kind(group, "v1alpha1", "Crate", open=ANYTHING, counts=ANY_VALUES, known=ANY_VALUES),
    )
    stored = standing(world, _object(f"{group}/v1alpha1", "Crate", "stored", open={"wood": "oak"}))
    await world.create(stored)
    await world.merge(stored, {"status": {"extra": {"weight": "9kg"}}}, subresource="status")
    await serve(world, _warehouse(world, f"{group}/v1alpha1"))

    store = world.instance("Warehouse", "north", {"loose": {"colour": "red"}})
    await settle(world, store)
    crate, note = await asyncio.gather(
        world.get(world.ref(f"{group}/v1alpha1", "Crate", "north")),
        world.get(world.ref("v1", "ConfigMap", "north")),
    )
    assert crate["spec"]["known"] == {"weight": "9kg", "maybe": "9kg", "all": {"wood": "oak"}}
    assert note["metadata"]["annotations"]["colour"] == "red"
    assert note["data"].get("missing", "") == ""
    assert {key: note["data"][key] for key in ("wood", "colour", "shade", "count", "weight")} == {
        "wood": "oak",
        "colour": "red",
        "shade": "red",
        "count": "9kg",
        "weight": "9kg",
    }


def _warehouse(world: World, api_version: str) -> KubeObject:
    crate = _object(
        api_version,
        "Crate",
        NAME,
        open={"wood": "oak"},
        counts={"boxes": "${stored.status.extra.?weight}"},
        known={
            "weight": "${stored.status.extra.weight}",
            "maybe": "${stored.status.extra.?weight}",
            "all": "${stored.spec.open}",
        },
    )
    note = config_map(
        wood="${crate.spec.open.wood}",
        colour="${schema.spec.loose.colour}",
        shade="${schema.spec.loose.?colour}",
        count="${crate.spec.counts.boxes}",
        missing="${crate.spec.counts.?nothing}",
        weight="${stored.status.extra.?weight}",
    )
    return world.definition(
        "Warehouse",
        {"loose": "object"},
        resources=[
            {"id": "stored", "externalRef": external("Crate", "stored", api_version=api_version)},
            resource("crate", crate),
            resource("note", placed(note, annotations={"colour": "${schema.spec.loose.?colour}"})),
        ],
    )


async def test_a_status_may_show_the_whole_status_of_a_nested_instance(world: World) -> None:
    inner = world.definition(
        "Engine",
        {"image": 'string | default="nginx"'},
        status={
            "conditionsOfPods": "${pods.status.conditions}",
            "available": "${pods.status.availableReplicas}",
        },
        resources=[resource("pods", deployment(image="${schema.spec.image}"))],
    )
    await serve(world, inner)
    engine = _object(f"{world.group}/v1alpha1", "Engine", NAME, image="nginx:1.27")
    outer = world.definition(
        "Car",
        status={"engine": "${engine.status}"},
        resources=[resource("engine", engine)],
    )
    await world.create(outer)
    await world.active(outer, within=20)

    car = world.instance("Car", "old-timer")
    await world.create(car)
    await shows(world, car, {"status": {"engine": {"state": "ACTIVE"}}}, within=30)
    served = (await world.get(world.crd_of(outer, "cars")))["spec"]["versions"][0]
    status = served["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    assert "available" in status["engine"]["properties"]


def _object(api_version: str, kind: str, name: str, **spec: Any) -> KubeObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}
