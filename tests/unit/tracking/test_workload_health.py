"""The health of objects that are neither instances nor definitions."""

from typing import Any

import pytest

from kro_gitops.tracking.health import Health
from kro_gitops.tracking.workload_health import pod_reasons, workload_health
from kube_objects.refs import KubeObject

HEALTHY, PROGRESSING = Health.HEALTHY, Health.PROGRESSING
DEGRADED, SUSPENDED = Health.DEGRADED, Health.SUSPENDED


def obj(kind: str, api_version: str = "v1", **more: Any) -> KubeObject:
    metadata = {"name": "x", "generation": 2, **more.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}


def workload(kind: str, spec: dict[str, Any] | None = None, **status: Any) -> KubeObject:
    seen = {"observedGeneration": 2, **status}
    return obj(kind, "apps/v1", spec={"replicas": 3, **(spec or {})}, status=seen)


def says(type_: str, status: str, reason: str = "", message: str = "") -> dict[str, Any]:
    return {"type": type_, "status": status, "reason": reason, "message": message}


def conditions(*listed: dict[str, Any]) -> dict[str, Any]:
    return {"conditions": list(listed)}


def pod(phase: str, *listed: dict[str, Any], **status: Any) -> KubeObject:
    return obj("Pod", status={"phase": phase, **conditions(*listed), **status})


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    state = {"waiting": {"reason": reason, "message": message}}
    return {"containerStatuses": [{"name": "web", "state": state}]}


ALL_UP: dict[str, Any] = {
    "replicas": 3,
    "updatedReplicas": 3,
    "availableReplicas": 3,
    "readyReplicas": 3,
}
STUCK = says("Progressing", "False", "ProgressDeadlineExceeded", "timed out")
PARTITION = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}}
ON_DELETE = {"updateStrategy": {"type": "OnDelete"}}

CASES = {
    "an object without status": (obj("ConfigMap"), HEALTHY, ""),
    "a status without conditions": (obj("X", "a/v1", status={"n": 1}), HEALTHY, ""),
    "deleted": (
        obj("ConfigMap", metadata={"deletionTimestamp": "t", "finalizers": ["a", "b"]}),
        PROGRESSING,
        "being deleted, waiting on finalizers: a, b",
    ),
    "an old status": (
        obj("X", "a/v1", status={"observedGeneration": 1, **conditions(says("Ready", "True"))}),
        PROGRESSING,
        "spec change not processed",
    ),
    "ready": (obj("X", "a/v1", status=conditions(says("Ready", "True"))), HEALTHY, ""),
    "not ready": (
        obj("X", "a/v1", status=conditions(says("Ready", "False", "Why", "because"))),
        PROGRESSING,
        "because",
    ),
    "stalled": (
        obj("X", "a/v1", status=conditions(says("Ready", "False"), says("Stalled", "True", "No"))),
        DEGRADED,
        "No",
    ),
    "a deployment nobody saw": (
        obj("Deployment", "apps/v1"),
        PROGRESSING,
        "not picked up by its controller yet",
    ),
    "a deployment that is up": (workload("Deployment", **ALL_UP), HEALTHY, ""),
    "a deployment that rolls out": (
        workload("Deployment", **{**ALL_UP, "updatedReplicas": 1}),
        PROGRESSING,
        "1 of 3 replicas updated",
    ),
    "a deployment whose zero is not written": (
        workload("Deployment", replicas=3, availableReplicas=3),
        PROGRESSING,
        "0 of 3 replicas updated",
    ),
    "a deployment that waits": (
        workload("Deployment", **{**ALL_UP, "availableReplicas": 2}),
        PROGRESSING,
        "2 of 3 replicas available",
    ),
    "a deployment that got stuck": (
        workload("Deployment", **ALL_UP, **conditions(STUCK)),
        DEGRADED,
        "timed out",
    ),
    "a deployment over quota": (
        workload("Deployment", **conditions(says("ReplicaFailure", "True", "F", "quota"))),
        DEGRADED,
        "quota",
    ),
    "a paused deployment": (
        workload("Deployment", {"paused": True}, **ALL_UP),
        SUSPENDED,
        "the deployment is paused",
    ),
    "a stateful set that is held back": (
        workload("StatefulSet", PARTITION, updatedReplicas=1, readyReplicas=3),
        HEALTHY,
        "",
    ),
    "a stateful set updated by hand": (
        workload("StatefulSet", ON_DELETE, readyReplicas=3),
        HEALTHY,
        "",
    ),
    "a stateful set that starts": (
        workload("StatefulSet", updatedReplicas=3, readyReplicas=1),
        PROGRESSING,
        "1 of 3 replicas ready",
    ),
    "a replica set": (workload("ReplicaSet", availableReplicas=3), HEALTHY, ""),
    "a daemon set": (
        workload("DaemonSet", desiredNumberScheduled=2, updatedNumberScheduled=2),
        PROGRESSING,
        "0 of 2 pods available",
    ),
    "a job that runs": (obj("Job", "batch/v1", status={}), PROGRESSING, "not completed yet"),
    "a job that is done": (
        obj("Job", "batch/v1", status=conditions(says("Complete", "True"))),
        HEALTHY,
        "",
    ),
    "a job that failed": (
        obj("Job", "batch/v1", status=conditions(says("Failed", "True", "BackoffLimitExceeded"))),
        DEGRADED,
        "BackoffLimitExceeded",
    ),
    "a suspended job": (
        obj("Job", "batch/v1", spec={"suspend": True}),
        SUSPENDED,
        "the job is suspended",
    ),
    "a pod that runs": (pod("Running", says("Ready", "True")), HEALTHY, ""),
    "a pod that is done": (pod("Succeeded", says("Ready", "False")), HEALTHY, ""),
    "a pod that failed": (pod("Failed", reason="Evicted"), DEGRADED, "Evicted"),
    "a pod without room": (
        pod("Pending", says("PodScheduled", "False", "Unschedulable", "no nodes")),
        PROGRESSING,
        "no nodes",
    ),
    "a pod that crashes": (
        pod("Running", says("Ready", "False"), **waiting("CrashLoopBackOff", "back-off")),
        DEGRADED,
        "container web: CrashLoopBackOff: back-off",
    ),
    "a pod that begins": (
        pod("Pending", **waiting("ContainerCreating")),
        PROGRESSING,
        "Pending",
    ),
    "a claim": (
        obj("PersistentVolumeClaim", status={"phase": "Pending"}),
        PROGRESSING,
        "no volume is bound yet",
    ),
    "a service": (obj("Service", spec={"type": "ClusterIP"}), HEALTHY, ""),
    "a load balancer": (
        obj("Service", spec={"type": "LoadBalancer"}, status={"loadBalancer": {}}),
        PROGRESSING,
        "no load balancer address is assigned yet",
    ),
    "nonsense": (obj("Pod", status="?"), PROGRESSING, "not picked up yet"),
}


@pytest.mark.parametrize(("made", "health", "message"), CASES.values(), ids=CASES)
def test_health(made: KubeObject, health: Health, message: str) -> None:
    verdict = workload_health(made)
    assert (verdict.health, verdict.message) == (health, message)


def test_why_the_containers_of_a_pod_do_not_run() -> None:
    scheduled = says("PodScheduled", "False", "Unschedulable", "no nodes")
    made = pod("Pending", scheduled, **waiting("ImagePullBackOff"))
    assert pod_reasons(made) == ["ImagePullBackOff", "Unschedulable"]
