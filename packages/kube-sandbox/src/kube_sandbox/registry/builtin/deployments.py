"""
Deployment.

Follows kubernetes 1.35 pkg/apis/apps/validation/validation.go ValidateDeploymentSpec,
ValidateDeploymentStrategy, ValidateDeploymentUpdate; pkg/apis/apps/v1/defaults.go
SetDefaults_Deployment.
"""

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.field_validation import (
    at_most_all,
    int_or_percent,
    int_or_percent_value,
    no_more_than,
    nonnegative,
    nonnegatives,
)
from kube_sandbox.registry.builtin.internal_json import format_internal
from kube_sandbox.registry.builtin.pods.defaults import default_template
from kube_sandbox.registry.builtin.pods.template_strategy import (
    TemplateStrategy,
    check_selected_template,
    check_selector,
    not_decremented,
    same_selector,
)
from kube_sandbox.registry.field_errors import forbidden, invalid, not_supported
from kube_sandbox.registry.strategy import (
    Errors,
    Fields,
    RequestContext,
    restore_field,
    set_generation,
)

_DEFAULTS = {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600}
_SHARE = "25%"
_COUNTS = (
    *("observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas"),
    *("unavailableReplicas", "terminatingReplicas", "collisionCount"),
)
_TOO_MANY = "cannot be greater than status.replicas"
_ORDER = (
    ("updatedReplicas", "replicas", _TOO_MANY),
    ("readyReplicas", "replicas", _TOO_MANY),
    ("availableReplicas", "replicas", _TOO_MANY),
    ("availableReplicas", "readyReplicas", "cannot be greater than readyReplicas"),
)


class Deployments(TemplateStrategy):
    """A number of like pods, and how one version of them gives way to the next."""

    def default(self, obj: KubeObject) -> None:
        """Set defaults."""
        spec = obj.setdefault("spec", {})
        for key, value in _DEFAULTS.items():
            spec.setdefault(key, value)
        strategy = spec.setdefault("strategy", {})
        strategy.setdefault("type", "RollingUpdate")
        if strategy["type"] == "RollingUpdate":
            rolling = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", _SHARE)
            rolling.setdefault("maxSurge", _SHARE)
        default_template(spec.setdefault("template", {}))

    def prepare_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> None:
        """Keep what this write does not reach; annotations count, too."""
        super().prepare_update(new, old, subresource, occasion)
        metadata, before = new["metadata"], old["metadata"]
        if subresource == "status":
            restore_field(metadata, before, "labels")
        elif metadata.get("annotations") != before.get("annotations"):
            set_generation(new, before.get("generation", 0) + 1)

    def check(self, obj: KubeObject) -> Errors:
        """Validate the spec."""
        spec = obj["spec"]
        found = nonnegative(spec.get("replicas"), "spec.replicas")
        found += check_selector(spec.get("selector"), "deployment", "spec.selector")
        found += check_selected_template(spec, "spec")
        strategy = spec.get("strategy", {})
        at = "spec.strategy"
        kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
        if kind == "Recreate":
            if rolling is not None:
                message = "may not be specified when strategy `type` is 'Recreate'"
                found.append(forbidden(f"{at}.rollingUpdate", message))
        elif kind != "RollingUpdate" or rolling is None:
            shown = format_internal(strategy, "apps.DeploymentStrategy")
            found.append(not_supported(at, shown, ("Recreate", "RollingUpdate")))
        else:
            unavailable, surge = rolling["maxUnavailable"], rolling["maxSurge"]
            where = f"{at}.rollingUpdate.maxUnavailable"
            found += int_or_percent(unavailable, where)
            found += int_or_percent(surge, f"{at}.rollingUpdate.maxSurge")
            if int_or_percent_value(unavailable) == 0 and int_or_percent_value(surge) == 0:
                found.append(invalid(where, unavailable, "may not be 0 when `maxSurge` is 0"))
            found += at_most_all(unavailable, where)
        names = ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
        found += nonnegatives(spec, names, "spec")
        deadline = spec.get("progressDeadlineSeconds")
        if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
            message = "must be greater than minReadySeconds"
            found.append(invalid("spec.progressDeadlineSeconds", deadline, message))
        return found

    def check_update(self, new: KubeObject, old: KubeObject) -> Errors:
        """Reject another selector."""
        return same_selector(new, old)

    def check_status(self, new: KubeObject, old: KubeObject) -> Errors:
        """Validate the numbers."""
        status = new.get("status", {})
        found = nonnegatives(status, _COUNTS, "status")
        return found + no_more_than(status, _ORDER, "status") + not_decremented(new, old)

    def reset_fields(self, subresource: str) -> Fields:
        """Return what a write does not reach."""
        return (("spec",), ("metadata", "labels")) if subresource == "status" else (("status",),)
