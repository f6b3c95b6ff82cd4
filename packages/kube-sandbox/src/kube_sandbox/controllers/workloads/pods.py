"""
Pod, as scheduled and run by a simulated node: pending, scheduled, running, ended.

Each transition takes one step of time. The outcome comes from the pod's annotation, its image or
its owner; failures look as a kubelet reports them. An unknown outcome is reported in an Event.

Follows kubernetes 1.35 pkg/kubelet/kubelet_pods.go Kubelet.generateAPIPodStatus, getPhase;
pkg/kubelet/status/generate.go GeneratePodReadyCondition; pkg/scheduler/schedule_one.go
Scheduler.bind; pkg/kubelet/images/image_manager.go imageManager.EnsureImageExists;
pkg/kubelet/kuberuntime/kuberuntime_manager.go kubeGenericRuntimeManager.doBackOff.
"""

import zlib
from collections.abc import Mapping
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.controllers.workloads import job_pods
from kube_sandbox.controllers.workloads.plan_steps import (
    Bind,
    Controller,
    Create,
    Plan,
    PlanContext,
    RelatedObjects,
    Remove,
    SetStatus,
    Step,
    Update,
    condition_of,
    controller_of,
    is_deleting,
    is_ready,
)
from kube_sandbox.controllers.workloads.simulated_outcomes import (
    OUTCOMES,
    Outcome,
    after_restarts,
    find_outcome,
    outcome_text_of,
    written_outcome,
)

_BUCKET, _JOBS = "pods", "jobs.batch"
_MAX_MESSAGE_LENGTH = 1024  # characters of an Event's message
_WAITING_FOR_A_NODE = ("Pending", "Unschedulable")
_WAITING = {
    "CrashLoopBackOff": "back-off 10s restarting failed container={name} pod={pod}",
    "ImagePullBackOff": 'Back-off pulling image "{image}"',
    "ContainerCreating": "",
}


def plan(pod: KubeObject, seen: RelatedObjects, moment: PlanContext) -> Plan:
    """Return the next step of a pod."""
    status = pod.get("status") or {}
    owner = controller_of(pod) or {"uid": ""}
    uids = (each["metadata"]["uid"] for each in seen.get(_JOBS, ()))
    if _may_be_uncounted(pod) and owner["uid"] not in uids:
        return Plan((Update(_BUCKET, job_pods.untracked(pod)),))
    if is_deleting(pod):
        # Simulated containers stop at once.
        if not pod["metadata"].get("deletionGracePeriodSeconds"):
            return Plan()
        return Plan((Remove(_BUCKET, pod, grace=0),), moment.settings.step)
    if status.get("phase") in ("Succeeded", "Failed"):
        return Plan()
    outcome = outcome_of(pod, moment)
    if not pod["spec"].get("nodeName"):
        return _schedule(pod, outcome, moment)
    started, is_running = status.get("startTime"), status.get("phase") == "Running"
    if outcome in _WAITING_FOR_A_NODE and not is_running:
        return Plan()  # it has one already, and is to stay pending all the same
    if started is None:
        # A node has just taken the pod.
        waiting = {"waiting": {"reason": "ContainerCreating"}}
        creating = {
            **_base(pod, moment),
            "phase": "Pending",
            "conditions": _conditions(pod, False, moment),
            "startTime": moment.text,
            "containerStatuses": [_container(each, waiting) for each in pod["spec"]["containers"]],
        }
        created = SetStatus(_BUCKET, {**pod, "status": creating})
        return Plan((created, *_unknown_outcome_event(pod, moment)), moment.settings.step)
    if condition_of(pod, "Ready") is None or not is_running:
        wait = moment.left(started, moment.settings.step)
        return Plan(next=wait) if wait else _start(pod, outcome, moment)
    if outcome in ("Succeeded", "Failed"):
        wait = moment.left(started, 2 * moment.settings.step)
        if wait:
            return Plan(next=wait)
        before = pod["status"]
        state = _terminated(int(outcome == "Failed"), before["startTime"], moment.text)
        reason = "PodFailed" if outcome == "Failed" else "PodCompleted"
        ended_status = {
            **before,
            "phase": outcome,
            "conditions": _conditions(pod, False, moment, reason),
            "containerStatuses": [_container(each, state) for each in pod["spec"]["containers"]],
        }
        return Plan((SetStatus(_BUCKET, {**pod, "status": ended_status}),))
    # The annotation of a running pod may have changed.
    has_turned = outcome == ("CrashLoopBackOff" if is_ready(pod) else "Running")
    turned = _start(pod, outcome, moment) if has_turned else Plan()
    return Plan((*turned.steps, *_unknown_outcome_event(pod, moment)), turned.next)


