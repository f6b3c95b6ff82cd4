"""
How much a running pod may take can change by a subresource of its own, and nothing else by it.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go ValidatePodResize;
pkg/registry/core/pod/strategy.go dropNonResizeUpdates.
"""

from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.field_validation import Errors
from kube_sandbox.registry.field_errors import forbidden, invalid

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
    """Return what is wrong with a resize; `qos` is the class that the pod would have by it."""
    spec, before = new["spec"], old["spec"]
    if before.get("os", {}).get("name") == "windows":
        return [forbidden(_WHOLE, "windows pods cannot be resized")]
    found: Errors = []
    known = old.get("status", {}).get("qosClass", qos)
    if known != qos:
        told = "Pod QOS Class may not change as a result of resizing"
        found.append(invalid("spec", known, told))
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
    for name, told in ((_LISTS[0], _ONLY), (_LISTS[1], _ONLY_OF_SIDECARS)):
        former = before.get(name) or []
        for one, two in zip(spec.get(name) or [], former, strict=True):
            if name == "initContainers" and one.get("restartPolicy") != "Always":
                if one != two:
                    text = "resources for non-sidecar init containers are immutable"
                    found.append(forbidden("spec", text))
            elif _without_resize(one, two) != two:
                found.append(forbidden("spec", told))
    return found


def _without_resize(container: KubeObject, before: KubeObject) -> KubeObject:
    """Return a container with the processors and the memory that it had."""
    resources: dict[str, Any] = {}
    for part in ("limits", "requests"):
        had, has = (each.get("resources", {}).get(part) for each in (before, container))
        amounts = {name: text for name, text in (has or {}).items() if name not in _COMPUTE} | {
            name: text for name, text in (had or {}).items() if name in _COMPUTE
        }
        if amounts:
            resources[part] = amounts
    return {**container, "resources": resources}
