"""
DefaultStorageClass and DefaultIngressClass: objects without a class get the default class.

If several classes are marked as default, the newest is taken, and the first by name of those
created in the same second.

Follows kubernetes 1.35 plugin/pkg/admission/storage/storageclass/setdefault/admission.go
claimDefaulterPlugin.Admit; pkg/volume/util/storageclass.go GetDefaultClass;
plugin/pkg/admission/network/defaultingressclass/admission.go classDefaulterPlugin.Admit.
"""

from dataclasses import dataclass

from kube_objects.refs import KubeObject
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.plugins.interface import AdmissionContext, MutatingPlugin, is_new


@dataclass(frozen=True, slots=True)
class ClassRule:
    """Where classes are stored, what marks the default, and how an object names its class."""

    bucket: str
    marks: tuple[str, ...]  # annotations of a class, which say "true"
    field: str  # of the object's spec
    annotation: str  # of the object: the deprecated way to name a class


STORAGE = ClassRule(
    "storageclasses.storage.k8s.io",
    (
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ),
    "storageClassName",
    "volume.beta.kubernetes.io/storage-class",
)
INGRESS = ClassRule(
    "ingressclasses.networking.k8s.io",
    ("ingressclass.kubernetes.io/is-default-class",),
    "ingressClassName",
    "kubernetes.io/ingress.class",
)


class DefaultClass(MutatingPlugin):
    """Sets the default class where none is named."""

    def __init__(self, context: AdmissionContext, rule: ClassRule) -> None:
        self._context = context
        self._rule = rule

    def mutate(self, attributes: AdmissionAttributes) -> None:
        """Set the default class in a new object."""
        if attributes.obj is None or not is_new(attributes):
            return
        rule, spec = self._rule, attributes.obj.setdefault("spec", {})
        # An empty name is a choice, too: no class.
        if spec.get(rule.field) is not None or rule.annotation in _annotations(attributes.obj):
            return
        defaults = [
            candidate["metadata"]
            for candidate in self._context.all(rule.bucket, "")
            if any(_annotations(candidate).get(mark) == "true" for mark in rule.marks)
        ]
        defaults.sort(key=lambda metadata: str(metadata["name"]))
        if defaults:
            newest = max(defaults, key=lambda metadata: metadata.get("creationTimestamp", ""))
            spec[rule.field] = newest["name"]


def _annotations(obj: KubeObject) -> KubeObject:
    found: KubeObject = obj["metadata"].get("annotations") or {}
    return found
