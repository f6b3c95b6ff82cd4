"""
The Pod Security plugin: namespaces say by their labels which standards pods in them must meet.

What `enforce` names is refused in pods; `warn` warns of pods, and of what makes pods. Nobody reads
`audit` but to say that it makes no sense. A namespace is told which of its pods do not meet a
stricter standard; they stay.

Follows kubernetes 1.35 k8s.io/pod-security-admission/admission/admission.go Admission.Validate,
Admission.ValidateNamespace, Admission.EvaluatePod, Admission.EvaluatePodsInNamespace;
k8s.io/pod-security-admission/api/helpers.go PolicyToEvaluate.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kube_objects.refs import KubeObject
from kube_sandbox import api_errors
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.plugins.interface import (
    AdmissionContext,
    ValidatingPlugin,
    forbidden_by_plugin,
)
from kube_sandbox.admission.plugins.pod_security.standards import LEVELS, Standard, violations
from kube_sandbox.registry.field_errors import FieldError, invalid, quoted

# The way to the template of pods.
TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "cronjobs.batch": ("spec", "jobTemplate", "spec", "template"),
    "daemonsets.apps": ("spec", "template"),
    "deployments.apps": ("spec", "template"),
    "jobs.batch": ("spec", "template"),
    "podtemplates": ("template",),
    "replicasets.apps": ("spec", "template"),
    "replicationcontrollers": ("spec", "template"),
    "statefulsets.apps": ("spec", "template"),
}
_LABEL = "pod-security.kubernetes.io/"
_VERSION = re.compile(r"v1\.([0-9]|[1-9][0-9]*)")
_HIGHEST_VERSION = 2**63 - 1
_NO_LEVEL = f"must be one of {', '.join(LEVELS)}"
_NO_VERSION = 'must be "latest" or "v1.x"'
_IGNORED_PARTS = frozenset(
    ("exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status")
)
_MAX_PODS = 3000  # of a namespace


@dataclass(frozen=True, slots=True)
class _Policy:
    """What a namespace wants of its pods, and what is wrong with how it says so."""

    enforce: Standard
    warn: Standard
    errors: list[FieldError]


class PodSecurity(ValidatingPlugin):
    """Refuses pods that do not meet the standard of their namespace."""

    def __init__(self, around: AdmissionContext) -> None:
        self._around = around

    def validate(self, deed: AdmissionAttributes) -> list[str]:
        """Refuse a pod or a namespace; return what is to be warned of."""
        if deed.obj is None:
            return []
        if deed.served.bucket == "namespaces":
            return [] if deed.subresource else self._namespace(deed, deed.obj)
        if deed.served.bucket == "pods":
            return self._pod(deed, deed.obj)
        return [] if deed.subresource else self._template(deed, deed.obj)

    def _pod(self, deed: AdmissionAttributes, pod: KubeObject) -> list[str]:
        if deed.subresource in _IGNORED_PARTS:
            return []
        if deed.old is not None and not _is_significant(pod["spec"], deed.old["spec"]):
            return []
        policy = self._policy(deed.namespace)
        if told := _violation_message(policy.enforce, pod):
            raise forbidden_by_plugin(deed, f"violates {told}")
        # What is met need not be looked at again.
        return [] if policy.warn == policy.enforce else _warnings(policy.warn, pod)

    def _template(self, deed: AdmissionAttributes, maker: KubeObject) -> list[str]:
        template = maker
        for step in TEMPLATES[deed.served.bucket]:
            template = template.get(step) or {}
        return _warnings(self._policy(deed.namespace).warn, template) if template else []

    def _policy(self, namespace: str) -> _Policy:
        return _policy(self._around.find("namespaces", "", namespace) or {})

    def _namespace(self, deed: AdmissionAttributes, namespace: KubeObject) -> list[str]:
        policy = _policy(namespace)
        former = None if deed.old is None else _policy(deed.old)
        if policy.errors and (former is None or policy.errors != former.errors):
            raise api_errors.invalid("", "Namespace", deed.name, policy.errors)
        if former is None or not _is_stricter(policy.enforce, former.enforce):
            return []
        name = namespace["metadata"]["name"]
        return _pods_warnings(name, policy.enforce, self._around.all("pods", name))


# What labels say


def _policy(namespace: KubeObject) -> _Policy:
    """Read the labels; what cannot be read is taken for the strictest, or not warned of."""
    labels = (namespace.get("metadata") or {}).get("labels") or {}
    enforce, errors = _standard(labels, "enforce", "restricted")
    _, more = _standard(labels, "audit", "privileged")
    warn, most = _standard(labels, "warn", "privileged")
    is_level_read = labels.get(f"{_LABEL}enforce") in LEVELS
    if is_level_read and f"{_LABEL}warn" not in labels and enforce.strictness > 0:
        # Whoever enforces a standard is warned of what makes pods that do not meet it.
        minor = warn.minor if f"{_LABEL}warn-version" in labels else enforce.minor
        warn = Standard(enforce.level, minor)
    return _Policy(enforce, warn, [*errors, *more, *most])


def _standard(
    labels: Mapping[str, str], mode: str, otherwise: str
) -> tuple[Standard, list[FieldError]]:
    """Return the standard for a mode; `otherwise` is its level if that cannot be read."""
    found, errors = Standard(), []
    level, version = labels.get(f"{_LABEL}{mode}"), labels.get(f"{_LABEL}{mode}-version")
    if level is not None:
        found = replace(found, level=level if level in LEVELS else otherwise)
        if level not in LEVELS:
            errors.append(_invalid_label(mode, level, _NO_LEVEL))
    if version is not None and version != "latest":
        read = _VERSION.fullmatch(version)
        if read and int(read[1]) <= _HIGHEST_VERSION:
            found = replace(found, minor=int(read[1]))
        else:
            errors.append(_invalid_label(f"{mode}-version", version, _NO_VERSION))
    return found, errors


def _invalid_label(label: str, value: str, why: str) -> FieldError:
    return invalid(f"metadata.labels[{_LABEL}{label}]", value, why)


def _is_stricter(new: Standard, old: Standard) -> bool:
    """Say whether there may be pods that met the old standard and do not meet the new one."""
    if new == old or not new.strictness:
        return False
    return new.minor != old.minor or new.strictness > old.strictness


# What is told of pods


def _violation_message(standard: Standard, pod: KubeObject) -> str:
    """Say how a pod or a template violates a standard; "" if it does not."""
    found = violations(standard, pod.get("metadata") or {}, pod.get("spec") or {})
    told = ", ".join(map(str, found))
    return f"PodSecurity {quoted(str(standard))}: {told}" if found else ""


def _warnings(standard: Standard, pod: KubeObject) -> list[str]:
    told = _violation_message(standard, pod)
    return [f"would violate {told}"] if told else []


def _is_significant(new: KubeObject, old: KubeObject) -> bool:
    """Say whether a pod's update brings in a container or an image."""
    for name in ("containers", "initContainers"):
        if _images(new, name) != _images(old, name):
            return True
    known = {each["name"]: each.get("image") for each in old.get("ephemeralContainers") or ()}
    return any(
        each["name"] not in known or known[each["name"]] != each.get("image")
        for each in new.get("ephemeralContainers") or ()
    )


