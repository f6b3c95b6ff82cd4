"""
HorizontalPodAutoscaler v1, converted from v2 and back.

v1 has one metric, CPU utilization; it keeps all others in annotations.

Follows kubernetes 1.35 pkg/apis/autoscaling/v1/conversion.go
Convert_autoscaling_HorizontalPodAutoscaler_To_v1_HorizontalPodAutoscaler,
Convert_v1_HorizontalPodAutoscaler_To_autoscaling_HorizontalPodAutoscaler.
"""

import json
from collections.abc import Mapping
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.autoscaling.strategy import UTILIZATION, cpu_metric
from kube_sandbox.registry.builtin.internal_json import internal_form

_PREFIX = "autoscaling.alpha.kubernetes.io/"
METRICS, STATUSES = f"{_PREFIX}metrics", f"{_PREFIX}current-metrics"
CONDITIONS, BEHAVIOR = f"{_PREFIX}conditions", f"{_PREFIX}behavior"
_ANNOTATION_KEYS = (METRICS, STATUSES, CONDITIONS, BEHAVIOR)
_SHARED_STATUS = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")
# The sources of metrics: where v1 has what v2 has, in the order in which v1 writes it.
_SOURCES: Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "object": (
        ("target", ("describedObject",)),
        ("metricName", ("metric", "name")),
        ("targetValue", ("target", "value")),
        ("selector", ("metric", "selector")),
        ("averageValue", ("target", "averageValue")),
    ),
    "pods": (
        ("metricName", ("metric", "name")),
        ("targetAverageValue", ("target", "averageValue")),
        ("selector", ("metric", "selector")),
    ),
    "resource": (
        ("name", ("name",)),
        ("targetAverageUtilization", ("target", "averageUtilization")),
        ("targetAverageValue", ("target", "averageValue")),
    ),
    "containerResource": (
        ("name", ("name",)),
        ("targetAverageUtilization", ("target", "averageUtilization")),
        ("targetAverageValue", ("target", "averageValue")),
        ("container", ("container",)),
    ),
    "external": (
        ("metricName", ("metric", "name")),
        ("metricSelector", ("metric", "selector")),
        ("targetValue", ("target", "value")),
        ("targetAverageValue", ("target", "averageValue")),
    ),
}
_STATUS_SOURCES: Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "object": (
        ("target", ("describedObject",)),
        ("metricName", ("metric", "name")),
        ("currentValue", ("current", "value")),
        ("selector", ("metric", "selector")),
        ("averageValue", ("current", "averageValue")),
    ),
    "pods": (
        ("metricName", ("metric", "name")),
        ("currentAverageValue", ("current", "averageValue")),
        ("selector", ("metric", "selector")),
    ),
    "resource": (
        ("name", ("name",)),
        ("currentAverageUtilization", ("current", "averageUtilization")),
        ("currentAverageValue", ("current", "averageValue")),
    ),
    "containerResource": (
        ("name", ("name",)),
        ("currentAverageUtilization", ("current", "averageUtilization")),
        ("currentAverageValue", ("current", "averageValue")),
        ("container", ("container",)),
    ),
    "external": (
        ("metricName", ("metric", "name")),
        ("metricSelector", ("metric", "selector")),
        ("currentValue", ("current", "value")),
        ("currentAverageValue", ("current", "averageValue")),
    ),
}
# Quantities that v1 always writes.
_NEVER_OMITTED = {
    ("object", "targetValue"),
    ("pods", "targetAverageValue"),
    ("object", "currentValue"),
    ("pods", "currentAverageValue"),
    ("resource", "currentAverageValue"),
    ("containerResource", "currentAverageValue"),
    ("external", "currentValue"),
}


def to_v1(obj: KubeObject) -> KubeObject:
    """Return an autoscaler of v2 as one of v1."""
    spec, status = obj.get("spec", {}), obj.get("status", {})
    metrics = spec.get("metrics", ())
    spec_v1 = {key: value for key, value in spec.items() if key not in ("metrics", "behavior")}
    for metric in spec.get("metrics", ()):
        if _is_cpu(metric):
            percent = metric["resource"]["target"]["averageUtilization"]
            spec_v1["targetCPUUtilizationPercentage"] = percent
            break
    found: KubeObject = {**obj, "apiVersion": "autoscaling/v1", "spec": spec_v1}
    shown = {key: status[key] for key in _SHARED_STATUS if key in status}
    for each in status.get("currentMetrics") or ():
        busy = each.get("resource", {}).get("current", {}).get("averageUtilization")
        if each.get("resource", {}).get("name") == "cpu" and busy is not None:
            shown["currentCPUUtilizationPercentage"] = busy
    found["status"] = {"currentReplicas": 0, "desiredReplicas": 0, **shown}
    others = [_metric_to_v1(each, _SOURCES) for each in metrics if not _is_cpu(each)]
    carried: dict[str, Any] = {METRICS: others}
    carried[STATUSES] = [
        _metric_to_v1(each, _STATUS_SOURCES) for each in status.get("currentMetrics") or ()
    ]
    carried[BEHAVIOR] = None
    if "behavior" in spec:
        kind = "autoscaling.HorizontalPodAutoscalerBehavior"
        carried[BEHAVIOR] = internal_form(spec["behavior"], kind)
    carried[CONDITIONS] = [
        {key: condition[key] for key in _CONDITION_KEYS if key in condition}
        for condition in status.get("conditions", ())
    ]
    texts: dict[str, str] = {}
    for key, value in carried.items():
        if value:
            text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
            # Go escapes these characters in JSON.
            text = text.replace("<", "\\u003c").replace(">", "\\u003e")
            texts[key] = text.replace("&", "\\u0026")
    _annotate(found, texts)
    return found


