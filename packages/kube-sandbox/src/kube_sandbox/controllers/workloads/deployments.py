"""
Deployment: one ReplicaSet per template, and rollouts from one to the next.

Follows kubernetes 1.35 pkg/controller/deployment/deployment_controller.go
DeploymentController.syncDeployment; pkg/controller/deployment/sync.go
DeploymentController.getNewReplicaSet, DeploymentController.scale,
DeploymentController.cleanupDeployment, calculateStatus; pkg/controller/deployment/progress.go
DeploymentController.syncRolloutStatus; pkg/controller/deployment/recreate.go
DeploymentController.rolloutRecreate.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.controllers.workloads import replica_sets
from kube_sandbox.controllers.workloads.plan_steps import (
    Controller,
    Create,
    Plan,
    PlanContext,
    RelatedObjects,
    Remove,
    SetStatus,
    Step,
    Update,
    is_deleting,
    reference_to,
    with_status,
)
from kube_sandbox.controllers.workloads.rollouts import (
    DESIRED,
    MOST,
    Limits,
    counted,
    is_scaled,
    new_size,
    old_sizes,
    shares,
    size,
)
from kube_sandbox.controllers.workloads.template_hash import template_hash

BUCKET = "deployments.apps"
_PAUSED = "DeploymentPaused"
_UNTIMED = ("NewReplicaSetAvailable", "ProgressDeadlineExceeded", _PAUSED)
_HASH = "pod-template-hash"
_OWN = "deployment.kubernetes.io/"
_REVISION, _HISTORY = f"{_OWN}revision", f"{_OWN}revision-history"
_UNCOPIED = ("kubectl.kubernetes.io/last-applied-configuration", _HISTORY)


def plan(deployment: KubeObject, seen: RelatedObjects, moment: PlanContext) -> Plan:
    """Return the next step of a rollout, and the status."""
    sets = list(seen.get(replica_sets.BUCKET, ()))
    new = next((each for each in sets if _is_of(each, deployment)), None)
    old = [each for each in sets if each is not new]
    if is_deleting(deployment):
        return Plan(_status(deployment, new, old, moment))
    limits = Limits.of(deployment)
    if deployment["spec"].get("paused"):
        steps = [
            *_scale_proportionally(deployment, new, old, limits),
            *_delete_old_replica_sets(deployment, old),
        ]
        return Plan((*steps, *_status(deployment, new, old, moment)))
    if is_scaled(limits, sets):
        steps = _scale_proportionally(deployment, new, old, limits)
        return Plan((*steps, *_status(deployment, new, old, moment)))
    steps = _roll_out(deployment, new, old, limits)
    steps += _delete_old_replica_sets(deployment, old)
    made = [each.obj for each in steps if isinstance(each, Create)]
    if made and moment.refusal:
        before = deployment.get("status") or {}
        name = made[0]["metadata"]["name"]
        message = f'Failed to create new replica set "{name}": {moment.refusal}'
        conditions = list(before.get("conditions") or ())
        reason = "ReplicaSetCreateError"
        conditions = _with(conditions, "Progressing", "False", reason, message, moment)
        return Plan(with_status(BUCKET, deployment, {**before, "conditions": conditions}))
    revision = max(max(map(_revision, old), default=0) + 1, _revision(new))
    marked = deployment
    if _revision(deployment) != revision:
        metadata = deployment["metadata"]
        annotations = {**(metadata.get("annotations") or {}), _REVISION: str(revision)}
        marked = {**deployment, "metadata": {**metadata, "annotations": annotations}}
    status = _status(marked, made[0] if made else new, old, moment)
    if marked is not deployment and not status:
        status = (SetStatus(BUCKET, marked),)
    return Plan((*steps, *status), _left(deployment, moment) or None)


def _is_of(replica_set: KubeObject, deployment: KubeObject) -> bool:
    """Return whether a ReplicaSet has the Deployment's template."""
    template = replica_set["spec"]["template"]
    metadata = dict(template.get("metadata") or {})
    labels = {key: value for key, value in metadata.get("labels", {}).items() if key != _HASH}
    plain = {**template, "metadata": {**metadata, "labels": labels}}
    found: bool = plain == deployment["spec"]["template"]
    return found


def _revision(obj: KubeObject | None) -> int:
    written = (obj["metadata"].get("annotations") or {}).get(_REVISION, "0") if obj else "0"
    return int(written) if written.isdigit() else 0


