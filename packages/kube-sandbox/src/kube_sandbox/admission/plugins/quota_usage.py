"""
The usage of an object, by the resource names of quotas.

Objects of every kind are counted (`count/jobs.batch`, some also by their plural); Pods, Services
and PersistentVolumeClaims use further resources.

Follows kubernetes 1.35 pkg/quota/v1/evaluator/core/pods.go PodUsageFunc, podComputeUsageHelper,
podEvaluator.Constraints; pkg/quota/v1/evaluator/core/services.go serviceEvaluator.Usage;
pkg/quota/v1/evaluator/core/persistent_volume_claims.go pvcEvaluator.Usage.
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
from kube_sandbox.registry.builtin.resource_lists import is_native

PODS, SERVICES, CLAIMS = "pods", "services", "persistentvolumeclaims"
# Not stored, or never counted upstream.
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
_BY_CLASS = ".storageclass.storage.k8s.io/"
_OF_CLAIMS = (CLAIMS, "requests.storage", f"count/{CLAIMS}")
_CLAIMS_BY_CLASS = (f"{_BY_CLASS}{CLAIMS}", f"{_BY_CLASS}requests.storage")
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_REQUESTS = "requests."
_DEVICES = "deviceclass.resource.kubernetes.io/"
# Every container must state these if a quota limits them.
_REQUIRED = frozenset(
    f"{prefix}{each}" for prefix in ("", "requests.", "limits.") for each in ("cpu", "memory")
)
_ENDED = frozenset(("Succeeded", "Failed"))


@dataclass(frozen=True, slots=True)
class QuotaEvaluator:
    """Measures the usage of objects of a kind."""

    counts: Callable[[str], bool]  # whether a resource name applies to the kind
    uses: Callable[[KubeObject, datetime | None], Amounts]  # `None`: now
    in_scope: Callable[[Scope, KubeObject], bool] = has_nothing
    missing: Callable[[Iterable[str], KubeObject], str] = lambda names, obj: ""

    def counted(self, names: Iterable[str]) -> list[str]:
        """Return the names that apply to the kind, sorted."""
        return sorted(filter(self.counts, names))


def evaluator_for(bucket: str) -> QuotaEvaluator | None:
    """Return the evaluator of a bucket; `None` if its objects are not counted."""
    if bucket in _EVALUATORS:
        return _EVALUATORS[bucket]
    if bucket in _UNCOUNTED:
        return None
    names = [f"count/{bucket}", *([bucket] if bucket in _OWN_NAMES else [])]
    each = dict.fromkeys(names, ONE)
    return QuotaEvaluator(each.__contains__, lambda obj, now: each)


# Pods


def is_charged(pod: KubeObject, now: datetime | None) -> bool:
    """Return False for a pod that ended, or should have ended by now: it is only counted."""
    if (pod.get("status") or {}).get("phase") in _ENDED:
        return False
    metadata = pod["metadata"]
    end, grace = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
    if now is None or end is None or grace is None:
        return True
    until = parse_time(end)
    return until is None or now <= until + timedelta(seconds=grace)


def _compute(requests: Amounts, limits: Amounts) -> dict[str, Amount]:
    """Return the usage by resource name."""
    found = {"pods": ONE}
    for name in _COMPUTE:
        if name in requests:
            found[name] = found[_REQUESTS + name] = requests[name]
        if name in limits:
            found[f"limits.{name}"] = limits[name]
    for name, amount in requests.items():
        if name.startswith(HUGE_PAGES):
            found[name] = found[_REQUESTS + name] = amount
        elif not is_native(name) or name.startswith(_DEVICES):
            found[_REQUESTS + name] = amount
    return found


def _pod_missing_resources(names: Iterable[str], pod: KubeObject) -> str:
    """Name the containers that do not state their use of a limited resource."""
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
    message = [f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking)]
    return f"must specify {'; '.join(message)}" if message else ""


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
    PODS: QuotaEvaluator(
        lambda name: (
            name in _OF_PODS
            or name.startswith((HUGE_PAGES, _REQUESTS + HUGE_PAGES, _REQUESTS + _DEVICES))
            or (name.startswith(_REQUESTS) and not is_native(name))
        ),
        lambda pod, now: {
            "count/pods": ONE,
            **(
                _compute(
                    with_overhead(pod.get("spec") or {}, "requests"),
                    with_overhead(pod.get("spec") or {}, "limits"),
                )
                if is_charged(pod, now)
                else {}
            ),
        },
        has_pod,
        _pod_missing_resources,
    ),
    SERVICES: QuotaEvaluator(_OF_SERVICES.__contains__, _service_uses),
    CLAIMS: QuotaEvaluator(
        lambda name: name in _OF_CLAIMS or name.endswith(_CLAIMS_BY_CLASS), _claim_uses, has_claim
    ),
}
