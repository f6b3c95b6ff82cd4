"""
Validation of containers, their probes and their lifecycle.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go validateContainers,
validateInitContainers, validateEphemeralContainers, validateContainerCommon, validateProbe,
validateLifecycle, validateHandler.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.field_validation import (
    Errors,
    by_rule,
    check_name,
    choice,
    nonnegatives,
    required_choice,
)
from kube_sandbox.registry.builtin.pods.env_validation import check_env, check_env_from
from kube_sandbox.registry.builtin.pods.resource_validation import check_container_resources
from kube_sandbox.registry.builtin.pods.security_context_validation import check_container_security
from kube_sandbox.registry.builtin.pods.volume_validation import (
    PULL_POLICIES,
    check_devices,
    check_mounts,
)
from kube_sandbox.registry.field_errors import (
    duplicate,
    forbidden,
    invalid,
    not_found,
    required,
    too_long,
)
from kube_sandbox.registry.name_validation import dns_label, http_header, port_name, port_number

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_ONLY_SIDECARS = "may not be set for init containers without restartPolicy=Always"
_NOT_EPHEMERAL = "cannot be set for an Ephemeral Container"
_FORBIDDEN_IN_EPHEMERAL = (
    *("ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules"),
    *("livenessProbe", "readinessProbe", "startupProbe", "lifecycle"),
)
_MOST_RULES, _MOST_CODES = 20, 255
_NUMBERS = (
    *("initialDelaySeconds", "timeoutSeconds", "periodSeconds"),
    *("successThreshold", "failureThreshold"),
)
_GRACE = "terminationGracePeriodSeconds"
_SUCCESSES = "successThreshold"

_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")


@dataclass(frozen=True, slots=True)
class PodContext:
    """What the checks of a container must know of its pod."""

    volumes: Mapping[str, KubeObject]
    claims: Sequence[str]
    grace: int
    restart_policy: str
    users_of_host: bool


def check_containers(containers: Sequence[KubeObject], pod: PodContext, at: str) -> Errors:
    """Return the errors in the containers that do a pod's work."""
    if not containers:
        return [required(at)]
    found: Errors = []
    seen: set[str] = set()
    for index, container in enumerate(containers):
        where, name = f"{at}[{index}]", container.get("name", "")
        found += _common(container, pod, where)
        if name in seen:
            found.append(duplicate(f"{where}.name", name))
        seen.add(name)
        if (lifecycle := container.get("lifecycle")) is not None:
            found += check_lifecycle(lifecycle, pod.grace, f"{where}.lifecycle")
        found += check_probes(container, pod.grace, where) + _restarts(container, where)
    return found + _host_ports(containers, at)


def check_init_containers(
    containers: Sequence[KubeObject], regular: Iterable[KubeObject], pod: PodContext, at: str
) -> Errors:
    """Return the errors in the containers that prepare a pod."""
    found: Errors = []
    seen = {each.get("name", "") for each in regular}
    for index, container in enumerate(containers):
        where, name = f"{at}[{index}]", container.get("name", "")
        found += _common(container, pod, where)
        is_sidecar = container.get("restartPolicy") == "Always"
        if is_sidecar and container.get("restartPolicyRules"):
            message = (
                "restartPolicyRules are not allowed for init containers with restart policy Always"
            )
            found.append(forbidden(f"{where}.restartPolicyRules", message))
        elif not is_sidecar:
            found += _restarts(container, where)
        if name in seen:
            found.append(duplicate(f"{where}.name", name))
        elif name:
            seen.add(name)
        found += _host_ports([container], at)
        if is_sidecar:
            if lifecycle := container.get("lifecycle"):
                found += check_lifecycle(lifecycle, pod.grace, f"{where}.lifecycle")
            found += check_probes(container, pod.grace, where)
        else:
            names = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
            found += [
                forbidden(f"{where}.{name}", _ONLY_SIDECARS) for name in names if name in container
            ]
    return found


