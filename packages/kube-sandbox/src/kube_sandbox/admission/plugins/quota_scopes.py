"""
Which pods and claims a quota covers: its scopes and its scope selector.

Follows kubernetes 1.35 pkg/quota/v1/evaluator/core/pods.go podMatchesScopeFunc,
podMatchesSelector; pkg/quota/v1/evaluator/core/persistent_volume_claims.go pvcMatchesScopeFunc.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kube_objects.refs import KubeObject

Scope = Mapping[str, Any]  # scopeName, operator, values


def scopes_of(quota: KubeObject) -> list[Scope]:
    """Return all scopes of a quota; an object must be in each of them."""
    spec = quota.get("spec") or {}
    plain = [{"scopeName": each, "operator": "Exists"} for each in spec.get("scopes") or ()]
    selected = (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    return [*plain, *selected]


def has_pod(scope: Scope, pod: KubeObject) -> bool:
    """Return whether a pod is in a scope."""
    name = scope["scopeName"]
    if name == "PriorityClass":
        priority = (pod.get("spec") or {}).get("priorityClassName")
        return _selects(scope, [priority] if priority else [])
    plain = name.removeprefix("Not")
    return plain in _PODS and _PODS[plain](pod) is (plain == name)


def has_claim(scope: Scope, claim: KubeObject) -> bool:
    """Return whether a claim is in a scope."""
    if scope["scopeName"] != "VolumeAttributesClass":
        return False
    status = claim.get("status") or {}
    names = (
        (claim.get("spec") or {}).get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
    return _selects(scope, [each for each in names if each])


def has_nothing(scope: Scope, obj: KubeObject) -> bool:
    """Return False: objects of other kinds are in no scope."""
    del scope, obj
    return False


def is_terminating(pod: KubeObject) -> bool:
    """Return whether a pod has a deadline, as pods of Jobs may have."""
    return (pod.get("spec") or {}).get("activeDeadlineSeconds") is not None


def _selects(scope: Scope, names: Sequence[str]) -> bool:
    """Return whether the scope selects one of the names, or their absence."""
    values, operator = scope.get("values") or (), scope.get("operator")
    if not names:
        return operator in ("NotIn", "DoesNotExist")
    fits = {
        "In": any(each in values for each in names),
        "NotIn": any(each not in values for each in names),
        "Exists": True,
    }
    return fits.get(operator or "", False)


def _has_cross_namespace_affinity(pod: KubeObject) -> bool:
    """Return whether the affinity of a pod refers to other namespaces."""
    affinity = (pod.get("spec") or {}).get("affinity") or {}
    for sort in ("podAffinity", "podAntiAffinity"):
        found = affinity.get(sort) or {}
        terms = [
            *(found.get("requiredDuringSchedulingIgnoredDuringExecution") or ()),
            *(
                each.get("podAffinityTerm") or {}
                for each in found.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
            ),
        ]
        if any(each.get("namespaces") or "namespaceSelector" in each for each in terms):
            return True
    return False


_PODS: dict[str, Callable[[KubeObject], bool]] = {
    "Terminating": is_terminating,
    "BestEffort": lambda pod: (pod.get("status") or {}).get("qosClass") == "BestEffort",
    "CrossNamespacePodAffinity": _has_cross_namespace_affinity,
}
