"""The namespace of a team, over HTTP: what is filled in, refused and given back."""

import asyncio
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from kube_sandbox.controllers.workloads.plan_steps import Settings
from kube_sandbox.server import SandboxServer, ServerOptions

Json = dict[str, Any]
NAMESPACE: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
LIMITS: Json = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "limits"},
    "spec": {"limits": [{"type": "Container", "default": {"cpu": "500m", "memory": "256Mi"}}]},
}
QUOTA: Json = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "quota"},
    "spec": {"hard": {"requests.cpu": "1", "limits.memory": "1Gi", "count/deployments.apps": "1"}},
}
DEPLOYMENT: Json = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "nginx"}]},
        },
    },
}
CORE, APPS = "/api/v1/namespaces/team", "/apis/apps/v1/namespaces/team"


class Client:
    """Somebody who talks to the server."""

    def __init__(self, cluster: SandboxServer) -> None:
        config = json.loads(cluster.kubeconfig)
        self._url = cluster.url
        self._token = config["users"][0]["user"]["token"]
        self._context = ssl.create_default_context()
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE

    async def asks(self, method: str, path: str, body: Json | None = None) -> Json:
        """Return the answer, an object or a Status."""
        return await asyncio.to_thread(self._ask, method, path, body)

    def _ask(self, method: str, path: str, body: Json | None) -> Json:
        head = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self._url + path, data, head, method=method)
        try:
            with urllib.request.urlopen(request, context=self._context, timeout=10) as answer:
                found: Json = json.load(answer)
        except urllib.error.HTTPError as refusal:
            with refusal:
                found = json.load(refusal)
        return found

    async def sees(self, path: str, holds: Callable[[Json], Any]) -> Json:
        """Return an object once something is true of it."""
        found: Json = {}
        for _ in range(500):
            found = await self.asks("GET", path)
            if holds(found):
                return found
            await asyncio.sleep(0.02)
        raise AssertionError(f"it stays like this: {found}")


def _is_account(found: Json) -> bool:
    return bool(found["kind"] == "ServiceAccount")


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    options = ServerOptions(tmp_path, ephemeral=True, workloads=Settings(step=0.0))
    cluster = SandboxServer(options)
    await cluster.open()
    client = Client(cluster)
    await client.asks("POST", "/api/v1/namespaces", NAMESPACE)
    await client.asks("POST", f"{CORE}/limitranges", LIMITS)
    await client.asks("POST", f"{CORE}/resourcequotas", QUOTA)
    await client.sees(f"{CORE}/serviceaccounts/default", _is_account)
    await client.sees(f"{CORE}/resourcequotas/quota", lambda found: found["status"])
    yield client
    await cluster.close()


async def test_a_team_gets_no_more_than_its_share(client: Client) -> None:
    await client.asks("POST", f"{APPS}/deployments", DEPLOYMENT)
    failed = await client.sees(
        f"{APPS}/deployments/web",
        lambda found: any(
            each["type"] == "ReplicaFailure" for each in found["status"].get("conditions", ())
        ),
    )
    assert failed["status"]["replicas"] == 2
    quota = await client.asks("GET", f"{CORE}/resourcequotas/quota")
    assert quota["status"]["used"] == {
        "count/deployments.apps": "1",
        "limits.memory": "512Mi",
        "requests.cpu": "1",
    }
    owners = {each["manager"]: each for each in quota["metadata"]["managedFields"]}
    used = owners["kube-apiserver"]["fieldsV1"]["f:status"]["f:used"]
    assert sorted(used) == ["f:count/deployments.apps", "f:limits.memory", "f:requests.cpu"]
    pod = (await client.asks("GET", f"{CORE}/pods"))["items"][0]
    assert pod["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "500m", "memory": "256Mi"},
        "requests": {"cpu": "500m", "memory": "256Mi"},
    }
    another = {**DEPLOYMENT, "metadata": {"name": "more"}}
    refused = await client.asks("POST", f"{APPS}/deployments", another)
    assert refused["message"] == (
        'deployments.apps "more" is forbidden: exceeded quota: quota, requested: '
        "count/deployments.apps=1, used: count/deployments.apps=1, limited: "
        "count/deployments.apps=1"
    )
    events = (await client.asks("GET", f"{CORE}/events"))["items"]
    assert {each["reason"] for each in events} >= {"FailedCreate"}


async def test_what_goes_makes_room(client: Client) -> None:
    await client.asks("POST", f"{APPS}/deployments", DEPLOYMENT)
    quota = f"{CORE}/resourcequotas/quota"
    await client.sees(quota, lambda found: found["status"]["used"]["requests.cpu"] == "1")
    await client.asks("DELETE", f"{APPS}/deployments/web", {"propagationPolicy": "Background"})
    found = await client.sees(quota, lambda now: now["status"]["used"]["requests.cpu"] == "0")
    assert found["status"]["used"]["count/deployments.apps"] == "0"


async def test_a_rehearsal_uses_nothing(client: Client) -> None:
    before = await client.asks("GET", f"{CORE}/resourcequotas/quota")
    made = await client.asks("POST", f"{APPS}/deployments?dryRun=All", DEPLOYMENT)
    assert made["kind"] == "Deployment"
    assert await client.asks("GET", f"{CORE}/resourcequotas/quota") == before


async def test_a_workload_tells_that_its_pods_are_not_secure_enough(client: Client) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    safe = {**NAMESPACE, "metadata": {"name": "safe", "labels": labels}}
    await client.asks("POST", "/api/v1/namespaces", safe)
    await client.sees("/api/v1/namespaces/safe/serviceaccounts/default", _is_account)
    path = "/apis/apps/v1/namespaces/safe/deployments"
    await client.asks("POST", path, DEPLOYMENT)
    found = await client.sees(
        f"{path}/web",
        lambda now: [
            each for each in now["status"].get("conditions", ()) if each["type"] == "ReplicaFailure"
        ],
    )
    (told,) = (each for each in found["status"]["conditions"] if each["type"] == "ReplicaFailure")
    assert told["reason"] == "FailedCreate"
    assert 'is forbidden: violates PodSecurity "restricted:latest"' in told["message"]


async def test_the_priorities_of_a_clusters_own_parts_stay(client: Client) -> None:
    path = "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical"
    refused = await client.asks("DELETE", path)
    assert (refused["code"], refused["message"]) == (
        403,
        'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: '
        "this is a system priority class and cannot be deleted",
    )


async def test_a_namespace_with_a_job_at_work_can_go(client: Client) -> None:
    outcome = {"kube-sandbox.dev/outcome": "Running"}
    container = {"name": "a", "image": "x", "resources": {"limits": {"cpu": "10m"}}}
    template = {
        "metadata": {"annotations": outcome},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}}
    jobs = "/apis/batch/v1/namespaces/team/jobs"
    await client.asks("POST", jobs, {**job, "spec": {"template": template}})
    await client.sees(f"{jobs}/job", lambda found: found["status"].get("ready"))
    await client.asks("DELETE", "/api/v1/namespaces/team")
    await client.sees("/api/v1/namespaces/team", lambda found: found.get("code") == 404)
