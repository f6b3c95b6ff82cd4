"""Pods and the accounts they act as, where controllers make accounts."""

import secrets
from typing import Any

import pytest

from tests.e2e.test_api_server import ask
from tools.cluster.plane import Plane

# What plugins add, which is nobody's.
ADDED = {"preemptionPolicy", "priority", "serviceAccountName", "tolerations", "volumes"}


@pytest.fixture
def pods(plane_with_controllers: Plane) -> str:
    """Return the path of the pods of a namespace that was made right now."""
    name = f"town-{secrets.token_hex(4)}"
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    assert ask(plane_with_controllers, "POST", "api/v1/namespaces", made)[0] == 201
    return f"api/v1/namespaces/{name}/pods"


def pod(**spec: Any) -> dict[str, Any]:
    containers = [{"name": "a", "image": "example.com/a"}]
    spec = {"containers": containers, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}


def test_the_first_pod_of_a_namespace_has_its_account(
    plane_with_controllers: Plane, pods: str
) -> None:
    code, _, made = ask(plane_with_controllers, "POST", pods, pod())
    assert code == 201
    assert made["spec"]["serviceAccountName"] == made["spec"]["serviceAccount"] == "default"
    (volume,) = made["spec"]["volumes"]
    (mount,) = made["spec"]["containers"][0]["volumeMounts"]
    assert volume["name"] == mount["name"]
    assert volume["name"].startswith("kube-api-access-")
    (entry,) = made["metadata"]["managedFields"]
    assert set(made["spec"]) >= ADDED
    assert not {f"f:{each}" for each in ADDED} & set(entry["fieldsV1"]["f:spec"])


def test_a_pod_without_its_account_is_refused(plane_with_controllers: Plane, pods: str) -> None:
    asked = {**pod(serviceAccountName="nobody"), "metadata": {"generateName": "a-"}}
    code, _, refusal = ask(plane_with_controllers, "POST", pods, asked)
    namespace = pods.split("/")[3]
    assert (code, refusal["details"]["name"]) == (403, "a-")
    assert refusal["message"] == (
        f'pods "a-" is forbidden: error looking up service account {namespace}/nobody: '
        'serviceaccount "nobody" not found'
    )


def test_a_container_can_come_later(plane_with_controllers: Plane, pods: str) -> None:
    made = ask(plane_with_controllers, "POST", pods, pod(schedulingGates=[{"name": "x"}]))[2]
    made["spec"]["ephemeralContainers"] = [{"name": "debug", "image": "example.com/d"}]
    made["metadata"]["labels"] = {"not": "reached"}
    path = f"{pods}/a/ephemeralcontainers"
    code, _, changed = ask(plane_with_controllers, "PUT", path, made)
    assert (code, changed["metadata"]["generation"]) == (200, 2)
    assert [each["name"] for each in changed["spec"]["ephemeralContainers"]] == ["debug"]
    assert "labels" not in changed["metadata"]
    assert changed["metadata"]["managedFields"][-1]["subresource"] == "ephemeralcontainers"
