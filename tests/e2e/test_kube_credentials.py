"""Being somebody to a real API server."""

import json
import secrets
from pathlib import Path
from typing import Any

import pytest
from kubernetes.aio.config import incluster_config

from kro_gitops.errors import ClusterUnavailable
from kro_gitops.kube.credentials import CredentialsError, from_kubeconfigs, in_cluster
from kro_gitops.kube.requests import JSON, Request
from kro_gitops.kube.responses import Unauthorized
from kro_gitops.kube.transport import Transport
from kube_objects.refs import KubeObject
from tests.connection import Connection, connect
from tools.cluster.plane import Plane

REVIEW: KubeObject = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
WHO = Request(
    "create",
    "selfsubjectreviews",
    "POST",
    "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    headers=(("Accept", JSON), ("Content-Type", JSON)),
    body=REVIEW,
)


async def user_of(transport: Transport) -> str:
    name: str = (await transport.send(WHO))["status"]["userInfo"]["username"]
    return name


@pytest.fixture
def pod(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, plane: Plane) -> Path:
    """Make this process believe it runs in a pod; returns where its token goes."""
    cluster = json.loads(plane.kubeconfig.read_text())["clusters"][0]["cluster"]
    host, _, port = cluster["server"].removeprefix("https://").partition(":")
    token = tmp_path / "token"
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    authority = cluster["certificate-authority"]
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", authority)
    return token


async def token_of(connection: Connection, namespace: str, account: str) -> str:
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    headers = (("Accept", JSON), ("Content-Type", JSON))
    request = Request("create", "token", "POST", path, headers=headers, body=body)
    token: str = (await connection.transport.send(request))["status"]["token"]
    return token


def put(file: Path, text: str) -> None:
    file.write_text(text)


def changed(kubeconfig: Path, folder: Path, **parts: Any) -> Path:
    """Write a copy of a kubeconfig with some parts replaced."""
    copy = folder / "kubeconfig"
    copy.write_text(json.dumps({**json.loads(kubeconfig.read_text()), **parts}))
    return copy


async def test_a_pod_acts_as_its_service_account(plane: Plane, pod: Path) -> None:
    name = f"robot-{secrets.token_hex(4)}"
    account = {"name": name, "namespace": "default"}
    put(pod, "outdated")
    async with (
        connect(plane.kubeconfig) as connection,
        Transport(await in_cluster()) as transport,
    ):
        with pytest.raises(Unauthorized):
            await user_of(transport)
        made = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account}
        await connection.client.create(made)
        put(pod, await token_of(connection, "default", name))
        assert await user_of(transport) == f"system:serviceaccount:default:{name}"


async def test_outside_of_a_pod_there_is_no_service_account(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(CredentialsError, match="no way to a cluster"):
        await in_cluster()


async def test_a_context_other_than_the_current_one(plane: Plane, tmp_path: Path) -> None:
    context = {"cluster": "local", "user": "admin"}
    contexts = [{"name": "other", "context": context}]
    copy = changed(plane.kubeconfig, tmp_path, contexts=contexts, **{"current-context": "missing"})
    async with Transport(await from_kubeconfigs([copy], "other")) as transport:
        assert await user_of(transport) == "admin"


async def test_a_server_that_nobody_vouches_for_is_not_trusted(
    plane: Plane, tmp_path: Path
) -> None:
    clusters = [{"name": "local", "cluster": {"server": plane.url}}]
    copy = changed(plane.kubeconfig, tmp_path, clusters=clusters)
    async with Transport(await from_kubeconfigs([copy])) as transport:
        with pytest.raises(ClusterUnavailable, match="certificate"):
            await user_of(transport)


async def test_a_certificate_that_is_none_is_refused(plane: Plane, tmp_path: Path) -> None:
    cluster = {"server": plane.url, "certificate-authority": str(plane.kubeconfig)}
    clusters = [{"name": "local", "cluster": cluster}]
    with pytest.raises(CredentialsError, match="a certificate cannot be used"):
        await from_kubeconfigs([changed(plane.kubeconfig, tmp_path, clusters=clusters)])
