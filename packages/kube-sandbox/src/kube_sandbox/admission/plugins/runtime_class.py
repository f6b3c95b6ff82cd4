"""
RuntimeClass: what a pod costs beyond its containers, and on which nodes it can run.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kube_objects.quantity import nanos
from kube_objects.refs import KubeObject
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.plugins.interface import AdmissionContext, forbidden_by_plugin, is_new

_CLASSES = "runtimeclasses.node.k8s.io"
_OTHER = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_OVERHEAD_WITHOUT_CLASS = (
    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
)

Toleration = Mapping[str, Any]


class RuntimeClasses:
    """Has pods be what their runtime class says."""

    def __init__(self, around: AdmissionContext) -> None:
        self._around = around

    def mutate(self, deed: AdmissionAttributes) -> None:
        """Give a new pod the overhead and the nodes of its class."""
        if deed.obj is None or not is_new(deed):
            return
        spec = deed.obj["spec"]
        found = self._class_of(deed, spec)
        if "overhead" in found:
            overhead = found["overhead"].get("podFixed") or {}
            if spec.get("overhead") and not _is_same(spec["overhead"], overhead):
                raise forbidden_by_plugin(deed, _OTHER)
            spec["overhead"] = dict(overhead)
        if "scheduling" in found:
            _schedule(deed, spec, found["scheduling"])

    def validate(self, deed: AdmissionAttributes) -> list[str]:
        """Refuse a new pod with an overhead of its own."""
        if deed.obj is None or not is_new(deed) or "overhead" not in deed.obj["spec"]:
            return []
        if "overhead" not in self._class_of(deed, deed.obj["spec"]):
            raise forbidden_by_plugin(deed, _OVERHEAD_WITHOUT_CLASS)
        return []

    def _class_of(self, deed: AdmissionAttributes, spec: KubeObject) -> KubeObject:
        name = spec.get("runtimeClassName")
        if name is None:
            return {}
        found = self._around.find(_CLASSES, "", name)
        if found is None:
            raise forbidden_by_plugin(deed, f'pod rejected: RuntimeClass "{name}" not found')
        return found


def _is_same(left: Mapping[str, str], right: Mapping[str, str]) -> bool:
    return left.keys() == right.keys() and all(nanos(left[k]) == nanos(right[k]) for k in left)


def _schedule(deed: AdmissionAttributes, spec: KubeObject, scheduling: Mapping[str, Any]) -> None:
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if selector.get(key, value) != value:
            raise forbidden_by_plugin(
                deed,
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {selector[key]}",
            )
        selector[key] = value
    if selector:
        spec["nodeSelector"] = selector
    tolerations = (*(spec.get("tolerations") or ()), *(scheduling.get("tolerations") or ()))
    if tolerations:
        spec["tolerations"] = merged(tolerations)


def merged(tolerations: Sequence[Toleration]) -> list[Toleration]:
    """Return tolerations without those that others cover; of equal ones the first is kept."""
    found: list[Toleration] = []
    for index, each in enumerate(tolerations):
        later = (other for other in tolerations[index + 1 :] if other != each)
        if not any(_covers(other, each) for other in (*found, *later)):
            found.append(each)
    return found


def _covers(wide: Toleration, other: Toleration) -> bool:
    """Say whether all that one toleration puts up with is put up with by another."""
    if wide == other:
        return True
    key, effect = wide.get("key", ""), wide.get("effect", "")
    operator, seconds = wide.get("operator", ""), wide.get("tolerationSeconds")
    if other.get("key", "") != key and (key or operator != "Exists"):
        return False
    if effect and other.get("effect", "") != effect:
        return False
    if effect == "NoExecute" and seconds is not None:
        patience = other.get("tolerationSeconds")
        if patience is None or patience > seconds:
            return False
    if operator == "Exists":
        return True
    same = other.get("operator") == "Equal" and other.get("value", "") == wide.get("value", "")
    return operator in ("", "Equal") and same
