"""A child is made when what it is made of is known: another's status, another's readiness."""

from typing import Any

from kube_objects.refs import KubeObject, ObjectRef
from tests.e2e.scenarios.crds import API_VERSION
from tests.e2e.scenarios.parts import becomes, config_map, exists, node, serve
from tests.e2e.scenarios.stamps import all_exist
from tests.e2e.scenarios.world import World, condition

NAME = "${schema.metadata.name}"


def _cloud(kind: str, called: str, /, **spec: Any) -> KubeObject:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": called}, "spec": spec}


async def _fill(world: World, ref: ObjectRef, **status: Any) -> None:
    await world.merge(ref, {"status": status}, subresource="status")


def _landscape(world: World) -> KubeObject:
    network = "${network.status.networkID}"
    return world.definition(
        "Landscape",
        {"cidr": "string"},
        status={"networkID": network, "subnetID": "${subnet.status.subnetID}"},
        resources=[
            node("network", _cloud("Network", f"{NAME}-net", cidr="${schema.spec.cidr}")),
            node("gateway", _cloud("Gateway", f"{NAME}-door", networkID=network)),
            node("subnet", _cloud("Subnet", f"{NAME}-sub", networkID=network, zone="a")),
            node(
                "nat",
                _cloud("NatGateway", f"{NAME}-nat", subnetID="${subnet.status.subnetID}"),
            ),
        ],
    )


async def test_children_appear_as_the_data_they_need_does(world: World) -> None:
    definition = _landscape(world)
    instance = world.instance("Landscape", "dale", {"cidr": "10.3.0.0/16"})
    await serve(world, definition, instance)
    order = (await world.get(definition))["status"]["topologicalOrder"]
    assert (order[0], len(order)) == ("network", 4)
    network = world.ref(API_VERSION, "Network", "dale-net")
    gateway = world.ref(API_VERSION, "Gateway", "dale-door")
    subnet = world.ref(API_VERSION, "Subnet", "dale-sub")
    nat = world.ref(API_VERSION, "NatGateway", "dale-nat")
    await exists(world, network)

    async def waits() -> None:
        found = await world.in_state(instance, "IN_PROGRESS")
        ready = condition(found, "ResourcesReady")
        assert ready["status"] == "False"
        assert "unresolved" in ready["message"]

    await world.until(waits)
    await world.absent(gateway, during=1)

    await _fill(world, network, networkID="net-1")
    for ref in (gateway, subnet):
        await becomes(world, ref, "spec.networkID", "net-1", within=30)
    await world.absent(nat, during=1)

    await _fill(world, subnet, subnetID="sub-1")
    await becomes(world, nat, "spec.subnetID", "sub-1", within=30)
    await world.in_state(instance, "ACTIVE", within=30)
    await becomes(world, instance, "status.networkID", "net-1")
    await becomes(world, instance, "status.subnetID", "sub-1")


async def test_chains_that_are_independent_do_not_wait_for_each_other(world: World) -> None:
    resources = []
    for side in ("Left", "Right"):
        name = f"{NAME}-{side.lower()}"
        network = f"${{net{side}.status.networkID}}"
        resources += [
            node(f"net{side}", _cloud("Network", name, cidr="10.0.0.0/8")),
            node(f"sub{side}", _cloud("Subnet", name, networkID=network)),
        ]
    definition = world.definition("Valley", {"river": "string"}, resources=resources)
    instance = world.instance("Valley", "v", {"river": "deep"})
    await serve(world, definition, instance)
    left, right = (world.ref(API_VERSION, "Network", f"v-{side}") for side in ("left", "right"))
    sub_left, sub_right = (
        world.ref(API_VERSION, "Subnet", f"v-{side}") for side in ("left", "right")
    )
    await all_exist(world, left, right)

    await _fill(world, left, networkID="net-l")
    await becomes(world, sub_left, "spec.networkID", "net-l", within=30)
    await world.absent(sub_right)

    await _fill(world, right, networkID="net-r")
    await becomes(world, sub_right, "spec.networkID", "net-r", within=30)
    await world.in_state(instance, "ACTIVE", within=30)


