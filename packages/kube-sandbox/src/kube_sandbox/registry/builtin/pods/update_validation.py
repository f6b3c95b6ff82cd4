"""
Validation of updates: images, tolerations, the deadline, gates and in-place resize.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go ValidatePodUpdate,
ValidatePodStatusUpdate, ValidatePodSpecificAnnotationUpdates, ValidatePodResize;
pkg/registry/core/pod/strategy.go dropNonResizeUpdates.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.field_validation import Errors, by_rule
from kube_sandbox.registry.builtin.internal_json import difference, format_internal
from kube_sandbox.registry.builtin.ip_validation import ip_errors, parse_ip
from kube_sandbox.registry.builtin.pods.container_validation import check_image
from kube_sandbox.registry.builtin.pods.profile_annotations import check_profile_changes
from kube_sandbox.registry.builtin.pods.scheduling_validation import check_tolerations
from kube_sandbox.registry.builtin.pods.validation import check_pod_annotations
from kube_sandbox.registry.field_errors import forbidden, invalid, required
from kube_sandbox.registry.name_validation import dns_subdomain, in_range, qualified_name
from kube_sandbox.registry.object_meta import IMMUTABLE

_DEADLINE = "activeDeadlineSeconds"
_GRACE = "terminationGracePeriodSeconds"
_MAX_SECONDS = 2**31 - 1
_MIRROR = "kubernetes.io/config.mirror"
_SYSTEM_CONDITIONS = frozenset(("PodScheduled", "Ready", "Initialized"))
_CHANGEABLE = ",".join(
    (
        "`spec.containers[*].image`",
        "`spec.initContainers[*].image`",
        "`spec.activeDeadlineSeconds`",
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` "
        "(allow it to be set to 1 if it was previously negative)",
    )
)
_TOLERATION = "existing toleration can not be modified except its tolerationSeconds"
RESIZE = "resize"
_LISTS = ("containers", "initContainers")
_RESIZED = ("resources", "resizePolicy")
_COMPUTE = ("cpu", "memory")
_WHOLE = "[]"  # how a path without a name is printed
_ONLY = "only cpu and memory resources are mutable"
_ONLY_OF_SIDECARS = "only cpu and memory resources for sidecar containers are mutable"
_LEVEL = (
    "resize of pods with pod-level resources is forbidden when "
    "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled"
)


def check_annotation_changes(new: KubeObject, old: KubeObject) -> Errors:
    """Return which annotations of a pod may not change."""
    after, before = (each["metadata"].get("annotations", {}) for each in (new, old))
    at = "metadata.annotations"
    found: Errors = []
    if _MIRROR in before and after.get(_MIRROR) != before[_MIRROR]:
        message = "may not remove or update mirror pod annotation"
        found.append(forbidden(f"{at}[{_MIRROR}]", message))
    elif _MIRROR in after and _MIRROR not in before:
        found.append(forbidden(f"{at}[{_MIRROR}]", "may not add mirror pod annotation"))
    found += check_profile_changes(after, before, at)
    return found + check_pod_annotations(after, new["spec"], at)


def check_spec_changes(new: KubeObject, old: KubeObject) -> Errors:
    """Return which changes of a pod's spec are not allowed."""
    spec, before = new["spec"], old["spec"]
    found: Errors = []
    for name in ("containers", "initContainers"):
        after, former = spec.get(name) or (), before.get(name) or ()
        if len(after) != len(former):
            message = "pod updates may not add or remove containers"
            return [*found, forbidden(f"spec.{name}", message)]
        for index, container in enumerate(after):
            where = f"spec.{name}[{index}]"
            if not container.get("image"):
                found.append(required(f"{where}.image"))
            found += check_image(container, where)
    deadline, old_deadline = spec.get(_DEADLINE), before.get(_DEADLINE)
    where = f"spec.{_DEADLINE}"
    if deadline is None:
        if old_deadline is not None:
            message = "must not update from a positive integer to nil value"
            found.append(invalid(where, None, message))
    elif wrong := in_range(deadline, 0, _MAX_SECONDS):
        return [*found, invalid(where, deadline, wrong[0])]
    elif old_deadline is not None and old_deadline < deadline:
        message = "must be less than or equal to previous value"
        return [*found, invalid(where, deadline, message)]
    tolerations = spec.get("tolerations", ())
    kept = [_without_seconds(each) for each in tolerations]
    if any(_without_seconds(each) not in kept for each in before.get("tolerations", ())):
        found.append(forbidden("spec.tolerations", _TOLERATION))
    else:
        found += check_tolerations(tolerations, "spec.tolerations")
    known = {each.get("name") for each in before.get("schedulingGates", ())}
    # A new gate that is listed twice is reported once, at its last position.
    gates = spec.get("schedulingGates", ())
    added = {each.get("name", ""): index for index, each in enumerate(gates)}
    found += [
        forbidden(
            f"spec.schedulingGates[{index}].name",
            f"only deletion is allowed, but found new scheduling gate '{name}'",
        )
        for name, index in added.items()
        if name not in known
    ]
    return found if spec == before else found + _check_other_fields(spec, before)


