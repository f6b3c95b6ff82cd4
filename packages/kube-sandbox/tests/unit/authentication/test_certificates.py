"""Keys and certificates: made once, kept, renewed in time."""

import json
import socket
import ssl
import stat
import threading
from base64 import b64decode
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kube_sandbox.authentication.certificates import KeyFiles, ensure_keys, kubeconfig

NOW = datetime.now(UTC)


def contents(keys: KeyFiles) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in keys.folder.iterdir()}


def greeted(keys: KeyFiles, name: str) -> str:
    """Say which version of TLS a client that trusts the authority speaks with a server."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(keys.certificate, keys.key)
    ours, theirs = socket.socketpair()

    def answer() -> None:
        with theirs, server.wrap_socket(theirs, server_side=True) as wrapped:
            wrapped.sendall(b"x")

    thread = threading.Thread(target=answer)
    thread.start()
    client = ssl.create_default_context(cafile=str(keys.authority))
    with ours, client.wrap_socket(ours, server_hostname=name) as wrapped:
        assert wrapped.recv(1) == b"x"
        version = wrapped.version()
    thread.join()
    return version or ""


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "::1", "kubernetes.default.svc"])
def test_clients_that_trust_the_authority_trust_the_server(tmp_path: Path, name: str) -> None:
    assert greeted(ensure_keys(tmp_path / "keys", NOW), name) == "TLSv1.3"


def test_only_the_owner_can_read_them(tmp_path: Path) -> None:
    keys = ensure_keys(tmp_path / "keys", NOW)
    assert stat.S_IMODE(keys.folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in keys.folder.iterdir()} == {0o600}


def test_they_are_made_once(tmp_path: Path) -> None:
    before = contents(ensure_keys(tmp_path, NOW))
    assert contents(ensure_keys(tmp_path, NOW + timedelta(days=300))) == before


def test_a_certificate_is_renewed_in_time_and_the_authority_stays(tmp_path: Path) -> None:
    before = contents(ensure_keys(tmp_path, NOW - timedelta(days=340)))
    keys = ensure_keys(tmp_path, NOW)
    after = contents(keys)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"server.crt", "server.key", "keys.json"}
    assert greeted(keys, "localhost")


def test_an_authority_is_renewed_before_a_certificate_outlives_it(tmp_path: Path) -> None:
    before = contents(ensure_keys(tmp_path, NOW - timedelta(days=3300)))
    keys = ensure_keys(tmp_path, NOW)
    after = contents(keys)
    assert before["ca.crt"] != after["ca.crt"]
    assert before["service-account.key"] == after["service-account.key"]
    assert greeted(keys, "localhost")


@pytest.mark.parametrize(
    "name", ["ca.crt", "ca.key", "server.crt", "server.key", "keys.json", "service-account.key"]
)
@pytest.mark.parametrize("is_gone", [True, False], ids=["gone", "spoilt"])
def test_what_is_gone_or_spoilt_is_made_anew(tmp_path: Path, name: str, is_gone: bool) -> None:
    keys = ensure_keys(tmp_path, NOW)
    if is_gone:
        (tmp_path / name).unlink()
    elif name != "service-account.key":
        (tmp_path / name).write_bytes(b"x")
    keys = ensure_keys(tmp_path, NOW)
    assert greeted(keys, "localhost")
    assert keys.token_key.read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----")


def test_a_kubeconfig_has_all_that_kubectl_needs() -> None:
    content = json.loads(kubeconfig("https://127.0.0.1:1", b"PEM", "secret", "here"))
    assert "tls-server-name" not in content["clusters"][0]["cluster"]
    (cluster,), (user,) = content["clusters"], content["users"]
    assert cluster["cluster"]["server"] == "https://127.0.0.1:1"
    assert b64decode(cluster["cluster"]["certificate-authority-data"]) == b"PEM"
    assert user["user"] == {"token": "secret"}
    assert content["current-context"] == content["contexts"][0]["name"] == "here"


def test_at_another_address_the_certificate_is_still_the_one_of_loopback() -> None:
    content = json.loads(kubeconfig("https://192.0.2.7:1", b"PEM", "secret", "here"))
    assert content["clusters"][0]["cluster"]["tls-server-name"] == "localhost"
