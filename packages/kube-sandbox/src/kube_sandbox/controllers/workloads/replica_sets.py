"""
ReplicaSet: creates or deletes pods until their number is right.

Follows kubernetes 1.35 pkg/controller/replicaset/replica_set.go
ReplicaSetController.syncReplicaSet, ReplicaSetController.manageReplicas;
pkg/controller/replicaset/replica_set_utils.go calculateStatus.
"""

from collections.abc import Iterable
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.controllers.workloads.plan_steps import (
    Controller,
    Create,
    Plan,
    PlanContext,
    RelatedObjects,
    Remove,
    Step,
    available_in,
    condition_of,
    deletion_rank,
    is_active,
    is_deleting,
    is_ready,
    pod_from,
    soonest,
    with_status,
)

BUCKET = "replicasets.apps"
FAILURE = "ReplicaFailure"


def plan(replica_set: KubeObject, seen: RelatedObjects, moment: PlanContext) -> Plan:
    """Return the pods to create or to delete, and the status."""
    pods = seen.get("pods", ())
    active = [each for each in pods if is_active(each)]
    steps: list[Step] = []
    if not is_deleting(replica_set):
        missing = replica_set["spec"].get("replicas", 1) - len(active)
        if missing >= 0:
            prefix = f"{replica_set['metadata']['name']}-"
            template = replica_set["spec"]["template"]
            steps += [
                Create("pods", pod_from(template, replica_set, generateName=prefix))
                for _ in range(missing)
            ]
        else:
            steps += [Remove("pods", each) for each in sorted(active, key=deletion_rank)[:-missing]]
    seconds = replica_set["spec"].get("minReadySeconds", 0)
    waits = [available_in(each, seconds, moment) for each in active]
    is_short = any(isinstance(each, Create) for each in steps)
    wanted_labels = replica_set["spec"]["template"].get("metadata", {}).get("labels", {}).items()
    labelled = sum(
        wanted_labels <= (each["metadata"].get("labels") or {}).items() for each in active
    )
    counted = {
        "fullyLabeledReplicas": labelled,
        "readyReplicas": sum(map(is_ready, active)),
        "availableReplicas": sum(each == 0.0 for each in waits),
    }
    # ReplicaFailure is shown from the first rejected Pod until all exist.
    found = list((replica_set.get("status") or {}).get("conditions") or ())
    others = [each for each in found if each["type"] != FAILURE]
    if moment.refusal and len(others) == len(found):
        failure = {
            "type": FAILURE,
            "status": "True",
            "lastTransitionTime": moment.text,
            "reason": "FailedCreate",
            "message": moment.refusal,
        }
        conditions = [*found, failure]
    else:
        conditions = found if is_short else others
    status = {
        "replicas": len(active),
        **{name: count for name, count in counted.items() if count},
        "terminatingReplicas": sum(map(is_deleting, pods)),
        "observedGeneration": replica_set["metadata"].get("generation", 0),
        **({"conditions": conditions} if conditions else {}),
    }
    later = soonest(*(each for each in waits if each))
    return Plan((*steps, *with_status(BUCKET, replica_set, status)), later)


def with_failures(
    conditions: list[dict[str, Any]], replica_sets: Iterable[KubeObject]
) -> list[dict[str, Any]]:
    """Return the conditions of a Deployment with the first failure of its ReplicaSets."""
    failures = (condition_of(each, FAILURE) for each in replica_sets)
    failure = next((each for each in failures if each is not None), None)
    others = [each for each in conditions if each["type"] != FAILURE]
    if failure is None:
        return others
    known = [each for each in conditions if each["type"] == FAILURE]
    if known and known[0]["reason"] == failure["reason"]:
        return conditions
    head = {"type": FAILURE, "status": failure["status"]}
    return [*others, {**head, "lastUpdateTime": failure["lastTransitionTime"], **failure}]


CONTROLLER = Controller(BUCKET, plan, owns=("pods",), adopts=lambda _, pod: is_active(pod))
