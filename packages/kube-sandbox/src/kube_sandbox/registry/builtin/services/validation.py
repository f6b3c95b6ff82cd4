"""
Validation of Services and of their updates, and warnings.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go validateService,
ValidateServiceCreate, ValidateServiceClusterIPsRelatedFields, ValidateLoadBalancerStatus,
ValidateServiceUpdate, validateUpgradeDowngradeClusterIPs; pkg/api/service/warnings.go
GetWarningsForService.
"""

from collections.abc import Mapping

import orjson

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.ip_validation import (
    cidr_errors,
    cidr_warnings,
    endpoint_ip_errors,
    ip_errors,
    ip_warnings,
    parse_ip,
)
from kube_sandbox.registry.builtin.services.spec_predicates import (
    EXTERNAL_NAME,
    HEADLESS,
    LOAD_BALANCER,
    NODE_PORT,
    Spec,
    family_of,
    has_health_port,
    is_external_name,
    is_headless,
    is_reachable,
)
from kube_sandbox.registry.field_errors import (
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kube_sandbox.registry.name_validation import (
    dns_label,
    dns_subdomain,
    in_range,
    port_name,
    port_number,
    qualified_name,
)
from kube_sandbox.registry.object_meta import labels
from kube_sandbox.registry.strategy import Errors

HINTS, MODE = (
    "service.kubernetes.io/topology-aware-hints",
    "service.kubernetes.io/topology-mode",
)
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_TYPES = ("ClusterIP", EXTERNAL_NAME, LOAD_BALANCER, NODE_PORT)
_FAMILIES = ("IPv4", "IPv6")
_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_ONLY_BALANCED = "may only be used when `type` is 'LoadBalancer'"
_IMMUTABLE_MESSAGE = "may not change once set"


def service_errors(obj: KubeObject, old: KubeObject | None) -> Errors:
    """Validate a Service."""
    spec: Spec = obj["spec"]
    annotations = obj["metadata"].get("annotations", {})
    hints, mode = annotations.get(HINTS), annotations.get(MODE)
    found: Errors = []
    if hints is not None and mode is not None and hints != mode:
        message = f"must match annotations[{HINTS}] when both are specified"
        found.append(invalid(f"metadata.annotations[{MODE}]", mode, message))
    if not spec.get("ports") and not is_headless(spec) and not is_external_name(spec):
        found.append(required("spec.ports"))
    kind = spec.get("type")
    if kind in (LOAD_BALANCER, NODE_PORT) and is_headless(spec):
        message = f"may not be set to 'None' for {kind} services"
        found.append(invalid("spec.clusterIPs[0]", HEADLESS, message))
    elif kind == EXTERNAL_NAME:
        found += [
            forbidden(f"spec.{part}", "may not be set for ExternalName services")
            for part in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
            if spec.get(part)
        ]
        name = spec.get("externalName", "").removesuffix(".")
        if not name:
            found.append(required("spec.externalName"))
        else:
            found += [invalid("spec.externalName", name, each) for each in dns_subdomain(name)]
    found += _ports_errors(spec)
    found += labels(spec.get("selector"), "spec.selector")
    affinity = spec.get("sessionAffinity", "")
    affinity_field = "spec.sessionAffinityConfig"
    if affinity not in ("ClientIP", "None"):
        found.append(not_supported("spec.sessionAffinity", affinity, ("ClientIP", "None")))
    elif affinity == "None":
        if "sessionAffinityConfig" in spec:
            found.append(forbidden(affinity_field, "must not be set when session affinity is None"))
    else:
        seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"]
        if not (0 < seconds <= 86400):
            message = "must be greater than 0 and less than 86400"
            found.append(invalid(f"{affinity_field}.clientIP.timeoutSeconds", seconds, message))
    found += cluster_ip_errors(spec)
    for index, ip in enumerate(spec.get("externalIPs", ())):
        field = f"spec.externalIPs[{index}]"
        found += ip_errors(ip, field) or endpoint_ip_errors(ip, field)
    if spec.get("type") not in _TYPES:
        found.append(not_supported("spec.type", spec.get("type", ""), _TYPES))
    found += _repeated_ports(spec) + _source_range_errors(spec, annotations)
    if spec.get("type") != LOAD_BALANCER and "allocateLoadBalancerNodePorts" in spec:
        found.append(forbidden("spec.allocateLoadBalancerNodePorts", _ONLY_BALANCED))
    return found + class_errors(spec) + _traffic_errors(spec)


def _ports_errors(spec: Spec) -> Errors:
    ports = spec.get("ports", ())
    names: set[str] = set()
    found: Errors = []
    for index, port in enumerate(ports):
        field = f"spec.ports[{index}]"
        name = port.get("name", "")
        if name:
            found += [invalid(f"{field}.name", name, each) for each in dns_label(name)]
            if name in names:
                found.append(duplicate(f"{field}.name", name))
            names.add(name)
        elif len(ports) > 1:
            found.append(required(f"{field}.name"))
        number, protocol = port.get("port", 0), port.get("protocol", "")
        found += [invalid(f"{field}.port", number, each) for each in port_number(number)]
        if protocol not in _PROTOCOLS:
            found.append(not_supported(f"{field}.protocol", protocol, _PROTOCOLS))
        target = port.get("targetPort", 0)
        wrong = port_name(target) if isinstance(target, str) else port_number(target)
        found += [invalid(f"{field}.targetPort", target, each) for each in wrong]
        if (name := port.get("appProtocol")) is not None:
            wrong = qualified_name(name)
            found += [invalid(f"{field}.appProtocol", name, each) for each in wrong]
    return found


def cluster_ip_errors(spec: Spec) -> Errors:
    """Validate addresses, families and policy, and whether they agree."""
    if is_external_name(spec):
        return []
    field = "spec.clusterIPs"
    addresses = list(spec.get("clusterIPs", ()))
    found = _ip_field_errors(spec, addresses)
    are_valid = True
    for index, address in enumerate(addresses):
        if index == 0 and address == HEADLESS:
            if len(addresses) > 1:
                are_valid = False
                message = "'None' must be the first and only value"
                found.append(invalid(field, addresses, message))
            continue
        wrong = ip_errors(address, f"{field}[{index}]")
        are_valid = are_valid and not wrong
        found += wrong
    if len(addresses) > 2:
        found.append(invalid(field, addresses, "may only hold up to 2 values"))
    if not are_valid:
        return found
    families = [family_of(each) for each in addresses]
    if len(addresses) > 1 and len(set(families)) < 2:
        message = "may specify no more than one IP for each IP family"
        found.append(invalid(field, addresses, message))
    if not is_headless(spec):
        pairs = zip(families, spec.get("ipFamilies", ()), strict=False)
        found += [
            invalid(
                f"{field}[{index}]",
                addresses[index],
                f"expected an {named} value as indicated by `ipFamilies[{index}]`",
            )
            for index, (family, named) in enumerate(pairs)
            if named in _FAMILIES and family != named
        ]
    return found


def _ip_field_errors(spec: Spec, addresses: list[str]) -> Errors:
    """Check clusterIP against clusterIPs, the IP families and their policy."""
    address = spec.get("clusterIP", "")
    field = "spec.clusterIPs"
    found: Errors = []
    if address and not addresses:
        found.append(required(field))
    elif address and addresses[0] != address:
        found.append(invalid(field, addresses, "first value must match `clusterIP`"))
    elif addresses and not address:
        message = "must be empty when `clusterIP` is not specified"
        found.append(invalid(field, addresses, message))
    families = spec.get("ipFamilies", ())
    for index, family in enumerate(families):
        field = f"spec.ipFamilies[{index}]"
        if family not in _FAMILIES:
            found.append(not_supported(field, family, _FAMILIES))
        if family in families[:index]:
            found.append(duplicate(field, family))
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _POLICIES:
        found.append(not_supported("spec.ipFamilyPolicy", policy, _POLICIES))
    return found


def _repeated_ports(spec: Spec) -> Errors:
    ports = list(enumerate(spec.get("ports", ())))
    found: Errors = []
    if spec.get("type") == "ClusterIP":
        message = "may not be used when `type` is 'ClusterIP'"
        found += [
            forbidden(f"spec.ports[{index}].nodePort", message)
            for index, port in ports
            if port.get("nodePort")
        ]
    seen: set[tuple[str, int]] = set()
    for index, port in ports:
        key = port.get("protocol", ""), port.get("nodePort", 0)
        if key[1] and key in seen:
            found.append(duplicate(f"spec.ports[{index}].nodePort", key[1]))
        seen.add(key)
    seen.clear()
    for index, port in ports:
        key = port.get("protocol", ""), port.get("port", 0)
        if key in seen:
            # The message shows the internal type with all of its fields.
            shown = {
                "Name": "",
                "Protocol": key[0],
                "AppProtocol": None,
                "Port": key[1],
                "TargetPort": 0,
                "NodePort": 0,
            }
            fragment = orjson.Fragment(orjson.dumps(shown))
            found.append(duplicate(f"spec.ports[{index}]", fragment))
        seen.add(key)
    return found


def _source_range_errors(spec: Spec, annotations: Mapping[str, str]) -> Errors:
    ranges = spec.get("loadBalancerSourceRanges")
    balanced = spec.get("type") == LOAD_BALANCER
    found: Errors = []
    if ranges:
        field = "spec.LoadBalancerSourceRanges"
        if not balanced:
            found.append(forbidden(field, _ONLY_BALANCED))
        for index, each in enumerate(ranges):
            found += cidr_errors(each.strip(), f"{field}[{index}]")
        return found
    written = annotations.get(_SOURCE_RANGES)
    if written is None:
        return []
    field = f"metadata.annotations[{_SOURCE_RANGES}]"
    if not balanced:
        found.append(forbidden(field, _ONLY_BALANCED))
    for each in written.split(",") if written.strip() else ():
        found += cidr_errors(each.strip(), field)
    return found


def class_errors(spec: Spec) -> Errors:
    """Validate the class of its load balancer."""
    wanted = spec.get("loadBalancerClass")
    if wanted is None:
        return []
    if spec.get("type") != LOAD_BALANCER:
        return [forbidden("spec.loadBalancerClass", _ONLY_BALANCED)]
    return [invalid("spec.loadBalancerClass", wanted, each) for each in qualified_name(wanted)]


def _traffic_errors(spec: Spec) -> Errors:
    policy, health = spec.get("externalTrafficPolicy", ""), spec.get("healthCheckNodePort", 0)
    found: Errors = []
    if not is_reachable(spec):
        if policy:
            message = "may only be set for externally-accessible services"
            found.append(invalid("spec.externalTrafficPolicy", policy, message))
    elif policy not in ("Cluster", "Local"):
        found.append(not_supported("spec.externalTrafficPolicy", policy, ("Cluster", "Local")))
    field = "spec.healthCheckNodePort"
    if has_health_port(spec):
        found += [invalid(field, health, each) for each in in_range(health, 1, 65535)]
    elif health:
        message = (
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        )
        found.append(invalid(field, health, message))
    inner = spec.get("internalTrafficPolicy")
    if inner is not None and inner not in ("Cluster", "Local"):
        found.append(not_supported("spec.internalTrafficPolicy", inner, ("Cluster", "Local")))
    spread = spec.get("trafficDistribution")
    if spread is not None and spread not in _DISTRIBUTIONS:
        found.append(not_supported("spec.trafficDistribution", spread, _DISTRIBUTIONS))
    return found


def status_errors(new: KubeObject) -> Errors:
    """Validate where a load balancer is reached."""
    field = "status.loadBalancer.ingress"
    entries = new.get("status", {}).get("loadBalancer", {}).get("ingress", ())
    if entries and new["spec"].get("type") != LOAD_BALANCER:
        return [forbidden(field, "may only be used when `spec.type` is 'LoadBalancer'")]
    found: Errors = []
    for index, entry in enumerate(entries):
        where = f"{field}[{index}]"
        ip, mode = entry.get("ip", ""), entry.get("ipMode")
        found += ip_errors(ip, f"{where}.ip") if ip else []
        if mode is None and ip:
            found.append(required(f"{where}.ipMode", "must be specified when `ip` is set"))
        elif mode is not None and not ip:
            message = "may not be specified when `ip` is not set"
            found.append(forbidden(f"{where}.ipMode", message))
        elif mode is not None and mode not in ("Proxy", "VIP"):
            found.append(not_supported(f"{where}.ipMode", mode, ("Proxy", "VIP")))
        found += hostname_errors(entry.get("hostname", ""), f"{where}.hostname")
    return found


def hostname_errors(name: str, field: str) -> Errors:
    """Validate the name under which a load balancer is reached."""
    if not name:
        return []
    found = [invalid(field, name, each) for each in dns_subdomain(name)]
    if parse_ip(name) is not None:
        found.append(invalid(field, name, "must be a DNS name, not an IP address"))
    return found


def update_errors(new: KubeObject, old: KubeObject) -> Errors:
    """Return which changes are not allowed."""
    spec, before = new["spec"], old["spec"]
    found = _changed_address_errors(spec, before)
    if not any(is_external_name(each) or is_headless(each) for each in (spec, before)):
        now, then = list(spec.get("ipFamilies", ())), list(before.get("ipFamilies", ()))
        field = "spec.ipFamilies[0]"
        if len(now) == len(then):
            pairs = zip(now, then, strict=True)
            found += [
                invalid(field, now, _IMMUTABLE_MESSAGE) for this, that in pairs if this != that
            ]
        else:
            if now and then and now[0] != then[0]:
                found.append(invalid(field, spec.get("clusterIPs"), _IMMUTABLE_MESSAGE))
            policy = spec.get("ipFamilyPolicy")
            if len(now) == 1 and len(then) == 2 and policy != "SingleStack":
                message = "must be set to 'SingleStack' when releasing the secondary ipFamily"
                found.append(invalid("spec.ipFamilyPolicy", policy, message))
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
        message = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        found.append(invalid("spec.ipFamilyPolicy", policy, message))
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
        message = '"PreferClose" is deprecated; use "PreferSameZone"'
        found.append(f"spec.trafficDistribution: {message}")
    return found
