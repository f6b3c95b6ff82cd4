"""
Validation of pod specs and pod templates, in the order of kube-apiserver.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go ValidatePodSpec,
ValidatePodTemplateSpec, ValidatePodSpecificAnnotations.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.field_validation import (
    Errors,
    by_rule,
    choice,
    required_choice,
)
from kube_sandbox.registry.builtin.ip_validation import ip_errors
from kube_sandbox.registry.builtin.pods.container_validation import (
    PodContext,
    check_containers,
    check_ephemeral_containers,
    check_init_containers,
)
from kube_sandbox.registry.builtin.pods.profile_annotations import (
    check_profile_annotations,
    check_same_profiles,
)
from kube_sandbox.registry.builtin.pods.resource_validation import (
    check_overhead,
    check_pod_resources,
    check_resource_claims,
)
from kube_sandbox.registry.builtin.pods.scheduling_validation import (
    check_affinity,
    check_spreading,
    check_tolerations,
)
from kube_sandbox.registry.builtin.pods.security_context_validation import (
    check_host_users,
    check_os,
    check_pod_security,
    containers_of,
)
from kube_sandbox.registry.builtin.pods.volume_validation import check_volumes
from kube_sandbox.registry.field_errors import (
    duplicate,
    forbidden,
    invalid,
    not_found,
    required,
    too_long,
)
from kube_sandbox.registry.name_validation import (
    dns_label,
    dns_subdomain,
    dns_subdomain_with_underscore,
    in_range,
    qualified_name,
)
from kube_sandbox.registry.object_meta import annotations, labels

RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MOST_NAMESERVERS, _MOST_SEARCHES, _MOST_IN_SEARCHES = 3, 32, 2048
_MAX_HOSTNAME_LENGTH = 64
_MAX_SECONDS = 2**31 - 1
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_MIRROR = "kubernetes.io/config.mirror"
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
# Fields that are names, and the rule each must follow.
_NAMES = (
    ("serviceAccountName", dns_subdomain),
    ("nodeName", dns_subdomain),
)
_MORE_NAMES = (("hostname", dns_label), ("subdomain", dns_label))


def check_template(template: Mapping[str, Any], at: str) -> Errors:
    """Return the errors in a template of pods."""
    meta, spec = template.get("metadata", {}), template.get("spec", {})
    found = labels(meta.get("labels"), f"{at}.labels")
    found += annotations(meta.get("annotations"), f"{at}.annotations")
    found += check_pod_annotations(meta.get("annotations"), spec, f"{at}.annotations")
    found += check_pod_spec(spec, f"{at}.spec", is_pod=False)
    found += check_same_profiles(meta, spec, f"{at}.spec")
    if spec.get("ephemeralContainers"):
        message = "ephemeral containers not allowed in pod template"
        found.append(forbidden(f"{at}.spec.ephemeralContainers", message))
    return found


def check_pod_annotations(
    values: Mapping[str, str] | None, spec: Mapping[str, Any], at: str
) -> Errors:
    """Return the errors in annotations that mean something for pods."""
    found: Errors = []
    if not values:
        return found
    if _MIRROR in values and not spec.get("nodeName"):
        message = "must set spec.nodeName if mirror pod annotation is set"
        found.append(invalid(f"{at}[{_MIRROR}]", values[_MIRROR], message))
    cost = values.get(_DELETION_COST)
    if cost is not None:
        is_number = _INTEGER.fullmatch(cost) is not None
        if not is_number or not -(2**31) <= int(cost) < 2**31:
            found.append(invalid(f"{at}[{_DELETION_COST}]", cost, "must be a 32bit integer"))
    return found + check_profile_annotations(values, spec, at)


def check_pod_spec(spec: KubeObject, at: str, *, is_pod: bool, pod_name: str = "") -> Errors:
    """Return the errors in a pod's spec; templates are allowed a little more than pods."""
    volumes, found = check_volumes(
        spec.get("volumes", ()), f"{at}.volumes", pod_name, is_pod=is_pod
    )
    claims = spec.get("resourceClaims", ())
    found += check_resource_claims(claims, f"{at}.resourceClaims")
    pod = PodContext(
        volumes=volumes,
        claims=[each["name"] for each in claims if each.get("name")],
        grace=spec.get("terminationGracePeriodSeconds", 0),
        restart_policy=spec.get("restartPolicy", ""),
        users_of_host=spec.get("hostUsers", True),
    )
    regular, initial = spec.get("containers") or (), spec.get("initContainers", ())
    found += check_containers(regular, pod, f"{at}.containers")
    if initial:
        found += check_init_containers(initial, regular, pod, f"{at}.initContainers")
    if ephemeral := spec.get("ephemeralContainers"):
        others = (*regular, *initial)
        found += check_ephemeral_containers(ephemeral, others, pod, f"{at}.ephemeralContainers")
    found += check_pod_resources(spec, pod.claims, f"{at}.resources")
    if spec.get("hostNetwork"):
        for index, container in enumerate(spec.get("containers") or ()):
            for at_port, port in enumerate(container.get("ports", ())):
                host = port.get("hostPort", 0)
                if (is_pod or host) and host != port.get("containerPort", 0):
                    where = f"{at}.containers[{index}].ports[{at_port}].hostPort"
                    message = "must match `containerPort` when `hostNetwork` is true"
                    found.append(invalid(where, host, message))
    return found + _field_errors(spec, at)


