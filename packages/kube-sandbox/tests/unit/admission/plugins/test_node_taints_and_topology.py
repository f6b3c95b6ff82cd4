"""What nodes begin with, and what pods have of them, as on a real API server."""

from typing import Any

import pytest
from sandbox_testing.gate import Gate

from kube_objects.refs import KubeObject

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
ZONE = {"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r"}


def node(*taints: Any) -> KubeObject:
    metadata = {"name": "n", "labels": {**ZONE, "kubernetes.io/os": "linux"}}
    spec = {"taints": list(taints)} if taints else {}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec}


def pod(**labels: str) -> KubeObject:
    metadata = {"name": "p", "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": "n"}}


@pytest.mark.parametrize(
    ("own", "taints"),
    [
        pytest.param([], [NOT_READY], id="without any"),
        pytest.param([NOT_READY], [NOT_READY], id="with the same"),
        pytest.param(
            [{**NOT_READY, "effect": "NoExecute"}],
            [{**NOT_READY, "effect": "NoExecute"}, NOT_READY],
            id="with another effect",
        ),
    ],
)
def test_a_node_begins_tainted(own: list[Any], taints: list[Any]) -> None:
    obj = node(*own)
    Gate().change(obj)
    assert obj["spec"]["taints"] == taints


def test_a_new_pod_has_the_zone_of_its_node() -> None:
    new = pod(a="b", **{"topology.kubernetes.io/zone": "mine"})
    Gate(node()).change(new)
    assert new["metadata"]["labels"] == {"a": "b", **ZONE}
    unknown, changed = pod(a="b"), pod(a="b")
    Gate().change(unknown)
    Gate(node()).change(changed, pod())
    assert unknown["metadata"]["labels"] == changed["metadata"]["labels"] == {"a": "b"}
