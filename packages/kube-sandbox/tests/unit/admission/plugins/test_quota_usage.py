"""What objects use, and which scopes they are in; amounts were seen on a real API server."""

from datetime import UTC, datetime
from typing import Any

import pytest
from sandbox_testing.quota_writes import claim, pod, service

from kube_sandbox.admission.plugins.quota_scopes import has_claim, has_pod
from kube_sandbox.admission.plugins.quota_usage import evaluator_for
from kube_sandbox.admission.plugins.resource_sums import texts

Json = dict[str, Any]
ELSEWHERE = {"topologyKey": "a", "namespaces": ["b"], "labelSelector": {}}
WEIGHED = [{"weight": 1, "podAffinityTerm": ELSEWHERE}]


def same(cpu: str, memory: str) -> Json:
    amounts = {"cpu": cpu, "memory": memory}
    return {"requests": amounts, "limits": amounts}


def used(bucket: str, obj: Json, now: datetime | None = None) -> dict[str, str]:
    measure = evaluator_for(bucket)
    assert measure is not None
    return texts(measure.uses(obj, now))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(pod(same("1", "1Gi")), ("1", "1Gi", "1", "1Gi"), id="one container"),
        pytest.param(
            pod(same("100m", "100M"), same("200m", "1Mi")),
            ("300m", "101048576", "300m", "101048576"),
            id="containers add up",
        ),
        pytest.param(
            pod(
                same("1", "1Gi"),
                inits=(
                    {"resources": same("2", "1Gi")},
                    {"resources": same("1", "100Mi"), "restartPolicy": "Always"},
                    {"resources": same("3", "10Mi")},
                ),
            ),
            ("4", "1124Mi", "4", "1124Mi"),
            id="the peak of what prepares it, with sidecars",
        ),
        pytest.param(
            pod(same("1", "1Gi"), overhead={"cpu": "100m", "memory": "50Mi"}),
            ("1100m", "1074Mi", "1100m", "1074Mi"),
            id="overhead",
        ),
        pytest.param(
            pod({"requests": {"cpu": "1"}}, resources={"requests": {"cpu": "2", "memory": "3Gi"}}),
            ("2", "3Gi", None, None),
            id="what a pod asks for itself",
        ),
    ],
)
def test_what_a_pod_uses(found: Json, expected: tuple[str | None, ...]) -> None:
    names = ("requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
    use = used("pods", found)
    assert tuple(map(use.get, names)) == expected
    assert (use.get("cpu"), use.get("memory"), use["pods"]) == (*expected[:2], "1")


def test_pages_and_devices_have_names_of_their_own() -> None:
    amounts = {"hugepages-2Mi": "4Mi", "example.com/x": "3", "ephemeral-storage": "1G"}
    assert used("pods", pod({"requests": amounts})) == {
        "count/pods": "1",
        "ephemeral-storage": "1G",
        "hugepages-2Mi": "4Mi",
        "pods": "1",
        "requests.ephemeral-storage": "1G",
        "requests.example.com/x": "3",
        "requests.hugepages-2Mi": "4Mi",
    }


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_uses_only_its_place(phase: str) -> None:
    assert used("pods", {**pod(same("1", "1")), "status": {"phase": phase}}) == {"count/pods": "1"}


def test_a_pod_that_should_have_ended_long_ago_uses_only_its_place() -> None:
    stuck = pod(same("1", "1"))
    end = {"deletionTimestamp": "2026-11-16T12:00:00Z", "deletionGracePeriodSeconds": 30}
    stuck["metadata"] |= end
    assert "pods" in used("pods", stuck, datetime(2026, 11, 16, 12, 0, 30, tzinfo=UTC))
    assert "pods" not in used("pods", stuck, datetime(2026, 11, 16, 12, 0, 31, tzinfo=UTC))


@pytest.mark.parametrize(
    ("found", "ports", "balancers"),
    [
        (service("ClusterIP", 2), "0", "0"),
        (service("NodePort", 2), "2", "0"),
        (service("LoadBalancer", 3), "3", "1"),
        (service("LoadBalancer", 3, allocateLoadBalancerNodePorts=False), "0", "1"),
    ],
)
def test_what_a_service_uses(found: Json, ports: str, balancers: str) -> None:
    assert used("services", found) == {
        "count/services": "1",
        "services": "1",
        "services.loadbalancers": balancers,
        "services.nodeports": ports,
    }


def test_a_claim_uses_whole_bytes_and_what_it_was_given() -> None:
    by_class = "gold.storageclass.storage.k8s.io/"
    found = claim("1500m", "gold")
    assert used("persistentvolumeclaims", found) == {
        "count/persistentvolumeclaims": "1",
        f"{by_class}persistentvolumeclaims": "1",
        f"{by_class}requests.storage": "2",
        "persistentvolumeclaims": "1",
        "requests.storage": "2",
    }
    found["status"] = {"allocatedResources": {"storage": "12Gi"}}
    assert used("persistentvolumeclaims", found)["requests.storage"] == "12Gi"


@pytest.mark.parametrize(
    ("bucket", "names"),
    [
        ("secrets", ["count/secrets", "secrets"]),
        ("serviceaccounts", ["count/serviceaccounts"]),
        ("widgets.example.com", ["count/widgets.example.com"]),
    ],
)
def test_every_kind_is_counted(bucket: str, names: list[str]) -> None:
    assert sorted(used(bucket, {})) == names


@pytest.mark.parametrize(
    ("name", "is_counted"),
    [
        ("pods", True),
        ("limits.ephemeral-storage", True),
        ("requests.nvidia.com/gpu", True),
        ("requests.hugepages-1Gi", True),
        ("requests.deviceclass.resource.kubernetes.io/x", True),
        ("limits.nvidia.com/gpu", False),
        ("requests.storage", False),
        ("count/jobs.batch", False),
    ],
)
def test_names_that_are_about_pods(name: str, is_counted: bool) -> None:
    measure = evaluator_for("pods")
    assert measure is not None
    assert measure.counts(name) is is_counted


def priority(operator: str, *values: str) -> Json:
    return {"scopeName": "PriorityClass", "operator": operator, "values": list(values)}


def scope(name: str) -> Json:
    return {"scopeName": name, "operator": "Exists"}


PLAIN, BOUNDED = pod(), pod(same("1", "1"), activeDeadlineSeconds=100)
HIGH = pod(priorityClassName="high")
FAR = pod(affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": WEIGHED}})
FARTHER = pod(
    affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [ELSEWHERE]}}
)


