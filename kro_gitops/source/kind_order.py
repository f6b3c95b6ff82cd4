"""
Which kinds are applied before which: a table.

It is a courtesy, not a promise: accounts, rights and settings come before what reads them, so
that nothing has to be tried twice. Only the kinds in `FIRST` are waited for.
"""

from kube_objects.refs import ObjectRef

_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"

# What must be there before others, in this order; the version does not matter.
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

_ORDER: tuple[tuple[str, str], ...] = (
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

# These can refuse everything that comes after them.
_LAST: tuple[tuple[str, str], ...] = (
    ("apiregistration.k8s.io", "APIService"),
    (_ADMISSION, "ValidatingAdmissionPolicy"),
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"),
    (_ADMISSION, "MutatingAdmissionPolicy"),
    (_ADMISSION, "MutatingAdmissionPolicyBinding"),
    (_ADMISSION, "MutatingWebhookConfiguration"),
    (_ADMISSION, "ValidatingWebhookConfiguration"),
)

_RANKS = {kind: rank for rank, kind in enumerate((*FIRST, *_ORDER))}
_UNLISTED = len(_RANKS)
_LATE_RANKS = {kind: _UNLISTED + 1 + rank for rank, kind in enumerate(_LAST)}


def apply_key(ref: ObjectRef) -> tuple[int, str, str, str, str]:
    """Return what objects of one layer are sorted by."""
    kind = (ref.kind.group, ref.kind.kind)
    rank = _RANKS.get(kind, _LATE_RANKS.get(kind, _UNLISTED))
    return (rank, *kind, ref.namespace, ref.name)
