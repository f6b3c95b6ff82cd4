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
    One plugin.

    `deed.obj` is the object as it is to be, `deed.old` as it is (`None`: it is created);
    deletions are not asked about. Refusals are `StatusError`s.
    """

    def mutate(self, deed: AdmissionAttributes) -> None:
        """Change the object that is written, before the server prepares and checks it."""

    def validate(self, deed: AdmissionAttributes) -> list[str]:
        """Refuse the object, which is all right otherwise; return what its author should know."""


# By bucket; the kind's subresources are asked about, too (`deed.subresource`). Those for `LAST` are
# asked about all objects in namespaces, after policies: nothing else refuses what they let in.
LAST = "*"
Plugins = Mapping[str, Sequence[Plugin]]


class MutatingPlugin:
    """A plugin that refuses nothing of what is otherwise all right."""

    def validate(self, deed: AdmissionAttributes) -> list[str]:
        """Have nothing to say."""
        return []


class ValidatingPlugin:
    """A plugin that changes nothing."""

    def mutate(self, deed: AdmissionAttributes) -> None:
        """Leave it as it is."""


def forbidden_by_plugin(deed: AdmissionAttributes, why: str) -> api_errors.StatusError:
    """Say that a write is not let in."""
    name = deed.name or display_name(deed.obj or {})
    return api_errors.forbidden(deed.served.kind.group, deed.served.plural, name, why)


def display_name(obj: KubeObject) -> str:
    """Return what refusals call an object, which may not have been given its name yet."""
    metadata = obj.get("metadata") or {}
    found: str = metadata.get("name") or metadata.get("generateName") or "Unknown"
    return found


def is_new(deed: AdmissionAttributes) -> bool:
    """Say whether an object is created, not a part of one that is there."""
    return deed.old is None and not deed.subresource
