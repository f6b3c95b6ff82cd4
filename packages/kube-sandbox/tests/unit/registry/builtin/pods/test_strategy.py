from datetime import UTC, datetime
from typing import Any

import pytest

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.pods.defaults import pull_policy
from kube_sandbox.registry.builtin.pods.strategy import EPHEMERAL, qos_class
from kube_sandbox.registry.builtin.workload_strategies import WORKLOADS
from kube_sandbox.registry.strategy import RequestContext

PODS = WORKLOADS["pods"]
OCCASION = RequestContext(datetime(2026, 1, 2, tzinfo=UTC))


def pod(**spec: Any) -> KubeObject:
    found = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "1"},
        "spec": {"containers": [{"name": "c", "image": "x"}], **spec},
    }
    PODS.default(found)
    return found


def test_ephemeral_containers_come_by_a_subresource_that_reaches_nothing_else() -> None:
    old, new = pod(), pod(ephemeralContainers=[{"name": "e", "image": "x"}])
    old["metadata"]["generation"] = 1
    new["metadata"]["labels"] = {"a": "b"}
    new["spec"]["containers"][0]["image"] = "other"
    PODS.prepare_update(new, old, EPHEMERAL, OCCASION)
    assert new["spec"]["containers"] == old["spec"]["containers"]
    assert new["spec"]["ephemeralContainers"][0]["name"] == "e"
    assert "labels" not in new["metadata"]
    assert new["metadata"]["generation"] == 2
    assert PODS.validate_update(new, old, EPHEMERAL, OCCASION) == []


def test_an_ephemeral_container_stays_as_it_is() -> None:
    old = pod(ephemeralContainers=[{"name": "e", "image": "x"}])
    gone, other = pod(), pod(ephemeralContainers=[{"name": "e", "image": "y"}])
    (removed,) = PODS.validate_update(gone, old, EPHEMERAL, OCCASION)
    assert removed.detail == 'existing ephemeral containers "e" may not be removed\n'
    (changed,) = PODS.validate_update(other, old, EPHEMERAL, OCCASION)
    assert changed.detail.startswith('existing ephemeral containers "e" may not be changed\n@@')
    assert '-  "Image": "x",\n+  "Image": "y",'.replace("  ", " ") in changed.detail


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("registry.example.com:5000/a/b", "Always"),
        ("registry.example.com:5000/a/b:v1", "IfNotPresent"),
        ("nginx@sha256:" + "a" * 64, "IfNotPresent"),
        ("nginx:latest@sha256:" + "a" * 64, "Always"),
        ("NotAnImage", "IfNotPresent"),
        ("", "IfNotPresent"),
    ],
)
def test_only_the_latest_image_is_always_pulled(image: str, policy: str) -> None:
    assert pull_policy(image) == policy


def containers(*resources: KubeObject) -> KubeObject:
    return {"containers": [{"name": f"c{i}", "resources": r} for i, r in enumerate(resources)]}


FULL = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(containers({}), "BestEffort", id="nothing is asked for"),
        pytest.param(containers({"limits": FULL, "requests": FULL}), "Guaranteed", id="all of it"),
        pytest.param(
            containers({"limits": FULL, "requests": {**FULL, "cpu": "1000m"}}),
            "Guaranteed",
            id="the same amount in other words",
        ),
        pytest.param(
            containers({"limits": FULL, "requests": FULL}, {}), "Burstable", id="not by all"
        ),
        pytest.param(containers({"requests": {"cpu": "1"}}), "Burstable", id="no limit"),
        pytest.param(containers({"requests": {"x.io/gpu": "1"}}), "BestEffort", id="devices"),
        pytest.param(
            {**containers({}), "resources": {"limits": FULL, "requests": FULL}},
            "Guaranteed",
            id="by the pod as a whole",
        ),
    ],
)
def test_how_a_pod_is_served_follows_from_what_it_asks_for(spec: KubeObject, expected: str) -> None:
    assert qos_class(spec) == expected
