"""Fetching over TLS: whom we believe, who believes us, and a proxy in between."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kro_gitops.errors import KroGitopsError
from kro_gitops.source.api.types import WantedRef
from kro_gitops.source.git.credentials import ANONYMOUS, Credentials, Proxy
from kro_gitops.source.git.mirror import Mirrors
from kro_gitops.source.git.types import Remote
from tests.e2e.git.fetching import (
    ON_THIS_MACHINE,
    Fetcher,
    everything_said,
    failure,
    newest,
    recording,
    watching,
)
from tests.git_repositories import GitRepository
from tests.git_servers import Certificates, ConnectProxy, HttpServer, connect_proxy, http_server

SECRET = "pl4nted-s3cret"


@pytest.fixture
def server(git_root: Path, tls_files: Certificates) -> Iterator[HttpServer]:
    """Serve over TLS with a certificate of our own authority."""
    with http_server(git_root, tls=tls_files.server) as running:
        yield running


@pytest.fixture
def proxy() -> Iterator[ConnectProxy]:
    """Run a proxy that asks for a password."""
    with connect_proxy({"me": SECRET}) as running:
        yield running


def test_an_authority_of_the_secret_is_believed(
    fetcher: Fetcher, server: HttpServer, repository: GitRepository, tls_files: Certificates
) -> None:
    login = Credentials(ca=tls_files.ca.certificate)
    assert newest(fetcher.mirror(server.url("app.git"), login)) == repository.head()


@pytest.mark.parametrize("ca", ["none", "other"])
def test_a_server_that_nobody_vouches_for_is_not_asked(
    fetcher: Fetcher,
    server: HttpServer,
    repository: GitRepository,
    tls_files: Certificates,
    ca: str,
) -> None:
    login = ANONYMOUS if ca == "none" else Credentials(ca=tls_files.other_ca.certificate)
    error = failure(lambda: newest(fetcher.mirror(server.url("app.git"), login)))
    assert error.code == "git-tls-failed"
    assert "certificate" in error.message
    assert server.count() == 0


def test_a_client_certificate_opens(
    fetcher: Fetcher, git_root: Path, repository: GitRepository, tls_files: Certificates
) -> None:
    ours = Credentials(
        ca=tls_files.ca.certificate,
        client_certificate=tls_files.client.certificate,
        client_key=tls_files.client.key,
    )
    with http_server(git_root, tls=tls_files.server, client_ca=tls_files.ca) as server:
        url = server.url("app.git")
        assert newest(fetcher.mirror(url, ours)) == repository.head()
        without = Credentials(ca=tls_files.ca.certificate)
        assert isinstance(failure(lambda: newest(fetcher.mirror(url, without))), KroGitopsError)


def test_a_certificate_without_its_key_opens_nothing_that_was_fetched_with_it(
    fetcher: Fetcher, git_root: Path, repository: GitRepository, tls_files: Certificates
) -> None:
    """A certificate is no secret; whoever knows it, and a commit, must still log in."""
    owner = Credentials(
        ca=tls_files.ca.certificate,
        client_certificate=tls_files.client.certificate,
        client_key=tls_files.client.key,
    )
    other = replace(owner, client_key=tls_files.other_ca.key)
    with http_server(git_root, tls=tls_files.server, client_ca=tls_files.ca) as server:
        url, mirrors = server.url("app.git"), Mirrors(fetcher.root, ON_THIS_MACHINE)
        commit = newest(mirrors.of(Remote(url, owner)))
        wanted = WantedRef(commit=commit)
        error = failure(lambda: newest(mirrors.of(Remote(url, other)), wanted))
        mirrors.close()
    assert error.code == "git-tls-failed"


def test_keys_are_seen_by_nobody(
    fetcher: Fetcher, git_root: Path, repository: GitRepository, tls_files: Certificates
) -> None:
    key = tls_files.client.key
    line = key.splitlines()[1].decode()
    login = Credentials(
        ca=tls_files.ca.certificate,
        client_certificate=tls_files.client.certificate,
        client_key=key,
    )
    with (
        http_server(git_root, tls=tls_files.server, client_ca=tls_files.ca) as server,
        recording() as records,
        watching() as watch,
    ):
        newest(fetcher.mirror(server.url("app.git"), login))
    assert "git" in watch.argvs()
    assert line not in watch.argvs() + watch.environments() + "\n".join(records)
    assert not [path for path in fetcher.root.rglob("*") if path.is_file() and _is_open(path, key)]


def test_a_proxy_is_used(
    fetcher: Fetcher,
    server: HttpServer,
    proxy: ConnectProxy,
    repository: GitRepository,
    tls_files: Certificates,
) -> None:
    login = Credentials(ca=tls_files.ca.certificate)
    way = Proxy(proxy.address, "me", SECRET)
    with recording() as records, watching() as watch:
        mirror = fetcher.mirror(server.url("app.git"), login, proxy=way)
        assert newest(mirror) == repository.head()
    assert len(proxy.targets) >= 2
    assert len(proxy.targets) == server.count(), "every request came by the proxy"
    assert SECRET not in watch.argvs() + "\n".join(records)


def test_a_proxy_that_refuses_us_is_told(
    fetcher: Fetcher,
    server: HttpServer,
    proxy: ConnectProxy,
    repository: GitRepository,
    tls_files: Certificates,
) -> None:
    login = Credentials(ca=tls_files.ca.certificate)
    way = Proxy(proxy.address, "me", f"no-{SECRET}")
    mirror = fetcher.mirror(server.url("app.git"), login, proxy=way)
    error = failure(lambda: newest(mirror))
    assert "proxy" in (error.message + error.hint).lower()
    assert SECRET not in everything_said(error)
    assert server.count() == 0


def _is_open(path: Path, secret: bytes) -> bool:
    return secret in path.read_bytes() and bool(path.stat().st_mode & 0o077)
