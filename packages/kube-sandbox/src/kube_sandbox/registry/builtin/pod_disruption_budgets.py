"""
PodDisruptionBudget.

Follows kubernetes 1.35 pkg/apis/policy/validation/validation.go ValidatePodDisruptionBudgetSpec.
"""

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy
from kube_sandbox.registry.builtin.field_validation import (
    at_most_all,
    choice,
    int_or_percent,
    nonnegatives,
)
from kube_sandbox.registry.builtin.internal_json import format_internal
from kube_sandbox.registry.field_errors import invalid
from kube_sandbox.registry.object_meta import label_selector
from kube_sandbox.registry.strategy import Errors, RequestContext

_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
_POLICIES = ("AlwaysAllow", "IfHealthyBudget")


class DisruptionBudgets(BaseStrategy):
    """How many pods may be taken away at once."""

    def default(self, obj: KubeObject) -> None:
        """Default the spec, which is always there."""
        obj.setdefault("spec", {})

    def first_status(self, obj: KubeObject, occasion: RequestContext) -> KubeObject:
        """Return the status of a new object."""
        return dict.fromkeys(_COUNTS, 0)

    def checked_meta(self, obj: KubeObject) -> Errors:
        """Leave the metadata to what is checked of all objects."""
        return []

    def changed_meta(self, new: KubeObject, old: KubeObject) -> Errors:
        """Leave the metadata to what is checked of all objects."""
        return []

    def check(self, obj: KubeObject) -> Errors:
        """Validate the spec."""
        spec = obj["spec"]
        found: Errors = []
        if "minAvailable" in spec and "maxUnavailable" in spec:
            shown = format_internal(spec, "policy.PodDisruptionBudgetSpec")
            message = "minAvailable and maxUnavailable cannot be both set"
            found.append(invalid("spec", shown, message))
        for key in ("minAvailable", "maxUnavailable"):
            if (value := spec.get(key)) is not None:
                found += int_or_percent(value, f"spec.{key}") + at_most_all(value, f"spec.{key}")
        found += label_selector(spec.get("selector"), "spec.selector")
        policy = spec.get("unhealthyPodEvictionPolicy")
        return found + choice(policy, _POLICIES, "spec.unhealthyPodEvictionPolicy")

    def check_status(self, new: KubeObject, old: KubeObject) -> Errors:
        """Validate the numbers."""
        return nonnegatives(new.get("status", {}), _COUNTS, "status")
