"""
Warnings about valid pods and pod templates.

Follows kubernetes 1.35 pkg/api/pod/warnings.go GetWarningsForPod, GetWarningsForPodTemplate,
warningsForPodSpecAndMeta, warningsForOverlappingVirtualPaths, checkForOverlap.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kube_objects.quantity import is_whole
from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.ip_validation import ip_warnings
from kube_sandbox.registry.builtin.pods.profile_annotations import (
    container_profile_warnings,
    pod_profile_warnings,
)
from kube_sandbox.registry.builtin.pods.security_context_validation import containers_of
from kube_sandbox.registry.field_errors import quoted
from kube_sandbox.registry.name_validation import label_value

_NODE_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
    "security.alpha.kubernetes.io/unsafe-sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NULL_SELECTOR = "a null labelSelector results in matching no pod"
_BYTES = ("memory", "ephemeral-storage")
_DEPRECATED = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
# How some of them are spelled in warnings, and nowhere else.
_DISPLAY_NAMES = {"storageos": "storageOS"}

File = tuple[str, str]  # its path, and whose it is


def template_warnings(template: Mapping[str, Any], at: str) -> list[str]:
    """Return warnings about a template."""
    return _warnings(template.get("metadata", {}), template.get("spec", {}), f"{at}.")


def pod_warnings(pod: KubeObject) -> list[str]:
    """Return warnings about a pod."""
    return _warnings(pod["metadata"], pod["spec"], "")


def _warnings(meta: Mapping[str, Any], spec: KubeObject, prefix: str) -> list[str]:
    at = f"{prefix}spec"
    warnings: list[str] = []
    warnings += _node_labels(spec, at)
    for index, constraint in enumerate(spec.get("topologySpreadConstraints", ())):
        where, key = f"{at}.topologySpreadConstraints[{index}]", constraint.get("topologyKey", "")
        if key in _NODE_LABELS:
            warnings.append(f"{where}.topologyKey: {key} is {_NODE_LABELS[key]}")
        if constraint.get("labelSelector") is None:
            warnings.append(f"{where}.labelSelector: {_NULL_SELECTOR}")
    warnings += (
        f"{prefix}metadata.annotations[{key}]: {message}"
        for key, message in _ANNOTATIONS.items()
        if key in meta.get("annotations", ())
    )
    warnings += volume_warnings(spec.get("volumes", ()), at)
    warnings += _duplicate_warnings(spec, at)
    warnings += _fractional_byte_warnings({"overhead": spec.get("overhead", {})}, at, ("overhead",))
    warnings += pod_profile_warnings(meta, spec, prefix)
    warnings += _containers(meta, spec, prefix)
    warnings += _ports(spec, at)
    known: dict[str, str] = {}
    for port, port_where in _all_ports(spec, at):
        name = port.get("name")
        if not name:
            continue
        if name in known:
            first = known[name]
            warnings.append(
                f"{port_where}: duplicate port name {quoted(name)} with {first}, "
                f"services and probes that select ports by name will use {first}"
            )
        known.setdefault(name, port_where)
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        message = "must be >= 0; negative values are invalid and will be treated as 1"
        warnings.append(f"{at}.terminationGracePeriodSeconds: {message}")
    warnings += _affinities(spec, at)
    for index, server in enumerate(spec.get("dnsConfig", {}).get("nameservers", ())):
        warnings.extend(ip_warnings(server, f"{at}.dnsConfig.nameservers[{index}]"))
    for index, alias in enumerate(spec.get("hostAliases", ())):
        warnings.extend(ip_warnings(alias.get("ip", ""), f"{at}.hostAliases[{index}].ip"))
    return warnings


def _node_labels(spec: KubeObject, at: str) -> Iterator[str]:
    for key in spec.get("nodeSelector", ()):
        if key in _NODE_LABELS:
            yield f"{at}.nodeSelector[{key}]: {_NODE_LABELS[key]}"
    affinity = spec.get("affinity", {}).get("nodeAffinity", {})
    where = f"{at}.affinity.nodeAffinity"
    for index, term in enumerate(affinity.get(_REQUIRED, {}).get("nodeSelectorTerms") or ()):
        yield from _term(term, f"{where}.{_REQUIRED}.nodeSelectorTerms[{index}]")
    for index, weighted in enumerate(affinity.get(_PREFERRED, ())):
        term = weighted.get("preference", {})
        yield from _term(term, f"{where}.{_PREFERRED}[{index}].preference", checks_values=True)


def _term(term: Mapping[str, Any], at: str, *, checks_values: bool = False) -> Iterator[str]:
    for index, each in enumerate(term.get("matchExpressions", ())):
        key, where = each.get("key", ""), f"{at}.matchExpressions[{index}]"
        if key in _NODE_LABELS:
            yield f"{where}.key: {key} is {_NODE_LABELS[key]}"
        for at_value, value in enumerate(each.get("values", ()) if checks_values else ()):
            for message in label_value(value):
                yield f"{where}.values[{at_value}]: {value} is invalid, {message}"


def _duplicate_warnings(spec: KubeObject, at: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, alias in enumerate(spec.get("hostAliases", ())):
        ip = alias.get("ip", "")
        if ip in seen:
            yield f"{at}.hostAliases[{index}].ip: duplicate ip {quoted(ip)}"
        seen.add(ip)
    secrets = spec.get("imagePullSecrets", ())
    names: set[str] = set()
    for index, secret in enumerate(secrets):
        name = secret.get("name", "")
        if name in names:
            yield f"{at}.imagePullSecrets[{index}].name: duplicate name {quoted(name)}"
        names.add(name)
    for index, secret in enumerate(secrets):
        if not secret.get("name"):
            yield f'{at}.imagePullSecrets[{index}].name: invalid empty name ""'


def _fractional_byte_warnings(
    amounts: Mapping[str, Mapping[str, str]], at: str, parts: Iterable[str]
) -> Iterator[str]:
    for name in _BYTES:
        for part in parts:
            text = amounts.get(part, {}).get(name)
            if text is not None and not is_whole(text):
                message = f"fractional byte value {quoted(text)} is invalid, must be an integer"
                yield f"{at}.{part}[{name}]: {message}"


def _containers(meta: Mapping[str, Any], spec: KubeObject, prefix: str) -> Iterator[str]:
    for container, where in containers_of(spec, f"{prefix}spec"):
        yield from container_profile_warnings(container, meta, spec, prefix)
        resources = container.get("resources", {})
        yield from _fractional_byte_warnings(
            resources, f"{where}.resources", ("limits", "requests")
        )
        seen: set[str] = set()
        for index, variable in enumerate(container.get("env", ())):
            name, value = variable.get("name", ""), variable.get("value", "")
            if name not in seen:
                seen.add(name)
                continue
            reference = f"$({name})"
            if "valueFrom" in variable or value == reference or reference not in value:
                message = f"hides previous definition of {quoted(name)}"
                yield f"{where}.env[{index}]: {message}, which may be dropped when using apply"


def _all_ports(spec: KubeObject, at: str) -> Iterator[tuple[KubeObject, str]]:
    for container, where in containers_of(spec, at):
        for index, port in enumerate(container.get("ports", ())):
            yield port, f"{where}.ports[{index}]"


def _ports(spec: KubeObject, at: str) -> Iterator[str]:
    known: dict[tuple[int, str], list[tuple[KubeObject, str]]] = {}
    for port, where in _all_ports(spec, at):
        ip, number = port.get("hostIP", ""), port.get("hostPort", 0)
        if ip and not number:
            # The struct as Go's %+v prints it.
            printed = (
                f"{{Name:{port.get('name', '')} HostPort:{number} "
                f"ContainerPort:{port.get('containerPort', 0)} "
                f"Protocol:{port.get('protocol', '')} HostIP:{ip}}}"
            )
            yield f"{where}: hostIP set without hostPort: {printed}"
        others = known.setdefault((port.get("containerPort", 0), port.get("protocol", "")), [])
        for other, at_other in others:
            its_ip, its_number = other.get("hostIP", ""), other.get("hostPort", 0)
            if (ip, number) == (its_ip, its_number):
                yield f"{where}: duplicate port definition with {at_other}"
            elif not number or not its_number:
                yield f"{where}: overlapping port definition with {at_other}"
            elif number == its_number and bool(ip) != bool(its_ip):
                yield f"{where}: dangerously ambiguous port definition with {at_other}"
        others.append((port, where))


def _affinities(spec: KubeObject, at: str) -> Iterator[str]:
    affinity = spec.get("affinity", {})
    for name in ("podAffinity", "podAntiAffinity"):
        where, pods = f"{at}.affinity.{name}", affinity.get(name, {})
        for index, term in enumerate(pods.get(_REQUIRED, ())):
            if term.get("labelSelector") is None:
                yield f"{where}.{_REQUIRED}[{index}].labelSelector: {_NULL_SELECTOR}"
        for index, weighted in enumerate(pods.get(_PREFERRED, ())):
            if weighted.get("podAffinityTerm", {}).get("labelSelector") is None:
                field = f"{where}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector"
                yield f"{field}: {_NULL_SELECTOR}"


def volume_warnings(volumes: Iterable[KubeObject], at: str) -> list[str]:
    """Return warnings about volumes."""
    given = list(volumes)
    found = [
        f"{at}.volumes[{index}].{_DISPLAY_NAMES.get(name, name)}: {message}"
        for index, volume in enumerate(given)
        for name, message in _DEPRECATED.items()
        if name in volume
    ]
    for volume in given:
        found += _overlaps(volume)
    return found


def _overlaps(volume: KubeObject) -> Iterator[str]:
    name = quoted(volume.get("name", ""))
    sources = (
        ("configMap", f"ConfigMap {quoted((volume.get('configMap') or {}).get('name', ''))}"),
        ("secret", f"Secret {quoted((volume.get('secret') or {}).get('secretName', ''))}"),
        ("downwardAPI", "DownwardAPI"),
    )
    for key, described in sources:
        for message in _collisions(_items(volume.get(key) or {}, "")):
            yield f"volume {name} ({described}): overlapping paths: {message}"
    if "projected" not in volume:
        return
    files = []
    for source in volume["projected"].get("sources") or ():
        if not source:
            yield f"volume {name} (Projected) has no sources provided"
        for key, word in (("configMap", "ConfigMap"), ("secret", "Secret")):
            if (part := source.get(key)) is not None and "items" in part:
                files += _items(part, f"{word} {quoted(part.get('name', ''))}")
                break
        else:
            if (part := source.get("downwardAPI")) is not None and "items" in part:
                files += _items(part, "DownwardAPI")
            elif (part := source.get("serviceAccountToken")) is not None:
                files.append((part.get("path", ""), "ServiceAccountToken"))
    for message in _collisions(files):
        yield f"volume {name} (Projected): overlapping paths: {message}"


def _items(source: Mapping[str, Any], owner: str) -> list[File]:
    return [(each.get("path", ""), owner) for each in source.get("items", ())]


def _collisions(files: Iterable[File]) -> Iterator[str]:
    seen: list[File] = []
    for path, owner in files:
        file = path.rstrip("/"), owner
        for other in seen:
            one, two = f"{file[0]}/", f"{other[0]}/"
            if "/" not in (one, two) and (one.startswith(two) or two.startswith(one)):
                yield f"{_format_path(file)} with {_format_path(other)}"
        seen.append(file)


def _format_path(file: File) -> str:
    path, owner = file
    return f"{quoted(path)} ({owner})" if owner else quoted(path)
