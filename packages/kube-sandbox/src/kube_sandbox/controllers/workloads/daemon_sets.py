"""
DaemonSet: one pod on the only node.

Follows kubernetes 1.35 pkg/controller/daemon/daemon_controller.go
DaemonSetsController.syncDaemonSet, DaemonSetsController.manage; pkg/controller/daemon/update.go
DaemonSetsController.rollingUpdate, DaemonSetsController.constructHistory.
"""

from collections.abc import Sequence

from kube_objects.refs import KubeObject
from kube_sandbox.controllers.workloads import controller_revisions
from kube_sandbox.controllers.workloads.plan_steps import (
    Controller,
    Create,
    Plan,
    PlanContext,
    RelatedObjects,
    Remove,
    Step,
    Update,
    available_in,
    is_active,
    is_deleting,
    is_ready,
    pod_from,
    soonest,
    with_status,
)

BUCKET = "daemonsets.apps"
_LABEL = "controller-revision-hash"
_GENERATION = "deprecated.daemonset.template.generation"
_TOLERATED = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)


def plan(obj: KubeObject, seen: RelatedObjects, moment: PlanContext) -> Plan:
    """Return the pod to make or replace, and the status."""
    known = seen.get(controller_revisions.BUCKET, ())
    pods = [each for each in seen.get("pods", ()) if is_active(each)]
    newest = controller_revisions.revision_hash(obj)
    steps: list[Step] = []
    if not is_deleting(obj):
        name = controller_revisions.revision_name(obj)
        if any(each["metadata"]["name"] == name for each in known):
            again = controller_revisions.renewed_revision(known, name)
            steps += [Update(controller_revisions.BUCKET, again)] if again else []
        else:
            made = controller_revisions.revision(obj, known, _LABEL)
            generation = (obj["metadata"].get("annotations") or {}).get(_GENERATION)
            if generation:
                made["metadata"]["annotations"] = {_GENERATION: generation}
            steps.append(Create(controller_revisions.BUCKET, made))
        steps += _pods(obj, pods, newest, moment)
        used = {f"{obj['metadata']['name']}-{_revision_of(each)}" for each in pods}
        steps += controller_revisions.revisions_to_delete(
            obj, known, used | {controller_revisions.revision_name(obj)}
        )
    seconds = obj["spec"].get("minReadySeconds", 0)
    waits = [available_in(each, seconds, moment) for each in pods]
    later = soonest(*(each for each in waits if each))
    available = sum(each == 0.0 for each in waits)
    counts = {
        "updatedNumberScheduled": sum(_revision_of(each) == newest for each in pods),
        "numberAvailable": available,
        "numberUnavailable": 1 - min(1, available),
    }
    status = {
        "currentNumberScheduled": min(1, len(pods)),
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 1,
        "numberReady": sum(map(is_ready, pods)),
        "observedGeneration": obj["metadata"].get("generation", 0),
        **{name: count for name, count in counts.items() if count},
    }
    return Plan((*steps, *with_status(BUCKET, obj, status)), later)


def _revision_of(pod: KubeObject) -> str:
    found: str = (pod["metadata"].get("labels") or {}).get(_LABEL, "")
    return found


def _pods(
    obj: KubeObject, pods: Sequence[KubeObject], newest: str, moment: PlanContext
) -> list[Step]:
    if not pods:
        generation = (obj["metadata"].get("annotations") or {}).get(_GENERATION, "1")
        labels = {_LABEL: newest, "pod-template-generation": generation}
        name = obj["metadata"]["name"]
        pod = pod_from(obj["spec"]["template"], obj, generateName=f"{name}-", labels=labels)
        term = {"key": "metadata.name", "operator": "In", "values": [moment.settings.node]}
        required = {"nodeSelectorTerms": [{"matchFields": [term]}]}
        node = {"requiredDuringSchedulingIgnoredDuringExecution": required}
        affinity = {**(pod["spec"].get("affinity") or {}), "nodeAffinity": node}
        tolerations = [
            *(pod["spec"].get("tolerations") or ()),
            *(
                {"key": f"node.kubernetes.io/{each}", "operator": "Exists", "effect": effect}
                for each, effect in _TOLERATED
            ),
        ]
        return [
            Create(
                "pods",
                {**pod, "spec": {**pod["spec"], "affinity": affinity, "tolerations": tolerations}},
            )
        ]
    strategy = (obj["spec"].get("updateStrategy") or {}).get("type", "RollingUpdate")
    old = [each for each in pods if _revision_of(each) != newest]
    surplus = [] if old else list(pods[1:])
    return [Remove("pods", each) for each in (surplus or (old if strategy != "OnDelete" else []))]


CONTROLLER = Controller(
    BUCKET, plan, owns=("pods", controller_revisions.BUCKET), adopts=lambda *_: True
)