def _roll_out(
    deployment: KubeObject, new: KubeObject | None, old: Sequence[KubeObject], limits: Limits
) -> list[Step]:
    recreates = (deployment["spec"].get("strategy") or {}).get("type") == "Recreate"
    if recreates and any(size(each) for each in old):
        return [_resized(each, 0, limits) for each in old if size(each)]
    if recreates and counted(old, "replicas") + counted(old, "terminatingReplicas"):
        return []
    if new is None:
        return [Create(replica_sets.BUCKET, _new_replica_set(deployment, old, limits))]
    steps: list[Step] = []
    wanted = limits.wanted if recreates else new_size(limits, size(new), old)
    revision = max(map(_revision, old), default=0) + 1
    # The ReplicaSet has the Deployment's annotations and the newest revision.
    before = new["metadata"].get("annotations") or {}
    annotations = {**before, **_copied(deployment["metadata"])}
    if _revision(new) < revision:
        annotations[_REVISION] = str(revision)
        if _REVISION in before:
            known = (before.get(_HISTORY), before[_REVISION])
            annotations[_HISTORY] = ",".join(filter(None, known))
    revised = new
    if annotations != before:
        revised = {**new, "metadata": {**new["metadata"], "annotations": annotations}}
    if wanted != size(new) or _annotated(revised, limits) != revised:
        steps.append(_resized(revised, wanted, limits))
    elif revised is not new:
        steps.append(Update(replica_sets.BUCKET, revised))
    sizes = old_sizes(limits, new, old)
    steps += [
        _resized(each, sizes[each["metadata"]["uid"]], limits)
        for each in old
        if each["metadata"]["uid"] in sizes
    ]
    return steps


def _scale_proportionally(
    deployment: KubeObject, new: KubeObject | None, old: Sequence[KubeObject], limits: Limits
) -> list[Step]:
    """Bring ReplicaSets to another size, each in proportion, and leave the rollout as it is."""
    rolls = (deployment["spec"].get("strategy") or {}).get("type") != "Recreate"
    sizes = shares(limits, new, old, rolls=rolls)
    steps = []
    for each in (*old, *([new] if new else [])):
        wanted = sizes.get(each["metadata"]["uid"], size(each))
        is_noted = each["metadata"]["uid"] in sizes or size(each)
        if wanted != size(each) or (is_noted and _annotated(each, limits) != each):
            steps.append(_resized(each, wanted, limits))
    return list(steps)


def _annotated(replica_set: KubeObject, limits: Limits) -> KubeObject:
    metadata = replica_set["metadata"]
    counts = {DESIRED: str(limits.wanted), MOST: str(limits.wanted + limits.surge)}
    annotations = {**(metadata.get("annotations") or {}), **counts}
    return {**replica_set, "metadata": {**metadata, "annotations": annotations}}


def _resized(replica_set: KubeObject, wanted: int, limits: Limits) -> Update:
    found = _annotated(replica_set, limits)
    return Update(replica_sets.BUCKET, {**found, "spec": {**found["spec"], "replicas": wanted}})


def _new_replica_set(
    deployment: KubeObject, old: Sequence[KubeObject], limits: Limits
) -> KubeObject:
    metadata, spec = deployment["metadata"], deployment["spec"]
    template = spec["template"]
    collisions = (deployment.get("status") or {}).get("collisionCount", 0)
    mark = {_HASH: template_hash(template, collisions)}
    labels = {**template.get("metadata", {}).get("labels", {}), **mark}
    selector = spec["selector"]
    matched = {**selector, "matchLabels": {**selector.get("matchLabels", {}), **mark}}
    revision = max(map(_revision, old), default=0) + 1
    ready = spec.get("minReadySeconds", 0)
    made = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{metadata['name']}-{mark[_HASH]}",
            "namespace": metadata["namespace"],
            "labels": labels,
            "annotations": {**_copied(metadata), _REVISION: str(revision)},
            "ownerReferences": [reference_to(deployment)],
        },
        "spec": {
            "replicas": new_size(limits, 0, old),
            **({"minReadySeconds": ready} if ready else {}),
            "selector": matched,
            "template": {
                **template,
                "metadata": {**template.get("metadata", {}), "labels": labels},
            },
        },
    }
    return _annotated(made, limits)


def _copied(metadata: Mapping[str, Any]) -> dict[str, str]:
    found = metadata.get("annotations") or {}
    skipped = (*_UNCOPIED, _REVISION, DESIRED, MOST)
    return {name: value for name, value in found.items() if name not in skipped}


def _delete_old_replica_sets(deployment: KubeObject, old: Sequence[KubeObject]) -> list[Step]:
    """Delete ReplicaSets that are too long ago to be rolled back to."""
    kept = deployment["spec"].get("revisionHistoryLimit", 10)
    empty = [
        each
        for each in sorted(old, key=_revision)
        if not size(each) and not counted([each], "replicas") and not is_deleting(each)
    ]
    return [Remove(replica_sets.BUCKET, each) for each in empty[: max(0, len(empty) - kept)]]