def _may_be_uncounted(pod: KubeObject) -> bool:
    """Return whether a pod waits to be counted, and its Job may be gone."""
    return job_pods.is_tracked(pod) and (is_deleting(pod) or controller_of(pod) is None)


def _unknown_outcome_event(pod: KubeObject, moment: PlanContext) -> tuple[Step, ...]:
    """Return the Event that tells of an annotation that says nothing known."""
    key, metadata = moment.settings.outcome_annotation, pod["metadata"]
    written = written_outcome(pod, key)
    if not written or find_outcome(written) is not None:
        return ()
    text = f"annotation {key}: '{written}' is none of {', '.join(OUTCOMES)}, and is ignored"
    mark = zlib.crc32((metadata["uid"] + written).encode())
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        # One for each word of a pod: they make the name.
        "metadata": {
            "name": f"{metadata['name']}.{mark:x}",
            "namespace": metadata["namespace"],
        },
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            **{each: metadata[each] for each in ("namespace", "name", "uid")},
        },
        "reason": "UnknownOutcome",
        "message": text[:_MAX_MESSAGE_LENGTH],
        "source": {"component": "kubelet", "host": moment.settings.node},
        "firstTimestamp": moment.text,
        "lastTimestamp": moment.text,
        "count": 1,
        "type": "Warning",
        "reportingComponent": "kubelet",
        "reportingInstance": moment.settings.node,
    }
    return (Create("events", event),)


def outcome_of(pod: KubeObject, moment: PlanContext) -> Outcome:
    """Return the simulated outcome of a pod."""
    owner = controller_of(pod)
    settings = moment.settings
    stated = outcome_text_of(pod, settings.outcome_annotation, settings.outcomes)
    usual: Outcome = "Succeeded" if owner is not None and owner.get("kind") == "Job" else "Running"
    return after_restarts(pod, stated or usual)


def _schedule(pod: KubeObject, outcome: Outcome, moment: PlanContext) -> Plan:
    if pod["spec"].get("schedulingGates") or outcome == "Pending":
        return Plan()
    if outcome == "Unschedulable":
        found = condition_of(pod, "PodScheduled")
        if found is not None and found.get("status") == "False":
            return Plan()
        text = (
            "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: "
        )
        text += "0/1 nodes are available: 1 No preemption victims found for incoming pod."
        condition = _condition("PodScheduled", "False", moment, "Unschedulable", text)
        status = {**pod.get("status", {}), "conditions": [condition]}
        return Plan((SetStatus(_BUCKET, {**pod, "status": status}),))
    wait = moment.left(pod["metadata"].get("creationTimestamp"), moment.settings.step)
    if wait:
        return Plan(next=wait)
    return Plan((Bind(pod, moment.settings.node),))


def _condition(
    sort: str, status: str, moment: PlanContext, reason: str = "", message: str = ""
) -> dict[str, Any]:
    found = {
        "type": sort,
        "status": status,
        "lastProbeTime": None,
        "lastTransitionTime": moment.text,
    }
    return {**found, **({"reason": reason, "message": message} if reason else {})}


def _conditions(pod: KubeObject, ready: bool, moment: PlanContext, reason: str = "") -> list[Any]:
    names = ", ".join(each["name"] for each in pod["spec"]["containers"])
    text = "" if reason == "PodCompleted" else f"containers with unready status: [{names}]"
    message = () if ready else (reason or "ContainersNotReady", text)
    state = "True" if ready else "False"
    fresh = [
        _condition("PodReadyToStartContainers", "True", moment),
        _condition("Initialized", "True", moment),
        _condition("Ready", state, moment, *message),
        _condition("ContainersReady", state, moment, *message),
        _condition("PodScheduled", "True", moment),
    ]
    seen = _generation(pod)
    for condition in fresh:
        before = condition_of(pod, condition["type"])
        if before is not None and before.get("status") == condition["status"]:
            condition["lastTransitionTime"] = before.get("lastTransitionTime")
        condition |= seen
    return fresh


