"""
StorageObjectInUseProtection and PersistentVolumeClaimResize: storage is not lost by accident.

Volumes, claims and classes of attributes get a finalizer, which a controller takes off when nobody
uses them any more; and a claim grows only if its class can make it larger.
"""

from kube_objects.quantity import ZERO, Quantity, parse_quantity
from kube_objects.refs import KubeObject
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.plugins.interface import (
    AdmissionContext,
    MutatingPlugin,
    ValidatingPlugin,
    forbidden_by_plugin,
    is_new,
)

_CLASS_KEY = "volume.beta.kubernetes.io/storage-class"
_CLASSES = "storageclasses.storage.k8s.io"
PROTECTIONS = {
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "persistentvolumes": "kubernetes.io/pv-protection",
    "volumeattributesclasses.storage.k8s.io": "kubernetes.io/vac-protection",
}
_TOO_SMALL = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc "
    "must support resize"
)


class InUseProtection(MutatingPlugin):
    """Protects what may be in use."""

    def mutate(self, deed: AdmissionAttributes) -> None:
        """Add the finalizer that keeps a new object until nobody uses it."""
        if deed.obj is None or not is_new(deed):
            return
        metadata, finalizer = deed.obj["metadata"], PROTECTIONS[deed.served.bucket]
        known = metadata.get("finalizers") or ()
        if finalizer not in known:
            metadata["finalizers"] = [*known, finalizer]


class ClaimResize(ValidatingPlugin):
    """Lets claims grow that can."""

    def __init__(self, around: AdmissionContext) -> None:
        self._around = around

    def validate(self, deed: AdmissionAttributes) -> list[str]:
        """Refuse that a claim grows whose class does not allow it."""
        new, old = deed.obj, deed.old
        if new is None or old is None or deed.subresource or not _size(old) < _size(new):
            return []
        if old.get("status", {}).get("phase") != "Bound":
            raise forbidden_by_plugin(deed, "Only bound persistent volume claims can be expanded")
        name = _class_of(new)
        found = self._around.find(_CLASSES, "", name) if name and name == _class_of(old) else None
        if found is None or not found.get("allowVolumeExpansion"):
            raise forbidden_by_plugin(deed, _TOO_SMALL)
        return []


def _size(claim: KubeObject) -> Quantity:
    text = claim["spec"].get("resources", {}).get("requests", {}).get("storage")
    return ZERO if text is None else parse_quantity(text)


def _class_of(claim: KubeObject) -> str:
    annotations = claim["metadata"].get("annotations") or {}
    found: str = annotations.get(_CLASS_KEY, claim["spec"].get("storageClassName", ""))
    return found
