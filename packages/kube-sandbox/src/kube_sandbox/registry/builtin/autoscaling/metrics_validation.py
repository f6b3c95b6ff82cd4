"""
What is wrong with the metrics of a HorizontalPodAutoscaler, and with what it refers to.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kube_objects.quantity import nanos
from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.field_validation import Errors, check_name
from kube_sandbox.registry.builtin.resource_lists import container_name_errors
from kube_sandbox.registry.field_errors import forbidden, invalid, not_supported, required
from kube_sandbox.registry.name_validation import dns_label, path_segment

_TYPES = ("ContainerResource", "External", "Object", "Pods", "Resource")
_TARGETS = ("Utilization", "Value", "AverageValue")
_TARGET_REQUIRED = "must set either a target raw value or a target utilization"
_TARGETS_EXCLUSIVE = "may not set both a target raw value and a target utilization"

Check = Callable[[Mapping[str, Any], str], Errors]


def check_reference(
    reference: Mapping[str, Any], at: str, *, any_version: bool = False, any_group: bool = False
) -> Errors:
    """Return what is wrong with a reference to another object."""
    found: Errors = []
    for key in ("kind", "name"):
        found += check_name(reference.get(key, ""), f"{at}.{key}", path_segment)
    version = reference.get("apiVersion", "")
    if any_version:
        return found
    if version.count("/") > 1:
        told = f"unexpected GroupVersion string: {version}"
        found.append(invalid(f"{at}.apiVersion", version, told))
    elif not any_group and not version.partition("/")[0 if "/" in version else 1]:
        told = "apiVersion must specify API group"
        found.append(invalid(f"{at}.apiVersion", version, told))
    return found


def check_metrics(metrics: Iterable[KubeObject], least: int | None, at: str) -> Errors:
    """Return what is wrong with metrics."""
    found: Errors = []
    given = list(metrics)
    for index, metric in enumerate(given):
        found += _metric(metric, f"{at}[{index}]")
    if least == 0 and not {"Object", "External"} & {each.get("type") for each in given}:
        told = (
            "must specify at least one Object or External metric to support scaling "
            "to zero replicas"
        )
        found.append(forbidden(at, told))
    return found


def _metric(metric: Mapping[str, Any], at: str) -> Errors:
    kind = metric.get("type", "")
    found: Errors = []
    if not kind:
        found.append(required(f"{at}.type", "must specify a metric source type"))
    if kind not in _TYPES:
        found.append(not_supported(f"{at}.type", kind, _TYPES))
    given = [name for name in _SOURCES if metric.get(name) is not None]
    if given:
        found += _SOURCES[given[0]](metric[given[0]], f"{at}.{given[0]}")
    expected = ""
    if kind in _TYPES:
        expected = kind[0].lower() + kind[1:]
        if expected not in given:
            told = "must populate information for the given metric source"
            found.append(required(f"{at}.{expected}", told))
    else:
        found.append(not_supported(f"{at}.type", kind, _TYPES))
    if len(given) != 1:
        told = "must populate the given metric source only"
        found += [forbidden(f"{at}.{name}", told) for name in given if name != expected]
    return found


def _object(source: Mapping[str, Any], at: str) -> Errors:
    described = source.get("describedObject", {})
    found = check_reference(described, f"{at}.describedObject", any_group=True)
    found += _identifier(source, at)
    target = source.get("target", {})
    if "value" not in target and "averageValue" not in target:
        told = "must set either a target value or averageValue"
        found.append(required(f"{at}.target.averageValue", told))
    return found


def _external(source: Mapping[str, Any], at: str) -> Errors:
    found = _identifier(source, at)
    target = source.get("target", {})
    if "value" not in target and "averageValue" not in target:
        told = "must set either a target value for metric or a per-pod target"
        found.append(required(f"{at}.target.averageValue", told))
    if "value" in target and "averageValue" in target:
        told = "may not set both a target value for metric and a per-pod target"
        found.append(forbidden(f"{at}.target.value", told))
    return found


def _pods(source: Mapping[str, Any], at: str) -> Errors:
    found = _identifier(source, at)
    if "averageValue" not in source.get("target", {}):
        told = "must specify a positive target averageValue"
        found.append(required(f"{at}.target.averageValue", told))
    return found


def _resource(source: Mapping[str, Any], at: str) -> Errors:
    found = [] if source.get("name") else [required(f"{at}.name", "must specify a resource name")]
    return found + _resource_target(source.get("target", {}), f"{at}.target")


def _container_resource(source: Mapping[str, Any], at: str) -> Errors:
    name, container = source.get("name", ""), source.get("container", "")
    if name:
        found = container_name_errors(name, f"{at}.name")
    else:
        found = [required(f"{at}.name", "must specify a resource name")]
    if container:
        found += [invalid(f"{at}.container", container, each) for each in dns_label(container)]
    else:
        found.append(required(f"{at}.container", "must specify a container"))
    return found + _resource_target(source.get("target", {}), f"{at}.target")


def _resource_target(target: Mapping[str, Any], at: str) -> Errors:
    found = _target(target, at)
    if "averageUtilization" not in target and "averageValue" not in target:
        found.append(required(f"{at}.averageUtilization", _TARGET_REQUIRED))
    if "averageUtilization" in target and "averageValue" in target:
        found.append(forbidden(f"{at}.averageValue", _TARGETS_EXCLUSIVE))
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
        told = "must be either Utilization, Value, or AverageValue"
        found.append(invalid(f"{at}.type", kind, told))
    for key in ("value", "averageValue"):
        if key in target and nanos(target[key]) <= 0:
            found.append(invalid(f"{at}.{key}", target[key], "must be positive"))
    if target.get("averageUtilization", 1) < 1:
        number = target["averageUtilization"]
        found.append(invalid(f"{at}.averageUtilization", number, "must be greater than 0"))
    return found


# In the order in which they are looked at: only the first of several is judged.
_SOURCES: Mapping[str, Check] = {
    "object": _object,
    "external": _external,
    "pods": _pods,
    "resource": _resource,
    "containerResource": _container_resource,
}
