"""
Namespace, with finalizers of its own: it stays until they are removed.

Follows kubernetes 1.35 pkg/registry/core/namespace/strategy.go namespaceStrategy.PrepareForCreate,
namespaceStrategy.Canonicalize; pkg/apis/core/validation/validation.go ValidateNamespace,
ValidateNamespaceFinalizeUpdate, ValidateNamespaceStatusUpdate.
"""

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy, KindOptions
from kube_sandbox.registry.field_errors import invalid
from kube_sandbox.registry.name_validation import name_is_label, qualified_name
from kube_sandbox.registry.object_meta import KNOWN_FINALIZERS
from kube_sandbox.registry.strategy import (
    Errors,
    Fields,
    RequestContext,
    restore_field,
    set_generation,
)

NAME_LABEL = "kubernetes.io/metadata.name"
_FINALIZER = "kubernetes"
FINALIZE = "finalize"


class Namespaces(BaseStrategy):
    """What other objects are in; the subresource "finalize" alone reaches its finalizers."""

    def default(self, obj: KubeObject) -> None:
        """Name it in a label, and be active."""
        _label(obj)
        obj.setdefault("status", {}).setdefault("phase", "Active")

    def prepare_create(self, obj: KubeObject, occasion: RequestContext) -> None:
        """Begin active, with the finalizer that keeps it until it is empty."""
        obj["status"] = {"phase": "Active"}
        finalizers = obj.setdefault("spec", {}).setdefault("finalizers", [])
        if _FINALIZER not in finalizers:
            finalizers.append(_FINALIZER)
        _label(obj)

    def prepare_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> None:
        """Keep what only the other subresources reach."""
        set_generation(new, old["metadata"].get("generation", 0))
        if subresource == "status":
            restore_field(new, old, "spec")
            return
        restore_field(new, old, "status")
        if subresource != FINALIZE:
            finalizers = old.get("spec", {}).get("finalizers")
            new.setdefault("spec", {}).pop("finalizers", None)
            if finalizers:
                new["spec"]["finalizers"] = finalizers

    def check(self, obj: KubeObject) -> Errors:
        """Validate its finalizers."""
        found: Errors = []
        for each in obj.get("spec", {}).get("finalizers", ()):
            found += _finalizer_errors(each, "spec.finalizers")
        return found

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> Errors:
        """Validate a change; the phase tells whether it is being deleted."""
        if subresource == "status":
            errors: Errors = []
            errors += self.changed_meta(new, old)
            phase = new.get("status", {}).get("phase", "")
            is_leaving = new["metadata"].get("deletionTimestamp") is not None
            wanted, state = (
                ("Terminating", "is not empty") if is_leaving else ("Active", "is empty")
            )
            if phase != wanted:
                message = f"may only be '{wanted}' if `deletionTimestamp` {state}"
                errors.append(invalid("status.Phase", phase, message))
            return errors
        if subresource == FINALIZE:
            found = self.changed_meta(new, old)
            for index, each in enumerate(new.get("spec", {}).get("finalizers", ())):
                found += _finalizer_errors(each, f"spec.finalizers[{index}]")
            return found
        return self.checked_meta(new) + self.check(new) + self.changed_meta(new, old)

    def reset_fields(self, subresource: str) -> Fields:
        """Return the half that a write does not reach."""
        return (("spec",),) if subresource == "status" else (("status",),)


def _label(obj: KubeObject) -> None:
    name = obj["metadata"].get("name")
    if name:
        obj["metadata"].setdefault("labels", {})[NAME_LABEL] = name


def _finalizer_errors(value: str, field: str) -> Errors:
    """Check a namespace finalizer: qualified, or one of Kubernetes' own."""
    found = [invalid(field, value, each) for each in qualified_name(value)]
    if "/" not in value and value not in KNOWN_FINALIZERS:
        message = "name is neither a standard finalizer name nor is it fully qualified"
        found.append(invalid(field, value, message))
    return found


NAMESPACES = Namespaces(KindOptions(namespaced=False, name_rule=name_is_label, has_status=True))
