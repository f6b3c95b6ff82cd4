"""ServiceAccount."""

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.base_strategy import Plain, Ways
from kube_sandbox.registry.strategy import Occasion

_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"


class ServiceAccounts(Plain):
    """Somebody who is not a person."""

    def prepare_create(self, obj: KubeObject, occasion: Occasion) -> None:
        """Keep only the names of secrets."""
        super().prepare_create(obj, occasion)
        _bare_names(obj)

    def prepare_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: Occasion
    ) -> None:
        """Keep only the names of secrets."""
        super().prepare_update(new, old, subresource, occasion)
        _bare_names(new)

    def warnings(self, obj: KubeObject, old: KubeObject | None) -> list[str]:
        """Tell of an annotation that is out of use."""
        if _MOUNTABLE not in obj["metadata"].get("annotations", {}):
            return []
        if old is not None and _MOUNTABLE in old["metadata"].get("annotations", {}):
            return []
        return [
            f"metadata.annotations[{_MOUNTABLE}]: deprecated in v1.32+; prefer separate "
            "namespaces to isolate access to mounted secrets"
        ]


def _bare_names(obj: KubeObject) -> None:
    if obj.get("secrets"):
        obj["secrets"] = [
            {"name": each["name"]} if each.get("name") else {} for each in obj["secrets"]
        ]


SERVICE_ACCOUNTS = ServiceAccounts(Ways(rejudges_meta=True))
