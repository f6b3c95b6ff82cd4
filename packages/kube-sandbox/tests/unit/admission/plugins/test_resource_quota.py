"""What quotas let in and note; words and amounts were seen on a real API server."""

from typing import Any

import pytest
from sandbox_testing.quota_writes import (
    claim,
    plugin_among,
    pod,
    quota,
    service,
    write,
)

from kube_sandbox.admission.plugins.resource_quota import BUCKET, Quotas
from kube_sandbox.api_errors import StatusError

Json = dict[str, Any]
SMALL: Json = {"limits": {"memory": "1Gi"}, "requests": {"cpu": "250m"}}
CONFIG_MAP: Json = {"metadata": {"name": "c", "namespace": "n"}}
COMPUTE = {"pods": "2", "requests.cpu": "1", "limits.memory": "2Gi"}
GOLD = "gold.storageclass.storage.k8s.io/requests.storage"


def noted(bucket: str, obj: Json, *quotas: Json, **more: Any) -> list[Json]:
    """Write an object; return what quotas are noted to use."""
    plugin, charged = plugin_among(Quotas, BUCKET, *quotas)
    plugin.validate(write(bucket, obj, **more))
    return [each["status"]["used"] for each in charged]


def test_what_fits_is_noted() -> None:
    found = noted("pods", pod(SMALL), quota({**COMPUTE, "secrets": "3"}))
    used = {"pods": "1", "requests.cpu": "250m", "limits.memory": "1Gi", "secrets": "0"}
    assert found == [used]


def test_a_rehearsal_is_not_noted() -> None:
    assert noted("pods", pod(SMALL), quota(COMPUTE), dry_run=True) == []


def test_a_namespace_without_quotas_has_room() -> None:
    assert noted("pods", pod()) == []


def test_a_quota_that_nobody_has_counted_yet_is_none() -> None:
    fresh = {**quota({"pods": "0"}), "status": {}}
    assert noted("pods", pod(), fresh) == []


@pytest.mark.parametrize(
    ("bucket", "obj", "found", "told"),
    [
        pytest.param(
            "pods",
            pod(SMALL),
            quota({"pods": "2"}, {"pods": "2"}),
            'pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, '
            "limited: pods=2",
            id="too many",
        ),
        pytest.param(
            "pods",
            pod({"requests": {"cpu": "1", "nvidia.com/gpu": "2"}, "limits": {"memory": "1Gi"}}),
            quota({"requests.nvidia.com/gpu": "1", **COMPUTE}, {"requests.cpu": "250m"}),
            'pods "p" is forbidden: exceeded quota: q, requested: '
            "requests.cpu=1,requests.nvidia.com/gpu=2, used: "
            "requests.cpu=250m,requests.nvidia.com/gpu=0, limited: "
            "requests.cpu=1,requests.nvidia.com/gpu=1",
            id="too much of several things",
        ),
        pytest.param(
            "pods",
            pod({"limits": {"memory": "1Gi"}}, {"requests": {"cpu": "1"}}, inits=({},)),
            quota(COMPUTE),
            'pods "p" is forbidden: failed quota: q: must specify limits.memory for: c1,i0; '
            "requests.cpu for: c0,i0",
            id="what is limited must be said",
        ),
        pytest.param(
            "services",
            service("NodePort", 2),
            quota({"services.nodeports": "1"}),
            'services "s" is forbidden: exceeded quota: q, requested: services.nodeports=2, '
            "used: services.nodeports=0, limited: services.nodeports=1",
            id="ports",
        ),
        pytest.param(
            "services",
            service("LoadBalancer"),
            quota({"services.loadbalancers": "0"}),
            'services "s" is forbidden: exceeded quota: q, requested: services.loadbalancers=1, '
            "used: services.loadbalancers=0, limited: services.loadbalancers=0",
            id="load balancers",
        ),
        pytest.param(
            "persistentvolumeclaims",
            claim("6Gi", "gold"),
            quota({GOLD: "5Gi", "requests.storage": "10Gi"}),
            f'persistentvolumeclaims "c" is forbidden: exceeded quota: q, requested: {GOLD}=6Gi, '
            f"used: {GOLD}=0, limited: {GOLD}=5Gi",
            id="storage of a class",
        ),
        pytest.param(
            "persistentvolumeclaims",
            claim("7Gi"),
            quota(
                {"persistentvolumeclaims": "2", "requests.storage": "10Gi"},
                {"persistentvolumeclaims": "2", "requests.storage": "5632Mi"},
            ),
            'persistentvolumeclaims "c" is forbidden: exceeded quota: q, requested: '
            "persistentvolumeclaims=1,requests.storage=7Gi, used: "
            "persistentvolumeclaims=2,requests.storage=5632Mi, limited: "
            "persistentvolumeclaims=2,requests.storage=10Gi",
            id="storage",
        ),
        pytest.param(
            "deployments.apps",
            {"metadata": {"name": "d2"}},
            quota({"count/deployments.apps": "1"}, {"count/deployments.apps": "1"}),
            'deployments.apps "d2" is forbidden: exceeded quota: q, requested: '
            "count/deployments.apps=1, used: count/deployments.apps=1, limited: "
            "count/deployments.apps=1",
            id="objects of any kind",
        ),
        pytest.param(
            "configmaps",
            CONFIG_MAP,
            {**quota({"configmaps": "1"}), "status": {"hard": {"configmaps": "1"}}},
            'configmaps "c" is forbidden: status unknown for quota: q, resources: configmaps',
            id="nobody knows what is used",
        ),
    ],
)
def test_refusals(bucket: str, obj: Json, found: Json, told: str) -> None:
    with pytest.raises(StatusError) as caught:
        noted(bucket, obj, found)
    assert (caught.value.code, caught.value.reason) == (403, "Forbidden")
    assert caught.value.message == told


