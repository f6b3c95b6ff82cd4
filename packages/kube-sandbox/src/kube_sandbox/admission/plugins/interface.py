"""
What a plugin is, and what it may look at.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/admission/interfaces.go MutationInterface,
ValidationInterface; k8s.io/apiserver/pkg/admission/errors.go NewForbidden, extractResourceName.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kube_objects.refs import KubeObject
from kube_sandbox import api_errors
from kube_sandbox.admission.attributes import AdmissionAttributes


@dataclass(frozen=True, slots=True)
class AdmissionContext:
    """What else is in the cluster; buckets are plurals with groups ("pods", "jobs.batch")."""

    find: Callable[[str, str, str], KubeObject | None]  # bucket, namespace, name
    all: Callable[[str, str], Iterable[KubeObject]]  # bucket, namespace ("": everywhere)
    charge: Callable[[KubeObject], None] = lambda quota: None  # stores a quota's status


class Plugin(Protocol):
    """
    An admission plugin.

    `attributes.obj` is the new object, `attributes.old` the stored one (`None` on creation).
    Plugins are not called for deletions. They reject a write by raising a `StatusError`.
    """

    def mutate(self, attributes: AdmissionAttributes) -> None:
        """Change the new object before the strategy prepares and validates it."""

    def validate(self, attributes: AdmissionAttributes) -> list[str]:
        """Reject the valid object, or return warnings for its author."""


# By bucket, including the kind's subresources (`attributes.subresource`). Plugins under `LAST` see
# every namespaced object, after all policies: what they admit is stored.
LAST = "*"
Plugins = Mapping[str, Sequence[Plugin]]


class ClusterPlugin:
    """A plugin that looks at other objects of the cluster."""

    def __init__(self, context: AdmissionContext) -> None:
        self._context = context


class MutatingPlugin:
    """A plugin that only changes objects."""

    def validate(self, attributes: AdmissionAttributes) -> list[str]:
        """Admit every object."""
        return []


class ValidatingPlugin:
    """A plugin that only rejects objects."""

    def mutate(self, attributes: AdmissionAttributes) -> None:
        """Change nothing."""


def forbidden_by_plugin(attributes: AdmissionAttributes, why: str) -> api_errors.StatusError:
    """Return the error of a rejected write."""
    name = attributes.name or display_name(attributes.obj or {})
    return api_errors.forbidden(attributes.served.kind.group, attributes.served.plural, name, why)


def display_name(obj: KubeObject) -> str:
    """Return the name for messages: the object may not have its final name yet."""
    metadata = obj.get("metadata") or {}
    found: str = metadata.get("name") or metadata.get("generateName") or "Unknown"
    return found


def is_new(attributes: AdmissionAttributes) -> bool:
    """Return whether an object is created, not updated or written to a subresource."""
    return attributes.old is None and not attributes.subresource
