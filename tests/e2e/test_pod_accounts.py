"""Pods and the accounts they act as, where controllers make accounts."""

import base64
import secrets
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.test_api_server import ask
from tools.cluster.plane import Plane

LIMIT = 20.0  # seconds
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


def token_secret(account: str) -> dict[str, Any]:
    annotations = {"kubernetes.io/service-account.name": account}
    metadata = {"name": f"{account}-token", "annotations": annotations}
    kind = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token"}
    return {**kind, "metadata": metadata}


def until(plane: Plane, path: str, holds: Callable[[int, Any], bool]) -> Any:
    """Return what is at a path once something is true of code and body."""
    deadline = time.monotonic() + LIMIT
    while True:
        code, _, found = ask(plane, "GET", path)
        if holds(code, found):
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.1)


def test_a_secret_gets_the_token_of_its_account_and_goes_with_it(
    plane_with_controllers: Plane, pods: str
) -> None:
    plane, home = plane_with_controllers, pods.rpartition("/")[0]
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
    made = ask(plane, "POST", f"{home}/serviceaccounts", account)[2]
    assert ask(plane, "POST", f"{home}/secrets", token_secret("robot"))[0] == 201
    path = f"{home}/secrets/robot-token"
    filled = until(plane, path, lambda _, found: "token" in (found.get("data") or {}))
    assert set(filled["data"]) == {"ca.crt", "namespace", "token"}
    marks = filled["metadata"]["annotations"]
    assert marks["kubernetes.io/service-account.uid"] == made["metadata"]["uid"]
    token = base64.b64decode(filled["data"]["token"]).decode()
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview"}
    asked = {**review, "spec": {"token": token}}
    status = ask(plane, "POST", "apis/authentication.k8s.io/v1/tokenreviews", asked)[2]["status"]
    namespace = pods.split("/")[3]
    assert status["user"]["username"] == f"system:serviceaccount:{namespace}:robot"
    assert ask(plane, "DELETE", f"{home}/serviceaccounts/robot")[0] == 200
    until(plane, path, lambda code, _: code == 404)


def test_a_secret_for_the_token_of_nobody_goes(plane_with_controllers: Plane, pods: str) -> None:
    home = pods.rpartition("/")[0]
    made = ask(plane_with_controllers, "POST", f"{home}/secrets", token_secret("nobody"))
    assert made[0] == 201
    until(plane_with_controllers, f"{home}/secrets/nobody-token", lambda code, _: code == 404)


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
