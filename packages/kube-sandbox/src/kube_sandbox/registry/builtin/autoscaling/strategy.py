"""
HorizontalPodAutoscaler in v2, the version in which it is stored.

Follows kubernetes 1.35 pkg/apis/autoscaling/validation/validation.go
ValidateHorizontalPodAutoscaler, validateHorizontalPodAutoscalerSpec, validateBehavior,
ValidateCrossVersionObjectReference, validateMetrics, validateMetricSpec;
pkg/apis/autoscaling/v2/defaults.go SetDefaults_HorizontalPodAutoscaler;
pkg/registry/autoscaling/horizontalpodautoscaler/strategy.go autoscalerStrategy.PrepareForUpdate.
"""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from kube_objects.quantity import nanos
from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy
from kube_sandbox.registry.builtin.field_validation import (
    NEGATIVE,
    Errors,
    check_name,
    choice,
    nonnegatives,
)
from kube_sandbox.registry.builtin.resource_lists import container_name_errors
from kube_sandbox.registry.field_errors import forbidden, invalid, not_supported, required
from kube_sandbox.registry.name_validation import dns_label, path_segment
from kube_sandbox.registry.strategy import RequestContext

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
_TYPES = ("ContainerResource", "External", "Object", "Pods", "Resource")
_TARGETS = ("Utilization", "Value", "AverageValue")
_TARGET_REQUIRED = "must set either a target raw value or a target utilization"
_TARGETS_EXCLUSIVE = "may not set both a target raw value and a target utilization"
# In the order in which they are looked up: only the first of several is checked.
_SOURCES = ("object", "external", "pods", "resource", "containerResource")


class Autoscalers(BaseStrategy):
    """How many pods a workload is to have, by what is measured."""

    def default(self, obj: KubeObject) -> None:
        """Set defaults."""
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
        """Validate a new object."""
        return _spec(obj["spec"], None)

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> Errors:
        """Return the errors in a changed object; former mistakes may stay."""
        found = self.changed_meta(new, old)
        if subresource == "status":
            names = ("currentReplicas", "desiredReplicas")
            return found + nonnegatives(new.get("status", {}), names, "status")
        return found + _spec(new["spec"], old["spec"])


def cpu_metric(percent: int) -> KubeObject:
    """Return the default metric: CPU utilization."""
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _spec(spec: KubeObject, before: KubeObject | None) -> Errors:
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    lowest = 0 if before is not None and before.get("minReplicas") == 0 else 1
    found: Errors = []
    if least is not None and least < lowest:
        message = f"must be greater than or equal to {lowest}"
        found.append(invalid("spec.minReplicas", least, message))
    if most < 1:
        found.append(invalid("spec.maxReplicas", most, "must be greater than 0"))
    if least is not None and most < least:
        message = "must be greater than or equal to `minReplicas`"
        found.append(invalid("spec.maxReplicas", most, message))
    target = spec.get("scaleTargetRef", {})
    former = (before or {}).get("scaleTargetRef", {})
    kept = before is not None and all(
        target.get(key) == former.get(key) for key in ("apiVersion", "kind")
    )
    may_lack_group = target.get("kind") == "ReplicationController"
    found += check_reference(
        target, "spec.scaleTargetRef", any_version=kept, any_group=may_lack_group
    )
    found += check_metrics(spec.get("metrics", ()), least, "spec.metrics")
    behavior = spec.get("behavior") or {}
    for key in ("scaleUp", "scaleDown"):
        if key in behavior:
            rules = behavior[key]
            at = f"spec.behavior.{key}"
            window = rules.get("stabilizationWindowSeconds")
            if window is not None and window < 0:
                message = "must be greater than or equal to zero"
                found.append(invalid(f"{at}.stabilizationWindowSeconds", window, message))
            if window is not None and window > _LONGEST_WINDOW:
                message = f"must be less than or equal to {_LONGEST_WINDOW}"
                found.append(invalid(f"{at}.stabilizationWindowSeconds", window, message))
            known = ("Disabled", "Max", "Min")
            found += choice(rules.get("selectPolicy"), known, f"{at}.selectPolicy")
            policies = rules.get("policies") or ()
            if not policies:
                found.append(required(f"{at}.policies", "must specify at least one Policy"))
            for index, policy in enumerate(policies):
                policy_at = f"{at}.policies[{index}]"
                found += choice(policy.get("type", ""), ("Percent", "Pods"), f"{policy_at}.type")
                for rules_key in ("value", "periodSeconds"):
                    number = policy.get(rules_key, 0)
                    if number <= 0:
                        found.append(
                            invalid(f"{policy_at}.{rules_key}", number, "must be greater than zero")
                        )
                period = policy.get("periodSeconds", 0)
                if period > _LONGEST_PERIOD:
                    message = f"must be less than or equal to {_LONGEST_PERIOD}"
                    found.append(invalid(f"{policy_at}.periodSeconds", period, message))
            tolerance = rules.get("tolerance")
            if tolerance is not None and nanos(tolerance) < 0:
                found.append(invalid(f"{at}.tolerance", tolerance, NEGATIVE))
    return found


