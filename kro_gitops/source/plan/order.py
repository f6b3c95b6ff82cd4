"""
The order in which objects are applied: a table of kinds, and a topological sort.

The table is a convenience: service accounts, RBAC and configuration come before the workloads that
read them, so that nothing has to be retried. Only the kinds in `FIRST` are waited for.

The sort works on names of any type. Unlike `engine.graph.dag`, whose input is known to be acyclic,
it accepts cycles: it orders what can be ordered and reports the cycles beside it.
"""

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from kro_gitops.engine.graph.dag import find_cycle
from kube_objects.refs import ObjectRef

_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"

# Kinds that others need to exist at all, in this order; the version does not matter.
FIRST: tuple[tuple[str, str], ...] = (
    ("", "Namespace"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    (_RBAC, "ClusterRole"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("storage.k8s.io", "StorageClass"),
    ("storage.k8s.io", "VolumeAttributesClass"),
    ("snapshot.storage.k8s.io", "VolumeSnapshotClass"),
    ("node.k8s.io", "RuntimeClass"),
    ("networking.k8s.io", "IngressClass"),
    ("gateway.networking.k8s.io", "GatewayClass"),
    ("resource.k8s.io", "DeviceClass"),
)

_MIDDLE: tuple[tuple[str, str], ...] = (
    ("", "ResourceQuota"),
    ("", "LimitRange"),
    ("networking.k8s.io", "NetworkPolicy"),
    ("", "ServiceAccount"),
    (_RBAC, "ClusterRoleBinding"),
    (_RBAC, "Role"),
    (_RBAC, "RoleBinding"),
    ("", "Secret"),
    ("", "ConfigMap"),
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("", "Service"),
    ("policy", "PodDisruptionBudget"),
    ("", "Pod"),
    ("", "ReplicationController"),
    ("apps", "ReplicaSet"),
    ("apps", "DaemonSet"),
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("batch", "Job"),
    ("batch", "CronJob"),
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("networking.k8s.io", "Ingress"),
)

# These can reject every object that is applied after them.
_LAST: tuple[tuple[str, str], ...] = (
    ("apiregistration.k8s.io", "APIService"),
    (_ADMISSION, "ValidatingAdmissionPolicy"),
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"),
    (_ADMISSION, "MutatingAdmissionPolicy"),
    (_ADMISSION, "MutatingAdmissionPolicyBinding"),
    (_ADMISSION, "MutatingWebhookConfiguration"),
    (_ADMISSION, "ValidatingWebhookConfiguration"),
)

_RANKS = {kind: rank for rank, kind in enumerate((*FIRST, *_MIDDLE))}
_UNLISTED = len(_RANKS)
_LATE_RANKS = {kind: _UNLISTED + 1 + rank for rank, kind in enumerate(_LAST)}


T = TypeVar("T", bound=Hashable)

_MAX_CYCLES = 10  # reported at once


def apply_key(ref: ObjectRef) -> tuple[int, str, str, str, str]:
    """Return the sort key of objects inside one layer: rank of the kind, then kind and name."""
    kind = (ref.kind.group, ref.kind.kind)
    rank = _RANKS.get(kind, _LATE_RANKS.get(kind, _UNLISTED))
    return (rank, *kind, ref.namespace, ref.name)


@dataclass(frozen=True, slots=True)
class Layers(Generic[T]):
    """
    Names in layers: each needs only names of earlier layers.

    Names in a cycle, and names that need them, are in no layer. A cycle is a closed path `a, b, a`;
    a name is in at most one of them, and only the first few cycles are reported.
    """

    layers: tuple[tuple[T, ...], ...] = ()
    cycles: tuple[tuple[T, ...], ...] = ()


def layers(needs: Mapping[T, Collection[T]]) -> Layers[T]:
    """Sort names topologically, layer by layer; inside a layer the order of the input is kept."""
    followers = dependents(needs)
    waiting = {each: len(set(needed)) for each, needed in needs.items()}
    position = {each: number for number, each in enumerate(needs)}
    found: list[tuple[T, ...]] = []
    layer = [each for each, count in waiting.items() if count == 0]
    while layer:
        found.append(tuple(layer))
        free: list[T] = []
        for done in layer:
            del waiting[done]
            for follower in followers[done]:
                waiting[follower] -= 1
                if waiting[follower] == 0:
                    free.append(follower)
        layer = sorted(free, key=position.__getitem__)
    # The rest is in cycles, or needs names that are.
    names = list(waiting)
    numbers = {each: number for number, each in enumerate(names)}
    left = {
        str(numbers[each]): [
            str(number) for number in sorted(numbers[o] for o in needs[each] if o in numbers)
        ]
        for each in names
    }
    cycles: list[tuple[T, ...]] = []
    while len(cycles) < _MAX_CYCLES and (cycle := find_cycle(left)):
        cycles.append(tuple(names[int(number)] for number in cycle))
        for number in cycle[:-1]:
            del left[number]
    return Layers(tuple(found), tuple(cycles))


def dependents(needs: Mapping[T, Collection[T]]) -> dict[T, list[T]]:
    """Return the inverse of `needs`: for each name the names that need it."""
    found: dict[T, list[T]] = {each: [] for each in needs}
    for each, needed in needs.items():
        for other in set(needed):
            found[other].append(each)
    return found
