"""A Deployment and a Service, from the definition to the last child; suspended in between."""

from typing import Any

from kube_objects.refs import KubeObject
from tests.e2e.scenarios.parts import deployment, node, says, service
from tests.e2e.scenarios.stamps import MANAGED_BY, all_exist
from tests.e2e.scenarios.world import World, condition, labels

NAME = "${schema.metadata.name}"
AVAILABLE = {
    "type": "Available",
    "status": "True",
    "reason": "MinimumReplicasAvailable",
    "message": "enough",
}


def _definition(world: World) -> KubeObject:
    app = deployment(NAME, replicas="${schema.spec.replicas}", port="${schema.spec.port}")
    return world.definition(
        "Shop",
        {"replicas": "integer | default=1", "port": "integer | default=80"},
        status={
            "conditionsOfApp": "${app.status.conditions}",
            "availableReplicas": "${app.status.availableReplicas}",
            "available": "${app.status.?conditions[0].status}",
            "unavailable": "${app.status.?conditions[10]}",
        },
        resources=[node("app", app), node("front", service(NAME, "main"))],
    )


async def _check_definition(world: World, definition: KubeObject) -> None:
    async def check() -> None:
        found = await world.active(definition, within=0)
        assert condition(found, "Ready")["status"] == "True"
        assert found["status"]["topologicalOrder"] == ["app", "front"]

    await world.until(check, within=10)


async def _check_status(world: World, instance: KubeObject) -> None:
    async def check() -> None:
        found = await world.get(instance)
        status: dict[str, Any] = found["status"]
        assert status["conditionsOfApp"][0]["reason"] == "MinimumReplicasAvailable"
        assert (status["availableReplicas"], status["available"]) == (1, "True")
        assert "unavailable" not in status
        ready = condition(found, "Ready")
        assert (ready["status"], ready["observedGeneration"]) == ("True", 1)

    await world.until(check, within=20)


async def test_a_web_service_lives_is_suspended_and_dies(world: World) -> None:
    definition, instance = _definition(world), world.instance("Shop", "corner")
    await world.create(definition)
    await _check_definition(world, definition)
    await world.create(instance)
    app = world.ref("apps/v1", "Deployment", "corner")
    front = world.ref("v1", "Service", "corner")
    for child in await all_exist(world, app, front):
        assert labels(child)["kro.run/owned"] == "true"
        assert labels(child)["kro.run/kro-version"] == world.version
        assert labels(child)[MANAGED_BY] == "kro"

    counts = {"replicas": 1, "availableReplicas": 1, "readyReplicas": 1, "updatedReplicas": 1}
    await world.merge(app, {"status": {**counts, "conditions": [AVAILABLE]}}, subresource="status")
    await _check_status(world, instance)

    await world.merge(instance, {"metadata": {"annotations": {"kro.run/reconcile": "disabled"}}})
    await says(
        world, instance, "Ready", within=20, status="False", reason="ReconciliationSuspended"
    )

    await world.merge(instance, {"spec": {"replicas": 4}})

    async def unchanged() -> None:
        assert (await world.get(app))["spec"]["replicas"] == 1

    await world.holds(unchanged, during=2)

    await world.delete(instance)
    for ref in (app, front):
        await world.gone(ref)
    await world.gone(instance)