def _field_errors(spec: KubeObject, at: str) -> Errors:
    """Check everything but volumes, containers and resources, in the order of ValidatePodSpec."""
    policy = spec.get("restartPolicy")
    found = required_choice(policy, RESTART_POLICIES, f"{at}.restartPolicy")
    found += required_choice(spec.get("dnsPolicy"), _DNS_POLICIES, f"{at}.dnsPolicy")
    found += labels(spec.get("nodeSelector"), f"{at}.nodeSelector")
    found += check_pod_security(spec, at)
    found += check_affinity(spec.get("affinity"), f"{at}.affinity")
    found += _dns(spec, at)
    for index, gate in enumerate(spec.get("readinessGates", ())):
        where = f"{at}.readinessGates[{index}].conditionType"
        found += by_rule(gate.get("conditionType", ""), where, qualified_name)
    gates = [gate.get("name", "") for gate in spec.get("schedulingGates", ())]
    for index, name in enumerate(gates):
        found += by_rule(name, f"{at}.schedulingGates[{index}]", qualified_name)
        if name in gates[:index]:
            found.append(duplicate(f"{at}.schedulingGates[{index}]", name))
    if constraints := spec.get("topologySpreadConstraints"):
        found += check_spreading(constraints, f"{at}.topologySpreadConstraints")
    found += check_host_users(spec, at)
    hostname, hostname_at = spec.get("hostnameOverride"), f"{at}.hostnameOverride"
    if hostname is not None:
        for key in ("setHostnameAsFQDN", "hostNetwork"):
            if spec.get(key):
                found.append(forbidden(hostname_at, f"may not be specified when {key} is true"))
        if len(hostname) > _MAX_HOSTNAME_LENGTH:
            found.append(too_long(hostname_at, _MAX_HOSTNAME_LENGTH))
        found += by_rule(hostname, hostname_at, dns_subdomain)
    found += _by_rules(spec, _NAMES, at)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None:
        wrong = in_range(deadline, 1, _MAX_SECONDS)
        found += [invalid(f"{at}.activeDeadlineSeconds", deadline, each) for each in wrong]
    found += _by_rules(spec, _MORE_NAMES, at)
    found += check_tolerations(spec.get("tolerations", ()), f"{at}.tolerations")
    for index, alias in enumerate(spec.get("hostAliases", ())):
        where = f"{at}.hostAliases[{index}]"
        found += ip_errors(alias.get("ip", ""), f"{where}.ip")
        for at_name, name in enumerate(alias.get("hostnames", ())):
            found += by_rule(name, f"{where}.hostnames[{at_name}]", dns_subdomain)
    found += _by_rules(spec, (("priorityClassName", dns_subdomain),), at)
    if (name := spec.get("runtimeClassName")) is not None:
        found += by_rule(name, f"{at}.runtimeClassName", dns_subdomain)
    policies = ("PreemptLowerPriority", "Never")
    found += choice(spec.get("preemptionPolicy"), policies, f"{at}.preemptionPolicy")
    if overhead := spec.get("overhead"):
        found += check_overhead(overhead, f"{at}.overhead")
    return found + check_os(spec, at) + _file_keys(spec, at)


def _dns(spec: KubeObject, at: str) -> Errors:
    config, where = spec.get("dnsConfig"), f"{at}.dnsConfig"
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [required(where, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.get("nameservers"):
            message = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(f"{where}.nameservers", message)]
    if not config:
        return []
    servers, searches = config.get("nameservers", []), config.get("searches", [])
    found: Errors = []
    if len(servers) > _MOST_NAMESERVERS:
        message = f"must not have more than {_MOST_NAMESERVERS} nameservers"
        found.append(invalid(f"{where}.nameservers", servers, message))
    for index, server in enumerate(servers):
        found += ip_errors(server, f"{where}.nameservers[{index}]")
    if len(searches) > _MOST_SEARCHES:
        message = f"must not have more than {_MOST_SEARCHES} search paths"
        found.append(invalid(f"{where}.searches", searches, message))
    if len(" ".join(searches)) > _MOST_IN_SEARCHES:
        message = (
            f"must not have more than {_MOST_IN_SEARCHES} characters (including spaces) "
            "in the search list"
        )
        found.append(invalid(f"{where}.searches", searches, message))
    for index, search in enumerate(searches):
        if search != ".":
            search_at = f"{where}.searches[{index}]"
            found += by_rule(search.removesuffix("."), search_at, dns_subdomain_with_underscore)
    for index, option in enumerate(config.get("options", ())):
        if not option.get("name"):
            found.append(required(f"{where}.options[{index}]", "must not be empty"))
    return found


def _by_rules(
    spec: KubeObject, rules: Iterable[tuple[str, Callable[[str], list[str]]]], at: str
) -> Errors:
    found: Errors = []
    for name, rule in rules:
        if value := spec.get(name):
            found += by_rule(value, f"{at}.{name}", rule)
    return found


def _file_keys(spec: KubeObject, at: str) -> Errors:
    """Check that files with values of variables are in volumes that can hold them."""
    volumes = {each.get("name"): each for each in spec.get("volumes", ())}
    found: Errors = []
    for container, where in containers_of(spec, at):
        for index, variable in enumerate(container.get("env", ())):
            key = variable.get("valueFrom", {}).get("fileKeyRef")
            if key is None:
                continue
            name = key.get("volumeName", "")
            field = f"{where}.env[{index}].valueFrom.fileKeyRef.volumeName"
            if name not in volumes:
                found.append(not_found(field, name))
            elif "emptyDir" not in volumes[name]:
                message = "referenced volume must be of type emptyDir"
                found.append(invalid(field, name, message))
    return found
