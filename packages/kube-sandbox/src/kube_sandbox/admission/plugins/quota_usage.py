"""
What an object uses of what quotas limit.

Every kind is counted (`count/jobs.batch`, and a few under names of their own); pods, services and
claims use more than their place. Knows nothing of quotas but the names in them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from kube_objects.refs import KubeObject
from kube_objects.times import parse_time
from kube_sandbox.admission.plugins.pod_requests import (
    HUGE_PAGES,
    container_requests,
    containers_of,
    is_set_for_pod,
    with_overhead,
)
from kube_sandbox.admission.plugins.quota_scopes import Scope, has_claim, has_nothing, has_pod
from kube_sandbox.admission.plugins.resource_sums import (
    NOTHING,
    ONE,
    Amount,
    Amounts,
    amounts,
)

PODS, SERVICES, CLAIMS = "pods", "services", "persistentvolumeclaims"
# What is not stored, or was never counted.
_UNCOUNTED = frozenset(
    (
        "bindings",
        "events",
        "events.events.k8s.io",
        "localsubjectaccessreviews.authorization.k8s.io",
    )
)
_OWN_NAMES = frozenset(("configmaps", "replicationcontrollers", "resourcequotas", "secrets"))
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_OF_PODS = frozenset(
    (
        *("count/pods", "pods"),
        *(f"{prefix}{each}" for prefix in ("", "requests.", "limits.") for each in _COMPUTE),
    )
)
_OF_SERVICES = frozenset(
    ("count/services", "services", "services.nodeports", "services.loadbalancers")
)
_OF_CLAIMS = ("persistentvolumeclaims", "requests.storage")
_BY_CLASS = ".storageclass.storage.k8s.io/"
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_REQUESTS = "requests."
_DEVICES = "deviceclass.resource.kubernetes.io/"
# What every container must say if a quota limits it.
_REQUIRED = frozenset(
    f"{prefix}{each}" for prefix in ("", "requests.", "limits.") for each in ("cpu", "memory")
)
_ENDED = frozenset(("Succeeded", "Failed"))


def _needs_nothing(names: Iterable[str], obj: KubeObject) -> str:
    del names, obj
    return ""


@dataclass(frozen=True, slots=True)
class QuotaEvaluator:
    """How the objects of a kind are measured."""

    counts: Callable[[str], bool]  # says whether a name in a quota is about them
    uses: Callable[[KubeObject, datetime | None], Amounts]  # at a time, `None`: right now
    in_scope: Callable[[Scope, KubeObject], bool] = has_nothing
    missing: Callable[[Iterable[str], KubeObject], str] = _needs_nothing

    def counted(self, names: Iterable[str]) -> list[str]:
        """Return those of some names that are about them, in order."""
        return sorted(filter(self.counts, names))


def evaluator_for(bucket: str) -> QuotaEvaluator | None:
    """Return how the objects of a bucket are measured; `None`: not at all."""
    if bucket in _EVALUATORS:
        return _EVALUATORS[bucket]
    if bucket in _UNCOUNTED:
        return None
    names = [f"count/{bucket}", *([bucket] if bucket in _OWN_NAMES else [])]
    each = dict.fromkeys(names, ONE)
    return QuotaEvaluator(each.__contains__, lambda obj, now: each)


# Pods


def _is_pod_resource(name: str) -> bool:
    if name in _OF_PODS or name.startswith((HUGE_PAGES, _REQUESTS + HUGE_PAGES)):
        return True
    if not name.startswith(_REQUESTS):
        return False
    return not _is_native(name) or name.startswith(_REQUESTS + _DEVICES)


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _pod_uses(pod: KubeObject, now: datetime | None) -> Amounts:
    if not is_charged(pod, now):
        return {"count/pods": ONE}
    spec = pod.get("spec") or {}
    used = _compute(with_overhead(spec, "requests"), with_overhead(spec, "limits"))
    return {"count/pods": ONE, **used}


def is_charged(pod: KubeObject, now: datetime | None) -> bool:
    """Say whether a pod uses more than a place: not if it ended, or should have long ago."""
    if (pod.get("status") or {}).get("phase") in _ENDED:
        return False
    metadata = pod["metadata"]
    end, grace = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
    if now is None or end is None or grace is None:
        return True
    until = parse_time(end)
    return until is None or now <= until + timedelta(seconds=grace)


def _compute(requests: Amounts, limits: Amounts) -> dict[str, Amount]:
    """Return what is used by the names of quotas."""
    found = {"pods": ONE}
    for name in _COMPUTE:
        if name in requests:
            found[name] = found[_REQUESTS + name] = requests[name]
        if name in limits:
            found[f"limits.{name}"] = limits[name]
    for name, amount in requests.items():
        if name.startswith(HUGE_PAGES):
            found[name] = found[_REQUESTS + name] = amount
        elif not _is_native(name) or name.startswith(_DEVICES):
            found[_REQUESTS + name] = amount
    return found


def _pod_missing_resources(names: Iterable[str], pod: KubeObject) -> str:
    """Say which containers do not say how much they want of what is limited."""
    spec = pod.get("spec") or {}
    if is_set_for_pod(spec):
        return ""
    required = _REQUIRED.intersection(names)
    lacking: dict[str, set[str]] = {}
    for container in containers_of(spec):
        said = _compute(
            container_requests(container, "requests"), container_requests(container, "limits")
        )
        for name in required.difference(said):
            lacking.setdefault(name, set()).add(container["name"])
    told = [f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking)]
    return f"must specify {'; '.join(told)}" if told else ""


# Services


def _service_uses(service: KubeObject, now: datetime | None) -> Amounts:
    del now
    spec = service.get("spec") or {}
    sort, ports = spec.get("type"), spec.get("ports") or ()
    balanced = sort == "LoadBalancer"
    open_ports = len(ports) if balanced or sort == "NodePort" else 0
    if balanced and spec.get("allocateLoadBalancerNodePorts") is False:
        open_ports = sum(bool(each.get("nodePort")) for each in ports)
    return {
        "count/services": ONE,
        "services": ONE,
        "services.loadbalancers": ONE if balanced else NOTHING,
        "services.nodeports": Amount(open_ports),
    }


# Claims


def _is_claim_resource(name: str) -> bool:
    by_class = tuple(_BY_CLASS + each for each in _OF_CLAIMS)
    return name in _OF_CLAIMS or name == f"count/{CLAIMS}" or name.endswith(by_class)


def _claim_uses(claim: KubeObject, now: datetime | None) -> Amounts:
    del now
    used = {CLAIMS: ONE, f"count/{CLAIMS}": ONE}
    spec = claim.get("spec") or {}
    annotations = claim["metadata"].get("annotations") or {}
    storage_class = annotations.get(_OLD_CLASS, spec.get("storageClassName"))
    if storage_class:
        used[f"{storage_class}{_BY_CLASS}{CLAIMS}"] = ONE
    asked_for = container_requests(spec, "requests").get("storage")
    if asked_for is not None:
        given = amounts((claim.get("status") or {}).get("allocatedResources")).get("storage")
        more = given if given is not None and given.nanos > asked_for.nanos else asked_for
        used["requests.storage"] = more.rounded_up()
        if storage_class:
            used[f"{storage_class}{_BY_CLASS}requests.storage"] = more.rounded_up()
    return used


_EVALUATORS = {
    PODS: QuotaEvaluator(_is_pod_resource, _pod_uses, has_pod, _pod_missing_resources),
    SERVICES: QuotaEvaluator(_OF_SERVICES.__contains__, _service_uses),
    CLAIMS: QuotaEvaluator(_is_claim_resource, _claim_uses, has_claim),
}