def check_ephemeral_containers(
    containers: Sequence[KubeObject], others: Iterable[KubeObject], pod: PodContext, at: str
) -> Errors:
    """Return the errors in the containers that look into a running pod."""
    found: Errors = []
    names = {each.get("name", "") for each in others}
    seen = set(names)
    for index, container in enumerate(containers):
        where, name = f"{at}[{index}]", container.get("name", "")
        found += _common(container, pod, where) + check_image(container, where)
        if name in seen:
            found.append(duplicate(f"{where}.name", name))
        seen.add(name)
        target = container.get("targetContainerName")
        if target and target not in names:
            found.append(not_found(f"{where}.targetContainerName", target))
        found += [
            forbidden(f"{where}.{key}", _NOT_EPHEMERAL)
            for key in _FORBIDDEN_IN_EPHEMERAL
            if container.get(key)
        ]
        for at_mount, mount in enumerate(container.get("volumeMounts", ())):
            for key in ("subPath", "subPathExpr"):
                if mount.get(key):
                    message = forbidden(f"{where}.volumeMounts[{at_mount}].{key}", _NOT_EPHEMERAL)
                    found.append(message)
    return found


def check_image(container: KubeObject, at: str) -> Errors:
    """Return the errors in an image of a pod; templates may have spaces around theirs."""
    image = container.get("image", "")
    if image == image.strip():
        return []
    return [invalid(f"{at}.image", image, "must not have leading or trailing whitespace")]


def _common(container: KubeObject, pod: PodContext, at: str) -> Errors:
    found = check_name(container.get("name", ""), f"{at}.name", dns_label)
    if not container.get("image"):
        found.append(required(f"{at}.image"))
    policy = container.get("terminationMessagePolicy")
    policies = ("File", "FallbackToLogsOnError")
    found += required_choice(policy, policies, f"{at}.terminationMessagePolicy")
    taken: set[str] = set()
    for place, port in enumerate(container.get("ports") or ()):
        port_at = f"{at}.ports[{place}]"
        if label := port.get("name"):
            wrong = by_rule(label, f"{port_at}.name", port_name)
            if not wrong and label in taken:
                wrong = [duplicate(f"{port_at}.name", label)]
            found += wrong
            taken.add(label)
        number = port.get("containerPort", 0)
        if not number:
            found.append(required(f"{port_at}.containerPort"))
        else:
            found += [invalid(f"{port_at}.containerPort", number, e) for e in port_number(number)]
        if host := port.get("hostPort"):
            found += [invalid(f"{port_at}.hostPort", host, each) for each in port_number(host)]
        found += required_choice(port.get("protocol"), _PROTOCOLS, f"{port_at}.protocol")
    found += check_env(container.get("env") or (), f"{at}.env")
    found += check_env_from(container.get("envFrom") or (), f"{at}.envFrom")
    found += check_mounts(container, pod.volumes, f"{at}.volumeMounts")
    found += check_devices(container, pod.volumes, f"{at}.volumeDevices")
    pull = container.get("imagePullPolicy")
    found += required_choice(pull, PULL_POLICIES, f"{at}.imagePullPolicy")
    resources = container.get("resources", {})
    found += check_container_resources(resources, pod.claims, f"{at}.resources")
    resizes_at = f"{at}.resizePolicy"
    seen: set[str] = set()
    for index, policy in enumerate(container.get("resizePolicy", ())):
        name, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if name in seen:
            found.append(duplicate(f"{resizes_at}[{index}]", name))
        seen.add(name)
        found += required_choice(name, ("cpu", "memory"), resizes_at)
        found += required_choice(restart, ("NotRequired", "RestartContainer"), resizes_at)
        if pod.restart_policy == "Never" and restart != "NotRequired":
            message = "must be 'NotRequired' when `restartPolicy` is 'Never'"
            found.append(invalid(resizes_at, restart, message))
    context = container.get("securityContext")
    where = f"{at}.securityContext"
    return found + check_container_security(context, where, on_host=pod.users_of_host)


def _host_ports(containers: Iterable[KubeObject], at: str) -> Errors:
    found: Errors = []
    seen: set[str] = set()
    for index, container in enumerate(containers):
        for at_port, port in enumerate(container.get("ports", ())):
            if not (number := port.get("hostPort")):
                continue
            text = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{number}"
            if text in seen:
                found.append(duplicate(f"{at}[{index}].ports[{at_port}].hostPort", text))
            seen.add(text)
    return found