def _generation(pod: KubeObject) -> dict[str, int]:
    """Say which generation of a pod a node has seen."""
    found = pod["metadata"].get("generation")
    return {"observedGeneration": found} if found else {}


def _base(pod: KubeObject, moment: PlanContext) -> dict[str, Any]:
    kept = (pod.get("status") or {}).items()
    address = {"ip": f"10.0.0.{zlib.crc32(moment.settings.node.encode()) % 250 + 2}"}
    found = {**dict(kept), **_generation(pod), "hostIP": address["ip"], "hostIPs": [address]}
    first = pod["spec"].get("initContainers") or ()
    if first:
        started = found.get("startTime", moment.text)
        # They are taken to be done as soon as the node has the pod.
        states = [_container(each, _terminated(0, started, started)) for each in first]
        found["initContainerStatuses"] = [{**each, "ready": True} for each in states]
    return found


def address_of(uid: str) -> str:
    """Return the address of a pod: always the same one for the same pod."""
    number = zlib.crc32(uid.encode())
    return f"10.244.{number >> 8 & 0xFF}.{number % 254 + 1}"


def _container(container: Mapping[str, Any], state: dict[str, Any], **more: Any) -> dict[str, Any]:
    is_up = "running" in state
    return {
        "name": container["name"],
        "state": state,
        "lastState": {},
        "ready": is_up,
        "restartCount": 0,
        "image": container.get("image", ""),
        "imageID": "",
        "started": is_up,
        **more,
    }


def _start(pod: KubeObject, outcome: Outcome, moment: PlanContext) -> Plan:
    """Start the containers, or fail to."""
    address = address_of(pod["metadata"]["uid"])
    status = {**_base(pod, moment), "podIP": address, "podIPs": [{"ip": address}]}
    if outcome in ("CrashLoopBackOff", "ImagePullBackOff"):
        states: list[dict[str, Any]] = []
        for each in pod["spec"]["containers"]:
            named = "{name}_{namespace}({uid})".format_map(pod["metadata"])
            text = _WAITING[outcome].format(
                name=each["name"], pod=named, image=each.get("image", "")
            )
            waiting = {"waiting": {"reason": outcome, "message": text}}
            if outcome == "ImagePullBackOff":
                failing: dict[str, Any] = _container(each, waiting)
            else:
                started = (pod.get("status") or {}).get("startTime", moment.text)
                # A long-running container is restarted even after success.
                key, outcomes = moment.settings.outcome_annotation, moment.settings.outcomes
                code = int(outcome_text_of(pod, key, outcomes) != "Succeeded")
                failing = _container(
                    each, waiting, restartCount=1, lastState=_terminated(code, started, started)
                )
            states.append(failing)
        phase = "Running" if outcome == "CrashLoopBackOff" else "Pending"
        status |= {
            "phase": phase,
            "conditions": _conditions(pod, False, moment),
            "containerStatuses": states,
        }
        done = (pod.get("status") or {}).get("containerStatuses") == states
        return Plan() if done else Plan((SetStatus(_BUCKET, {**pod, "status": status}),))
    running = {"running": {"startedAt": moment.text}}
    status |= {
        "phase": "Running",
        "conditions": _conditions(pod, True, moment),
        "containerStatuses": [_container(each, running) for each in pod["spec"]["containers"]],
    }
    again = moment.settings.step if outcome in ("Succeeded", "Failed") else None
    return Plan((SetStatus(_BUCKET, {**pod, "status": status}),), again)


def _terminated(code: int, started: str, ended: str) -> dict[str, Any]:
    return {
        "terminated": {
            "exitCode": code,
            "reason": "Error" if code else "Completed",
            "startedAt": started,
            "finishedAt": ended,
        }
    }


CONTROLLER = Controller(
    _BUCKET,
    plan,
    manager="kubelet",
    looks=lambda pod, _: (_JOBS,) if _may_be_uncounted(pod) else (),
)
