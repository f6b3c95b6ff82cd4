"""A definition, its kind, an instance, its children: what a first look at a cluster shows."""

import asyncio
from typing import Any

from tests.builders import config_map, resource
from tests.e2e.scenarios.samples import (
    ABSENT,
    NAME,
    autoscaler,
    deployment,
    external,
    placed,
    serve,
    settle,
    shows,
)
from tests.e2e.scenarios.world import World, annotations, condition

FINALIZER = "kro.run/finalizer"
CONDITION = {
    **dict.fromkeys(("type", "status", "reason", "message", "lastTransitionTime"), "string"),
    "observedGeneration": "integer",
}


async def test_a_definition_without_resources_serves_a_kind_for_any_data(world: World) -> None:
    definition = world.definition("Attic", {"things": "object | required=true"})
    await serve(world, definition)
    found = await shows(world, definition, {"metadata": {"finalizers": [FINALIZER]}})
    ready = condition(found, "Ready")
    assert (ready["status"], ready["observedGeneration"]) == ("True", 1)

    crd = await world.get(world.crd_of(definition, "attics"))
    assert crd["metadata"]["generation"] == 1
    assert crd["spec"] == _crd_of_attic(world.group)

    things = {"old": True, "count": 42, "nested": {"deep": {"er": "x"}}, "list": ["a", "b"]}
    attic = world.instance("Attic", "dusty", {"things": things})
    await settle(world, attic)
    settled = await world.get(attic)
    assert settled["spec"] == {"things": things}
    assert settled["metadata"]["generation"] == 1
    assert settled["metadata"]["finalizers"] == [FINALIZER]
    assert settled["metadata"]["labels"]["kro.run/owned"] == "true"
    keys = ("type", "status", "reason", "message", "observedGeneration")
    assert [tuple(each[key] for key in keys) for each in settled["status"]["conditions"]] == [
        (
            "InstanceManaged",
            "True",
            "Managed",
            "instance is properly managed with finalizers and labels",
            1,
        ),
        (
            "GraphResolved",
            "True",
            "Resolved",
            "runtime graph created and all resources resolved",
            1,
        ),
        ("ResourcesReady", "True", "AllResourcesReady", "all resources are created and ready", 1),
        ("Ready", "True", "Ready", "", 1),
    ]


def _crd_of_attic(group: str) -> dict[str, Any]:
    names = {"kind": "Attic", "listKind": "AtticList", "plural": "attics", "singular": "attic"}
    return {
        "conversion": {"strategy": "None"},
        "group": group,
        "names": names,
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "additionalPrinterColumns": _columns(),
                "schema": {"openAPIV3Schema": _schema_of_attic()},
            }
        ],
    }


def _columns() -> list[dict[str, str]]:
    ready = '.status.conditions[?(@.type=="Ready")].status'
    of = "a ResourceGraphDefinition instance"
    return [
        {
            "name": "State",
            "type": "string",
            "jsonPath": ".status.state",
            "description": f"The state of {of}",
        },
        {
            "name": "Ready",
            "type": "string",
            "jsonPath": ready,
            "description": f"Whether {of} is ready",
        },
        {
            "name": "Age",
            "type": "date",
            "jsonPath": ".metadata.creationTimestamp",
            "description": "Age of the resource",
        },
    ]


def _schema_of_attic() -> dict[str, Any]:
    condition = {key: {"type": kind} for key, kind in CONDITION.items()}
    things = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": {"type": "object", "properties": {"things": things}, "required": ["things"]},
            "status": {
                "type": "object",
                "properties": {
                    "state": {"type": "string"},
                    "conditions": {
                        "type": "array",
                        "items": {"type": "object", "properties": condition},
                    },
                },
            },
        },
    }


