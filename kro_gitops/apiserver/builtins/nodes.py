"""Node and RuntimeClass; of a Node only what defaults add is known."""

from kro_gitops.apiserver.builtins.plain import Plain, Ways
from kro_gitops.apiserver.builtins.resource_lists import round_up
from kro_gitops.apiserver.field_errors import invalid
from kro_gitops.apiserver.names import dns_label
from kro_gitops.apiserver.object_meta import immutable
from kro_gitops.apiserver.strategy import Errors, Occasion
from kro_gitops.objects.refs import KubeObject


class Nodes(Plain):
    """A machine."""

    def default(self, obj: KubeObject) -> None:
        """Have all its capacity to give."""
        status = obj.get("status", {})
        for part in ("capacity", "allocatable"):
            round_up(status.get(part))
        if "allocatable" not in status and status.get("capacity"):
            status["allocatable"] = dict(status["capacity"])

    def prepare_create(self, obj: KubeObject, occasion: Occasion) -> None:
        """Keep the status that a new Node brings along."""


class RuntimeClasses(Plain):
    """What runs containers."""

    def default(self, obj: KubeObject) -> None:
        """Round amounts."""
        round_up(obj.get("overhead", {}).get("podFixed"))

    def check(self, obj: KubeObject) -> Errors:
        """Judge the handler."""
        handler = obj.get("handler", "")
        return [invalid("handler", handler, each) for each in dns_label(handler)]

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: Occasion
    ) -> Errors:
        """Let the handler not change."""
        found = self.checked_meta(new) + self.check(new) + self.changed_meta(new, old)
        return found + immutable(new.get("handler", ""), old.get("handler", ""), "handler")


NODES = Nodes(Ways(namespaced=False, has_status=True))
RUNTIME_CLASSES = RuntimeClasses(
    Ways(namespaced=False, creates_on_update=True, allows_unconditional_update=False)
)
