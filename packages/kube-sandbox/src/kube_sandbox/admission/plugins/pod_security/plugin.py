"""
PodSecurity: the labels of a namespace name the standards that its pods must meet.

`enforce` rejects pods; `warn` warns of pods and of workloads that create pods. `audit` is only
checked for validity. When a namespace enforces a stricter standard, the answer warns of existing
pods that violate it; they stay.

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
    ClusterPlugin,
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
    """The standards of a namespace, and the errors in its labels."""

    enforce: Standard
    warn: Standard
    errors: list[FieldError]


class PodSecurity(ClusterPlugin, ValidatingPlugin):
    """Rejects pods that do not meet the standard of their namespace."""

    def validate(self, attributes: AdmissionAttributes) -> list[str]:
        """Reject a pod or a namespace, or return warnings."""
        if attributes.obj is None:
            return []
        if attributes.served.bucket == "namespaces":
            if attributes.subresource:
                return []
            new = _policy(attributes.obj)
            old = None if attributes.old is None else _policy(attributes.old)
            if new.errors and (old is None or new.errors != old.errors):
                raise api_errors.invalid("", "Namespace", attributes.name, new.errors)
            if old is None or not new.enforce.may_reject_more_than(old.enforce):
                return []
            name = attributes.obj["metadata"]["name"]
            return _pods_warnings(name, new.enforce, self._context.all("pods", name))
        if attributes.served.bucket == "pods":
            pod = attributes.obj
            if attributes.subresource in _IGNORED_PARTS:
                return []
            if attributes.old is not None and not _is_significant(
                pod["spec"], attributes.old["spec"]
            ):
                return []
            policy = self._policy(attributes.namespace)
            if message := _violation_message(policy.enforce, pod):
                raise forbidden_by_plugin(attributes, f"violates {message}")
            # A pod that meets `enforce` meets the same standard in `warn`.
            return [] if policy.warn == policy.enforce else _warnings(policy.warn, pod)
        if attributes.subresource:
            return []
        template = attributes.obj
        for step in TEMPLATES[attributes.served.bucket]:
            template = template.get(step) or {}
        return _warnings(self._policy(attributes.namespace).warn, template) if template else []

    def _policy(self, namespace: str) -> _Policy:
        return _policy(self._context.find("namespaces", "", namespace) or {})


# Labels


def _policy(namespace: KubeObject) -> _Policy:
    """Parse the labels; an invalid `enforce` is the strictest level, an invalid `warn` none."""
    labels = (namespace.get("metadata") or {}).get("labels") or {}
    enforce, errors = _standard(labels, "enforce", "restricted")
    _, more = _standard(labels, "audit", "privileged")
    warn, most = _standard(labels, "warn", "privileged")
    is_level_read = labels.get(f"{_LABEL}enforce") in LEVELS
    if is_level_read and f"{_LABEL}warn" not in labels and enforce.strictness > 0:
        # `warn` defaults to `enforce`, so that workloads that create such pods are reported.
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


# Messages


def _violation_message(standard: Standard, pod: KubeObject) -> str:
    """Describe how a pod or a template violates a standard; "" if it does not."""
    found = violations(standard, pod.get("metadata") or {}, pod.get("spec") or {})
    message = ", ".join(map(str, found))
    return f"PodSecurity {quoted(str(standard))}: {message}" if found else ""


def _warnings(standard: Standard, pod: KubeObject) -> list[str]:
    message = _violation_message(standard, pod)
    return [f"would violate {message}"] if message else []


def _is_significant(new: KubeObject, old: KubeObject) -> bool:
    """Return whether a pod's update adds a container or changes an image."""
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
    """Warn of the pods that violate a standard, grouped by violation."""
    # One pod of each controller comes first, so that the limit covers as many as possible.
    representatives, others, known = [], [], set()
    for pod in pods:
        owners = pod["metadata"].get("ownerReferences") or ()
        controller = next((each["uid"] for each in owners if each.get("controller")), None)
        if controller in known:
            others.append(pod)
            continue
        representatives.append(pod)
        if controller is not None:
            known.add(controller)
    every = representatives + others
    first: dict[str, str] = {}
    count: Counter[str] = Counter()
    for pod in every[:_MAX_PODS]:
        found = violations(standard, pod["metadata"], pod["spec"])
        if found:
            reasons, name = ", ".join(each.reason for each in found), pod["metadata"]["name"]
            first[reasons] = min(name, first.get(reasons, name))
            count[reasons] += 1
    warnings = []
    if len(every) > _MAX_PODS:
        opening = f"new PodSecurity enforce level only checked against the first {_MAX_PODS}"
        warnings.append(f"{opening} of {len(every)} existing pods")
    if first:
        opening = f"existing pods in namespace {quoted(namespace)} violate the new PodSecurity"
        warnings.append(f"{opening} enforce level {quoted(str(standard))}")
    lines = []
    for reasons, name in first.items():
        more = count[reasons] - 1
        rest = f" (and {more} other {'pod' if more == 1 else 'pods'})" if more else ""
        lines.append(f"{name}{rest}: {reasons}")
    return [*warnings, *sorted(lines)]
