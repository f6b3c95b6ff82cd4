"""
RuntimeClass: the overhead of a pod and the nodes that it can run on.

Follows kubernetes 1.35 plugin/pkg/admission/runtimeclass/admission.go RuntimeClass.Admit,
setOverhead, setScheduling; pkg/util/tolerations/tolerations.go MergeTolerations.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kube_objects.quantity import nanos
from kube_objects.refs import KubeObject
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.plugins.interface import ClusterPlugin, forbidden_by_plugin, is_new

_CLASSES = "runtimeclasses.node.k8s.io"
_OTHER = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_OVERHEAD_WITHOUT_CLASS = (
    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
)

Toleration = Mapping[str, Any]


class RuntimeClasses(ClusterPlugin):
    """Has pods be what their runtime class says."""

    def mutate(self, attributes: AdmissionAttributes) -> None:
        """Give a new pod the overhead and the nodes of its class."""
        if attributes.obj is None or not is_new(attributes):
            return
        spec = attributes.obj["spec"]
        found = self._class_of(attributes, spec)
        if "overhead" in found:
            overhead = found["overhead"].get("podFixed") or {}
            written = spec.get("overhead")
            if written and {name: nanos(text) for name, text in written.items()} != {
                name: nanos(text) for name, text in overhead.items()
            }:
                raise forbidden_by_plugin(attributes, _OTHER)
            spec["overhead"] = dict(overhead)
        if "scheduling" in found:
            scheduling = found["scheduling"]
            selector = dict(spec.get("nodeSelector") or {})
            for key, value in (scheduling.get("nodeSelector") or {}).items():
                if selector.get(key, value) != value:
                    raise forbidden_by_plugin(
                        attributes,
                        f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                        f"pod.spec.nodeSelector[{key}] = {selector[key]}",
                    )
                selector[key] = value
            if selector:
                spec["nodeSelector"] = selector
            tolerations = (*(spec.get("tolerations") or ()), *(scheduling.get("tolerations") or ()))
            if tolerations:
                spec["tolerations"] = merged(tolerations)

    def validate(self, attributes: AdmissionAttributes) -> list[str]:
        """Reject a new pod with an overhead of its own."""
        if (
            attributes.obj is None
            or not is_new(attributes)
            or "overhead" not in attributes.obj["spec"]
        ):
            return []
        if "overhead" not in self._class_of(attributes, attributes.obj["spec"]):
            raise forbidden_by_plugin(attributes, _OVERHEAD_WITHOUT_CLASS)
        return []

    def _class_of(self, attributes: AdmissionAttributes, spec: KubeObject) -> KubeObject:
        name = spec.get("runtimeClassName")
        if name is None:
            return {}
        found = self._context.find(_CLASSES, "", name)
        if found is None:
            raise forbidden_by_plugin(attributes, f'pod rejected: RuntimeClass "{name}" not found')
        return found


def merged(tolerations: Sequence[Toleration]) -> list[Toleration]:
    """Return tolerations without those that others cover; of equal ones the first is kept."""
    found: list[Toleration] = []
    for index, each in enumerate(tolerations):
        later = (other for other in tolerations[index + 1 :] if other != each)
        if not any(_covers(other, each) for other in (*found, *later)):
            found.append(each)
    return found


def _covers(wide: Toleration, other: Toleration) -> bool:
    """Return whether `wide` tolerates every taint that `other` tolerates."""
    if wide == other:
        return True
    key, effect = wide.get("key", ""), wide.get("effect", "")
    operator, seconds = wide.get("operator", ""), wide.get("tolerationSeconds")
    if other.get("key", "") != key and (key or operator != "Exists"):
        return False
    if effect and other.get("effect", "") != effect:
        return False
    if effect == "NoExecute" and seconds is not None:
        its_seconds = other.get("tolerationSeconds")
        if its_seconds is None or its_seconds > seconds:
            return False
    if operator == "Exists":
        return True
    same = other.get("operator") == "Equal" and other.get("value", "") == wide.get("value", "")
    return operator in ("", "Equal") and same
