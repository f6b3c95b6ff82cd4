"""
Owner references across scopes: who may own whom, and how that is written.

A reference has no namespace. Kubernetes looks the owner up beside the child, so a namespaced
owner is found only from its own namespace: a child elsewhere is taken for an orphan and deleted,
again and again, and a cluster-scoped child is never collected but raises warnings. An owner
without a namespace is found from everywhere.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from kube_objects.errors import RefusedError
from kube_objects.refs import KubeObject, ObjectRef


class Relation(StrEnum):
    """Where a child lives, seen from its instance."""

    SAME_NAMESPACE = "same namespace"
    OTHER_NAMESPACE = "other namespace"
    CLUSTER_CHILD = "cluster-scoped child of a namespaced instance"
    CLUSTER_INSTANCE = "child of a cluster-scoped instance"

    @property
    def allows_owner(self) -> bool:
        """Return whether Kubernetes finds the instance from the child."""
        return self in (Relation.SAME_NAMESPACE, Relation.CLUSTER_INSTANCE)


@dataclass(frozen=True, slots=True)
class OwnerReference:
    """
    A reference to an object that must outlive the one it stands on.

    Never the controlling one: there can be only one, and others refuse to adopt a child that
    has it. `block_owner_deletion` makes a foreground deletion wait for the child. `uid` is a text,
    or without a cluster whatever stands for one that is not known yet.
    """

    api_version: str
    kind: str
    name: str
    uid: Hashable
    controller: bool = False
    block_owner_deletion: bool = True

    @classmethod
    def to(cls, owner: ObjectRef, uid: Hashable) -> "OwnerReference":
        """Refer to an object of the cluster; what was never created has no uid."""
        if uid == "":
            raise ValueError(f"{owner} has no uid: only objects of a cluster can be owners")
        return cls(owner.kind.api_version, owner.kind.kind, owner.name, uid)

    def to_json(self) -> KubeObject:
        """Write the reference as it stands in `metadata.ownerReferences`."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": self.controller,
            "blockOwnerDeletion": self.block_owner_deletion,
        }


def relation(instance: ObjectRef, child: ObjectRef) -> Relation:
    """Return how a child lies to its instance; both refs carry their namespace, or none."""
    if not instance.namespace:
        return Relation.CLUSTER_INSTANCE
    if not child.namespace:
        return Relation.CLUSTER_CHILD
    if child.namespace == instance.namespace:
        return Relation.SAME_NAMESPACE
    return Relation.OTHER_NAMESPACE


def owner_reference(owner: ObjectRef, uid: Hashable, child: ObjectRef) -> OwnerReference:
    """Return the owner reference of a child; raise if Kubernetes would not find the owner."""
    found = relation(owner, child)
    if not found.allows_owner:
        raise RefusedError(
            "owner-out-of-reach",
            f"{child} cannot have {owner} as owner: "
            "Kubernetes looks for an owner only in the child's namespace",
        )
    return OwnerReference.to(owner, uid)


def merge_owners(written: object, ours: Iterable[OwnerReference]) -> list[KubeObject]:
    """Add our references to those a template has; the list is keyed by uid, theirs win."""
    listed = written if isinstance(written, list) else []
    theirs = [each for each in listed if isinstance(each, dict)]
    taken = {each.get("uid") for each in theirs}
    return [*theirs, *(each.to_json() for each in ours if each.uid not in taken)]
