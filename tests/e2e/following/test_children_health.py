"""
The health of children, as it reaches their instance and the source: a test is the deployment
controller and the kubelet.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from kube_objects.refs import KubeObject
from tests.e2e.following.world import SourceWorld
from tests.e2e.scenarios.world import condition

READINESS = "gitops.kro.run/readiness"


def labels() -> dict[str, str]:
    """Return labels of its own, so that YAML has no aliases."""
    return {"app": "web"}


def web(world: SourceWorld, **annotations: str) -> KubeObject:
    """Build a definition whose instances make a Deployment."""
    body: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "${schema.metadata.name}"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels()},
            "template": {
                "metadata": {"labels": labels()},
                "spec": {"containers": [{"name": "web", "image": "${schema.spec.image}"}]},
            },
        },
    }
    resources = [{"id": "deployment", "template": body}]
    name = f"web-{world.token}"
    made = world.definition("Web", {"image": "string"}, resources=resources, name=name)
    made["metadata"]["annotations"] = annotations
    return made


class Rollout:
    """The Deployment of an instance, and its one Pod."""

    def __init__(self, world: SourceWorld) -> None:
        self._world = world
        self.instance = world.instance("Web", "front", {"image": "web:1"})
        self.deployment = world.ref("apps/v1", "Deployment", "front")
        self.pod = world.ref("v1", "Pod", "front-x1")

    async def report(self, available: int) -> None:
        """Report what a deployment controller would."""
        live = await self._world.until(lambda: self._world.get(self.deployment), 30.0)
        status = {
            "observedGeneration": live["metadata"]["generation"],
            **dict.fromkeys(("replicas", "updatedReplicas"), 1),
            **dict.fromkeys(("readyReplicas", "availableReplicas"), available),
            "unavailableReplicas": 1 - available,
        }
        await self._world.merge(self.deployment, {"status": status}, subresource="status")

    async def crash(self, reason: str) -> None:
        """Have the Pod's container wait for a reason."""
        metadata = {"name": self.pod.name, "namespace": self.pod.namespace, "labels": labels()}
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        }
        if await self._world.find(self.pod) is None:
            await self._world.create(body)
        waiting = {"reason": reason, "message": "back-off 10s restarting failed container"}
        container = {
            **{"name": "web", "image": "web:1", "imageID": "", "ready": False},
            **{"restartCount": 3, "state": {"waiting": waiting}},
        }
        status = {"phase": "Running", "containerStatuses": [container]}
        await self._world.merge(self.pod, {"status": status}, subresource="status")


@pytest.fixture
async def rollout(world: SourceWorld) -> AsyncIterator[Rollout]:
    """Give an instance in git whose Deployment exists."""
    made = Rollout(world)
    yield made
    # Without a kubelet nobody else ends it.
    if await world.find(made.pod) is not None:
        await world.delete(made.pod)


async def has_health(world: SourceWorld, ref: KubeObject, status: str, text: str) -> KubeObject:
    """Return an instance when its ChildrenHealthy says this; empty: it says nothing."""

    async def check() -> KubeObject:
        found = await world.get(ref)
        listed = {each["type"]: each for each in found["status"]["conditions"]}
        said = listed.get("ChildrenHealthy", {"status": "", "message": ""})
        assert said["status"] == status, found["status"]
        assert text in said["message"], said
        return found

    return await world.until(check, 30.0)


async def test_a_pod_that_crashes_degrades_the_source(world: SourceWorld, rollout: Rollout) -> None:
    world.commit({"web.yaml": [web(world), rollout.instance]})
    await world.follow()
    await rollout.report(available=1)
    await world.ready()
    await has_health(world, rollout.instance, "", "")
    commit = world.commit(
        {"web.yaml": [web(world), {**rollout.instance, "spec": {"image": "web:bad"}}]}
    )
    await world.reported("Healthy", "Unknown", commit=commit)
    await rollout.report(available=0)
    await rollout.crash("CrashLoopBackOff")
    source = await world.reported("Ready", "False", reason="Degraded", commit=commit)
    said = condition(source, "Ready")["message"]
    assert "Deployment" in said, said
    assert "Pod front-x1: container web: CrashLoopBackOff" in said, said
    assert source["status"]["history"][0]["result"] == "Degraded"
    text = f"Deployment {world.namespace}/front: Pod front-x1: container web: CrashLoopBackOff"
    instance = await has_health(world, rollout.instance, "False", text)
    # kro's meaning of Ready is kept.
    assert condition(instance, "Ready")["status"] == "True"
    assert instance["status"]["state"] == "ACTIVE"

    await rollout.report(available=1)
    await has_health(world, rollout.instance, "", "")
    await world.ready(commit)


async def test_an_image_that_cannot_be_pulled_is_named_once(
    world: SourceWorld, rollout: Rollout
) -> None:
    """The two reasons of such a Pod take turns; nobody writes a status for each of them."""
    world.commit({"web.yaml": [web(world), rollout.instance]})
    await world.follow()
    await rollout.report(available=0)
    await rollout.crash("ErrImagePull")
    found = await has_health(world, rollout.instance, "False", "ImagePullBackOff")
    await rollout.crash("ImagePullBackOff")

    async def is_unchanged() -> None:
        again = await world.get(rollout.instance)
        assert again["metadata"]["resourceVersion"] == found["metadata"]["resourceVersion"]

    await world.holds(is_unchanged, 6.0)


async def test_ready_waits_for_children_if_the_definition_says_so(
    world: SourceWorld, rollout: Rollout
) -> None:
    world.commit({"web.yaml": [web(world, **{READINESS: "children"}), rollout.instance]})
    await world.follow()
    await rollout.report(available=0)
    found = await has_health(world, rollout.instance, "Unknown", "not all replicas are updated")
    assert condition(found, "Ready")["status"] == "Unknown"
    assert condition(found, "ResourcesReady")["reason"] == "ChildrenProgressing"
    assert found["status"]["state"] == "IN_PROGRESS"
    await rollout.crash("CrashLoopBackOff")
    found = await has_health(world, rollout.instance, "False", "CrashLoopBackOff")
    assert condition(found, "Ready")["status"] == "False"
    assert found["status"]["state"] == "ERROR"
    await rollout.report(available=1)
    await world.in_state(rollout.instance, "ACTIVE")


async def test_a_nested_instance_passes_it_on(world: SourceWorld, rollout: Rollout) -> None:
    inner: dict[str, Any] = {
        "apiVersion": f"{world.group}/v1alpha1",
        "kind": "Web",
        "metadata": {"name": "${schema.metadata.name}"},
        "spec": {"image": "web:1"},
    }
    outer = world.definition("Site", {}, resources=[{"id": "web", "template": inner}])
    site = world.instance("Site", "front", {})
    world.commit({"web.yaml": [web(world), outer, site]})
    await world.follow()
    await rollout.report(available=0)
    await rollout.crash("CrashLoopBackOff")
    await has_health(world, site, "False", "Web ")
    source = await world.reported("Ready", "False", reason="Degraded")
    assert "CrashLoopBackOff" in condition(source, "Ready")["message"]
    await rollout.report(available=1)
    await world.ready()
