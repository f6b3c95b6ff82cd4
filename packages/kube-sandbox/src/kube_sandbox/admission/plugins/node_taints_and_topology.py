"""
TaintNodesByCondition and PodTopologyLabels: new nodes are tainted, pods get their node's zone.

Follows kubernetes 1.35 plugin/pkg/admission/nodetaint/admission.go Plugin.Admit;
plugin/pkg/admission/podtopologylabels/admission.go Plugin.Admit.
"""

from collections.abc import Callable

from kube_objects.refs import KubeObject
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.plugins.interface import ClusterPlugin, MutatingPlugin, is_new

_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_TOPOLOGY = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")

Find = Callable[[str, str, str], KubeObject | None]  # bucket, namespace, name


class NodeTaint(MutatingPlugin):
    """Keeps pods from nodes that are not ready yet."""

    def mutate(self, attributes: AdmissionAttributes) -> None:
        """Taint a new node; a controller takes the taint off."""
        if attributes.obj is None or not is_new(attributes):
            return
        spec = attributes.obj.setdefault("spec", {})
        taints = spec.get("taints") or ()
        if not any(
            all(each.get(key) == value for key, value in _NOT_READY.items()) for each in taints
        ):
            spec["taints"] = [*taints, dict(_NOT_READY)]


class TopologyLabels(ClusterPlugin, MutatingPlugin):
    """Labels pods with where they run."""

    def mutate(self, attributes: AdmissionAttributes) -> None:
        """Copy the labels of zone and region from the node that a new pod names."""
        if attributes.obj is None or not is_new(attributes):
            return
        labels = topology(self._context.find, attributes.obj["spec"].get("nodeName", ""))
        if labels:
            metadata = attributes.obj["metadata"]
            metadata["labels"] = {**(metadata.get("labels") or {}), **labels}


def topology(find: Find, node: str) -> dict[str, str]:
    """Return the labels that a node gives to its pods."""
    found = find("nodes", "", node) if node else None
    labels = (found or {}).get("metadata", {}).get("labels") or {}
    return {key: labels[key] for key in _TOPOLOGY if key in labels}
