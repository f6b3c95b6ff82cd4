"""
A ReplicaSet: as many pods of its template as it asks for.
"""

from typing import Any

from kro_gitops.apiserver.workloads.plans import (
    Controller,
    Create,
    Moment,
    Plan,
    Remove,
    Seen,
    Step,
    available_in,
    is_active,
    is_going,
    is_ready,
    pod_from,
    soonest,
    with_status,
)
from kro_gitops.objects.refs import KubeObject

BUCKET = "replicasets.apps"


def plan(replica_set: KubeObject, seen: Seen, moment: Moment) -> Plan:
    """Return the pods to create or to delete, and the status."""
    pods = seen.get("pods", ())
    active = [each for each in pods if is_active(each)]
    going = [each for each in pods if is_going(each)]
    steps: list[Step] = []
    if not is_going(replica_set):
        steps += _scaled(replica_set, active)
    seconds = replica_set["spec"].get("minReadySeconds", 0)
    waits = [available_in(each, seconds, moment) for each in active]
    status = _status(replica_set, active, len(going), waits)
    later = soonest(*(each for each in waits if each))
    return Plan((*steps, *with_status(BUCKET, replica_set, status)), later)


def _scaled(replica_set: KubeObject, active: list[KubeObject]) -> list[Step]:
    wanted = replica_set["spec"].get("replicas", 1)
    missing = wanted - len(active)
    if missing >= 0:
        prefix = f"{replica_set['metadata']['name']}-"
        template = replica_set["spec"]["template"]
        return [
            Create("pods", pod_from(template, replica_set, generateName=prefix))
            for _ in range(missing)
        ]
    return [Remove("pods", each) for each in sorted(active, key=_worth)[:-missing]]


def _worth(pod: KubeObject) -> tuple[Any, ...]:
    """Order pods by what is lost with them: those that do not run, or not for long, come first."""
    phases = {"Pending": 0, "Unknown": 1, "Running": 2}
    status = pod.get("status") or {}
    created = pod["metadata"].get("creationTimestamp", "")
    is_placed = bool(pod["spec"].get("nodeName"))
    age = tuple(-ord(each) for each in created)
    return (is_placed, phases.get(status.get("phase", ""), 0), is_ready(pod), age)


def _status(
    replica_set: KubeObject, active: list[KubeObject], going: int, waits: list[float | None]
) -> dict[str, Any]:
    wanted = replica_set["spec"]["template"].get("metadata", {}).get("labels", {}).items()
    labelled = sum(wanted <= (each["metadata"].get("labels") or {}).items() for each in active)
    counted = {
        "fullyLabeledReplicas": labelled,
        "readyReplicas": sum(map(is_ready, active)),
        "availableReplicas": sum(each == 0.0 for each in waits),
    }
    return {
        "replicas": len(active),
        **{name: count for name, count in counted.items() if count},
        "terminatingReplicas": going,
        "observedGeneration": replica_set["metadata"].get("generation", 0),
    }


CONTROLLER = Controller(BUCKET, plan, owns=("pods",))
