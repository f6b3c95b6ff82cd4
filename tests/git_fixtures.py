"""
Fixtures for tests that fetch from git; `conftest.py` registers them.

`git_root` is the folder that servers serve and `repository` is `app.git` in it, with one commit.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.git_keys import PgpKeyring, pgp_keyring
from tests.git_repositories import GitRepository
from tests.git_servers import (
    Certificates,
    HttpServer,
    SshServer,
    certificates,
    http_server,
    ssh_server,
)

CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  color: blue
"""


@pytest.fixture
def git_root(tmp_path: Path) -> Path:
    """Give the folder of the repositories that servers serve."""
    root = tmp_path / "repositories"
    root.mkdir()
    return root


@pytest.fixture
def repository(git_root: Path) -> GitRepository:
    """Give a repository, `app.git`, that holds one manifest."""
    made = GitRepository.create(git_root / "app.git")
    made.commit({"apps/settings.yaml": CONFIG_MAP}, "Add settings")
    return made


@pytest.fixture
def git_http(git_root: Path) -> Iterator[HttpServer]:
    """Serve the repositories over plain HTTP to anybody."""
    with http_server(git_root) as server:
        yield server


@pytest.fixture
def git_ssh(git_root: Path, tmp_path: Path) -> Iterator[SshServer]:
    """Serve the repositories over SSH."""
    with ssh_server(git_root, tmp_path / "sshd") as server:
        yield server


@pytest.fixture(scope="session")
def tls_files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Give certificates, made once."""
    return certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def keyring() -> Iterator[PgpKeyring]:
    """Give an empty PGP keyring."""
    with pgp_keyring() as ring:
        yield ring
