"""The servers that other tests rely on: tried with plain git, so that a failure has one cause."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.certificates import Certificates
from tests.child_processes import own_descendants
from tests.git_repositories import GitRepository, clean_environment
from tests.git_servers import HttpServer, SshServer, connect_proxy, http_server
from tests.git_ssh_server import sshd_program


def ls_remote(
    url: str, home: Path, settings: Mapping[str, str] | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    given = [word for name, value in (settings or {}).items() for word in ("-c", f"{name}={value}")]
    return subprocess.run(
        ["git", *given, "ls-remote", url, "refs/heads/main"],
        env={**clean_environment(home), **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )


def test_http_serves_everybody(
    git_http: HttpServer, repository: GitRepository, tmp_path: Path
) -> None:
    done = ls_remote(git_http.url("app.git"), tmp_path)
    assert done.stdout.split() == [repository.head(), "refs/heads/main"], done.stderr
    assert git_http.count("info/refs") == 1
    assert git_http.count("git-upload-pack") == 2  # the question is one, too


def test_http_clones_much(git_http: HttpServer, repository: GitRepository, tmp_path: Path) -> None:
    repository.commit({f"f/{i}.yaml": f"a: {i}\n" * 200 for i in range(2000)})
    words = ["git", "clone", "--quiet", "--bare", git_http.url("app.git"), str(tmp_path / "copy")]
    subprocess.run(words, env=clean_environment(tmp_path), check=True, timeout=30)


def test_http_asks_for_a_password(
    git_root: Path, repository: GitRepository, tmp_path: Path
) -> None:
    with http_server(git_root, users={"bob": "s3cret"}, bearer_tokens=("t0ken",)) as server:
        url = server.url("app.git")
        assert ls_remote(url, tmp_path).returncode != 0
        wrong, right, token = "Basic Ym9iOndyb25n", "Basic Ym9iOnMzY3JldA==", "Bearer t0ken"
        codes = [
            ls_remote(url, tmp_path, {"http.extraHeader": f"Authorization: {each}"}).returncode
            for each in (wrong, right, token)
        ]
    assert codes == [128, 0, 0]


def test_tls_is_checked_from_both_sides(
    git_root: Path, repository: GitRepository, tmp_path: Path, tls_files: Certificates
) -> None:
    client = {
        "http.sslCert": str(tls_files.client.certificate_file),
        "http.sslKey": str(tls_files.client.key_file),
    }
    ours = {"http.sslCAInfo": str(tls_files.ca.certificate_file)}
    other = {"http.sslCAInfo": str(tls_files.other_ca.certificate_file)}
    with http_server(git_root, tls=tls_files.server, client_ca=tls_files.ca) as server:
        url = server.url("app.git")
        codes = [
            ls_remote(url, tmp_path, settings).returncode
            for settings in (ours, {**other, **client}, {**ours, **client})
        ]
    assert codes == [128, 128, 0]


def test_the_switches(git_http: HttpServer, repository: GitRepository, tmp_path: Path) -> None:
    url = git_http.url("app.git")
    git_http.fail(503, "come back later")
    failed = ls_remote(url, tmp_path)
    assert "come back later" in failed.stderr
    assert "503" in failed.stderr
    git_http.fail(0)
    git_http.redirect_to("http://127.0.0.1:1")
    assert "connect to 127.0.0.1 port 1 " in ls_remote(url, tmp_path).stderr
    git_http.redirect_to("")
    git_http.go_away()
    assert ls_remote(url, tmp_path).returncode != 0
    git_http.come_back()
    assert ls_remote(url, tmp_path).returncode == 0
    assert not own_descendants()


def test_ssh_serves_the_key_it_knows(
    git_ssh: SshServer, repository: GitRepository, tmp_path: Path
) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_bytes(git_ssh.known_hosts)
    options = f"-F /dev/null -o BatchMode=yes -o UserKnownHostsFile={hosts} -o IdentitiesOnly=yes"
    with_key = f"ssh {options} -i {git_ssh.client_key.path}"
    done = ls_remote(git_ssh.url("app.git"), tmp_path, GIT_SSH_COMMAND=with_key)
    assert done.stdout.split()[:1] == [repository.head()], done.stderr + git_ssh.log
    without = ls_remote(git_ssh.url("app.git"), tmp_path, GIT_SSH_COMMAND=f"ssh {options}")
    assert "Permission denied" in without.stderr
    assert git_ssh.connections == 2


@pytest.mark.parametrize("path", ["../escape.git", "app.git'; touch x; '"])
def test_ssh_serves_nothing_else(
    git_ssh: SshServer, repository: GitRepository, tmp_path: Path, path: str
) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_bytes(git_ssh.known_hosts)
    command = f"ssh -F /dev/null -o UserKnownHostsFile={hosts} -i {git_ssh.client_key.path}"
    done = ls_remote(git_ssh.url(path), tmp_path, GIT_SSH_COMMAND=command)
    assert "may only fetch" in done.stderr


def test_a_proxy_carries_those_it_knows(
    git_root: Path, repository: GitRepository, tmp_path: Path, tls_files: Certificates
) -> None:
    trust = {"http.sslCAInfo": str(tls_files.ca.certificate_file)}
    with (
        http_server(git_root, tls=tls_files.server) as server,
        connect_proxy({"me": "pass"}) as proxy,
    ):
        url, place = server.url("app.git"), f"127.0.0.1:{proxy.port}"
        right = ls_remote(url, tmp_path, {**trust, "http.proxy": f"http://me:pass@{place}"})
        wrong = ls_remote(url, tmp_path, {**trust, "http.proxy": f"http://me:no@{place}"})
    assert (right.returncode, wrong.returncode) == (0, 128), right.stderr
    assert proxy.targets == [f"127.0.0.1:{server.port}"] * 2  # the wrong one got nowhere


@pytest.mark.parametrize(
    ("ci", "ending"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)]
)
def test_a_missing_sshd_is_a_failure_in_ci(
    monkeypatch: pytest.MonkeyPatch, ci: str, ending: type[BaseException]
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    with pytest.raises(ending, match="sshd is not installed"):
        sshd_program()
