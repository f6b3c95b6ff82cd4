"""
What may not change in a Service, and what its author should know.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go ValidateServiceUpdate,
validateUpgradeDowngradeClusterIPs; pkg/api/service/warnings.go GetWarningsForService.
"""

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.ip_validation import cidr_warnings, ip_warnings
from kube_sandbox.registry.builtin.services.spec_predicates import (
    HEADLESS,
    LOAD_BALANCER,
    Spec,
    has_health_port,
    is_external_name,
    is_headless,
)
from kube_sandbox.registry.builtin.services.validation import HINTS, MODE, class_errors
from kube_sandbox.registry.field_errors import forbidden, invalid
from kube_sandbox.registry.strategy import Errors

_IMMUTABLE_MESSAGE = "may not change once set"


def update_errors(new: KubeObject, old: KubeObject) -> Errors:
    """Return which changes are not allowed."""
    spec, before = new["spec"], old["spec"]
    found = _changed_address_errors(spec, before) + _changed_family_errors(spec, before)
    balanced = spec["type"] == before["type"] == LOAD_BALANCER
    wanted = spec.get("loadBalancerClass")
    if balanced and wanted != before.get("loadBalancerClass"):
        found.append(invalid("spec.loadBalancerClass", wanted, _IMMUTABLE_MESSAGE))
    found += class_errors(spec)
    part = "healthCheckNodePort"
    both_have = has_health_port(spec) and has_health_port(before)
    if both_have and spec.get(part) != before.get(part):
        found.append(forbidden(f"spec.{part}", "field is immutable"))
    return found


def _changed_address_errors(spec: Spec, before: Spec) -> Errors:
    if is_external_name(spec) or is_external_name(before):
        return []
    if is_headless(spec) and is_headless(before):
        return []
    now, then = list(spec.get("clusterIPs", ())), list(before.get("clusterIPs", ()))
    field = "spec.clusterIPs"
    if len(now) == len(then):
        return [
            invalid(f"{field}[{index}]", now, _IMMUTABLE_MESSAGE)
            for index, address in enumerate(then)
            if address != now[index]
        ]
    if not now:
        return [invalid(f"{field}[0]", None, "primary clusterIP can not be unset")]
    found: Errors = []
    if then and now[0] != then[0]:
        found.append(invalid(f"{field}[0]", now, _IMMUTABLE_MESSAGE))
    policy = spec.get("ipFamilyPolicy")
    if len(now) < len(then) and policy != "SingleStack":
        told = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        found.append(invalid("spec.ipFamilyPolicy", policy, told))
    return found


def _changed_family_errors(spec: Spec, before: Spec) -> Errors:
    if is_external_name(spec) or is_external_name(before):
        return []
    if is_headless(spec) or is_headless(before):
        return []
    now, then = list(spec.get("ipFamilies", ())), list(before.get("ipFamilies", ()))
    field = "spec.ipFamilies[0]"
    if len(now) == len(then):
        pairs = zip(now, then, strict=True)
        return [invalid(field, now, _IMMUTABLE_MESSAGE) for new, old in pairs if new != old]
    found: Errors = []
    if now and then and now[0] != then[0]:
        found.append(invalid(field, spec.get("clusterIPs"), _IMMUTABLE_MESSAGE))
    policy = spec.get("ipFamilyPolicy")
    if len(now) == 1 and len(then) == 2 and policy != "SingleStack":
        told = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        found.append(invalid("spec.ipFamilyPolicy", policy, told))
    return found


def service_warnings(obj: KubeObject) -> list[str]:
    """Tell what has no effect or is out of use."""
    spec: Spec = obj["spec"]
    found = []
    if HINTS in obj["metadata"].get("annotations", {}):
        found.append(f"annotation {HINTS} is deprecated, please use {MODE} instead")
    if spec.get("type") == "ClusterIP" and spec.get("clusterIP") == HEADLESS:
        ignored = [each for each in ("loadBalancerIP", "externalIPs") if spec.get(each)]
        if spec.get("sessionAffinity") != "None":
            ignored.append("SessionAffinity")
        found += [f"spec.{each} is ignored for headless services" for each in ignored]
    for part in ("clusterIPs", "externalIPs"):
        for index, ip in enumerate(spec.get(part, ())):
            found += ip_warnings(ip, f"spec.{part}[{index}]")
    if spec.get("loadBalancerIP"):
        found += ip_warnings(spec["loadBalancerIP"], "spec.loadBalancerIP")
    for index, each in enumerate(spec.get("loadBalancerSourceRanges", ())):
        found += cidr_warnings(each, f"spec.loadBalancerSourceRanges[{index}]")
    if is_external_name(spec) and spec.get("externalIPs"):
        found.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if not is_external_name(spec) and spec.get("externalName"):
        found.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        told = '"PreferClose" is deprecated; use "PreferSameZone"'
        found.append(f"spec.trafficDistribution: {told}")
    return found