async def test_children_follow_the_spec_and_leave_the_rest_alone(world: World) -> None:
    definition = world.definition(
        "WebSite",
        {
            "image": 'string | default="nginx:latest"',
            "fewest": "integer | default=1",
            "most": "integer | default=10",
        },
        resources=[
            resource("page", config_map(f"{NAME}-page", html="<h1>Hi</h1>")),
            resource("pods", deployment(image="${schema.spec.image}")),
            resource(
                "scaler",
                autoscaler(minReplicas="${schema.spec.fewest}", maxReplicas="${schema.spec.most}"),
            ),
        ],
    )
    await serve(world, definition)
    assert (await world.get(definition))["status"]["topologicalOrder"] == ["page", "pods", "scaler"]
    assert (await world.get(world.crd_of(definition, "websites")))["metadata"]["generation"] == 1

    site = world.instance("WebSite", "blog", {"image": "nginx:1.24", "most": 5})
    await settle(world, site)
    pods = world.ref("apps/v1", "Deployment", "blog")
    scaler = world.ref("autoscaling/v2", "HorizontalPodAutoscaler", "blog")
    stamped = {"labels": {"kro.run/instance-name": "blog", "kro.run/owned": "true"}}
    await shows(world, pods, {"metadata": {"generation": 1, **stamped}, "spec": {"replicas": 1}})
    await shows(world, scaler, {"metadata": stamped, "spec": {"minReplicas": 1, "maxReplicas": 5}})

    await world.merge(pods, {"spec": {"replicas": 2}})  # as the autoscaler would
    await world.merge(site, {"spec": {"image": "nginx:1.25", "fewest": 2}})
    await asyncio.gather(
        shows(world, pods, {"metadata": {"generation": 3}, "spec": {"replicas": 2}}),
        shows(world, scaler, {"spec": {"minReplicas": 2}}),
        world.settled(site),
    )
    made = await world.get(pods)
    assert made["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1.25"
    assert made["metadata"]["generation"] == 3


async def test_nothing_is_made_before_an_external_object_is_there(world: World) -> None:
    elsewhere = await world.another_namespace()
    greeting = '${input.?data.GREETING.orValue("none")}'
    definition = world.definition(
        "Echo",
        {"tone": "string | default=warm"},
        resources=[
            {"id": "input", "externalRef": external("ConfigMap", "words", namespace=elsewhere)},
            resource("owned", config_map(said=greeting)),
        ],
    )
    await serve(world, definition)
    assert (await world.get(definition))["status"]["topologicalOrder"] == ["input", "owned"]
    echo = world.instance("Echo", "valley")
    owned = world.ref("v1", "ConfigMap", "valley")
    await world.create(echo)
    waiting = await world.in_state(echo, "IN_PROGRESS")
    assert waiting["spec"] == {"tone": "warm"}
    assert waiting["metadata"]["generation"] == 1
    assert waiting["metadata"]["finalizers"] == [FINALIZER]
    name = definition["metadata"]["name"]
    assert waiting["metadata"]["labels"]["kro.run/resource-graph-definition-name"] == name
    await world.absent(owned, during=1.0)

    await world.create(placed(config_map("words", GREETING="hello"), namespace=elsewhere))
    await world.settled(echo)
    await shows(world, owned, {"data": {"said": "hello"}})


async def test_a_name_may_be_random_but_stays_the_same(world: World) -> None:
    elsewhere = await world.another_namespace()
    box = placed(
        config_map("${random.seededString(10, schema.metadata.uid)}", of="${schema.metadata.uid}"),
        namespace="${schema.spec.place}",
    )
    definition = world.definition(
        "Raffle",
        {"place": "string"},
        status={"prize": "${box.metadata.name}"},
        resources=[resource("box", box)],
    )
    await serve(world, definition)
    raffle = world.instance("Raffle", "fair", {"place": elsewhere})
    await settle(world, raffle)
    found = await shows(world, raffle, {"status": {"state": "ACTIVE"}})
    prize = world.ref("v1", "ConfigMap", found["status"]["prize"], elsewhere)
    assert len(prize.name) == 10
    assert (await world.get(prize))["data"] == {"of": found["metadata"]["uid"]}
    namespaces = annotations(found)["applyset.kubernetes.io/additional-namespaces"]
    assert namespaces == elsewhere


async def test_an_unchanged_child_is_not_written_again(world: World) -> None:
    twin = config_map("${schema.metadata.name}-twin", at="${schema.spec.at}")
    fixed = resource("fixed", config_map(kept="yes"))
    await serve(
        world,
        world.definition("Pair", {"at": "string"}, resources=[fixed, resource("twin", twin)]),
    )
    pair = world.instance("Pair", "socks", {"at": "left"})
    await settle(world, pair)
    before = await world.get(world.ref("v1", "ConfigMap", "socks"))

    await world.merge(pair, {"spec": {"at": "right"}})
    await shows(world, world.ref("v1", "ConfigMap", "socks-twin"), {"data": {"at": "right"}})
    await world.settled(pair)
    after = await world.get(world.ref("v1", "ConfigMap", "socks"))
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_labels_and_annotations_of_others_stay_on_an_instance(world: World) -> None:
    await serve(world, world.definition("Quiet", resources=[resource("note", config_map())]))
    quiet = world.instance("Quiet", "room", annotations={"note": "mine"}, labels={"wing": "east"})
    await settle(world, quiet)
    await shows(
        world,
        quiet,
        {
            "metadata": {
                "annotations": {"note": "mine"},
                "labels": {"wing": "east", "app.kubernetes.io/managed-by": ABSENT},
            }
        },
    )
