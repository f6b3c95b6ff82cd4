"""What a LimitRange fills in and refuses; the words were seen on a real API server."""

from typing import Any

import pytest
from sandbox_testing.quota_writes import claim, plugin_among, pod, write

from kube_sandbox.admission.plugins.limit_ranger import LimitRanger
from kube_sandbox.api_errors import StatusError

Json = dict[str, Any]
CONTAINER: Json = {
    "type": "Container",
    "max": {"cpu": "2", "memory": "1Gi"},
    "min": {"cpu": "100m"},
    "default": {"cpu": "500m", "memory": "512Mi"},
    "defaultRequest": {"cpu": "200m", "memory": "512Mi"},
    "maxLimitRequestRatio": {"cpu": "4"},
}
POD: Json = {"type": "Pod", "max": {"cpu": "3"}, "maxLimitRequestRatio": {"memory": "1500m"}}
LEAST: Json = {"type": "Pod", "min": {"cpu": "1", "memory": "1Gi"}, "max": {"memory": "2Gi"}}
CLAIM: Json = {
    "type": "PersistentVolumeClaim",
    "max": {"storage": "2Gi"},
    "min": {"storage": "1Gi"},
}


def limit_range(*limits: Json) -> Json:
    return {"metadata": {"name": "lr", "namespace": "n"}, "spec": {"limits": list(limits)}}


def filled(obj: Json, *limits: Json) -> Json:
    """Write a pod, and judge it."""
    plugin, _ = plugin_among(LimitRanger, "limitranges", limit_range(*limits))
    deed = write("pods" if obj["kind"] == "Pod" else "persistentvolumeclaims", obj)
    plugin.mutate(deed)
    plugin.validate(deed)
    return obj


def test_containers_have_the_defaults() -> None:
    found = filled(pod(inits=({},)), CONTAINER, POD)
    asked = {
        "limits": {"cpu": "500m", "memory": "512Mi"},
        "requests": {"cpu": "200m", "memory": "512Mi"},
    }
    assert found["spec"]["containers"][0]["resources"] == asked
    assert found["spec"]["initContainers"][0]["resources"] == asked
    assert found["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: "
        "cpu, memory request for container c0; cpu, memory limit for container c0; "
        "cpu, memory request for init container i0; cpu, memory limit for init container i0"
    }


def test_only_what_is_missing_is_filled_in() -> None:
    given: Json = {"limits": {"cpu": "1", "memory": "100Mi"}, "requests": {"cpu": "1"}}
    given["requests"]["memory"] = "100Mi"
    found = filled(pod(given, {"requests": {"cpu": "300m"}}), CONTAINER, POD)
    assert found["spec"]["containers"][0]["resources"] == given
    assert found["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: memory request for container c1; cpu, memory limit for container "
        "c1"
    )


def test_without_a_limit_range_nothing_is_told() -> None:
    found = filled(pod())
    assert "annotations" not in found["metadata"]


@pytest.mark.parametrize(
    ("obj", "limits", "told"),
    [
        pytest.param(
            pod({"limits": {"cpu": "3"}, "requests": {"cpu": "50m"}}),
            [CONTAINER],
            "[minimum cpu usage per Container is 100m, but request is 50m, maximum cpu usage per "
            "Container is 2, but limit is 3, cpu max limit to request ratio per Container is 4, "
            "but provided ratio is 60.000000]",
            id="everything at once",
        ),
        pytest.param(
            pod({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "100m"}}),
            [CONTAINER],
            "cpu max limit to request ratio per Container is 4, but provided ratio is 20.000000",
            id="one thing stands alone",
        ),
        pytest.param(
            pod(
                *[
                    {
                        "limits": {"cpu": "2", "memory": "1Gi"},
                        "requests": {"cpu": "2", "memory": "500Mi"},
                    }
                ]
                * 2
            ),
            [CONTAINER, POD],
            "[maximum cpu usage per Pod is 3, but limit is 4, memory max limit to request ratio "
            "per Pod is 1500m, but provided ratio is 2.048000]",
            id="a pod as a whole",
        ),
        pytest.param(
            pod({"limits": {"cpu": "0", "memory": "0"}, "requests": {"cpu": "0", "memory": "0"}}),
            [CONTAINER, POD],
            "[minimum cpu usage per Container is 100m, but request is 0, cpu max limit to request "
            "ratio per Container is 4, but no request is specified or request is 0, memory max "
            "limit to request ratio per Pod is 1500m, but no request is specified or request is 0]",
            id="nothing of something",
        ),
        pytest.param(
            pod(),
            [LEAST],
            "[minimum cpu usage per Pod is 1.  No request is specified, minimum memory usage per "
            "Pod is 1Gi.  No request is specified, maximum memory usage per Pod is 2Gi.  No limit "
            "is specified]",
            id="nothing is said",
        ),
        pytest.param(
            pod(
                {
                    "limits": {"cpu": "2", "memory": "1536Mi"},
                    "requests": {"memory": "1Gi", "cpu": "500m"},
                }
            ),
            [LEAST],
            "minimum cpu usage per Pod is 1, but request is 500m",
            id="too little for a pod",
        ),
        pytest.param(
            claim("500Mi"),
            [CLAIM],
            "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi",
            id="a claim too small",
        ),
        pytest.param(
            claim("5Gi"),
            [CLAIM],
            "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 5Gi",
            id="a claim too large",
        ),
    ],
)
def test_refusals(obj: Json, limits: list[Json], told: str) -> None:
    with pytest.raises(StatusError) as caught:
        filled(obj, *limits)
    plural = "pods" if obj["kind"] == "Pod" else "persistentvolumeclaims"
    name = obj["metadata"]["name"]
    assert caught.value.code == 403
    assert caught.value.message == f'{plural} "{name}" is forbidden: {told}'


def test_a_pod_that_is_there_is_judged_only_when_it_is_resized() -> None:
    plugin, _ = plugin_among(LimitRanger, "limitranges", limit_range(CONTAINER))
    large = pod({"limits": {"cpu": "9"}})
    plugin.validate(write("pods", large, old=pod()))
    with pytest.raises(StatusError):
        plugin.validate(write("pods", large, old=pod(), part="resize"))
    going = pod()
    going["metadata"]["deletionTimestamp"] = "2026-11-16T12:00:00Z"
    plugin.validate(write("pods", large, old=going, part="resize"))
