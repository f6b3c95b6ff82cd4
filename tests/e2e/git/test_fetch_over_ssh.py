"""Fetching over SSH from a real sshd: keys, passphrases, and hosts that nobody knows."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kro_gitops.errors import Unavailable
from kro_gitops.source.git.credentials import ANONYMOUS, Credentials, SshLogin
from tests.child_processes import processes_in
from tests.e2e.git.fetching import (
    Fetcher,
    everything_said,
    failure,
    newest,
    recording,
    texts,
    watching,
)
from tests.git_fixtures import CONFIG_MAP
from tests.git_keys import SshKey, ssh_key
from tests.git_repositories import GitRepository
from tests.git_servers import SshServer

PASSPHRASE = "pl4nted-s3cret"


def login(server: SshServer, key: SshKey | None = None, hosts: bytes | None = None) -> Credentials:
    used = key or server.client_key
    known = server.known_hosts if hosts is None else hosts
    return Credentials(ssh=SshLogin(used.private, known, used.passphrase))


def test_a_key_opens(fetcher: Fetcher, git_ssh: SshServer, repository: GitRepository) -> None:
    mirror = fetcher.mirror(git_ssh.url("app.git"), login(git_ssh))
    commit = newest(mirror)
    assert commit == repository.head(), git_ssh.log
    assert texts(mirror, commit) == {"apps/settings.yaml": CONFIG_MAP.encode()}
    before = git_ssh.connections
    newest(mirror)
    assert git_ssh.connections == before + 1, "a poll is one connection"


def test_a_key_with_a_passphrase_opens(
    fetcher: Fetcher, git_ssh: SshServer, repository: GitRepository, tmp_path: Path
) -> None:
    key = ssh_key(tmp_path / "keys", "locked", passphrase=PASSPHRASE)
    git_ssh.welcome(key)
    with recording() as records, watching() as watch:
        mirror = fetcher.mirror(git_ssh.url("app.git"), login(git_ssh, key))
        assert newest(mirror) == repository.head(), git_ssh.log
    assert "ssh" in watch.argvs()
    assert PASSPHRASE not in watch.argvs() + "\n".join(records)


def test_a_wrong_passphrase_is_told(
    fetcher: Fetcher, git_ssh: SshServer, repository: GitRepository, tmp_path: Path
) -> None:
    key = ssh_key(tmp_path / "keys", "locked", passphrase="right-passphrase")
    git_ssh.welcome(key)
    wrong = login(git_ssh, SshKey(key.path, PASSPHRASE))
    error = failure(lambda: newest(fetcher.mirror(git_ssh.url("app.git"), wrong)))
    assert error.code == "ssh-key-unreadable"
    assert PASSPHRASE not in everything_said(error)


def test_a_key_that_the_server_does_not_know_is_told(
    fetcher: Fetcher, git_ssh: SshServer, repository: GitRepository, tmp_path: Path
) -> None:
    stranger = login(git_ssh, ssh_key(tmp_path / "keys", "stranger"))
    error = failure(lambda: newest(fetcher.mirror(git_ssh.url("app.git"), stranger)))
    assert error.code == "git-auth-failed"


def test_without_a_key_nothing_is_tried(
    fetcher: Fetcher, git_ssh: SshServer, repository: GitRepository
) -> None:
    failure(lambda: newest(fetcher.mirror(git_ssh.url("app.git"), ANONYMOUS)))
    assert "Accepted" not in git_ssh.log


@pytest.mark.parametrize("hosts", ["none", "another"])
def test_a_host_that_nobody_knows_is_not_believed(
    fetcher: Fetcher,
    git_ssh: SshServer,
    repository: GitRepository,
    tmp_path: Path,
    hosts: str,
) -> None:
    another = git_ssh.known_host(ssh_key(tmp_path / "keys", "another-host"))
    known = another if hosts == "another" else b"[example.com]:22 " + another.split(b" ", 1)[1]
    error = failure(
        lambda: newest(fetcher.mirror(git_ssh.url("app.git"), login(git_ssh, hosts=known)))
    )
    assert error.code == "git-host-key-unknown"
    assert "Accepted" not in git_ssh.log


def test_a_repository_that_is_not_there_is_told(
    fetcher: Fetcher, git_ssh: SshServer, repository: GitRepository
) -> None:
    mirror = fetcher.mirror(git_ssh.url("nothing.git"), login(git_ssh))
    error = failure(lambda: newest(mirror))
    assert error.code == "git-repository-not-found"


def test_a_server_that_is_down_may_come_back(
    fetcher: Fetcher, git_ssh: SshServer, repository: GitRepository
) -> None:
    mirror = fetcher.mirror(git_ssh.url("app.git"), login(git_ssh))
    git_ssh.go_away()
    assert isinstance(failure(lambda: newest(mirror)), Unavailable)
    git_ssh.come_back()
    assert newest(mirror) == repository.head()


def test_a_time_limit_ends_git_and_ssh(
    fetcher: Fetcher, git_ssh: SshServer, repository: GitRepository
) -> None:
    mirror = fetcher.mirror(git_ssh.url("app.git"), login(git_ssh), timeout=2.0)
    git_ssh.pause()
    begun = time.monotonic()
    assert isinstance(failure(lambda: newest(mirror)), Unavailable)
    assert time.monotonic() - begun < 6
    assert processes_in(fetcher.root) == []


def test_the_key_is_seen_by_nobody(
    fetcher: Fetcher, git_ssh: SshServer, repository: GitRepository
) -> None:
    key = git_ssh.client_key.private
    line = key.splitlines()[2].decode()
    git_ssh.pause()
    with recording() as records, watching() as watch, ThreadPoolExecutor(1) as pool:
        mirror = fetcher.mirror(git_ssh.url("app.git"), login(git_ssh))
        running = pool.submit(newest, mirror)
        while not git_ssh.connections:
            time.sleep(0.01)
        watch.look()
        open_to_all = [path for path in _key_files(watch.argvs()) if path.stat().st_mode & 0o077]
        git_ssh.resume()
        running.result()
    assert "ssh" in watch.argvs()
    assert line not in watch.argvs() + watch.environments() + "\n".join(records)
    assert open_to_all == []


def _key_files(argvs: str) -> list[Path]:
    """Return the files that programs were named, a key's among them."""
    words = argvs.replace("=", " ").split()
    return [Path(word) for word in words if word.startswith("/") and _holds_key(Path(word))]


def _holds_key(path: Path) -> bool:
    return path.is_file() and b"PRIVATE KEY" in path.read_bytes()