def _status(
    deployment: KubeObject, new: KubeObject | None, old: Sequence[KubeObject], moment: PlanContext
) -> tuple[Step, ...]:
    every = [*old, *([new] if new else [])]
    available = counted(every, "availableReplicas")
    counts = {
        "replicas": counted(every, "replicas"),
        "updatedReplicas": counted([new] if new else [], "replicas"),
        "readyReplicas": counted(every, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, sum(map(size, every)) - available),
    }
    before = deployment.get("status") or {}
    limits = Limits.of(deployment)
    found = list((deployment.get("status") or {}).get("conditions") or ())
    if new is not None and "uid" not in new["metadata"]:
        found = _progress(deployment, new, counts, found, moment)  # reported at once
    enough = counts["availableReplicas"] >= limits.wanted - limits.unavailable
    found = _with(
        found,
        "Available",
        "True" if enough else "False",
        "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        f"Deployment {'has' if enough else 'does not have'} minimum availability.",
        moment,
    )
    if deployment["spec"].get("progressDeadlineSeconds") is not None:
        reason = next((each["reason"] for each in found if each["type"] == "Progressing"), "")
        if deployment["spec"].get("paused"):
            if reason not in (_PAUSED, "ProgressDeadlineExceeded"):
                message = "Deployment is paused"
                found = _with(found, "Progressing", "Unknown", _PAUSED, message, moment)
        elif reason == _PAUSED:
            message = "Deployment is resumed"
            found = _with(found, "Progressing", "Unknown", "DeploymentResumed", message, moment)
    if not deployment["spec"].get("paused"):
        found = _progress(deployment, new, counts, found, moment)
    status: dict[str, Any] = {
        "observedGeneration": deployment["metadata"].get("generation", 0),
        **{name: count for name, count in counts.items() if count},
        "terminatingReplicas": counted(every, "terminatingReplicas"),
        "conditions": replica_sets.with_failures(found, [*([new] if new else []), *old]),
    }
    if "collisionCount" in before:
        status["collisionCount"] = before["collisionCount"]
    return with_status(BUCKET, deployment, status)


def _with(
    found: list[dict[str, Any]],
    sort: str,
    status: str,
    reason: str,
    message: str,
    moment: PlanContext,
) -> list[dict[str, Any]]:
    """Return conditions with one set; a changed condition moves to the end, as upstream."""
    before = next((each for each in found if each["type"] == sort), None)
    if before and (before["status"], before["reason"]) == (status, reason):
        return found
    same = before is not None and before["status"] == status
    fresh = {
        "type": sort,
        "status": status,
        "lastUpdateTime": moment.text,
        "lastTransitionTime": before["lastTransitionTime"] if before and same else moment.text,
        "reason": reason,
        "message": message,
    }
    return [*(each for each in found if each["type"] != sort), fresh]


def _progress(
    deployment: KubeObject,
    new: KubeObject | None,
    counts: Mapping[str, int],
    found: list[dict[str, Any]],
    moment: PlanContext,
) -> list[dict[str, Any]]:
    if new is None or deployment["spec"].get("progressDeadlineSeconds") is None:
        return found
    if "uid" not in new["metadata"]:
        text = f'Created new replica set "{new["metadata"]["name"]}"'
        return _with(found, "Progressing", "True", "NewReplicaSetCreated", text, moment)
    named = f'ReplicaSet "{new["metadata"]["name"]}"'
    wanted = deployment["spec"].get("replicas", 1)
    is_done = all(
        counts[each] == wanted for each in ("replicas", "updatedReplicas", "availableReplicas")
    )
    if is_done:
        text = f"{named} has successfully progressed."
        return _with(found, "Progressing", "True", "NewReplicaSetAvailable", text, moment)
    before = next((each for each in found if each["type"] == "Progressing"), None)
    if (
        before is not None
        and before["reason"] == "NewReplicaSetAvailable"
        and counts["replicas"] == counts["updatedReplicas"]
    ):
        # Once rolled out, a Deployment that is only scaled is not at it again.
        return found
    was = Counter(deployment.get("status") or {})
    has_progressed = (
        counts["replicas"] - counts["updatedReplicas"] < was["replicas"] - was["updatedReplicas"]
    ) or any(
        counts[name] > was[name]
        for name in ("updatedReplicas", "readyReplicas", "availableReplicas")
    )
    if has_progressed or before is None:
        rest = [each for each in found if each["type"] != "Progressing"]
        text = f"{named} is progressing."
        fresh = _with([], "Progressing", "True", "ReplicaSetUpdated", text, moment)[0]
        if before and before["status"] == "True":
            fresh["lastTransitionTime"] = before["lastTransitionTime"]
        return [*rest, fresh]
    if _left(deployment, moment) == 0.0:
        text = f"{named} has timed out progressing."
        return _with(found, "Progressing", "False", "ProgressDeadlineExceeded", text, moment)
    return found


def _left(deployment: KubeObject, moment: PlanContext) -> float | None:
    """Return the seconds until a rollout that does not progress is late."""
    found = (deployment.get("status") or {}).get("conditions") or ()
    before = next((each for each in found if each["type"] == "Progressing"), None)
    if before is None or before["reason"] in _UNTIMED:
        return None
    seconds = deployment["spec"].get("progressDeadlineSeconds", 600)
    return moment.left(before["lastUpdateTime"], seconds)


CONTROLLER = Controller(BUCKET, plan, owns=(replica_sets.BUCKET,), adopts=lambda *_: True)
