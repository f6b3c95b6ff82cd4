"""Kubeconfigs without a credential plugin, read as kubectl reads them."""

import base64
import json
import subprocess
import sys
from pathlib import Path, PurePath
from typing import Any

import pytest

from kro_gitops.kube.credentials import Credentials, CredentialsError, from_kubeconfigs
from kro_gitops.kube.kubeconfig import Kubeconfigs
from tests.certificates import certificates

SERVER = "http://127.0.0.1:1"


def config(
    user: dict[str, Any] | None = None,
    name: str = "x",
    cluster: dict[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "clusters": [{"name": name, "cluster": {"server": SERVER, **(cluster or {})}}],
        "users": [{"name": name, "user": user or {}}],
    }


def merged(*configs: dict[str, Any]) -> Kubeconfigs:
    files = [(PurePath(f"/{n}/config"), json.dumps(each)) for n, each in enumerate(configs)]
    return Kubeconfigs(files)


async def access(folder: Path, *configs: dict[str, Any], context: str | None = None) -> Credentials:
    paths = [folder / f"config-{number}" for number in range(len(configs))]
    for path, each in zip(paths, configs, strict=True):
        path.write_text(json.dumps(each))
    return await from_kubeconfigs(paths, context)


def test_the_first_file_that_sets_something_wins() -> None:
    first, second = config(name="a"), config(name="b")
    again = config(name="a", cluster={"tls-server-name": "ignored"})
    found = merged(first, second, again)
    assert found.context().name == "a"
    assert found.context("b").name == "b"
    assert found.context("a").cluster.text("tls-server-name") == ""


def test_a_context_may_refer_to_entries_of_another_file() -> None:
    contexts = {"contexts": [{"name": "c", "context": {"cluster": "x", "user": "x"}}]}
    found = merged(contexts, config({"token": "t"})).context("c")
    assert (found.server, found.user.text("token"), found.user_name) == (SERVER, "t", "x")


def test_a_relative_path_counts_from_its_own_file() -> None:
    users = {"users": [{"name": "x", "user": {"client-certificate": "me.pem"}}]}
    found = merged(users, config(cluster={"certificate-authority": "../ca.pem"})).context()
    assert found.user.pem("client-certificate") == PurePath("/0/me.pem")
    assert found.cluster.pem("certificate-authority") == PurePath("/1/../ca.pem")


def test_data_wins_over_a_file() -> None:
    data = base64.b64encode(b"pem").decode()
    cluster = {"certificate-authority": "x", "certificate-authority-data": data}
    found = merged(config(cluster=cluster))
    assert found.context().cluster.pem("certificate-authority") == b"pem"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "/config is not valid YAML"),
        ("- a", "/config is not a kubeconfig"),
        ("contexts: []", "no context is given, and current-context is not set"),
        ("current-context: a", "context 'a' does not exist"),
        ("users: [{}]", "an entry of users has no name"),
        ("clusters: [{name: a, cluster: b}]", "cluster 'a' is no mapping"),
        (
            "{current-context: a, contexts: [{name: a, context: {cluster: b}}]}",
            "cluster 'b' of context 'a' is missing",
        ),
        (
            "{current-context: a, contexts: [{name: a, context: {cluster: b}}],"
            " clusters: [{name: b}]}",
            "cluster 'b' has no server",
        ),
    ],
)
def test_what_cannot_be_used_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Kubeconfigs([(PurePath("/config"), text)]).context()


def test_a_mistake_in_the_file_shows_nothing_of_it() -> None:
    with pytest.raises(ValueError, match=r"not valid YAML") as caught:
        Kubeconfigs([(PurePath("/config"), "token: 'very-secret\n  x: [")])
    assert "very-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("user", "header"),
    [
        ({}, None),
        ({"token": " abc\n"}, "Bearer abc"),
        ({"username": "me", "password": "pw"}, "Basic bWU6cHc="),
        ({"username": "me"}, None),
        ({"token": "abc", "username": "me", "password": "pw"}, "Bearer abc"),
        ({"token": "old", "tokenFile": "token"}, "Bearer from-file"),
        ({"token": "abc", "tokenFile": "missing"}, "Bearer abc"),
    ],
)
async def test_the_header(user: dict[str, Any], header: str | None, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file\n")
    assert await (await access(tmp_path, config(user))).authorization() == header


async def test_a_token_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="missing") as caught:
        await access(tmp_path, config({"tokenFile": "missing"}))
    assert caught.value.code == "bad-kubeconfig"


async def test_proxy_server_name_and_impersonation(tmp_path: Path) -> None:
    user = {"as": "robot", "as-groups": ["g"], "as-uid": "7", "as-user-extra": {"k": ["v"]}}
    cluster = {"proxy-url": "http://proxy:1", "tls-server-name": "api"}
    found = await access(tmp_path, config(user, cluster=cluster))
    assert (found.proxy, found.server_name, found.tls) == ("http://proxy:1", "api", None)
    assert found.identity is not None
    assert (found.identity.user, found.identity.groups) == ("robot", ("g",))


async def test_certificates_inline_and_in_files(tmp_path: Path) -> None:
    made = certificates(tmp_path / "made")
    files = {"ca": made.ca.certificate, "crt": made.client.certificate, "key": made.client.key}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    data = {name: base64.b64encode(content).decode() for name, content in files.items()}
    server = {"server": "https://127.0.0.1:1"}
    inline = await access(
        tmp_path,
        config(
            {"client-certificate-data": data["crt"], "client-key-data": data["key"]},
            cluster={**server, "certificate-authority-data": data["ca"]},
        ),
    )
    by_file = await access(
        tmp_path,
        config(
            {"client-certificate": "crt", "client-key": "key"},
            cluster={**server, "certificate-authority": "ca"},
        ),
    )
    for found in (inline, by_file):
        assert found.tls is not None
        assert found.tls.cert_store_stats()["x509_ca"] == 1
        assert found.tls.check_hostname


async def test_verification_can_be_switched_off(tmp_path: Path) -> None:
    cluster = {"server": "https://127.0.0.1:1", "insecure-skip-tls-verify": True}
    found = await access(tmp_path, config(cluster=cluster))
    assert found.tls is not None
    assert not found.tls.check_hostname


async def test_data_that_is_no_certificate_is_rejected(tmp_path: Path) -> None:
    cluster = {"server": "https://127.0.0.1:1", "certificate-authority-data": "bm9uZQ=="}
    with pytest.raises(CredentialsError, match="a certificate cannot be used"):
        await access(tmp_path, config(cluster=cluster))


@pytest.mark.parametrize(
    ("user", "is_loaded"),
    [({"token": "t"}, False), ({"exec": {"command": "/bin/false"}}, True)],
)
def test_the_kubernetes_package_is_imported_for_plugins_only(
    user: dict[str, Any], is_loaded: bool, tmp_path: Path
) -> None:
    path = tmp_path / "config"
    path.write_text(json.dumps(config(user)))
    code = f"""
import asyncio, contextlib, pathlib, sys
from kro_gitops.kube.credentials import CredentialsError, from_kubeconfigs
with contextlib.suppress(CredentialsError):
    asyncio.run(from_kubeconfigs([pathlib.Path({str(path)!r})]))
print("kubernetes" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{is_loaded}\n"
