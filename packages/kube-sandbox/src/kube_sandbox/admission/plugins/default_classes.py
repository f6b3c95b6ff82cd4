"""
DefaultStorageClass and DefaultIngressClass: who names no class gets the one that is marked.

If several are marked, it is the newest, and the first by name of those made in the same second.

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
    """Where classes are, what marks one, and how an object names its own."""

    bucket: str
    marks: tuple[str, ...]  # annotations of a class, which say "true"
    field: str  # of the object's spec
    annotation: str  # of the object, as it was done once


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
    """Names the default class where none is named."""

    def __init__(self, around: AdmissionContext, rule: ClassRule) -> None:
        self._around = around
        self._rule = rule

    def mutate(self, deed: AdmissionAttributes) -> None:
        """Name the default class in a new object."""
        if deed.obj is None or not is_new(deed):
            return
        rule, spec = self._rule, deed.obj.setdefault("spec", {})
        # An empty name is one, too: that of no class.
        if spec.get(rule.field) is not None or rule.annotation in _annotations(deed.obj):
            return
        found = self._default()
        if found is not None:
            spec[rule.field] = found["metadata"]["name"]

    def _default(self) -> KubeObject | None:
        marked = [each for each in self._around.all(self._rule.bucket, "") if self._is_marked(each)]
        marked.sort(key=lambda each: str(each["metadata"]["name"]))
        newest: KubeObject | None = max(
            marked, key=lambda each: each["metadata"].get("creationTimestamp", ""), default=None
        )
        return newest

    def _is_marked(self, obj: KubeObject) -> bool:
        annotations = _annotations(obj)
        return any(annotations.get(each) == "true" for each in self._rule.marks)


def _annotations(obj: KubeObject) -> KubeObject:
    found: KubeObject = obj["metadata"].get("annotations") or {}
    return found
