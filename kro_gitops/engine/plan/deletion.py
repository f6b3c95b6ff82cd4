"""
Children in reverse order: what may go now, seen from what is still there.

It needs no graph. Every child says in which wave it was applied; the highest wave goes first, and
while one of its members is still there nothing below is touched.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from kro_gitops.engine.labels import apply_order
from kro_gitops.metadata import DESIRED_HASH
from kube_objects.refs import KubeObject

_ORPHAN = "orphan"  # the garbage collector's own finalizer


@dataclass(frozen=True, slots=True)
class Teardown:
    """What is left of an instance: the wave that goes now, and who of it must be told to."""

    wave: int
    members: tuple[KubeObject, ...]

    @property
    def to_delete(self) -> tuple[KubeObject, ...]:
        """Return the members that nobody has told yet."""
        return tuple(
            each for each in self.members if each["metadata"].get("deletionTimestamp") is None
        )


def teardown(members: Iterable[KubeObject]) -> Teardown | None:
    """Return the wave that goes now, or `None` if nothing is left."""
    waves: dict[int, list[KubeObject]] = {}
    for member in members:
        order = apply_order(member["metadata"].get("annotations") or {})
        waves.setdefault(order, []).append(member)
    if not waves:
        return None
    highest = max(waves)
    return Teardown(highest, tuple(waves[highest]))


def asks_to_orphan(instance: KubeObject) -> bool:
    """Say whether an instance is being deleted so that its children stay."""
    return _ORPHAN in (instance["metadata"].get("finalizers") or ())


def was_orphaned(instance: KubeObject, member: KubeObject) -> bool:
    """
    Say whether the garbage collector took a child from its instance.

    It does so when somebody deletes the instance but not its children; later nothing else tells.
    """
    references = member["metadata"].get("ownerReferences") or ()
    return had_reference(instance, member) and all(
        each.get("uid") != instance["metadata"]["uid"] for each in references
    )


def had_reference(instance: KubeObject, member: KubeObject) -> bool:
    """
    Say whether a child once referred to its instance.

    Only children that we stamped ever had a reference, and only in the instance's namespace.
    """
    about, owner = member["metadata"], instance["metadata"]
    if DESIRED_HASH not in (about.get("labels") or {}):
        return False
    return not owner.get("namespace") or about.get("namespace") == owner["namespace"]