def to_v2(obj: KubeObject) -> KubeObject:
    """Return an autoscaler of v1 as one of v2."""
    spec, status = obj.get("spec", {}), obj.get("status", {})
    annotations = obj.get("metadata", {}).get("annotations", {})
    metrics = [_metric_to_v2(each, _SOURCES) for each in _loaded(annotations, METRICS) or ()]
    busy = spec.get("targetCPUUtilizationPercentage")
    if busy is not None or not metrics:
        metrics.append(cpu_metric(UTILIZATION if busy is None else busy))
    kept = {k: v for k, v in spec.items() if k != "targetCPUUtilizationPercentage"}
    found: KubeObject = {
        **obj,
        "apiVersion": "autoscaling/v2",
        "spec": {**kept, "metrics": metrics},
    }
    behavior = _loaded(annotations, BEHAVIOR)
    if behavior:
        found["spec"]["behavior"] = _lowered(behavior)
    shown: KubeObject = {key: status[key] for key in _SHARED_STATUS if key in status}
    if not shown.get("currentReplicas"):
        shown.pop("currentReplicas", None)
    statuses = _loaded(annotations, STATUSES)
    current = [_metric_to_v2(each, _STATUS_SOURCES) for each in statuses or ()]
    found["status"] = {"desiredReplicas": 0, **shown, "currentMetrics": current or None}
    conditions = _loaded(annotations, CONDITIONS)
    if conditions:
        found["status"]["conditions"] = conditions
    _annotate(found, {})
    return found


def _is_cpu(metric: Mapping[str, Any]) -> bool:
    resource = metric.get("resource") or {}
    return (
        metric.get("type") == "Resource"
        and resource.get("name") == "cpu"
        and "averageUtilization" in resource.get("target", {})
    )


def _annotate(obj: KubeObject, carried: Mapping[str, str]) -> None:
    metadata = dict(obj.get("metadata", {}))
    kept = {k: v for k, v in metadata.get("annotations", {}).items() if k not in _ANNOTATION_KEYS}
    metadata.pop("annotations", None)
    if kept or carried:
        metadata["annotations"] = {**kept, **carried}
    obj["metadata"] = metadata


def _loaded(annotations: Mapping[str, str], key: str) -> Any:
    try:
        return json.loads(annotations.get(key, "null"))
    except ValueError:
        return None


_CONDITION_KEYS = (
    *("type", "status", "lastTransitionTime"),
    *("reason", "message", "observedGeneration"),
)
Sources = Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]]


def _metric_to_v1(metric: Mapping[str, Any], sources: Sources) -> KubeObject:
    """Return a metric of v2 as v1 writes it."""
    found: KubeObject = {"type": metric.get("type", "")}
    for name, fields in sources.items():
        if name not in metric:
            continue
        part: KubeObject = {}
        for key, path in fields:
            value: Any = metric[name]
            for step in path:
                value = (value or {}).get(step)
            if value is None and (name, key) in _NEVER_OMITTED:
                value = "0"
            if value is not None:
                part[key] = value
        found[name] = part
    return found


def _metric_to_v2(metric: Mapping[str, Any], sources: Sources) -> KubeObject:
    """Return a metric as v1 writes it in the form of v2."""
    found: KubeObject = {"type": metric.get("type", "")}
    for name, fields in sources.items():
        if name not in metric:
            continue
        part: KubeObject = {}
        for key, path in fields:
            if key not in metric[name]:
                continue
            into = part
            for step in path[:-1]:
                into = into.setdefault(step, {})
            into[path[-1]] = metric[name][key]
        if sources is _SOURCES:
            target = part["target"]
            target["type"] = "AverageValue"
            if name in ("resource", "containerResource") and "averageUtilization" in target:
                target["type"] = "Utilization"
            elif (name == "object" and "averageValue" not in target) or (
                name == "external" and "value" in target
            ):
                target["type"] = "Value"
        found[name] = part
    return found


def _lowered(value: Any) -> Any:
    """Return what is named as in Go as the API names it, without nulls."""
    if isinstance(value, dict):
        return {k[0].lower() + k[1:]: _lowered(v) for k, v in value.items() if v is not None}
    return [_lowered(each) for each in value] if isinstance(value, list) else value
