"""`readyWhen`: who waits for whom, and what the instance says meanwhile."""

import asyncio

from tests.builders import resource
from tests.e2e.scenarios.samples import ABSENT, deployment, job, placed, serve, service, shows
from tests.e2e.scenarios.world import World, annotations

APPLY_ORDER = "internal.kro.run/apply-order"


async def test_a_service_waits_until_its_deployment_has_all_replicas(world: World) -> None:
    notes = "${schema.spec.annotate.%s ? schema.spec.notes : {}}"
    definition = world.definition(
        "Storefront",
        {
            "replicas": "integer",
            "notes": "map[string]string",
            "annotate": {"floor": "boolean | default=false", "door": "boolean | default=true"},
        },
        resources=[
            resource(
                "floor",
                placed(deployment(replicas="${schema.spec.replicas}"), annotations=notes % "floor"),
                readyWhen=["${floor.spec.replicas == floor.status.availableReplicas}"],
            ),
            resource("door", placed(service("${floor.metadata.name}"), annotations=notes % "door")),
        ],
    )
    await serve(world, definition)
    ready = await world.get(definition)
    assert ready["status"]["topologicalOrder"] == ["floor", "door"]

    shop = world.instance("Storefront", "corner", {"replicas": 4, "notes": {"app": "front"}})
    floor = world.ref("apps/v1", "Deployment", "corner")
    door = world.ref("v1", "Service", "corner")
    await world.create(shop)
    await shows(
        world,
        floor,
        {
            "metadata": {"annotations": {APPLY_ORDER: "1", "app": ABSENT}},
            "spec": {"replicas": 4},
        },
    )
    await asyncio.gather(world.in_state(shop, "IN_PROGRESS", within=20), world.absent(door, 1.0))

    available = {"replicas": 4, "readyReplicas": 4, "availableReplicas": 4}
    await world.merge(floor, {"status": available}, subresource="status")
    await shows(world, door, {"metadata": {"annotations": {APPLY_ORDER: "2", "app": "front"}}})

    await world.delete(shop)
    await world.gone(shop, within=20)
    assert await world.find(floor) is None
    assert await world.find(door) is None


async def test_an_instance_waits_for_the_last_child_too(world: World) -> None:
    finished = "${task.status.completionTime != null}"
    definition = world.definition(
        "Errand", resources=[resource("task", job(), readyWhen=[finished])]
    )
    await serve(world, definition)
    errand = world.instance("Errand", "letters")
    await world.create(errand)
    task = world.ref("batch/v1", "Job", "letters")
    await shows(world, task, {"metadata": {"name": "letters"}})
    await world.in_state(errand, "IN_PROGRESS", within=20)

    async def in_progress() -> None:
        assert (await world.get(errand))["status"]["state"] == "IN_PROGRESS"

    await world.holds(in_progress, during=2.0)

    await world.merge(task, {"status": _completed()}, subresource="status")
    await world.in_state(errand, "ACTIVE", within=10)
    assert annotations(await world.get(task))[APPLY_ORDER] == "1"


def _completed() -> dict[str, object]:
    begun, ended = "2026-01-05T10:00:00Z", "2026-01-05T10:00:07Z"
    conditions = [
        {"type": each, "status": "True", "lastProbeTime": ended, "lastTransitionTime": ended}
        for each in ("SuccessCriteriaMet", "Complete")
    ]
    return {
        "startTime": begun,
        "completionTime": ended,
        "succeeded": 1,
        "conditions": conditions,
        "uncountedTerminatedPods": {},
    }
