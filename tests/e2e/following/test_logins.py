"""
Logins at git servers: every kind that a Secret can hold, wrong ones, and their correction.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kube_objects.refs import KubeObject
from tests.e2e.following.watching import everything_said, holding, spoil
from tests.e2e.following.world import SourceWorld, config_map
from tests.git_servers import Certificates, HttpServer, SshServer, http_server, ssh_server

PASSWORD = "Tr0ub4dor-and-3"
WRONG = "c0rrect-horse-w0rd"
Login = dict[str, str | bytes]
FILES: dict[str, object] = {"settings.yaml": config_map("settings", color="blue")}


@contextmanager
def tls_server(world: SourceWorld, tls: Certificates, **more: Any) -> Iterator[HttpServer]:
    """Serve the world's repositories over https."""
    with http_server(world.git.root, tls=tls.server, **more) as server:
        yield server


async def follow(world: SourceWorld, server: HttpServer | SshServer) -> None:
    """Follow a repository at a server, with the Secret `login`."""
    url = server.url(world.repository.path.name)
    await world.follow(url=url, secretRef={"name": "login"})


async def correct_secret(world: SourceWorld, data: Mapping[str, bytes | str]) -> None:
    """Write other values into the Secret `login`."""
    ref = world.ref("v1", "Secret", "login")
    encoded = {
        key: b64encode(each if isinstance(each, bytes) else each.encode()).decode()
        for key, each in data.items()
    }
    await world.merge(ref, {"data": encoded})


def conditions(source: KubeObject) -> set[str]:
    """Return the types of all conditions that hold."""
    return {each["type"] for each in source["status"]["conditions"] if each["status"] == "True"}


async def test_a_password_and_a_private_authority(
    world: SourceWorld, tls_files: Certificates
) -> None:
    commit = world.commit(FILES)
    with tls_server(world, tls_files, users={"git": PASSWORD}) as server:
        login: Login = {"username": "git", "password": PASSWORD, "ca.crt": tls_files.ca.certificate}
        await world.secret("login", **login)
        await follow(world, server)
        await world.ready(commit)
        await holding(world, "settings", color="blue")
    assert PASSWORD not in await everything_said(world)


async def test_a_bearer_token(world: SourceWorld, tls_files: Certificates) -> None:
    commit = world.commit(FILES)
    with tls_server(world, tls_files, bearer_tokens=[PASSWORD]) as server:
        login: Login = {"bearerToken": PASSWORD, "ca.crt": tls_files.ca.certificate}
        await world.secret("login", **login)
        await follow(world, server)
        await world.ready(commit)
        sent = {each.headers.get("Authorization") for each in server.requests}
    assert f"Bearer {PASSWORD}" in sent
    assert PASSWORD not in await everything_said(world)


async def test_a_client_certificate(world: SourceWorld, tls_files: Certificates) -> None:
    commit = world.commit(FILES)
    with tls_server(world, tls_files, client_ca=tls_files.ca) as server:
        await world.secret("login", **{"ca.crt": tls_files.ca.certificate})
        await follow(world, server)
        await world.reported("FetchFailed", reason="GitTlsFailed")
        client = tls_files.client
        await correct_secret(world, {"tls.crt": client.certificate, "tls.key": client.key})
        await world.ready(commit)


async def test_a_server_whose_authority_is_unknown_is_not_believed(
    world: SourceWorld, tls_files: Certificates
) -> None:
    commit = world.commit(FILES)
    with tls_server(world, tls_files, users={"git": PASSWORD}) as server:
        login: Login = {"username": "git", "password": PASSWORD}
        await world.secret("login", **login, **{"ca.crt": tls_files.other_ca.certificate})
        await follow(world, server)
        await world.reported("FetchFailed", reason="GitTlsFailed", text="'ca.crt' of the Secret")
        assert not server.requests, "nobody who cannot be trusted is told the password"
        await correct_secret(world, {"ca.crt": tls_files.ca.certificate})
        await world.ready(commit)


async def test_ssh_with_a_known_host(world: SourceWorld, tmp_path: Path) -> None:
    commit = world.commit(FILES)
    with ssh_server(world.git.root, tmp_path / "sshd") as server:
        key = server.client_key.private
        await world.secret("login", identity=key, known_hosts=server.known_hosts)
        await follow(world, server)
        await world.ready(commit)
        await holding(world, "settings", color="blue")
        second = world.commit({"settings.yaml": config_map("settings", color="green")})
        await world.ready(second)


async def test_ssh_without_known_hosts_says_what_is_missing(
    world: SourceWorld, tmp_path: Path
) -> None:
    commit = world.commit(FILES)
    with ssh_server(world.git.root, tmp_path / "sshd") as server:
        await world.secret("login", identity=server.client_key.private)
        await follow(world, server)
        await world.reported("FetchFailed", text="lacks 'known_hosts' (give the server's host keys")
        assert server.connections == 0
        await correct_secret(world, {"known_hosts": server.known_host(server.client_key)})
        await world.reported("FetchFailed", reason="GitHostKeyUnknown")
        await correct_secret(world, {"known_hosts": server.known_hosts})
        source = await world.ready(commit)
        assert not {"FetchFailed", "Stalled"} & conditions(source)


@pytest.mark.parametrize("echo", ["", "you sent {authorization}\n"], ids=["silent", "echoing"])
async def test_a_wrong_password_is_told_without_it_and_can_be_corrected(
    world: SourceWorld, tls_files: Certificates, echo: str
) -> None:
    commit = world.commit(FILES)
    with tls_server(world, tls_files, users={"git": PASSWORD}) as server:
        server.error_body(echo or "no\n")
        login: Login = {"username": "git", "password": WRONG, "ca.crt": tls_files.ca.certificate}
        await world.secret("login", **login)
        await follow(world, server)
        hint = "check the Secret named in 'secretRef'"
        source = await world.reported("FetchFailed", reason="GitAuthFailed", text=hint)
        assert source["status"]["phase"] == "Failed"
        assert "lastAppliedRevision" not in source["status"]
        said = await everything_said(world)
        assert WRONG not in said
        assert b64encode(f"git:{WRONG}".encode()).decode() not in said
        await correct_secret(world, {"password": PASSWORD})
        source = await world.ready(commit)
        assert not {"FetchFailed", "Stalled"} & conditions(source)


async def test_a_password_that_ceases_to_hold_leaves_everything_at_work(
    world: SourceWorld, tls_files: Certificates
) -> None:
    commit = world.commit(FILES)
    with tls_server(world, tls_files, users={"git": PASSWORD}) as server:
        login: Login = {"username": "git", "password": PASSWORD, "ca.crt": tls_files.ca.certificate}
        await world.secret("login", **login)
        await follow(world, server)
        await world.ready(commit)
        server.users = {"git": "another"}
        world.commit({"settings.yaml": None, "other.yaml": config_map("other")})
        source = await world.reported("FetchFailed", reason="GitAuthFailed")
        assert source["status"]["lastAppliedRevision"] == f"main@sha1:{commit}"
        await spoil(world, "settings", color="red")
        await holding(world, "settings", color="blue")


async def test_a_secret_that_is_not_there_yet(world: SourceWorld, tls_files: Certificates) -> None:
    commit = world.commit(FILES)
    with tls_server(world, tls_files, users={"git": PASSWORD}) as server:
        await follow(world, server)
        text = f"there is no Secret {world.namespace}/login"
        await world.reported("FetchFailed", reason="SecretNotFound", text=text)
        login: Login = {"username": "git", "password": PASSWORD, "ca.crt": tls_files.ca.certificate}
        await world.secret("login", **login)
        await world.ready(commit)