def check_reference(
    reference: Mapping[str, Any], at: str, *, any_version: bool = False, any_group: bool = False
) -> Errors:
    """Return the errors in a reference to another object."""
    found: Errors = []
    for key in ("kind", "name"):
        found += check_name(reference.get(key, ""), f"{at}.{key}", path_segment)
    version = reference.get("apiVersion", "")
    if any_version:
        return found
    if version.count("/") > 1:
        message = f"unexpected GroupVersion string: {version}"
        found.append(invalid(f"{at}.apiVersion", version, message))
    elif not any_group and not version.partition("/")[0 if "/" in version else 1]:
        message = "apiVersion must specify API group"
        found.append(invalid(f"{at}.apiVersion", version, message))
    return found


def check_metrics(metrics: Iterable[KubeObject], least: int | None, at: str) -> Errors:
    """Return the errors in metrics."""
    found: Errors = []
    given = list(metrics)
    for index, metric in enumerate(given):
        metric_at = f"{at}[{index}]"
        kind = metric.get("type", "")
        if not kind:
            found.append(required(f"{metric_at}.type", "must specify a metric source type"))
        if kind not in _TYPES:
            found.append(not_supported(f"{metric_at}.type", kind, _TYPES))
        sources = [name for name in _SOURCES if metric.get(name) is not None]
        if sources:
            found += _source_errors(sources[0], metric[sources[0]], f"{metric_at}.{sources[0]}")
        expected = ""
        if kind in _TYPES:
            expected = kind[0].lower() + kind[1:]
            if expected not in sources:
                message = "must populate information for the given metric source"
                found.append(required(f"{metric_at}.{expected}", message))
        else:
            found.append(not_supported(f"{metric_at}.type", kind, _TYPES))
        if len(sources) != 1:
            message = "must populate the given metric source only"
            found += [
                forbidden(f"{metric_at}.{name}", message) for name in sources if name != expected
            ]
    if least == 0 and not {"Object", "External"} & {each.get("type") for each in given}:
        message = (
            "must specify at least one Object or External metric to support scaling "
            "to zero replicas"
        )
        found.append(forbidden(at, message))
    return found


def _source_errors(name: str, source: Mapping[str, Any], at: str) -> Errors:
    target = source.get("target", {})
    has_value, has_average = "value" in target, "averageValue" in target
    average_at = f"{at}.target.averageValue"
    found: Errors = []
    match name:
        case "object":
            described = source.get("describedObject", {})
            found += check_reference(described, f"{at}.describedObject", any_group=True)
            found += _identifier(source, at)
            if not has_value and not has_average:
                found.append(required(average_at, "must set either a target value or averageValue"))
        case "external":
            found += _identifier(source, at)
            if not has_value and not has_average:
                message = "must set either a target value for metric or a per-pod target"
                found.append(required(average_at, message))
            if has_value and has_average:
                message = "may not set both a target value for metric and a per-pod target"
                found.append(forbidden(f"{at}.target.value", message))
        case "pods":
            found += _identifier(source, at)
            if not has_average:
                message = "must specify a positive target averageValue"
                found.append(required(average_at, message))
        case _:
            is_of_container = name == "containerResource"
            resource_name, container = source.get("name", ""), source.get("container", "")
            if not resource_name:
                found.append(required(f"{at}.name", "must specify a resource name"))
            elif is_of_container:
                found += container_name_errors(resource_name, f"{at}.name")
            if is_of_container and not container:
                found.append(required(f"{at}.container", "must specify a container"))
            elif is_of_container:
                found += [
                    invalid(f"{at}.container", container, each) for each in dns_label(container)
                ]
            target, target_at = source.get("target", {}), f"{at}.target"
            found += _target(target, target_at)
            if "averageUtilization" not in target and "averageValue" not in target:
                found.append(required(f"{target_at}.averageUtilization", _TARGET_REQUIRED))
            if "averageUtilization" in target and "averageValue" in target:
                found.append(forbidden(f"{target_at}.averageValue", _TARGETS_EXCLUSIVE))
    return found


def _identifier(source: Mapping[str, Any], at: str) -> Errors:
    name = source.get("metric", {}).get("name", "")
    if name:
        found = [invalid(f"{at}.metric.name", name, each) for each in path_segment(name)]
    else:
        found = [required(f"{at}.metric.name", "must specify a metric name")]
    return found + _target(source.get("target", {}), f"{at}.target")


def _target(target: Mapping[str, Any], at: str) -> Errors:
    kind = target.get("type", "")
    found: Errors = []
    if not kind:
        found.append(required(f"{at}.type", "must specify a metric target type"))
    if kind not in _TARGETS:
        message = "must be either Utilization, Value, or AverageValue"
        found.append(invalid(f"{at}.type", kind, message))
    for key in ("value", "averageValue"):
        if key in target and nanos(target[key]) <= 0:
            found.append(invalid(f"{at}.{key}", target[key], "must be positive"))
    if target.get("averageUtilization", 1) < 1:
        number = target["averageUtilization"]
        found.append(invalid(f"{at}.averageUtilization", number, "must be greater than 0"))
    return found
