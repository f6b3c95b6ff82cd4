"""
As whom an instance is reconciled, and what it may touch: one decision, for every request.

Apply, delete, read, adopt and prune take the `Authority` of an instance, so none of them can be
forgotten. Who decides is a parameter (`Authorities`): the engine knows no sources. A decision that
cannot be made yet raises `NotYet`; one that comes out against the instance raises `RefusedError`,
and then nothing is done for it. There is no fall-back to the rights of the controller.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kro_gitops.engine.plan.prune_limit import PruneLimit
from kro_gitops.kube.api import Identity
from kube_objects.refs import KubeObject, ObjectRef


@dataclass(frozen=True, slots=True)
class Authority:
    """The identity that acts for the children of an instance, and the limits of what it may do."""

    identity: Identity | None = None  # None is the controller itself
    rejection_of: Callable[[ObjectRef], str] = lambda _: ""  # why an object is out of bounds, or ""
    prune_limit: PruneLimit | None = None  # None: that of the controller
    source: str = ""  # `namespace/name` of the source behind the instance, if there is one


CONTROLLER = Authority()


class Lineage(Protocol):
    """What the engine knows of the parents of nested instances."""

    def parent_of(self, child: KubeObject, parent: ObjectRef) -> KubeObject | None:
        """
        Return the instance that a nested instance is a child of; None if it is not its child.

        Labels name the parent, and anyone who can write the instance can write them. So the parent
        itself must desire the child: a plan of the parent contains it. Raises `NotYet` if there is
        no such plan yet.
        """


class Authorities(Protocol):
    """Decides about the authority of each instance."""

    def authority_of(self, instance: KubeObject, lineage: Lineage) -> Authority:
        """Return the authority; raise `NotYet` if it is not known yet, `RefusedError` if none."""

    def definition_limit(self, definition: ObjectRef, source: str) -> PruneLimit | None:
        """Return the limit of the source that applied a definition; None if none did."""


class ControllerAuthority:
    """The controller itself acts for every instance, without limits."""

    def authority_of(self, _instance: KubeObject, _lineage: Lineage) -> Authority:
        """Return the authority of the controller."""
        return CONTROLLER

    def definition_limit(self, _definition: ObjectRef, _source: str) -> PruneLimit | None:
        """Return None: there are no sources."""
        return None