def _without_seconds(toleration: KubeObject) -> KubeObject:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _check_other_fields(spec: KubeObject, before: KubeObject) -> Errors:
    """Reject other changes; those that are allowed are undone for a comparison."""
    undone = dict(spec)
    for name in ("containers", "initContainers"):
        if spec.get(name):
            undone[name] = [
                {**each, "image": former.get("image", "")}
                for each, former in zip(spec[name], before[name], strict=True)
            ]
    for key in (_DEADLINE, "schedulingGates", "tolerations"):
        undone.pop(key, None)
        if key in before:
            undone[key] = before[key]
    if before.get(_GRACE, 0) < 0 and undone.get(_GRACE) == 1:
        undone[_GRACE] = before[_GRACE]
    found = _undo_scheduling(undone, before) if before.get("schedulingGates") else []
    if undone == before:
        return found
    message = f"pod updates may not change fields other than {_CHANGEABLE}"
    lines = difference(before, undone, "core.PodSpec")
    return [*found, forbidden("spec", f"{message}\n{lines}")]


def _undo_scheduling(undone: KubeObject, before: KubeObject) -> Errors:
    """Undo what may change of a pod that is not to be scheduled yet: to fewer nodes only."""
    found: Errors = []
    selector, former = undone.pop("nodeSelector", None), before.get("nodeSelector")
    if not (former or {}).items() <= (selector or {}).items():
        message = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        found.append(invalid("spec.nodeSelector", selector, message))
    if former:
        undone["nodeSelector"] = former
    affinity, known = undone.get("affinity"), before.get("affinity")
    node, its_node = ((each or {}).get("nodeAffinity") for each in (affinity, known))
    if node == its_node:
        return found
    # The pod must not be allowed to run on more nodes than before.
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    at = f"spec.affinity.nodeAffinity.{key}.nodeSelectorTerms"
    terms, its_terms = (
        ((each or {}).get(key) or {}).get("nodeSelectorTerms") or [] for each in (node, its_node)
    )
    shown = [format_internal(each, "core.NodeSelectorTerm") for each in terms]
    if its_terms and len(its_terms) != len(terms):
        message = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        found.append(invalid(at, shown or None, message))
    else:
        message = "only additions are allowed (no mutations or deletions)"
        found += [
            invalid(f"{at}[{index}]", shown[index], message)
            for index, (term, its_term) in enumerate(zip(terms, its_terms, strict=False))
            if not _only_adds(term, its_term)
        ]
    others = {key: value for key, value in (affinity or {}).items() if key != "nodeAffinity"}
    if its_node is not None:
        others["nodeAffinity"] = its_node
    undone.pop("affinity", None)
    if others or known is not None:
        undone["affinity"] = others
    return found


