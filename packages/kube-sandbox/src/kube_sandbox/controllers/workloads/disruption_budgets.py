"""
PodDisruptionBudget: its status counts healthy pods and allowed disruptions.

Follows kubernetes 1.35 pkg/controller/disruption/disruption.go DisruptionController.trySync,
DisruptionController.getExpectedPodCount, DisruptionController.updatePdbStatus.
"""

from collections.abc import Iterator, Sequence

from kube_objects.label_selectors import Selector
from kube_objects.refs import KubeObject
from kube_sandbox.controllers.workloads.indexes import (
    IndexQuery,
    RelatedBucket,
    label_index_keys,
    label_query,
)
from kube_sandbox.controllers.workloads.plan_steps import (
    Controller,
    Plan,
    PlanContext,
    RelatedObjects,
    condition_of,
    controller_of,
    is_deleting,
    is_ready,
    with_status,
)
from kube_sandbox.controllers.workloads.rollouts import share

BUCKET = "poddisruptionbudgets.policy"
_SCALED = ("replicasets.apps", "deployments.apps", "statefulsets.apps")


def plan(budget: KubeObject, seen: RelatedObjects, moment: PlanContext) -> Plan:
    """Return the status."""
    if is_deleting(budget):
        return Plan()
    selector = Selector.parse(budget["spec"].get("selector"))
    pods = [
        each
        for each in seen.get("pods", ())
        if selector.matches(each["metadata"].get("labels") or {})
    ]
    least, most = budget["spec"].get("minAvailable"), budget["spec"].get("maxUnavailable")
    expected, wanted = len(pods), 0
    if isinstance(least, int):
        wanted = least
    elif least is not None:
        expected = sum(_sizes(pods, seen))
        wanted = share(least, expected, up=True)
    elif most is not None:
        expected = sum(_sizes(pods, seen))
        wanted = max(0, expected - share(most, expected, up=True))
    healthy = sum(map(is_ready, pods))
    allowed = max(0, healthy - wanted) if expected > 0 else 0
    before = condition_of(budget, "DisruptionAllowed")
    state = "True" if allowed else "False"
    is_same = before is not None and before["status"] == state
    condition = {
        "type": "DisruptionAllowed",
        "status": state,
        "observedGeneration": budget["metadata"].get("generation", 0),
        "lastTransitionTime": before["lastTransitionTime"] if before and is_same else moment.text,
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "message": "",
    }
    status = {
        "observedGeneration": budget["metadata"].get("generation", 0),
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": wanted,
        "expectedPods": expected,
        "conditions": [condition],
    }
    return Plan(with_status(BUCKET, budget, status))


def _sizes(pods: Sequence[KubeObject], seen: RelatedObjects) -> Iterator[int]:
    """Give the size of each that controls some of the pods, or that controls their ReplicaSet."""
    by_uid = {each["metadata"]["uid"]: each for b in _SCALED for each in seen.get(b, ())}
    found: dict[str, KubeObject] = {}
    for pod in pods:
        owner = by_uid.get((controller_of(pod) or {}).get("uid", ""))
        if owner is not None:
            above = by_uid.get((controller_of(owner) or {}).get("uid", ""), owner)
            found[above["metadata"]["uid"]] = above
    for each in found.values():
        yield each["spec"].get("replicas", 1)


def _selected(budget: KubeObject) -> list[IndexQuery]:
    labels = (budget["spec"].get("selector") or {}).get("matchLabels")
    return [label_query(budget["metadata"]["namespace"], labels)]


def _template_ties(owner: KubeObject) -> list[str]:
    """Return the ties that the pods of an owner have from their template."""
    template = owner["spec"].get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    return label_index_keys({"metadata": {**owner["metadata"], "labels": labels}})


CONTROLLER = Controller(
    BUCKET,
    plan,
    sees=(
        RelatedBucket("pods", wishes=_selected, ties=label_index_keys),
        *(RelatedBucket(each, wishes=_selected, ties=_template_ties) for each in _SCALED),
    ),
)
