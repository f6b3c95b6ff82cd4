"""
What is shown in each situation that docs/explanation/health.md lists.

A test plays the deployment controller, the kubelet and the other controllers that a row needs.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kube_objects.refs import KubeObject, ObjectRef
from tests.command import start
from tests.connection import connect
from tests.e2e.following.world import Git, SourceWorld
from tests.e2e.scenarios.controllers import start_controller
from tests.lua_health import argocd_health
from tools.cluster.plane import Plane

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "health.md"


class Shown(NamedTuple):
    """A row of the page without its first cell."""

    state: str
    ready: str  # of the instance, with the reason unless it is True
    children: str  # ChildrenHealthy
    source: str  # Ready of the source, with its reason
    argocd: str
    wait: str  # what `kubectl wait --for=condition=Ready` does


class Stage:
    """A definition, an instance `front`, a source, and the controllers that the test plays."""

    def __init__(self, world: SourceWorld) -> None:
        self.world = world
        self.instance = world.instance("Web", "front", {"text": "x"})
        self.deployment = world.ref("apps/v1", "Deployment", "front")
        self.pod = world.ref("v1", "Pod", "front-x1")

    def definition(
        self, *resources: KubeObject, kind: str = "Web", status: Any = None, **annotations: str
    ) -> KubeObject:
        """Build the definition; without resources, it makes a Deployment."""
        world = self.world
        made = world.definition(
            kind,
            {"text": "string"},
            status=status,
            resources=resources or [deployment()],
            name=f"{kind.lower()}-{world.token}",
        )
        made["metadata"]["annotations"] = {
            f"gitops.kro.run/{key.replace('_', '-')}": value for key, value in annotations.items()
        }
        return made

    async def follow(self, *objects: KubeObject) -> None:
        """Commit objects and follow the repository; without objects, the usual ones."""
        self.world.commit({"all.yaml": list(objects or (self.definition(), self.instance))})
        await self.world.follow()

    async def report(self, ref: ObjectRef, **status: Any) -> None:
        """Report the status of an object as its controller would."""
        live = await self.world.until(lambda: self.world.get(ref), 30.0)
        generation = live["metadata"].get("generation")
        seen = {"observedGeneration": generation} if ref.kind.group == "apps" else {}
        await self.world.merge(ref, {"status": {**seen, **status}}, subresource="status")

    async def rollout(self, available: int, **more: Any) -> None:
        """Report the counts of the Deployment."""
        counts = {"replicas": 1, "updatedReplicas": 1}
        counts |= dict.fromkeys(("readyReplicas", "availableReplicas"), available)
        await self.report(self.deployment, **counts, **more)

    async def with_pod(self, **status: Any) -> None:
        """Have the Deployment wait for a Pod with a status."""
        await self.follow()
        await self.rollout(0)
        metadata = {"name": self.pod.name, "namespace": self.pod.namespace, "labels": labels()}
        spec = {"containers": [{"name": "web", "image": "web:1"}]}
        pod: KubeObject = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        await self.world.create(pod)
        await self.world.merge(self.pod, {"status": status}, subresource="status")

    async def waiting_pod(self, reason: str) -> None:
        """Do the same with a container that waits for a reason."""
        container = {"name": "web", "image": "web:1", "imageID": "", "ready": False}
        waiting = {"restartCount": 3, "state": {"waiting": {"reason": reason}}}
        await self.with_pod(phase="Pending", containerStatuses=[{**container, **waiting}])


def labels() -> dict[str, str]:
    """Return labels of its own, so that YAML has no aliases."""
    return {"app": "web"}


def deployment() -> KubeObject:
    """Return the resource of a definition that makes a Deployment."""
    pod = {"containers": [{"name": "web", "image": "web:1"}]}
    spec = {
        "selector": {"matchLabels": labels()},
        "template": {"metadata": {"labels": labels()}, "spec": pod},
    }
    return child("apps/v1", "Deployment", spec=spec)


def child(api_version: str, kind: str, **fields: Any) -> KubeObject:
    """Return the resource of a definition that makes an object named as the instance."""
    named = {"metadata": {"name": "${schema.metadata.name}"}}
    return {"id": "main", "template": {"apiVersion": api_version, "kind": kind, **named, **fields}}


def config_map(**data: str) -> KubeObject:
    """Return the resource of a definition that makes a ConfigMap."""
    return child("v1", "ConfigMap", data=data or {"text": "${schema.spec.text}"})


async def healthy(stage: Stage) -> None:
    await stage.follow()
    await stage.rollout(1)


async def started(stage: Stage) -> None:
    await stage.follow()
    await stage.rollout(0)


async def image_not_found(stage: Stage) -> None:
    await stage.waiting_pod("ImagePullBackOff")


async def crashing(stage: Stage) -> None:
    await stage.waiting_pod("CrashLoopBackOff")


async def secret_missing(stage: Stage) -> None:
    await stage.waiting_pod("CreateContainerConfigError")


async def unschedulable(stage: Stage) -> None:
    why = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    await stage.with_pod(
        phase="Pending", conditions=[{**why, "message": "0/3 nodes are available"}]
    )


async def probe_failing(stage: Stage) -> None:
    why = {"type": "Ready", "status": "False", "reason": "ContainersNotReady"}
    await stage.with_pod(phase="Running", conditions=[{**why, "message": "web is not ready"}])


async def deadline_exceeded(stage: Stage) -> None:
    await stage.follow()
    why = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
    await stage.rollout(0, conditions=[{**why, "message": "has timed out progressing"}])


async def quota_exceeded(stage: Stage) -> None:
    await stage.follow()
    why = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}
    await stage.rollout(0, conditions=[{**why, "message": "exceeded quota"}])


async def strict_started(stage: Stage) -> None:
    await stage.follow(stage.definition(readiness="children"), stage.instance)
    await stage.rollout(0)


async def strict_failed(stage: Stage) -> None:
    await stage.follow(stage.definition(readiness="children"), stage.instance)
    why = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
    await stage.rollout(0, conditions=[{**why, "message": "has timed out progressing"}])


async def job_failed(stage: Stage) -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "web", "image": "web:1"}]}
    job = child("batch/v1", "Job", spec={"template": {"spec": pod}})
    await stage.follow(stage.definition(job), stage.instance)
    times = {"startTime": "2026-01-01T00:00:00Z", "failed": 1}
    why = {"status": "True", "reason": "BackoffLimitExceeded", "message": "it failed"}
    at = {"lastTransitionTime": "2026-01-01T00:00:00Z", "lastProbeTime": "2026-01-01T00:00:00Z"}
    failed = [{"type": each, **why, **at} for each in ("FailureTarget", "Failed")]
    await stage.report(stage.world.ref("batch/v1", "Job", "front"), conditions=failed, **times)


async def no_volume(stage: Stage) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = child("v1", "PersistentVolumeClaim", spec=spec)
    await stage.follow(stage.definition(claim), stage.instance)


async def no_address(stage: Stage) -> None:
    service = child("v1", "Service", spec={"type": "LoadBalancer", "ports": [{"port": 80}]})
    await stage.follow(stage.definition(service), stage.instance)


async def nested_failed(stage: Stage) -> None:
    api_version = f"{stage.world.group}/v1alpha1"
    inner = child(api_version, "Inner", spec={"text": "x"})
    await stage.follow(stage.definition(kind="Inner"), stage.definition(inner), stage.instance)
    why = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
    await stage.rollout(0, conditions=[{**why, "message": "has timed out progressing"}])


async def not_ready_yet(stage: Stage) -> None:
    waits = {**config_map(), "readyWhen": ["${main.data.text == 'y'}"]}
    await stage.follow(stage.definition(waits), stage.instance)


async def reference_missing(stage: Stage) -> None:
    named = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}}
    reference = {"id": "shared", "externalRef": named}
    await stage.follow(stage.definition(reference, config_map()), stage.instance)


async def child_invalid(stage: Stage) -> None:
    service = child(
        "v1", "Service", spec={"ports": [{"port": 80, "name": "${schema.spec.text + '_'}"}]}
    )
    await stage.follow(stage.definition(service), stage.instance)


async def child_of_another(stage: Stage) -> None:
    metadata = {"name": "front", "namespace": stage.world.namespace}
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"text": "theirs"}}
    await stage.world.create({**theirs, "metadata": metadata})
    await stage.follow(stage.definition(config_map()), stage.instance)


async def suspended(stage: Stage) -> None:
    await stage.follow(stage.definition(config_map()), stage.instance)
    await stage.world.ready()
    paused = {"metadata": {"annotations": {"kro.run/reconcile": "suspended"}}}
    await stage.world.merge(stage.instance, paused)


async def definition_rejected(stage: Stage) -> None:
    await stage.follow(stage.definition(config_map()), stage.instance)
    await stage.world.ready()
    broken = stage.definition(config_map(text="${schema.spec.txt}"))
    stage.world.commit({"all.yaml": [broken, stage.instance]})


async def definition_deleted(stage: Stage) -> None:
    made = stage.definition(config_map())
    await stage.world.create(made)
    await stage.world.active(made)
    await stage.follow(stage.instance)
    await stage.world.ready()
    await stage.world.delete(made)


async def expression_fails(stage: Stage) -> None:
    divides = config_map(text="${string(1 / size(schema.spec.text))}")
    empty = {**stage.instance, "spec": {"text": ""}}
    await stage.follow(stage.definition(divides), empty)


async def deletion_waits(stage: Stage) -> None:
    await stage.follow(stage.definition(config_map()), stage.instance)
    await stage.world.ready()
    kept = stage.world.ref("v1", "ConfigMap", "front")
    await stage.world.merge(kept, {"metadata": {"finalizers": ["example.org/wait"]}})
    stage.world.commit({"all.yaml": [stage.definition(config_map())]})


FINE = "${runtime.newCondition({type: 'Fine', status: 'True'})}"


async def author_conditions(stage: Stage) -> None:
    fine = stage.definition(config_map(), status={"conditions": [FINE]})
    await stage.follow(fine, stage.instance)


async def author_conditions_not_ready(stage: Stage) -> None:
    waits = {**config_map(), "readyWhen": ["${main.data.text == 'y'}"]}
    await stage.follow(stage.definition(waits, status={"conditions": [FINE]}), stage.instance)


async def author_conditions_suspended(stage: Stage) -> None:
    await author_conditions(stage)
    await stage.world.ready()
    paused = {"metadata": {"annotations": {"kro.run/reconcile": "suspended"}}}
    await stage.world.merge(stage.instance, paused)


async def author_condition_fails(stage: Stage) -> None:
    divides = "string(1 / (size(schema.spec.text) - 1))"
    fails = f"${{runtime.newCondition({{type: 'Fine', status: {divides}}})}}"
    await stage.follow(
        stage.definition(config_map(), status={"conditions": [fails]}), stage.instance
    )


async def author_ready(stage: Stage) -> None:
    not_today = "{type: 'Ready', status: 'False', reason: 'NotToday'}"
    status = {"conditions": [FINE, f"${{runtime.newCondition({not_today})}}"]}
    await stage.follow(stage.definition(config_map(), status=status), stage.instance)


async def author_conditions_alone(stage: Stage) -> None:
    alone = stage.definition(config_map(), status={"conditions": [FINE]}, ready_conditions="")
    await stage.follow(alone, stage.instance)


Play = Callable[[Stage], Awaitable[None]]
T, NONE = "True", "absent"
WAITS, FAILED = "Unknown (Progressing)", "False (Degraded)"

DELETED = "the definition was deleted"
ROWS: dict[str, tuple[Play, Shown]] = {
    "all children are healthy": (healthy, Shown("ACTIVE", T, NONE, T, "Healthy", "returns")),
    "a rollout began less than 10 seconds ago": (
        started,
        Shown("ACTIVE", T, NONE, WAITS, "Healthy", "returns"),
    ),
    "a rollout began more than 10 seconds ago": (
        started,
        Shown("ACTIVE", T, WAITS, WAITS, "Progressing", "returns"),
    ),
    "the image is not found": (
        image_not_found,
        Shown("ACTIVE", T, FAILED, FAILED, "Degraded", "returns"),
    ),
    "a container crashes": (crashing, Shown("ACTIVE", T, FAILED, FAILED, "Degraded", "returns")),
    "a Secret or ConfigMap of a Pod is missing": (
        secret_missing,
        Shown("ACTIVE", T, FAILED, FAILED, "Degraded", "returns"),
    ),
    "a Pod cannot be scheduled": (
        unschedulable,
        Shown("ACTIVE", T, WAITS, WAITS, "Progressing", "returns"),
    ),
    "a readiness probe fails": (
        probe_failing,
        Shown("ACTIVE", T, WAITS, WAITS, "Progressing", "returns"),
    ),
    "the progress deadline is exceeded": (
        deadline_exceeded,
        Shown("ACTIVE", T, FAILED, FAILED, "Degraded", "returns"),
    ),
    "a quota does not allow the Pods": (
        quota_exceeded,
        Shown("ACTIVE", T, FAILED, FAILED, "Degraded", "returns"),
    ),
    "a rollout, with readiness: children": (
        strict_started,
        Shown(
            "IN_PROGRESS", "Unknown (ChildrenProgressing)", WAITS, WAITS, "Progressing", "times out"
        ),
    ),
    "a failed rollout, with readiness: children": (
        strict_failed,
        Shown("ERROR", "False (ChildrenDegraded)", FAILED, FAILED, "Degraded", "times out"),
    ),
    "a Job failed": (job_failed, Shown("ACTIVE", T, FAILED, FAILED, "Degraded", "returns")),
    "a PersistentVolumeClaim is not bound": (
        no_volume,
        Shown("ACTIVE", T, WAITS, WAITS, "Progressing", "returns"),
    ),
    "a load balancer has no address": (
        no_address,
        Shown("ACTIVE", T, WAITS, WAITS, "Progressing", "returns"),
    ),
    "a child of a nested instance failed": (
        nested_failed,
        Shown("ACTIVE", T, FAILED, FAILED, "Degraded", "returns"),
    ),
    "readyWhen is false": (
        not_ready_yet,
        Shown("IN_PROGRESS", "False (NotReady)", NONE, WAITS, "Progressing", "times out"),
    ),
    "an external reference does not exist": (
        reference_missing,
        Shown("IN_PROGRESS", "False (NotReady)", NONE, WAITS, "Progressing", "times out"),
    ),
    "the API server rejects a child": (
        child_invalid,
        Shown("ERROR", "False (NotReady)", NONE, FAILED, "Degraded", "times out"),
    ),
    "a child exists and has another owner": (
        child_of_another,
        Shown("ERROR", "False (NotReady)", NONE, FAILED, "Degraded", "times out"),
    ),
    "an expression fails": (
        expression_fails,
        Shown("ERROR", "False (NotReady)", NONE, FAILED, "Degraded", "times out"),
    ),
    "the instance is suspended": (
        suspended,
        Shown("ACTIVE", "False (ReconciliationSuspended)", NONE, T, "Suspended", "times out"),
    ),
    "the definition was changed and is rejected": (
        definition_rejected,
        Shown("ACTIVE", T, NONE, "False (ApplyFailed)", "Healthy", "returns"),
    ),
    "the definition was deleted": (
        definition_deleted,
        Shown("ACTIVE", "Unknown (DefinitionDeleted)", NONE, WAITS, "Progressing", "times out"),
    ),
    "its deletion waits for a child": (
        deletion_waits,
        Shown("DELETING", "Unknown (UnderDeletion)", NONE, WAITS, "Progressing", "times out"),
    ),
    "the definition has conditions of its own without Ready": (
        author_conditions,
        Shown("ACTIVE", T, NONE, T, "Healthy", "returns"),
    ),
    "the same, and readyWhen is false": (
        author_conditions_not_ready,
        Shown("IN_PROGRESS", "False (NotReady)", NONE, WAITS, "Progressing", "times out"),
    ),
    "the same, and the instance is suspended": (
        author_conditions_suspended,
        Shown("ACTIVE", "False (ReconciliationSuspended)", NONE, T, "Suspended", "times out"),
    ),
    "the same, and an expression of a condition fails": (
        author_condition_fails,
        Shown(
            "ERROR",
            "False (ConditionExpressionFailed)",
            NONE,
            FAILED,
            "Degraded",
            "times out",
        ),
    ),
    "its Ready is a condition of its own": (
        author_ready,
        Shown("ACTIVE", "False (NotToday)", NONE, WAITS, "Progressing", "times out"),
    ),
    "it has conditions of its own, and an annotation without Ready": (
        author_conditions_alone,
        Shown("ACTIVE", NONE, NONE, T, "Progressing", "times out"),
    ),
}


@pytest.mark.parametrize("situation", [each for each in ROWS if each != DELETED])
async def test_each_situation_is_shown_as_the_page_says(world: SourceWorld, situation: str) -> None:
    await check_row(world, situation)


@pytest.mark.timeout(240)
async def test_an_instance_without_a_definition_is_shown_as_the_page_says(
    own_plane: Plane, git: Git
) -> None:
    """With a controller of its own: the one that is shared deletes CRDs with their definitions."""
    flags = {"sources": True, "allow_private_networks": True, "allow_plain_http": True}
    config = own_plane.kubeconfig
    controller = await asyncio.to_thread(
        start_controller, config, "ours", allow_crd_deletion=False, **flags
    )
    with controller:
        async with connect(config) as opened:
            world = SourceWorld(opened.client, controller, git)
            await world.open()
            await check_row(world, DELETED)
            words = ("get", "instances", "-n", world.namespace, "--kubeconfig", str(config))
            listed = await asyncio.to_thread(start, *words)
            assert "DefinitionDeleted" in listed.out, listed
            await world.close()


async def check_row(world: SourceWorld, situation: str) -> None:
    """Play a situation until what is shown is as in its row."""
    play, expected = ROWS[situation]
    stage = Stage(world)
    await play(stage)

    async def check() -> None:
        assert await shown(stage) == expected

    try:
        await world.until(check, 45.0)
    finally:
        await leave(stage)


def test_the_page_has_the_rows_of_the_test() -> None:
    text = PAGE.read_text(encoding="utf-8").split("## What is shown", 1)[1]
    lines = [line for line in text.splitlines() if line.startswith("| ")][1:]
    cells = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]
    written = {found[0]: Shown(*(re.sub("`", "", cell) for cell in found[1:])) for found in cells}
    assert written == {situation: expected for situation, (_, expected) in ROWS.items()}


async def shown(stage: Stage) -> Shown:
    """Return what is shown of the instance and of the source now."""
    instance = await stage.world.get(stage.instance)
    source = await stage.world.get(stage.world.source_ref())
    status = instance.get("status") or {}
    found = {each["type"]: each for each in status.get("conditions") or ()}
    ready = found.get("Ready")
    wait = "returns" if ready is not None and ready["status"] == T else "times out"
    of_source = {each["type"]: each for each in source["status"]["conditions"]}
    return Shown(
        status.get("state", ""),
        _text(ready),
        _text(found.get("ChildrenHealthy")),
        _text(of_source["Ready"]),
        argocd_health(instance),
        wait,
    )


async def leave(stage: Stage) -> None:
    """Remove what only a kubelet or another controller would."""
    if await stage.world.find(stage.pod) is not None:
        await stage.world.delete(stage.pod)
    kept = stage.world.ref("v1", "ConfigMap", "front")
    if await stage.world.find(kept) is not None:
        await stage.world.merge(kept, {"metadata": {"finalizers": None}})


def _text(condition: KubeObject | None) -> str:
    if condition is None:
        return NONE
    if condition["status"] == T:
        return T
    return f"{condition['status']} ({condition['reason']})"
