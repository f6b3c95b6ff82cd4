"""HorizontalPodAutoscaler, as it is stored: in version v2."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from kube_objects.quantity import nanos
from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.autoscaling.metrics_validation import (
    check_metrics,
    check_reference,
)
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy
from kube_sandbox.registry.builtin.field_validation import NEGATIVE, choice, nonnegatives
from kube_sandbox.registry.field_errors import invalid, required
from kube_sandbox.registry.strategy import Errors, RequestContext

UTILIZATION = 80
_UP: Mapping[str, Any] = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_DOWN: Mapping[str, Any] = {
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}
_LONGEST_PERIOD, _LONGEST_WINDOW = 1800, 3600


class Autoscalers(BaseStrategy):
    """How many pods a workload is to have, by what is measured."""

    def default(self, obj: KubeObject) -> None:
        """Fill in what is left out."""
        spec = obj.setdefault("spec", {})
        spec.setdefault("minReplicas", 1)
        if not spec.get("metrics"):
            spec["metrics"] = [cpu_metric(UTILIZATION)]
        if (behavior := spec.get("behavior")) is not None:
            for key, rules in (("scaleUp", _UP), ("scaleDown", _DOWN)):
                behavior[key] = deepcopy({**rules, **behavior.get(key, {})})

    def first_status(self, obj: KubeObject, occasion: RequestContext) -> KubeObject:
        """Return the status of a new object."""
        return {"desiredReplicas": 0, "currentMetrics": None}

    def check(self, obj: KubeObject) -> Errors:
        """Judge a new object."""
        return _spec(obj["spec"], None)

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> Errors:
        """Return what is wrong with a changed object; former mistakes may stay."""
        found = self.changed_meta(new, old)
        if subresource == "status":
            names = ("currentReplicas", "desiredReplicas")
            return found + nonnegatives(new.get("status", {}), names, "status")
        return found + _spec(new["spec"], old["spec"])


def cpu_metric(percent: int) -> KubeObject:
    """Return the metric that is meant if nobody says: how busy the processors are."""
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _spec(spec: KubeObject, before: KubeObject | None) -> Errors:
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    lowest = 0 if before is not None and before.get("minReplicas") == 0 else 1
    found: Errors = []
    if least is not None and least < lowest:
        told = f"must be greater than or equal to {lowest}"
        found.append(invalid("spec.minReplicas", least, told))
    if most < 1:
        found.append(invalid("spec.maxReplicas", most, "must be greater than 0"))
    if least is not None and most < least:
        told = "must be greater than or equal to `minReplicas`"
        found.append(invalid("spec.maxReplicas", most, told))
    found += _target(spec.get("scaleTargetRef", {}), before)
    found += check_metrics(spec.get("metrics", ()), least, "spec.metrics")
    behavior = spec.get("behavior") or {}
    for key in ("scaleUp", "scaleDown"):
        if key in behavior:
            found += _rules(behavior[key], f"spec.behavior.{key}")
    return found


def _target(target: Mapping[str, Any], before: KubeObject | None) -> Errors:
    former = (before or {}).get("scaleTargetRef", {})
    kept = before is not None and all(
        target.get(key) == former.get(key) for key in ("apiVersion", "kind")
    )
    may_lack_group = target.get("kind") == "ReplicationController"
    return check_reference(
        target, "spec.scaleTargetRef", any_version=kept, any_group=may_lack_group
    )


def _rules(rules: Mapping[str, Any], at: str) -> Errors:
    window = rules.get("stabilizationWindowSeconds")
    found: Errors = []
    if window is not None and window < 0:
        told = "must be greater than or equal to zero"
        found.append(invalid(f"{at}.stabilizationWindowSeconds", window, told))
    if window is not None and window > _LONGEST_WINDOW:
        told = f"must be less than or equal to {_LONGEST_WINDOW}"
        found.append(invalid(f"{at}.stabilizationWindowSeconds", window, told))
    known = ("Disabled", "Max", "Min")
    found += choice(rules.get("selectPolicy"), known, f"{at}.selectPolicy")
    policies = rules.get("policies") or ()
    if not policies:
        found.append(required(f"{at}.policies", "must specify at least one Policy"))
    for index, policy in enumerate(policies):
        found += _policy(policy, f"{at}.policies[{index}]")
    tolerance = rules.get("tolerance")
    if tolerance is not None and nanos(tolerance) < 0:
        found.append(invalid(f"{at}.tolerance", tolerance, NEGATIVE))
    return found


def _policy(policy: Mapping[str, Any], at: str) -> Errors:
    found = choice(policy.get("type", ""), ("Percent", "Pods"), f"{at}.type")
    for key in ("value", "periodSeconds"):
        number = policy.get(key, 0)
        if number <= 0:
            found.append(invalid(f"{at}.{key}", number, "must be greater than zero"))
    period = policy.get("periodSeconds", 0)
    if period > _LONGEST_PERIOD:
        told = f"must be less than or equal to {_LONGEST_PERIOD}"
        found.append(invalid(f"{at}.periodSeconds", period, told))
    return found