def _only_adds(term: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    parts = [
        (before.get(key, []), term.get(key, [])) for key in ("matchExpressions", "matchFields")
    ]
    if not any(old for old, _ in parts) and any(new for _, new in parts):
        return False
    return all(new[: len(old)] == old for old, new in parts)


def check_status_changes(new: KubeObject, old: KubeObject) -> Errors:
    """Return the errors in a pod's changed status."""
    status, before = new.get("status", {}), old.get("status", {})
    conditions = status.get("conditions", ())
    found: Errors = []
    for index, condition in enumerate(conditions):
        if condition.get("observedGeneration", 0) < 0:
            where = f"status.conditions[{index}].observedGeneration"
            message = "must be a non-negative integer"
            found.append(invalid(where, condition["observedGeneration"], message))
        kind = condition.get("type", "")
        if kind not in _SYSTEM_CONDITIONS:
            found += by_rule(kind, f"status.conditions[{index}].Type", qualified_name)
    node = status.get("nominatedNodeName", "")
    if node and node != before.get("nominatedNodeName"):
        where = "status.nominatedNodeName"
        found += by_rule(node, where, dns_subdomain)
        if old["spec"].get("nodeName"):
            message = "may not be set on pods that are already bound to a node"
            found.append(forbidden(where, message))
    if status.get("qosClass") != before.get("qosClass"):
        found.append(invalid("status.qosClass", status.get("qosClass", ""), IMMUTABLE))
    found += _addresses(status.get("podIPs", ()), "status.podIPs")
    hosts = status.get("hostIPs", ())
    if hosts and status.get("hostIP", "") != hosts[0].get("ip", ""):
        message = "must be equal to `hostIP`"
        found.append(invalid("status.hostIPs[0].ip", hosts[0].get("ip", ""), message))
    return found + _addresses(hosts, "status.hostIPs")


def _addresses(addresses: Sequence[Mapping[str, Any]], at: str) -> Errors:
    found: Errors = []
    for index, each in enumerate(addresses):
        found += ip_errors(each.get("ip", ""), f"{at}[{index}]")
    versions = [getattr(parse_ip(each.get("ip", "")), "version", 0) for each in addresses]
    if len(versions) > 1 and len(set(versions)) != len(versions):
        shown = [{"IP": each.get("ip", "")} for each in addresses]
        message = "may specify no more than one IP for each IP family"
        found.append(invalid(at, shown, message))
    return found


def resized_spec(new: KubeObject, old: KubeObject) -> KubeObject | None:
    """Return the old spec with the resources of the new one; `None` if containers differ."""
    found = dict(old)
    for name in _LISTS:
        after, before = new.get(name) or [], old.get(name) or []
        if len(after) != len(before):
            return None
        if any(one.get("name") != two.get("name") for one, two in zip(after, before, strict=True)):
            found[name] = after
        elif after:
            found[name] = [
                {key: value for key, value in former.items() if key not in _RESIZED}
                | {key: container[key] for key in _RESIZED if key in container}
                for container, former in zip(after, before, strict=True)
            ]
    return found


def check_resize(new: KubeObject, old: KubeObject, qos: str) -> Errors:
    """Return the errors in a resize; `qos` is the class that the pod would have by it."""
    spec, before = new["spec"], old["spec"]
    if before.get("os", {}).get("name") == "windows":
        return [forbidden(_WHOLE, "windows pods cannot be resized")]
    found: Errors = []
    known = old.get("status", {}).get("qosClass", qos)
    if known != qos:
        message = "Pod QOS Class may not change as a result of resizing"
        found.append(invalid("spec", known, message))
    statuses = old.get("status", {}).get("containerStatuses", ())
    running = next((each for each in statuses if "running" in each.get("state", {})), None)
    if running is not None and "resources" not in running:
        found.append(forbidden("spec", "Pod running on node without support for resize"))
    if any(each.get("resources") for each in (spec, before)):
        return [*found, forbidden(_WHOLE, _LEVEL)]
    wrong: Errors = []
    for name in _LISTS:
        after, former = spec.get(name) or [], before.get(name) or []
        if len(after) != len(former):
            wrong.append(forbidden(f"spec.{name}", f"{name} may not be added or removed on resize"))
            continue
        wrong += [
            forbidden(
                f"spec.{name}[{index}].name", f"{name} may not be renamed or reordered on resize"
            )
            for index, (one, two) in enumerate(zip(after, former, strict=True))
            if one.get("name") != two.get("name")
        ]
    if wrong:
        return found + wrong
    return found + _check_resized_containers(spec, before)


def _check_resized_containers(spec: KubeObject, before: KubeObject) -> Errors:
    found: Errors = []
    for name in reversed(_LISTS):
        former = before.get(name) or []
        for index, (one, two) in enumerate(zip(spec.get(name) or [], former, strict=True)):
            if name == "initContainers" and two.get("restartPolicy") != "Always":
                continue
            for part in ("requests", "limits"):
                had, has = (each.get("resources", {}).get(part, {}) for each in (two, one))
                if not had.keys() <= has.keys():
                    where = f"spec.{name}[{index}].resources.{part}"
                    found.append(forbidden(where, f"resource {part} cannot be removed"))
    for name, message in ((_LISTS[0], _ONLY), (_LISTS[1], _ONLY_OF_SIDECARS)):
        former = before.get(name) or []
        for one, two in zip(spec.get(name) or [], former, strict=True):
            if name == "initContainers" and one.get("restartPolicy") != "Always":
                if one != two:
                    text = "resources for non-sidecar init containers are immutable"
                    found.append(forbidden("spec", text))
            else:
                # Compare with cpu and memory as they were.
                resources: dict[str, Any] = {}
                for part in ("limits", "requests"):
                    had, has = (each.get("resources", {}).get(part) or {} for each in (two, one))
                    kept = {key: text for key, text in has.items() if key not in _COMPUTE}
                    kept |= {key: text for key, text in had.items() if key in _COMPUTE}
                    if kept:
                        resources[part] = kept
                if {**one, "resources": resources} != two:
                    found.append(forbidden("spec", message))
    return found