def _restarts(container: KubeObject, at: str) -> Errors:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules", ())
    if policy is None and not rules:
        return []
    where = f"{at}.restartPolicy"
    if policy is None:
        found = [required(where, "must specify restartPolicy when restart rules are used")]
    else:
        found = choice(policy, ("Always", "Never", "OnFailure"), where)
    if len(rules) > _MOST_RULES:
        found.append(too_long(f"{at}.restartPolicyRules", _MOST_RULES))
    for index, rule in enumerate(rules):
        rule_at = f"{at}.restartPolicyRules[{index}]"
        found += choice(rule.get("action", ""), ("Restart",), f"{rule_at}.action")
        codes, codes_at = rule.get("exitCodes"), f"{rule_at}.exitCodes"
        if codes is None:
            found.append(required(codes_at, "must be specified"))
            continue
        found += choice(codes.get("operator", ""), ("In", "NotIn"), f"{codes_at}.operator")
        if len(codes.get("values", ())) > _MOST_CODES:
            found.append(too_long(f"{codes_at}.values", _MOST_CODES))
    return found


def check_probes(container: Mapping[str, Any], grace: int, at: str) -> Errors:
    """Return the errors in the three probes of a container."""
    found: Errors = []
    if (probe := container.get("livenessProbe")) is not None:
        found += _probe(probe, grace, f"{at}.livenessProbe") + _check_success_threshold(
            probe, f"{at}.livenessProbe"
        )
    if (probe := container.get("readinessProbe")) is not None:
        where = f"{at}.readinessProbe"
        found += _probe(probe, grace, where)
        if _GRACE in probe:
            message = "must not be set for readinessProbes"
            found.append(invalid(f"{where}.{_GRACE}", probe[_GRACE], message))
    if (probe := container.get("startupProbe")) is not None:
        found += _probe(probe, grace, f"{at}.startupProbe") + _check_success_threshold(
            probe, f"{at}.startupProbe"
        )
    return found


def _check_success_threshold(probe: Mapping[str, Any], at: str) -> Errors:
    successes = probe.get(_SUCCESSES, 0)
    return [] if successes == 1 else [invalid(f"{at}.{_SUCCESSES}", successes, "must be 1")]


def _probe(probe: Mapping[str, Any], grace: int, at: str) -> Errors:
    found = _handler(probe, grace, at) + nonnegatives(probe, _NUMBERS, at)
    if probe.get(_GRACE, 1) <= 0:
        found.append(invalid(f"{at}.{_GRACE}", probe[_GRACE], "must be greater than 0"))
    return found


def check_lifecycle(lifecycle: Mapping[str, Any], grace: int, at: str) -> Errors:
    """Return the errors in what is to happen when a container starts and stops."""
    found: Errors = []
    for name in ("postStart", "preStop"):
        if (handler := lifecycle.get(name)) is not None:
            found += _handler(handler, grace, f"{at}.{name}")
    return found


def _handler(handler: Mapping[str, Any], grace: int, at: str) -> Errors:
    found: Errors = []
    given = [name for name in _HANDLERS if handler.get(name) is not None]
    if not given:
        return [required(at, "must specify a handler type")]
    action, where = handler[given[0]], f"{at}.{given[0]}"
    match given[0]:
        case "exec":
            found += [] if action.get("command") else [required(f"{where}.command")]
        case "httpGet":
            found += [] if action.get("path") else [required(f"{where}.path")]
            found += _port_errors(action.get("port", 0), f"{where}.port")
            found += choice(action.get("scheme", ""), ("HTTP", "HTTPS"), f"{where}.scheme")
            for header in action.get("httpHeaders", ()):
                found += by_rule(header.get("name", ""), f"{where}.httpHeaders", http_header)
        case "sleep":
            seconds = action.get("seconds", 0)
            if not 0 <= seconds <= grace:
                message = f"must be non-negative and less than {_GRACE} ({grace})"
                found.append(invalid(where, seconds, message))
        case _:
            found += _port_errors(action.get("port", 0), f"{where}.port")
    several = "may not specify more than 1 handler type"
    return found + [forbidden(f"{at}.{name}", several) for name in given[1:]]


def _port_errors(port: int | str, at: str) -> Errors:
    wrong = port_number(port) if isinstance(port, int) else port_name(port)
    return [invalid(at, port, each) for each in wrong]
