"""
Node and RuntimeClass; a Node is defaulted only.

Follows kubernetes 1.35 pkg/apis/core/v1/defaults.go SetDefaults_NodeStatus;
pkg/apis/node/validation/validation.go ValidateRuntimeClass, ValidateRuntimeClassUpdate.
"""

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy, KindOptions
from kube_sandbox.registry.builtin.resource_lists import round_up
from kube_sandbox.registry.field_errors import invalid
from kube_sandbox.registry.name_validation import dns_label
from kube_sandbox.registry.object_meta import immutable
from kube_sandbox.registry.strategy import Errors, RequestContext


class Nodes(BaseStrategy):
    """A machine."""

    def default(self, obj: KubeObject) -> None:
        """Have all its capacity to give."""
        status = obj.get("status", {})
        for part in ("capacity", "allocatable"):
            round_up(status.get(part))
        if "allocatable" not in status and status.get("capacity"):
            status["allocatable"] = dict(status["capacity"])

    def prepare_create(self, obj: KubeObject, occasion: RequestContext) -> None:
        """Keep the status that a new Node brings along."""


class RuntimeClasses(BaseStrategy):
    """What runs containers."""

    def default(self, obj: KubeObject) -> None:
        """Round amounts."""
        round_up(obj.get("overhead", {}).get("podFixed"))

    def check(self, obj: KubeObject) -> Errors:
        """Validate the handler."""
        handler = obj.get("handler", "")
        return [invalid("handler", handler, each) for each in dns_label(handler)]

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> Errors:
        """Let the handler not change."""
        found = self.checked_meta(new) + self.check(new) + self.changed_meta(new, old)
        return found + immutable(new.get("handler", ""), old.get("handler", ""), "handler")


NODES = Nodes(KindOptions(namespaced=False, has_status=True))
RUNTIME_CLASSES = RuntimeClasses(
    KindOptions(namespaced=False, creates_on_update=True, allows_unconditional_update=False)
)
