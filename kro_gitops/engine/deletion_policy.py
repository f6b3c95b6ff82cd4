"""
What becomes of a child that would be deleted: it is deleted, or left in place and released.

A template says so by an annotation, ours or that of later versions of kro; the definition by the
same annotation for all its children. A child carries the policy, because it is deleted without a
graph. A released child has none of our metadata: nothing prunes it, and an instance may adopt it
again.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from kro_gitops.metadata import DELETION_POLICY, KRO_DELETION_POLICY
from kube_objects.errors import RefusedError
from kube_objects.refs import KubeObject, ObjectRef
from kube_objects.value_checks import did_you_mean

POLICY_KEYS = (DELETION_POLICY, KRO_DELETION_POLICY)


class DeletionPolicy(StrEnum):
    """What happens to a child that is no longer desired, or whose instance is deleted."""

    DELETE = "Delete"
    ORPHAN = "Orphan"


# kro's proposals have several names for the same.
_SPELLINGS = {
    "Delete": DeletionPolicy.DELETE,
    **dict.fromkeys(("Orphan", "Orphaned", "Detach", "Retain"), DeletionPolicy.ORPHAN),
}


def parse_policy(text: object) -> DeletionPolicy:
    """Parse a policy; raise RefusedError if it is none."""
    found = _SPELLINGS.get(text) if isinstance(text, str) else None
    if found is None:
        raise RefusedError(
            "invalid-deletion-policy",
            f"{text!r} is not a deletion policy",
            hint=did_you_mean(str(text), list(_SPELLINGS))
            or "write Delete or Orphan; Orphaned, Detach and Retain mean Orphan",
        )
    return found


def policy_of(annotations: Mapping[str, Any]) -> DeletionPolicy | None:
    """Return the policy in annotations; None if they have none; raise RefusedError if it is bad."""
    for key in POLICY_KEYS:
        if key in annotations:
            return parse_policy(annotations[key])
    return None


def definition_policy(definition: KubeObject) -> DeletionPolicy:
    """Return the policy for all children of a definition; raise RefusedError if it is bad."""
    annotations = definition["metadata"].get("annotations") or {}
    return policy_of(annotations) or DeletionPolicy.DELETE


def is_claim(ref: ObjectRef) -> bool:
    """Return whether an object is a PersistentVolumeClaim."""
    return (ref.kind.group, ref.kind.kind) == ("", "PersistentVolumeClaim")


def is_kept(child: KubeObject, *, retains_claims: bool) -> bool:
    """Return whether a live child is released instead of deleted."""
    try:
        policy = policy_of(child["metadata"].get("annotations") or {})
    except RefusedError:
        return True  # whoever wrote that did not mean the default
    if policy is None:
        return retains_claims and is_claim(ObjectRef.of(child))
    return policy is DeletionPolicy.ORPHAN
