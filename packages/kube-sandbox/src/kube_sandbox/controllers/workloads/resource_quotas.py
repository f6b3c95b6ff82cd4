"""
ResourceQuota: recalculates the usage of a namespace.

Admission adds to the usage; this controller counts again when objects are deleted, end or shrink,
and every few minutes.

Follows kubernetes 1.35 pkg/controller/resourcequota/resource_quota_controller.go
Controller.syncResourceQuota; pkg/controller/resourcequota/resource_quota_monitor.go
QuotaMonitor.processResourceChanges; pkg/quota/v1/install/update_filter.go DefaultUpdateFilter.
"""

from collections.abc import Iterable

from kube_objects.refs import KubeObject
from kube_sandbox.admission.plugins.quota_scopes import scopes_of
from kube_sandbox.admission.plugins.quota_usage import CLAIMS, PODS, SERVICES, evaluator_for
from kube_sandbox.admission.plugins.resource_sums import (
    NOTHING,
    Amount,
    added,
    amounts,
    restricted_to,
    texts,
)
from kube_sandbox.controllers.workloads.plan_steps import (
    Controller,
    Plan,
    PlanContext,
    RelatedObjects,
    SetStatus,
    is_active,
)

BUCKET = "resourcequotas"
_RESYNC_SECONDS = 300.0


def plan(quota: KubeObject, seen: RelatedObjects, moment: PlanContext) -> Plan:
    """Return the status, if it is another."""
    status = quota.get("status") or {}
    hard = (quota.get("spec") or {}).get("hard") or {}
    before = amounts(status.get("used"))
    scopes = scopes_of(quota)
    found: dict[str, Amount] = {}
    for bucket, objects in seen.items():
        measure = evaluator_for(bucket)
        if measure is None:
            continue
        names = measure.counted(hard)
        total: dict[str, Amount] = dict.fromkeys(names, NOTHING)
        for obj in objects:
            if all(measure.in_scope(each, obj) for each in scopes):
                total = added(total, restricted_to(measure.uses(obj, moment.now), names))
        found |= total
    used = restricted_to({**before, **found}, hard)
    is_same = used.keys() == before.keys() and all(
        used[name].nanos == before[name].nanos for name in used
    )
    if "used" in status and status.get("hard") == hard and is_same:
        return Plan(next=_RESYNC_SECONDS)
    fresh = {"hard": hard, "used": texts(used)}
    filled = {name: value for name, value in fresh.items() if value}
    return Plan((SetStatus(BUCKET, {**quota, "status": filled}),), _RESYNC_SECONDS)


def counted_buckets(quota: KubeObject, buckets: Iterable[str]) -> list[str]:
    """Return the buckets whose objects a quota counts."""
    hard = (quota.get("spec") or {}).get("hard") or {}
    return [
        bucket
        for bucket in buckets
        if (measure := evaluator_for(bucket)) is not None and any(map(measure.counts, hard))
    ]


def is_settled(quota: KubeObject) -> bool:
    """Return whether a quota's status is about what it says: then it is counted only for others."""
    status = quota.get("status") or {}
    return "used" in status and status.get("hard") == (quota.get("spec") or {}).get("hard")


def releases_quota(bucket: str, obj: KubeObject, *, is_gone: bool) -> bool:
    """Return whether a change to an object may have set something free."""
    if is_gone:
        return evaluator_for(bucket) is not None
    if bucket == PODS:
        # Of a pod that runs, what is counted changes only with its spec.
        is_changed = obj["metadata"].get("generation", 1) > 1
        return is_changed or not is_active(obj)
    return bucket in (SERVICES, CLAIMS)


CONTROLLER = Controller(BUCKET, plan, looks=counted_buckets, is_settled=is_settled)
