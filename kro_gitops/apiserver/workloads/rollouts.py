"""
How many pods of which ReplicaSet a Deployment may have at each moment of a rollout.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kro_gitops.objects.refs import KubeObject


@dataclass(frozen=True, slots=True)
class Limits:
    """By how much a rollout may leave the number of pods that is wanted."""

    wanted: int
    surge: int
    unavailable: int

    @classmethod
    def of(cls, deployment: KubeObject) -> "Limits":
        """Read a Deployment; shares are rounded so that a rollout can move."""
        spec = deployment["spec"]
        wanted = spec.get("replicas", 1)
        strategy = spec.get("strategy") or {}
        if strategy.get("type") == "Recreate":
            return cls(wanted, 0, 0)
        rolling = strategy.get("rollingUpdate") or {}
        surge = _share(rolling.get("maxSurge", "25%"), wanted, up=True)
        unavailable = _share(rolling.get("maxUnavailable", "25%"), wanted, up=False)
        if not surge and not unavailable:
            unavailable = 1
        return cls(wanted, surge, min(unavailable, wanted))


def _share(written: Any, of: int, *, up: bool) -> int:
    if isinstance(written, int):
        return written
    percent = int(str(written).rstrip("%") or 0)
    return -(-of * percent // 100) if up else of * percent // 100


def size(replica_set: KubeObject) -> int:
    """Return how many pods a ReplicaSet asks for."""
    found: int = replica_set["spec"].get("replicas", 0)
    return found


def counted(replica_sets: Sequence[KubeObject], name: str) -> int:
    """Add up a number of ReplicaSets' statuses."""
    return sum((each.get("status") or {}).get(name, 0) for each in replica_sets)


def new_size(limits: Limits, new: int, old: Sequence[KubeObject]) -> int:
    """Return how many pods the new ReplicaSet may have now."""
    if new >= limits.wanted:
        return limits.wanted
    room = limits.wanted + limits.surge - new - sum(map(size, old))
    return new + max(0, min(room, limits.wanted - new))


def old_sizes(limits: Limits, new: KubeObject, old: Sequence[KubeObject]) -> dict[str, int]:
    """Return the sizes to which old ReplicaSets shrink now, by uid: the unhealthy pods first."""
    sizes = {each["metadata"]["uid"]: size(each) for each in old}
    least = limits.wanted - limits.unavailable
    lacking = size(new) - counted([new], "availableReplicas")
    spare = sum(sizes.values()) + size(new) - least - lacking
    ordered = sorted(old, key=lambda each: each["metadata"].get("creationTimestamp", ""))
    for each in ordered:
        unhealthy = size(each) - counted([each], "availableReplicas")
        gone = max(0, min(spare, unhealthy, sizes[each["metadata"]["uid"]]))
        sizes[each["metadata"]["uid"]] -= gone
        spare -= gone
    spare = min(spare, counted([*old, new], "availableReplicas") - least)
    for each in ordered:
        gone = max(0, min(spare, sizes[each["metadata"]["uid"]]))
        sizes[each["metadata"]["uid"]] -= gone
        spare -= gone
    return {each["metadata"]["uid"]: sizes[each["metadata"]["uid"]] for each in old
            if sizes[each["metadata"]["uid"]] != size(each)}  # fmt: skip
