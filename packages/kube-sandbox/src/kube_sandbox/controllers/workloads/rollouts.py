"""
The sizes of ReplicaSets at each moment of a rollout.

Follows kubernetes 1.35 pkg/controller/deployment/util/deployment_util.go NewRSNewReplicas,
ResolveFenceposts, GetReplicaSetProportion, IsSaturated; pkg/controller/deployment/rolling.go
DeploymentController.reconcileOldReplicaSets.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kube_objects.refs import KubeObject


@dataclass(frozen=True, slots=True)
class Limits:
    """The desired number of pods, and how far a rollout may deviate from it."""

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
        surge = share(rolling.get("maxSurge", "25%"), wanted, up=True)
        unavailable = share(rolling.get("maxUnavailable", "25%"), wanted, up=False)
        if not surge and not unavailable:
            unavailable = 1
        return cls(wanted, surge, min(unavailable, wanted))


def share(written: Any, of: int, *, up: bool) -> int:
    """Return a number that is written as such, or as a share of another."""
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


DESIRED, MOST = (f"deployment.kubernetes.io/{each}-replicas" for each in ("desired", "max"))


def noted(replica_set: KubeObject, name: str) -> int | None:
    """Return a number that a Deployment has noted on its ReplicaSet; `None` if there is none."""
    written = (replica_set["metadata"].get("annotations") or {}).get(name, "")
    return int(written) if written.isdigit() else None


def is_scaled(limits: Limits, replica_sets: Sequence[KubeObject]) -> bool:
    """Return whether the desired number of pods changed since ReplicaSets were last scaled."""
    known = (noted(each, DESIRED) for each in replica_sets if size(each))
    return any(each not in (None, limits.wanted) for each in known)


def shares(
    limits: Limits, new: KubeObject | None, old: Sequence[KubeObject], *, rolls: bool
) -> dict[str, int]:
    """
    Return the sizes of ReplicaSets, by uid, when a Deployment is scaled in a rollout or a pause.

    Each grows and shrinks in proportion; the remainder is added to the largest.
    """
    every = [*old, *([new] if new else [])]
    active = [each for each in every if size(each)]
    newest = new or max(old, key=_age, default=None)
    if newest is None:
        return {}
    if len(active) < 2:
        only = active[0] if active else newest
        return {only["metadata"]["uid"]: limits.wanted}
    if new is not None:
        has_all = size(new) == limits.wanted == noted(new, DESIRED)
        if has_all and counted([new], "availableReplicas") == limits.wanted:
            return {each["metadata"]["uid"]: 0 for each in active if each is not new}
    if not rolls:
        return {}
    room = limits.wanted + limits.surge if limits.wanted else 0
    more = room - sum(map(size, active))
    by_age = sorted(active, key=_age, reverse=more > 0)
    ordered = sorted(by_age, key=lambda each: -size(each))
    sizes: dict[str, int] = {}
    added = 0
    for each in ordered:
        proportion = 0  # by which a ReplicaSet grows if all grow alike
        if more and not limits.wanted:
            proportion = -size(each)
        elif more:
            before = noted(each, MOST) or room
            proportion = int(size(each) * room / before + 0.5) - size(each)
        left = more - added
        part = min(proportion, left) if more > 0 else max(proportion, left)
        sizes[each["metadata"]["uid"]] = size(each) + part
        added += part
    largest = ordered[0]["metadata"]["uid"]
    sizes[largest] = max(0, sizes[largest] + more - added)
    return sizes


def _age(replica_set: KubeObject) -> tuple[str, str]:
    metadata = replica_set["metadata"]
    return metadata.get("creationTimestamp", ""), metadata["name"]
