"""Trouble around a child: it is terminating, refused by a policy, or meant for nowhere."""

import asyncio
import re

import aiohttp

from kro_gitops.kube.api import WriteOptions
from kro_gitops.kube.responses import ApiError
from kube_objects.refs import KubeObject, ObjectRef
from tests.builders import config_map, resource
from tests.e2e.scenarios.samples import (
    deployment,
    messages,
    placed,
    serve,
    settle,
    shows,
    standing,
)
from tests.e2e.scenarios.world import World, condition

HELD = "scenarios.example.org/held"
DENIED = {"example.org/denied": "true"}


async def test_nothing_is_made_while_a_child_is_terminating(world: World) -> None:
    definition = world.definition(
        "Orchard",
        {"fenced": "boolean"},
        resources=[
            resource("soil", config_map(kind="loam")),
            resource(
                "fence",
                deployment(env=[{"name": "SOIL", "value": "${soil.data.kind}"}]),
                includeWhen=["${schema.spec.fenced}"],
            ),
        ],
    )
    await serve(world, definition)
    orchard = world.instance("Orchard", "south", {"fenced": False})
    soil, fence = world.ref("v1", "ConfigMap", "south"), world.ref("apps/v1", "Deployment", "south")
    await settle(world, orchard)
    assert await world.find(fence) is None

    await world.merge(soil, {"metadata": {"finalizers": [HELD]}})
    await world.delete(soil)
    await world.merge(orchard, {"spec": {"fenced": True}})
    await world.until(lambda: _deleting(world, orchard, f'resource "{world.namespace}/south"'))
    await world.absent(fence, during=2.0)

    old = await world.merge(soil, {"metadata": {"finalizers": None}})
    await world.until(lambda: _another(world, soil, old))
    await shows(world, soil, {"data": {"kind": "loam"}}, within=30)
    made = await shows(world, fence, {"kind": "Deployment"}, within=30)
    container = made["spec"]["template"]["spec"]["containers"][0]
    assert container["env"] == [{"name": "SOIL", "value": "loam"}]
    await world.in_state(orchard, "ACTIVE")


async def _deleting(world: World, instance: KubeObject, text: str) -> None:
    found = await world.get(instance)
    ready = condition(found, "ResourcesReady")
    assert found["status"]["state"] == "IN_PROGRESS"
    assert (ready["status"], ready["reason"]) == ("False", "ResourceDeleting")
    assert text in ready["message"]


async def _another(world: World, named: ObjectRef, old: KubeObject) -> None:
    found = await world.get(named)
    assert found["metadata"]["uid"] != old["metadata"]["uid"]
    assert "deletionTimestamp" not in found["metadata"]


async def test_a_refusal_of_a_policy_is_shown_and_overcome(world: World) -> None:
    policy, binding = _policy(world)
    await world.create(policy)
    await world.create(binding)
    await world.until(lambda: _in_force(world))
    paper = placed(config_map(kept="yes"), annotations=DENIED)
    await serve(world, world.definition("Permit", resources=[resource("paper", paper)]))
    permit = world.instance("Permit", "building")
    await world.create(permit)

    async def refused() -> None:
        ready = condition(await world.get(permit), "ResourcesReady")
        assert ready["status"] == "False"
        assert "not allowed by the town" in ready["message"]

    await asyncio.gather(world.in_state(permit, "ERROR"), world.until(refused))
    await world.delete(binding)
    await world.delete(policy)
    await world.until(lambda: _lifted(world))
    await world.merge(permit, {"metadata": {"labels": {"asked": "again"}}})
    await world.in_state(permit, "ACTIVE", within=30)
    assert await world.find(world.ref("v1", "ConfigMap", "building")) is not None


def _policy(world: World) -> tuple[KubeObject, KubeObject]:
    api, name = "admissionregistration.k8s.io/v1", f"deny-{world.namespace}"
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["configmaps"],
    }
    denied = "'example.org/denied' in object.metadata.?annotations.orValue({})"
    policy = {
        "apiVersion": api,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": f"!({denied})", "message": "not allowed by the town"}],
        },
    }
    here = {"matchLabels": {"kubernetes.io/metadata.name": world.namespace}}
    binding = {
        "apiVersion": api,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": here},
        },
    }
    return policy, binding


# The API server hears of policies, and that they are gone, with a delay of its own.


async def _in_force(world: World) -> None:
    assert "not allowed by the town" in await _refusal(world)


async def _lifted(world: World) -> None:
    assert not await _refusal(world)


async def _refusal(world: World) -> str:
    probe = standing(world, config_map("probe"), annotations=DENIED)
    try:
        await world.cluster.create(probe, WriteOptions(dry_run=True))
    except ApiError as error:
        return str(error)
    return ""


async def test_a_child_that_cannot_be_applied_is_no_failed_reconcile(world: World) -> None:
    """A counter that people put alarms on counts what we got wrong, not what a cluster lacks."""
    nowhere = placed(config_map(to="${schema.spec.to}"), namespace=f"no-such-{world.namespace}")
    box = resource("box", nowhere)
    await serve(world, world.definition("Parcel", {"to": "string"}, resources=[box]))
    parcel = world.instance("Parcel", "lost", {"to": "nobody"})
    await world.create(parcel)

    async def reported() -> None:
        assert f"no-such-{world.namespace}" in messages(await world.get(parcel))

    await world.until(reported, within=60)
    for number in range(3):
        before = await _counted(world, "instance_reconcile_total", "parcels")
        assert before > 0
        await world.merge(parcel, {"spec": {"to": f"somebody-{number}"}})

        async def tried_again(before: float = before) -> None:
            assert await _counted(world, "instance_reconcile_total", "parcels") > before

        await world.until(tried_again)
    assert await _counted(world, "instance_reconcile_errors_total", "parcels") == 0


async def _counted(world: World, counter: str, plural: str) -> float:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{world.controller.at.metrics}/metrics") as answer,
    ):
        page = await answer.text()
    kind = re.escape(f"{world.group}/v1alpha1, Resource={plural}")
    found = re.search(rf'^{counter}{{gvr="{kind}"}} (.+)$', page, re.MULTILINE)
    return float(found[1]) if found else 0.0
