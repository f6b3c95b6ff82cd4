"""
ReplicaSet, and ReplicationController, its predecessor.

Follows kubernetes 1.35 pkg/apis/apps/validation/validation.go ValidateReplicaSetSpec;
pkg/apis/core/validation/validation.go ValidateReplicationControllerSpec.
"""

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.field_validation import no_more_than, nonnegative, nonnegatives
from kube_sandbox.registry.builtin.pods.defaults import default_template
from kube_sandbox.registry.builtin.pods.template_strategy import (
    TemplateStrategy,
    check_match,
    check_restart_policy_always,
    check_selected_template,
    check_selector,
    same_selector,
)
from kube_sandbox.registry.builtin.pods.validation import check_template
from kube_sandbox.registry.field_errors import required
from kube_sandbox.registry.strategy import Errors, RequestContext

_COUNTS = (
    *("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
    *("observedGeneration", "terminatingReplicas"),
)
_TOO_MANY = "cannot be greater than status.replicas"
_ORDER = (
    ("fullyLabeledReplicas", "replicas", _TOO_MANY),
    ("readyReplicas", "replicas", _TOO_MANY),
    ("availableReplicas", "replicas", _TOO_MANY),
    ("availableReplicas", "readyReplicas", "cannot be greater than readyReplicas"),
)


class _Counted(TemplateStrategy):
    def first_status(self, obj: KubeObject, occasion: RequestContext) -> KubeObject:
        return {"replicas": 0}

    def check_status(self, new: KubeObject, old: KubeObject) -> Errors:
        status = new.get("status", {})
        found = nonnegatives(status, _COUNTS, "status")
        return found + no_more_than(status, _ORDER, "status")


class ReplicaSets(_Counted):
    """A number of like pods."""

    def default(self, obj: KubeObject) -> None:
        """Set defaults."""
        spec = obj.setdefault("spec", {})
        spec.setdefault("replicas", 1)
        default_template(spec.setdefault("template", {}))

    def check(self, obj: KubeObject) -> Errors:
        """Validate the spec; the word for it is the same as for a Deployment."""
        spec = obj["spec"]
        found = nonnegatives(spec, ("replicas", "minReadySeconds"), "spec")
        found += check_selector(spec.get("selector"), "deployment", "spec.selector")
        return found + check_selected_template(spec, "spec")

    def check_update(self, new: KubeObject, old: KubeObject) -> Errors:
        """Reject another selector."""
        return same_selector(new, old)


class ReplicationControllers(_Counted):
    """A number of like pods, found by labels alone."""

    def default(self, obj: KubeObject) -> None:
        """Set defaults; the template's labels serve in three places."""
        spec = obj.setdefault("spec", {})
        spec.setdefault("replicas", 1)
        template = spec.get("template")
        if template is None:
            return
        default_template(template)
        if labels := template["metadata"].get("labels"):
            spec.setdefault("selector", dict(labels))
            obj["metadata"].setdefault("labels", dict(labels))

    def check(self, obj: KubeObject) -> Errors:
        """Validate the spec."""
        spec = obj["spec"]
        selector, template = spec.get("selector"), spec.get("template")
        found = nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds")
        if not selector:
            found.append(required("spec.selector"))
        found += nonnegative(spec.get("replicas"), "spec.replicas")
        if template is None:
            return [*found, required("spec.template")]
        if selector:
            found += check_match({"matchLabels": selector}, template, "spec.template")
        found += check_template(template, "spec.template")
        return found + check_restart_policy_always(
            template, "ReplicationController", "spec.template"
        )

    def warnings(self, obj: KubeObject, old: KubeObject | None) -> list[str]:
        """Warn of the template, if there is one."""
        return super().warnings(obj, old) if "template" in obj["spec"] else []
