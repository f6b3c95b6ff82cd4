"""
StorageObjectInUseProtection and PersistentVolumeClaimResize: protect storage in use.

Volumes, claims and VolumeAttributesClasses get a finalizer that a controller removes once they are
unused. A claim may grow only if its StorageClass allows expansion.

Follows kubernetes 1.35 plugin/pkg/admission/storage/storageobjectinuseprotection/admission.go
storageProtectionPlugin.Admit; plugin/pkg/admission/storage/persistentvolume/resize/admission.go
persistentVolumeClaimResize.Validate.
"""

from kube_objects.quantity import ZERO, Quantity, parse_quantity
from kube_objects.refs import KubeObject
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.plugins.interface import (
    ClusterPlugin,
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

    def mutate(self, attributes: AdmissionAttributes) -> None:
        """Add the finalizer that keeps a new object until it is unused."""
        if attributes.obj is None or not is_new(attributes):
            return
        metadata, finalizer = attributes.obj["metadata"], PROTECTIONS[attributes.served.bucket]
        known = metadata.get("finalizers") or ()
        if finalizer not in known:
            metadata["finalizers"] = [*known, finalizer]


class ClaimResize(ClusterPlugin, ValidatingPlugin):
    """Lets claims grow that can."""

    def validate(self, attributes: AdmissionAttributes) -> list[str]:
        """Reject that a claim grows whose class does not allow it."""
        new, old = attributes.obj, attributes.old
        if new is None or old is None or attributes.subresource or not _size(old) < _size(new):
            return []
        if old.get("status", {}).get("phase") != "Bound":
            raise forbidden_by_plugin(
                attributes, "Only bound persistent volume claims can be expanded"
            )
        name = _class_of(new)
        found = self._context.find(_CLASSES, "", name) if name and name == _class_of(old) else None
        if found is None or not found.get("allowVolumeExpansion"):
            raise forbidden_by_plugin(attributes, _TOO_SMALL)
        return []


def _size(claim: KubeObject) -> Quantity:
    text = claim["spec"].get("resources", {}).get("requests", {}).get("storage")
    return ZERO if text is None else parse_quantity(text)


def _class_of(claim: KubeObject) -> str:
    annotations = claim["metadata"].get("annotations") or {}
    found: str = annotations.get(_CLASS_KEY, claim["spec"].get("storageClassName", ""))
    return found
