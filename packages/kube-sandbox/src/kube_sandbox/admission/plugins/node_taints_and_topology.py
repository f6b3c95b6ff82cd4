"""
TaintNodesByCondition and PodTopologyLabels: nodes begin tainted, and pods have their node's zone.

Follows kubernetes 1.35 plugin/pkg/admission/nodetaint/admission.go Plugin.Admit;
plugin/pkg/admission/podtopologylabels/admission.go Plugin.Admit.
"""

from collections.abc import Callable

from kube_objects.refs import KubeObject
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.plugins.interface import AdmissionContext, MutatingPlugin, is_new

_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_TOPOLOGY = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")

Find = Callable[[str, str, str], KubeObject | None]  # bucket, namespace, name


class NodeTaint(MutatingPlugin):
    """Keeps pods from nodes that are not ready yet."""

    def mutate(self, deed: AdmissionAttributes) -> None:
        """Taint a new node; a controller takes the taint off."""
        if deed.obj is None or not is_new(deed):
            return
        spec = deed.obj.setdefault("spec", {})
        taints = spec.get("taints") or ()
        if not any(_is_the_same(each) for each in taints):
            spec["taints"] = [*taints, dict(_NOT_READY)]


class TopologyLabels(MutatingPlugin):
    """Labels pods with where they run."""

    def __init__(self, around: AdmissionContext) -> None:
        self._around = around

    def mutate(self, deed: AdmissionAttributes) -> None:
        """Copy the labels of zone and region from the node that a new pod names."""
        if deed.obj is None or not is_new(deed):
            return
        labels = topology(self._around.find, deed.obj["spec"].get("nodeName", ""))
        if labels:
            metadata = deed.obj["metadata"]
            metadata["labels"] = {**(metadata.get("labels") or {}), **labels}


def topology(find: Find, node: str) -> dict[str, str]:
    """Return the labels that a node gives to its pods."""
    found = find("nodes", "", node) if node else None
    labels = (found or {}).get("metadata", {}).get("labels") or {}
    return {key: labels[key] for key in _TOPOLOGY if key in labels}


def _is_the_same(taint: KubeObject) -> bool:
    return all(taint.get(key) == value for key, value in _NOT_READY.items())
