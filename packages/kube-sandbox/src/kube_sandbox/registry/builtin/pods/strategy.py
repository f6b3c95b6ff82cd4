"""
Pod.

Follows kubernetes 1.35 pkg/registry/core/pod/strategy.go podStrategy.PrepareForCreate,
podStrategy.PrepareForUpdate, applyMatchLabelKeysAndMismatchLabelKeys,
dropNonEphemeralContainerUpdates; pkg/apis/core/helper/qos/qos.go ComputePodQOS;
pkg/apis/core/validation/validation.go ValidatePodCreate, ValidatePodEphemeralContainersUpdate.
"""

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from kube_objects.quantity import nanos
from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy
from kube_sandbox.registry.builtin.internal_json import difference
from kube_sandbox.registry.builtin.pods.container_validation import check_image
from kube_sandbox.registry.builtin.pods.defaults import default_pod
from kube_sandbox.registry.builtin.pods.profile_annotations import (
    check_same_profiles,
    set_app_armor_from_annotations,
)
from kube_sandbox.registry.builtin.pods.update_validation import (
    RESIZE,
    check_annotation_changes,
    check_resize,
    check_spec_changes,
    check_status_changes,
    resized_spec,
)
from kube_sandbox.registry.builtin.pods.validation import check_pod_annotations, check_pod_spec
from kube_sandbox.registry.builtin.pods.warnings import pod_warnings
from kube_sandbox.registry.field_errors import forbidden
from kube_sandbox.registry.name_validation import dns_label
from kube_sandbox.registry.strategy import (
    Errors,
    Fields,
    RequestContext,
    counts_generation,
    restore_field,
    set_generation,
)

EPHEMERAL = "ephemeralcontainers"
_EPHEMERAL_FIELD = "ephemeralContainers"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_GATED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}
_COMPUTE = ("cpu", "memory")
# What of the metadata only a write of the whole object reaches.
_META_OF_MAIN = ("labels", "annotations", "finalizers", "ownerReferences")


