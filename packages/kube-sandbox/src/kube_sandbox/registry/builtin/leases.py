"""
Lease.

Follows kubernetes 1.35 pkg/apis/coordination/validation/validation.go ValidateLease,
ValidateLeaseSpec; pkg/registry/coordination/lease/strategy.go leaseStrategy.PrepareForCreate,
leaseStrategy.PrepareForUpdate.
"""

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy, KindOptions
from kube_sandbox.registry.field_errors import invalid
from kube_sandbox.registry.strategy import Errors, RequestContext

# Of a feature that is off.
_DISABLED_FIELDS = ("strategy", "preferredHolder")


class Leases(BaseStrategy):
    """Who holds something, and until when."""

    def prepare_create(self, obj: KubeObject, occasion: RequestContext) -> None:
        """Drop what is not in use."""
        super().prepare_create(obj, occasion)
        _drop_disabled_fields(obj, None)

    def prepare_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> None:
        """Drop what is not in use."""
        super().prepare_update(new, old, subresource, occasion)
        _drop_disabled_fields(new, old)

    def check(self, obj: KubeObject) -> Errors:
        """Validate the numbers."""
        spec = obj.get("spec", {})
        seconds, changes = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
        found: Errors = []
        if seconds is not None and seconds <= 0:
            message = "must be greater than 0"
            found.append(invalid("spec.leaseDurationSeconds", seconds, message))
        if changes is not None and changes < 0:
            message = "must be greater than or equal to 0"
            found.append(invalid("spec.leaseTransitions", changes, message))
        return found


def _drop_disabled_fields(obj: KubeObject, old: KubeObject | None) -> None:
    before = old.get("spec", {}) if old else {}
    for part in _DISABLED_FIELDS:
        if part not in before:
            obj.get("spec", {}).pop(part, None)


LEASES = Leases(
    KindOptions(
        creates_on_update=True, allows_unconditional_update=False, validates_finalizers=False
    )
)
