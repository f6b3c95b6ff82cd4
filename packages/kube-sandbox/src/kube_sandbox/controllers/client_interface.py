"""
The protocols through which a controller reads and writes objects.
"""

from dataclasses import dataclass
from typing import Protocol

from kube_objects.refs import KubeObject


class ControllerClient(Protocol):
    """The verbs, as a controller uses them; each may raise `StatusError`. `by` is the manager."""

    def create(self, by: str, bucket: str, obj: KubeObject) -> None:
        """Create an object."""

    def replace(self, by: str, bucket: str, obj: KubeObject) -> None:
        """Replace an object, whatever its version; its uid must be the same."""

    def apply(self, by: str, bucket: str, obj: KubeObject) -> None:
        """Have these fields of an object, by force."""

    def set_status(self, by: str, bucket: str, obj: KubeObject) -> None:
        """Give the object that is there the status and annotations of this one, nothing else."""

    def bind(self, pod: KubeObject, node: str) -> None:
        """Place a pod on a node, as its subresource `binding` does."""

    def delete(self, bucket: str, target: "Target") -> None:
        """Delete an object, if its uid is still the same."""

    def finalize(self, namespace: KubeObject, finalizers: tuple[str, ...]) -> None:
        """Set the finalizers of a Namespace's spec, as its subresource `finalize` does."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is deleted, and how; an empty propagation is the kind's own, as is no grace."""

    namespace: str
    name: str
    uid: str
    propagation: str = ""
    grace: int | None = None