def test_a_quota_that_is_exceeded_counts_no_more_of_other_things() -> None:
    exceeded = quota({"pods": "0", "configmaps": "3"}, {"pods": "1"})
    assert noted("configmaps", CONFIG_MAP, exceeded) == [{"pods": "1", "configmaps": "1"}]


@pytest.mark.parametrize("part", ["", "status"])
def test_changes_use_only_what_they_add(part: str) -> None:
    room = quota({"services.nodeports": "3", "services": "1"}, {"services.nodeports": "1"})
    before, after = service("NodePort", 1), service("NodePort", 3)
    found = noted("services", after, room, old=before, part=part)
    assert found == ([] if part else [{"services.nodeports": "3", "services": "0"}])


def test_what_is_given_back_is_not_noted_by_a_write() -> None:
    room = quota({"services.nodeports": "3"}, {"services.nodeports": "2"})
    assert noted("services", service("ClusterIP"), room, old=service("NodePort", 2)) == []


def test_a_claim_that_grows_uses_the_difference() -> None:
    room = quota({"requests.storage": "10Gi"}, {"requests.storage": "1Gi"})
    found = noted("persistentvolumeclaims", claim("3Gi"), room, old=claim("1Gi"))
    assert found == [{"requests.storage": "3Gi"}]


def test_a_pod_that_comes_into_a_scope_is_counted_there() -> None:
    ending = quota({"pods": "5"}, scopes=["Terminating"])
    staying = quota({"pods": "5"}, {"pods": "1"}, scopes=["NotTerminating"])
    bounded = pod(activeDeadlineSeconds=5)
    assert noted("pods", bounded, ending, staying, old=pod()) == [{"pods": "1"}]


def test_an_update_of_another_kind_is_not_asked_about() -> None:
    full = quota({"configmaps": "1"}, {"configmaps": "1"})
    assert noted("configmaps", CONFIG_MAP, full, old=CONFIG_MAP) == []


def test_events_are_never_counted() -> None:
    assert noted("events", CONFIG_MAP, quota({"count/events": "0"})) == []