def _images(spec: KubeObject, name: str) -> list[str]:
    return [each.get("image", "") for each in spec.get(name) or ()]


def _pods_warnings(namespace: str, standard: Standard, pods: Iterable[KubeObject]) -> list[str]:
    """Say which pods of a namespace violate a standard, those of the same sort together."""
    every = _repeated_controllers_last(pods)
    first: dict[str, str] = {}
    count: Counter[str] = Counter()
    for pod in every[:_MAX_PODS]:
        found = violations(standard, pod["metadata"], pod["spec"])
        if found:
            told, name = ", ".join(each.reason for each in found), pod["metadata"]["name"]
            first[told] = min(name, first.get(told, name))
            count[told] += 1
    warnings = []
    if len(every) > _MAX_PODS:
        opening = f"new PodSecurity enforce level only checked against the first {_MAX_PODS}"
        warnings.append(f"{opening} of {len(every)} existing pods")
    if first:
        opening = f"existing pods in namespace {quoted(namespace)} violate the new PodSecurity"
        warnings.append(f"{opening} enforce level {quoted(str(standard))}")
    told_pods = (f"{name}{_others(count[told])}: {told}" for told, name in first.items())
    return [*warnings, *sorted(told_pods)]


def _others(count: int) -> str:
    if count == 1:
        return ""
    return f" (and {count - 1} other {'pod' if count == 2 else 'pods'})"


def _repeated_controllers_last(pods: Iterable[KubeObject]) -> list[KubeObject]:
    """Put the pods that have the controller of an earlier one behind all others."""
    first, others, known = [], [], set()
    for pod in pods:
        owners = pod["metadata"].get("ownerReferences") or ()
        controller = next((each["uid"] for each in owners if each.get("controller")), None)
        if controller in known:
            others.append(pod)
            continue
        first.append(pod)
        if controller is not None:
            known.add(controller)
    return first + others
