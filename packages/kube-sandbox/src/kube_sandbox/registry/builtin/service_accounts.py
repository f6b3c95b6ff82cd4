"""
ServiceAccount.

Follows kubernetes 1.35 pkg/registry/core/serviceaccount/strategy.go strategy.PrepareForCreate;
pkg/apis/core/validation/validation.go ValidateServiceAccount.
"""

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy, KindOptions
from kube_sandbox.registry.strategy import RequestContext

_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"


class ServiceAccounts(BaseStrategy):
    """The identity of pods."""

    def prepare_create(self, obj: KubeObject, occasion: RequestContext) -> None:
        """Keep only the names of secrets."""
        super().prepare_create(obj, occasion)
        _names_only(obj)

    def prepare_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> None:
        """Keep only the names of secrets."""
        super().prepare_update(new, old, subresource, occasion)
        _names_only(new)

    def warnings(self, obj: KubeObject, old: KubeObject | None) -> list[str]:
        """Warn of an annotation that is out of use."""
        if _MOUNTABLE not in obj["metadata"].get("annotations", {}):
            return []
        if old is not None and _MOUNTABLE in old["metadata"].get("annotations", {}):
            return []
        return [
            f"metadata.annotations[{_MOUNTABLE}]: deprecated in v1.32+; prefer separate "
            "namespaces to isolate access to mounted secrets"
        ]


def _names_only(obj: KubeObject) -> None:
    if obj.get("secrets"):
        obj["secrets"] = [
            {"name": each["name"]} if each.get("name") else {} for each in obj["secrets"]
        ]


SERVICE_ACCOUNTS = ServiceAccounts(KindOptions(revalidates_metadata=True))
