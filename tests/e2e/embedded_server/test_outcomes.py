"""How workloads fare in a server that runs: what was asked for by flag and by annotation."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from kro_gitops.kube.api import Cluster, Selection
from kube_objects.refs import Kind, KubeObject, ObjectRef
from kube_sandbox.controllers.workloads.simulated_outcomes import OUTCOME_ANNOTATION
from tests.connection import connect
from tests.e2e.embedded_server.processes import served

POD = Kind("", "v1", "Pod")
EVENT = Kind("", "v1", "Event")
DEPLOYMENT = Kind("apps", "v1", "Deployment")
JOB = Kind("batch", "v1", "Job")
PULLED = "registry.example:5000/broken"


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    """Give a cluster in which things take no time, and one image cannot be pulled."""
    flags = ("--ephemeral", "--step=0", f"--outcome={PULLED}=ImagePullBackOff")
    with served(tmp_path, *flags) as (_, kubeconfig):
        async with connect(kubeconfig) as connection:
            yield connection.client


def deployment(image: str = "web:1", outcome: str = "") -> KubeObject:
    """Make a Deployment that is late at once."""
    labels = {"labels": {"app": "web"}}
    template = {
        "metadata": {**labels, "annotations": {OUTCOME_ANNOTATION: outcome}} if outcome else labels,
        "spec": {"containers": [{"name": "web", "image": image}]},
    }
    spec = {
        "replicas": 2,
        "progressDeadlineSeconds": 1,
        "selector": {"matchLabels": labels["labels"]},
        "template": template,
    }
    metadata = {"name": "web", "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def conditions(obj: KubeObject) -> dict[str, tuple[str, str]]:
    """Return an object's conditions: status and reason by type."""
    found = obj.get("status", {}).get("conditions", ())
    return {each["type"]: (each["status"], each.get("reason", "")) for each in found}


async def until(cluster: Cluster, ref: ObjectRef, told: Callable[[Any], bool]) -> KubeObject:
    """Return an object as soon as something can be told of it."""
    async with asyncio.timeout(30):
        while True:
            if told(found := await cluster.get(ref)):
                return found
            await asyncio.sleep(0.05)


async def waiting(cluster: Cluster) -> set[str]:
    """Return what the containers of all pods wait for."""
    pods = (await cluster.list(Selection(POD, "default"))).items
    statuses = (each for pod in pods for each in pod["status"]["containerStatuses"])
    return {each["state"]["waiting"]["reason"] for each in statuses}


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        pytest.param(deployment(f"{PULLED}:2"), "ImagePullBackOff", id="by its image"),
        pytest.param(deployment(outcome="Failed"), "CrashLoopBackOff", id="by an annotation"),
    ],
)
async def test_a_deployment_that_fails_is_late_and_not_available(
    cluster: Cluster, made: KubeObject, reason: str
) -> None:
    await cluster.create(made)
    ref = ObjectRef(DEPLOYMENT, "default", "web")
    late = ("False", "ProgressDeadlineExceeded")
    found = await until(cluster, ref, lambda seen: conditions(seen).get("Progressing") == late)
    assert conditions(found)["Available"] == ("False", "MinimumReplicasUnavailable")
    assert found["status"]["unavailableReplicas"] == 2
    assert await waiting(cluster) == {reason}


@pytest.mark.parametrize("restarts", ["Never", "OnFailure"])
async def test_a_job_that_fails_reaches_its_limit(cluster: Cluster, restarts: str) -> None:
    template = {
        "metadata": {"annotations": {OUTCOME_ANNOTATION: "Failed"}},
        "spec": {"containers": [{"name": "a", "image": "x"}], "restartPolicy": restarts},
    }
    metadata = {"name": "job", "namespace": "default"}
    spec = {"backoffLimit": 1, "template": template}
    await cluster.create(
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
    )
    ref = ObjectRef(JOB, "default", "job")
    found = await until(cluster, ref, lambda seen: "Failed" in conditions(seen))
    assert conditions(found)["Failed"] == ("True", "BackoffLimitExceeded")


async def test_an_unknown_outcome_is_an_event_and_no_harm(cluster: Cluster) -> None:
    await cluster.create(deployment(outcome="Explodes"))
    ref = ObjectRef(DEPLOYMENT, "default", "web")
    await until(cluster, ref, lambda seen: seen["status"].get("availableReplicas") == 2)
    events = (await cluster.list(Selection(EVENT, "default"))).items
    told = [each for each in events if each["reason"] == "UnknownOutcome"]
    assert [each["type"] for each in told] == ["Warning", "Warning"]
    assert "'Explodes' is none of Running, " in told[0]["message"]


async def test_workloads_stay_as_they_are_if_they_are_switched_off(tmp_path: Path) -> None:
    with served(tmp_path, "--ephemeral", "--no-workloads") as (_, kubeconfig):
        async with connect(kubeconfig) as connection:
            await connection.client.create(deployment())
            await asyncio.sleep(0.5)
            assert not (await connection.client.list(Selection(POD, "default"))).items
