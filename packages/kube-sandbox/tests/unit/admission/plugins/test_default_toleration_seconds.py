"""How long pods wait for their nodes, as a real API server has them wait."""

from typing import Any

import pytest
from sandbox_testing.gate import Gate

from kube_objects.refs import KubeObject

NOT_READY, GONE = (f"node.kubernetes.io/{each}" for each in ("not-ready", "unreachable"))


def added(key: str) -> dict[str, Any]:
    waits = {"effect": "NoExecute", "tolerationSeconds": 300}
    return {"key": key, "operator": "Exists", **waits}


def pod(*tolerations: Any) -> KubeObject:
    spec = {"tolerations": list(tolerations)} if tolerations else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


@pytest.mark.parametrize(
    ("toleration", "more"),
    [
        pytest.param({"operator": "Exists"}, [], id="everything"),
        pytest.param(
            {"key": NOT_READY, "operator": "Exists", "effect": "NoSchedule"},
            [NOT_READY, GONE],
            id="another effect",
        ),
        pytest.param({"key": NOT_READY, "operator": "Exists"}, [GONE], id="every effect"),
        pytest.param(
            {"key": GONE, "operator": "Equal", "value": "x", "effect": "NoExecute"},
            [NOT_READY],
            id="whatever its value",
        ),
        pytest.param({"key": "a", "operator": "Exists"}, [NOT_READY, GONE], id="something else"),
    ],
)
def test_what_a_pod_does_not_say_is_added(toleration: Any, more: list[str]) -> None:
    obj = pod(toleration)
    Gate().change(obj)
    assert obj["spec"]["tolerations"] == [toleration, *map(added, more)]


def test_it_is_added_to_a_pod_that_is_there_but_not_by_a_part_of_it() -> None:
    obj, old = pod(), pod(added(NOT_READY), added(GONE))
    Gate().change(obj, old)
    assert obj == old
    status = pod()
    Gate().change(status, old, "status")
    assert status == pod()
