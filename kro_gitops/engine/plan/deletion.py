"""
Deletes children in reverse order of their application.

It needs no graph. Every child has an annotation with the wave in which it was applied. The highest
wave is deleted first; the next one follows when all members of the wave are gone.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from kro_gitops.engine.labels import apply_order
from kro_gitops.metadata import DESIRED_HASH
from kube_objects.refs import KubeObject

_ORPHAN = "orphan"  # the garbage collector's own finalizer


@dataclass(frozen=True, slots=True)
class Teardown:
    """The wave of children that is deleted now, with its members that still exist."""

    wave: int
    members: tuple[KubeObject, ...]

    @property
    def to_delete(self) -> tuple[KubeObject, ...]:
        """Return the members that are not being deleted yet."""
        return tuple(
            each for each in self.members if each["metadata"].get("deletionTimestamp") is None
        )


def teardown(members: Iterable[KubeObject]) -> Teardown | None:
    """Return the wave to delete now, or `None` if no child is left."""
    waves: dict[int, list[KubeObject]] = {}
    for member in members:
        order = apply_order(member["metadata"].get("annotations") or {})
        waves.setdefault(order, []).append(member)
    if not waves:
        return None
    highest = max(waves)
    return Teardown(highest, tuple(waves[highest]))


def asks_to_orphan(instance: KubeObject) -> bool:
    """Return whether an instance is being deleted with the propagation policy Orphan."""
    return _ORPHAN in (instance["metadata"].get("finalizers") or ())


def was_orphaned(instance: KubeObject, member: KubeObject) -> bool:
    """
    Return whether the garbage collector removed the owner reference of a child.

    It does so when an instance is deleted with the propagation policy Orphan. Once the garbage
    collector has removed its finalizer from the instance, nothing else shows that policy.
    """
    references = member["metadata"].get("ownerReferences") or ()
    return had_reference(instance, member) and all(
        each.get("uid") != instance["metadata"]["uid"] for each in references
    )


def had_reference(instance: KubeObject, member: KubeObject) -> bool:
    """
    Return whether a child had an owner reference to its instance when it was applied.

    Only children that we stamped have a reference, and only in the instance's namespace.
    """
    about, owner = member["metadata"], instance["metadata"]
    if DESIRED_HASH not in (about.get("labels") or {}):
        return False
    return not owner.get("namespace") or about.get("namespace") == owner["namespace"]