class Pods(BaseStrategy):
    """Pods; two subresources change fields that are otherwise immutable."""

    def default(self, obj: KubeObject) -> None:
        """Set defaults."""
        default_pod(obj)

    def prepare_create(self, obj: KubeObject, occasion: RequestContext) -> None:
        """Begin pending, with what its own labels add to it."""
        super().prepare_create(obj, occasion)
        # Add the values that labels of the pod have to the selectors that ask for them.
        labels, spec = obj["metadata"].get("labels", {}), obj["spec"]
        for constraint in spec.get("topologySpreadConstraints", ()):
            _merge(constraint, labels)
        for name in ("podAffinity", "podAntiAffinity"):
            pods = spec.get("affinity", {}).get(name, {})
            for weighted in pods.get(_PREFERRED, ()):
                _merge(weighted.get("podAffinityTerm", {}), labels)
            for term in pods.get(_REQUIRED, ()):
                _merge(term, labels)
        set_app_armor_from_annotations(obj)

    def first_status(self, obj: KubeObject, occasion: RequestContext) -> KubeObject:
        """Return the status of a new pod."""
        given = obj.get("status", {}).get("qosClass")
        found: KubeObject = {"phase": "Pending", "qosClass": given or qos_class(obj["spec"])}
        if obj["spec"].get("schedulingGates"):
            moment = occasion.now.strftime("%Y-%m-%dT%H:%M:%SZ")
            found["conditions"] = [{**_GATED, "lastProbeTime": None, "lastTransitionTime": moment}]
        return found

    def prepare_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> None:
        """Keep what this write does not reach, and count changes of the spec."""
        if subresource == "status":
            restore_field(new, old, "spec")
            restore_field(new["metadata"], old["metadata"], "ownerReferences")
            set_generation(new, old["metadata"].get("generation", 0))
            status, before = new.setdefault("status", {}), old.get("status", {})
            for key in ("qosClass", "observedGeneration"):
                if key in before and not status.get(key):
                    status[key] = before[key]
            return
        if subresource in (EPHEMERAL, RESIZE):
            # Everything but what the subresource is for stays as it was.
            if subresource == RESIZE:
                spec = resized_spec(new["spec"], old["spec"])
            else:
                spec = {key: value for key, value in old["spec"].items() if key != _EPHEMERAL_FIELD}
                if added := new["spec"].get(_EPHEMERAL_FIELD):
                    spec[_EPHEMERAL_FIELD] = added
            if spec is not None:  # other containers are rejected by validation
                new["spec"] = spec
                for key in _META_OF_MAIN:
                    restore_field(new["metadata"], old["metadata"], key)
        restore_field(new, old, "status")
        counts_generation(new, old, "spec")

    def check(self, obj: KubeObject) -> Errors:
        """Validate a pod by itself."""
        meta, spec = obj["metadata"], obj["spec"]
        found = check_pod_annotations(meta.get("annotations"), spec, "metadata.annotations")
        found += check_pod_spec(spec, "spec", is_pod=True, pod_name=meta.get("name", ""))
        if not spec.get("serviceAccountName"):
            message = "must not be specified when serviceAccountName is not set"
            found += [
                forbidden(
                    f"spec.volumes[{index}].projected.sources[{at}].serviceAccountToken", message
                )
                for index, volume in enumerate(spec.get("volumes", ()))
                for at, source in enumerate(volume.get("projected", {}).get("sources") or ())
                if "serviceAccountToken" in source
            ]
        for name in ("containers", "initContainers"):
            for index, container in enumerate(spec.get(name) or ()):
                found += check_image(container, f"spec.{name}[{index}]")
        return found

    def validate_create(self, obj: KubeObject, occasion: RequestContext) -> Errors:
        """Return the errors in a new pod."""
        found = self.checked_meta(obj) + self.check(obj)
        spec = obj["spec"]
        if spec.get(_EPHEMERAL_FIELD):
            found.append(forbidden(f"spec.{_EPHEMERAL_FIELD}", "cannot be set on create"))
        if spec.get("nodeName") and spec.get("schedulingGates"):
            message = "cannot be set until all schedulingGates have been cleared"
            found.append(forbidden("spec.nodeName", message))
        return found + check_same_profiles(obj["metadata"], spec, "spec")

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> Errors:
        """Return the errors in a changed pod."""
        found = self.changed_meta(new, old)
        if subresource == "status":
            return found + check_annotation_changes(new, old) + check_status_changes(new, old)
        found += self.checked_meta(new) + self.check(new)
        if subresource == EPHEMERAL:
            after = {each.get("name"): each for each in new["spec"].get(_EPHEMERAL_FIELD, ())}
            ephemeral_changes = check_annotation_changes(new, old)
            for container in old["spec"].get(_EPHEMERAL_FIELD, ()):
                name = container["name"]
                message = f'existing ephemeral containers "{name}" may not be'
                if name not in after:
                    ephemeral_changes.append(
                        forbidden(f"spec.{_EPHEMERAL_FIELD}", f"{message} removed\n")
                    )
                elif after[name] != container:
                    lines = difference(container, after[name], "core.EphemeralContainer")
                    ephemeral_changes.append(
                        forbidden(f"spec.{_EPHEMERAL_FIELD}", f"{message} changed\n{lines}")
                    )
            return found + ephemeral_changes
        if subresource == RESIZE:
            return found + check_resize(new, old, qos_class(new["spec"]))
        return found + check_annotation_changes(new, old) + check_spec_changes(new, old)

    def warnings(self, obj: KubeObject, old: KubeObject | None) -> list[str]:
        """Warn of new pods only."""
        if old is not None:
            return []
        wrong = dns_label(obj["metadata"].get("name", ""))
        if not wrong:
            return pod_warnings(obj)
        message = (
            "metadata.name: this is used in the Pod's hostname, which can result in surprising "
            f"behavior; a DNS label is recommended: [{' '.join(wrong)}]"
        )
        return [message, *pod_warnings(obj)]

    def reset_fields(self, subresource: str) -> Fields:
        """Return what a write does not reach."""
        if subresource != "status":
            return (("status",),)
        meta = "metadata"
        return (("spec",), (meta, "deletionTimestamp"), (meta, "ownerReferences"))


def qos_class(spec: KubeObject) -> str:
    """Return how a pod is served when a node runs short."""
    if resources := spec.get("resources"):
        parts = [resources]
    else:
        containers = (*(spec.get("containers") or ()), *spec.get("initContainers", ()))
        parts = [each.get("resources", {}) for each in containers]
    requests, limits = _total_resources(parts, "requests"), _total_resources(parts, "limits")
    if not requests and not limits:
        return "BestEffort"
    for part in parts:
        given = part.get("limits", {})
        if any(nanos(given.get(name, "0")) <= 0 for name in _COMPUTE):
            return "Burstable"
    return "Guaranteed" if requests == limits else "Burstable"


def _total_resources(parts: Iterable[dict[str, Any]], key: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in parts:
        for name in _COMPUTE:
            amount = nanos(part.get(key, {}).get(name, "0"))
            if amount > 0:
                found[name] = found.get(name, 0) + amount
    return found


def _merge(term: KubeObject, labels: dict[str, str]) -> None:
    if "labelSelector" not in term:
        return
    for name, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        added = [
            {"key": key, "operator": operator, "values": [labels[key]]}
            for key in term.get(name, ())
            if key in labels
        ]
        if added:
            selector = deepcopy(term["labelSelector"])
            selector["matchExpressions"] = [*selector.get("matchExpressions", ()), *added]
            term["labelSelector"] = selector
