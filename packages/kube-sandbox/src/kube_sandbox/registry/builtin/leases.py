"""Lease."""

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.base_strategy import Plain, Ways
from kube_sandbox.registry.field_errors import invalid
from kube_sandbox.registry.strategy import Errors, Occasion

# Of a feature that is off.
_DROPPED = ("strategy", "preferredHolder")


class Leases(Plain):
    """Who holds something, and until when."""

    def prepare_create(self, obj: KubeObject, occasion: Occasion) -> None:
        """Drop what is not in use."""
        super().prepare_create(obj, occasion)
        _drop(obj, None)

    def prepare_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: Occasion
    ) -> None:
        """Drop what is not in use."""
        super().prepare_update(new, old, subresource, occasion)
        _drop(new, old)

    def check(self, obj: KubeObject) -> Errors:
        """Judge the numbers."""
        spec = obj.get("spec", {})
        seconds, changes = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
        found: Errors = []
        if seconds is not None and seconds <= 0:
            told = "must be greater than 0"
            found.append(invalid("spec.leaseDurationSeconds", seconds, told))
        if changes is not None and changes < 0:
            told = "must be greater than or equal to 0"
            found.append(invalid("spec.leaseTransitions", changes, told))
        return found


def _drop(obj: KubeObject, old: KubeObject | None) -> None:
    before = old.get("spec", {}) if old else {}
    for part in _DROPPED:
        if part not in before:
            obj.get("spec", {}).pop(part, None)


LEASES = Leases(
    Ways(creates_on_update=True, allows_unconditional_update=False, judges_finalizers=False)
)
