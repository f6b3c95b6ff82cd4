"""
PriorityClass.

Follows kubernetes 1.35 pkg/apis/scheduling/validation/validation.go ValidatePriorityClass,
ValidatePriorityClassUpdate; pkg/apis/scheduling/v1/helpers.go IsKnownSystemPriorityClass.
"""

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy, KindOptions
from kube_sandbox.registry.field_errors import forbidden, not_supported, required
from kube_sandbox.registry.object_meta import immutable
from kube_sandbox.registry.strategy import Errors, RequestContext

_SYSTEM = {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}
_PREFIX = "system-"
_HIGHEST = 1000000000
_POLICIES = ("PreemptLowerPriority", "Never")


class PriorityClasses(BaseStrategy):
    """What is more important than what."""

    def default(self, obj: KubeObject) -> None:
        """Push others out of the way."""
        obj.setdefault("preemptionPolicy", "PreemptLowerPriority")

    def check(self, obj: KubeObject) -> Errors:
        """Validate name, value and policy."""
        name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
        found: Errors = []
        reason = ""
        if not name.startswith(_PREFIX):
            if value > _HIGHEST:
                message = f"maximum allowed value of a user defined priority is {_HIGHEST}"
                found.append(forbidden("value", message))
        elif name not in _SYSTEM:
            reason = f"{name} is not a known system priority class"
        elif value != _SYSTEM[name]:
            reason = f"value of {name} PriorityClass must be {_SYSTEM[name]}"
        elif obj.get("globalDefault"):
            reason = f"globalDefault of {name} PriorityClass must be false"
        if reason:
            reserved = f"priority class names with '{_PREFIX}' prefix are reserved"
            message = f"{reserved} for system use only. error: {reason}"
            found.append(forbidden("metadata.name", message))
        policy = obj.get("preemptionPolicy")
        if policy == "":
            found.append(required("preemptionPolicy"))
        elif policy not in _POLICIES:
            found.append(not_supported("preemptionPolicy", policy, _POLICIES))
        return found

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> Errors:
        """Validate a change: the value stays."""
        found = self.changed_meta(new, old)
        if new.get("value", 0) != old.get("value", 0):
            found.append(forbidden("value", "may not be changed in an update."))
        part = "preemptionPolicy"
        return found + immutable(new.get(part), old.get(part), part)


PRIORITY_CLASSES = PriorityClasses(KindOptions(namespaced=False, counted=("value",)))