@pytest.mark.parametrize(
    ("wanted", "inside", "outside"),
    [
        pytest.param(scope("Terminating"), [BOUNDED], [PLAIN], id="terminating"),
        pytest.param(scope("NotTerminating"), [PLAIN], [BOUNDED], id="not terminating"),
        pytest.param(scope("BestEffort"), [PLAIN], [BOUNDED], id="best effort"),
        pytest.param(scope("NotBestEffort"), [BOUNDED], [PLAIN], id="not best effort"),
        pytest.param(priority("In", "high"), [HIGH], [PLAIN], id="one of some priorities"),
        pytest.param(priority("NotIn", "high"), [PLAIN], [HIGH], id="none of some priorities"),
        pytest.param(priority("Exists"), [HIGH], [PLAIN], id="any priority"),
        pytest.param(priority("DoesNotExist"), [PLAIN], [HIGH], id="no priority"),
        pytest.param(scope("CrossNamespacePodAffinity"), [FAR, FARTHER], [PLAIN], id="affinity"),
        pytest.param(scope("VolumeAttributesClass"), [], [PLAIN], id="of claims"),
    ],
)
def test_scopes_of_pods(wanted: Json, inside: list[Json], outside: list[Json]) -> None:
    assert all(has_pod(wanted, each) for each in inside)
    assert not any(has_pod(wanted, each) for each in outside)


def test_scopes_of_claims() -> None:
    silver = claim("1Gi")
    silver["spec"]["volumeAttributesClassName"] = "silver"
    wanted = {"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["silver"]}
    assert has_claim(wanted, silver)
    assert not has_claim(wanted, claim("1Gi"))
    assert not has_claim(scope("BestEffort"), silver)