def _gated_deployment() -> KubeObject:
    settings = [
        {"name": "LEFT", "value": '${left.data.?value.orValue("")}'},
        {"name": "RIGHT", "value": '${right.data.?value.orValue("")}'},
    ]
    pod = {"containers": [{"name": "main", "image": "web:1", "env": settings}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "main"}},
            "template": {"metadata": {"labels": {"app": "main"}}, "spec": pod},
        },
    }


def _pair(side: str) -> KubeObject:
    data = {
        "value": f"${{schema.spec.{side}.value}}",
        "ready": f"${{string(schema.spec.{side}.ready)}}",
    }
    rule = f'${{{side}.data.?ready.orValue("false") == "true"}}'
    return node(side, config_map(f"{NAME}-{side}", data), readyWhen=[rule])


async def test_a_child_waits_until_all_it_needs_is_ready(world: World) -> None:
    side = {"value": "string", "ready": "boolean"}
    definition = world.definition(
        "Scale",
        {"left": side, "right": side},
        resources=[node("beam", _gated_deployment()), _pair("left"), _pair("right")],
    )
    spec = {"left": {"value": "one", "ready": False}, "right": {"value": "two", "ready": False}}
    instance = world.instance("Scale", "brass", spec)
    await serve(world, definition, instance)
    assert (await world.get(definition))["status"]["topologicalOrder"][2] == "beam"
    beam = world.ref("apps/v1", "Deployment", "brass")
    await world.in_state(instance, "IN_PROGRESS", within=20)
    await all_exist(world, *(world.ref("v1", "ConfigMap", f"brass-{s}") for s in ("left", "right")))
    await world.absent(beam, during=1)

    await world.merge(instance, {"spec": {"left": {"ready": True}}})
    await becomes(world, world.ref("v1", "ConfigMap", "brass-left"), "data.ready", "true")
    await world.absent(beam, during=2)

    await world.merge(instance, {"spec": {"right": {"ready": True}}})
    made = await exists(world, beam, within=30)
    env = made["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {each["name"]: each["value"] for each in env} == {"LEFT": "one", "RIGHT": "two"}
    await world.in_state(instance, "ACTIVE", within=30)


def _job(name: str, **labels: str) -> KubeObject:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels},
        "spec": {"template": {"spec": pod}},
    }


def _completed(name: str) -> str:
    return f"${{{name}.status.?completionTime.orValue(null) != null}}"


async def _complete(world: World, job: ObjectRef) -> None:
    """Do what the controller of jobs does when one has run."""
    at = "2030-05-01T10:00:00Z"
    done = [
        {"type": kind, "status": "True", "lastProbeTime": at, "lastTransitionTime": at}
        for kind in ("SuccessCriteriaMet", "Complete")
    ]
    status = {"startTime": at, "completionTime": at, "succeeded": 1, "conditions": done}
    await world.merge(job, {"status": status}, subresource="status")


async def test_a_job_waits_for_the_one_before_it(world: World) -> None:
    second = _job(f"{NAME}-second", after="${first.metadata.name}")
    definition = world.definition(
        "Relay",
        {"distance": "integer | default=400"},
        resources=[
            node("first", _job(f"{NAME}-first"), readyWhen=[_completed("first")]),
            node("second", second, readyWhen=[_completed("second")]),
        ],
    )
    instance = world.instance("Relay", "run")
    await serve(world, definition, instance)
    runners = [world.ref("batch/v1", "Job", f"run-{name}") for name in ("first", "second")]
    await exists(world, runners[0])
    await world.absent(runners[1])

    await _complete(world, runners[0])
    made = await exists(world, runners[1], within=30)
    assert made["metadata"]["labels"]["after"] == "run-first"

    await _complete(world, runners[1])
    await world.in_state(instance, "ACTIVE", within=30)
