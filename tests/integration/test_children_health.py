"""What the health of children costs, and when an instance reports it."""

import asyncio
from collections.abc import Callable
from typing import Any

from kro_gitops.engine.controllers.children_health import REPORT_DELAY
from kro_gitops.kube.api import MergePatch, WriteOptions
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.builders import definition, instance, resource
from tests.integration.cluster import Controllers, InProcessCluster
from tests.integration.conftest import Scene

Play = Callable[[Scene], None]
STATUS = WriteOptions(subresource="status")
WEB = ObjectRef(Kind("apps", "v1", "Deployment"), "town", "web")
POD = ObjectRef(Kind("", "v1", "Pod"), "town", "web-1")
LABELS = {"app": "web"}
CONTAINERS = {"containers": [{"name": "web", "image": "web:1"}]}


async def start(cluster: InProcessCluster, **annotations: str) -> None:
    """Create an instance with a Deployment."""
    template = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": LABELS},
            "template": {"metadata": {"labels": LABELS}, "spec": CONTAINERS},
        },
    }
    made = definition(resource("web", template))
    made["metadata"]["annotations"] = annotations
    await cluster.client.create(made)
    await cluster.in_state(made, "Active")
    town = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "town"}}
    await cluster.client.create(town)
    await cluster.client.create(instance())
    await cluster.eventually(lambda: cluster.get(WEB))


async def report(cluster: InProcessCluster, available: int) -> None:
    """Report what the controller of Deployments would."""
    live = await cluster.get(WEB)
    status = {"observedGeneration": live["metadata"]["generation"], "availableReplicas": available}
    counts = {"replicas": 1, "updatedReplicas": 1, "readyReplicas": available}
    await cluster.client.patch(WEB, MergePatch({"status": {**status, **counts}}), STATUS)


async def crash(cluster: InProcessCluster) -> None:
    """Create the Deployment's Pod, with a container that crashes."""
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "spec": CONTAINERS}
    metadata = {"name": POD.name, "namespace": POD.namespace, "labels": LABELS}
    await cluster.client.create({**body, "metadata": metadata})
    waiting = {"name": "web", "image": "web:1", "imageID": "", "ready": False, "restartCount": 3}
    container = {**waiting, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    status = {"phase": "Running", "containerStatuses": [container]}
    await cluster.client.patch(POD, MergePatch({"status": status}), STATUS)


async def health_of(cluster: InProcessCluster) -> tuple[str, str]:
    """Return the status and message of ChildrenHealthy; empty: there is none."""
    conditions = (await cluster.get(instance()))["status"]["conditions"]
    found: KubeObject = next((c for c in conditions if c["type"] == "ChildrenHealthy"), {})
    return found.get("status", ""), found.get("message", "")


def requests_of_engine(cluster: InProcessCluster, since: int) -> list[tuple[str, str]]:
    """Return writes and lists of Pods since then, but for what a test reports of Deployments."""
    return [
        (each.method, each.path)
        for each in cluster.transport.sent[since:]
        if (each.method != "GET" or each.path.endswith("/pods"))
        and not each.path.endswith("/deployments/web/status")
    ]


def test_a_child_that_becomes_healthy_soon_costs_no_request(play: Play) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        await start(cluster)
        await cluster.in_state(instance(), "ACTIVE")
        before = len(cluster.transport.sent)
        await report(cluster, available=0)
        await asyncio.sleep(REPORT_DELAY / 2)
        await report(cluster, available=1)
        await asyncio.sleep(600)
        assert requests_of_engine(cluster, before) == []
        assert await health_of(cluster) == ("", "")

    play(scene)


def test_a_child_that_takes_long_is_reported_once_and_its_pods_are_read_less_and_less_often(
    play: Play,
) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        await start(cluster)
        await cluster.in_state(instance(), "ACTIVE")
        before = len(cluster.transport.sent)
        await asyncio.sleep(3600)
        requests = requests_of_engine(cluster, before)
        assert [each for each in requests if each[0] != "GET"] == [
            ("PATCH", "/apis/kro.run/v1/namespaces/town/kiosks/corner/status")
        ]
        assert 10 < len(requests) < 30, requests
        text = "Deployment town/web: not all replicas are updated and available"
        assert await health_of(cluster) == ("Unknown", text)

    play(scene)


def test_a_pod_that_crashes_is_named_and_recovery_is_reported_at_once(play: Play) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        await start(cluster)
        await crash(cluster)
        text = "Deployment town/web: Pod web-1: container web: CrashLoopBackOff"

        async def crashes() -> None:
            assert await health_of(cluster) == ("False", text)

        await cluster.eventually(crashes, within=REPORT_DELAY + 1)
        await report(cluster, available=1)

        async def is_healthy() -> None:
            assert await health_of(cluster) == ("", "")

        await cluster.eventually(is_healthy, within=1)

    play(scene)


def test_a_restart_changes_nothing_of_what_is_reported(play: Play) -> None:
    async def scene(cluster: InProcessCluster, controllers: Controllers) -> None:
        await start(cluster)
        await crash(cluster)
        await asyncio.sleep(REPORT_DELAY + 5)
        before = await cluster.get(instance())
        assert (await health_of(cluster))[0] == "False"
        await controllers.restart()
        await asyncio.sleep(120)
        assert await cluster.get(instance()) == before

    play(scene)


def test_ready_waits_for_children_if_the_definition_says_so(play: Play) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        await start(cluster, **{"gitops.kro.run/readiness": "children"})
        await cluster.in_state(instance(), "IN_PROGRESS", within=1)
        await report(cluster, available=1)
        await cluster.in_state(instance(), "ACTIVE", within=1)

    play(scene)
