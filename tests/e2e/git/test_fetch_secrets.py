"""A login is planted; nobody may see it: no list of processes, no log, no error, no file."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kro_gitops.source.git.credentials import Credentials
from tests.child_processes import own_descendants
from tests.e2e.git.fetching import (
    Fetcher,
    everything_said,
    failure,
    newest,
    recording,
    until,
    watching,
)
from tests.git_repositories import GitRepository
from tests.git_servers import http_server

SECRET = "pl4nted-s3cret/with+signs"
LOGIN = Credentials(username="bob", password=SECRET)


@pytest.mark.parametrize(
    "login",
    [LOGIN, Credentials(bearer=SECRET)],
    ids=["password", "token"],
)
def test_secrets_are_seen_by_nobody(
    fetcher: Fetcher, git_root: Path, repository: GitRepository, login: Credentials
) -> None:
    with (
        http_server(git_root, users={"bob": SECRET}, bearer_tokens=(SECRET,)) as server,
        recording() as records,
        watching() as watch,
    ):
        mirror = fetcher.mirror(server.url("app.git"), login)
        newest(mirror)
        server.pause()
        repository.commit({"b.yaml": "b: 1\n"})
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(newest, mirror)
            until(lambda: server.requests[-1].path.endswith("refs?service=git-upload-pack"))
            watch.look()
            server.resume()
            running.result()
    assert "git" in watch.argvs(), "a running git was looked at"
    assert _forms(watch.argvs()) == []
    assert _forms("\n".join(records)) == []
    stored = [path for path in fetcher.root.rglob("*") if path.is_file()]
    assert not [path for path in stored if _forms(path.read_bytes().decode("latin-1"))]


def test_what_git_is_given_can_be_read_by_the_same_user_only(
    fetcher: Fetcher, git_root: Path, repository: GitRepository
) -> None:
    with http_server(git_root, users={"bob": SECRET}) as server:
        mirror = fetcher.mirror(server.url("app.git"), LOGIN)
        server.pause()
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(newest, mirror)
            until(lambda: bool(server.requests))
            found = [Path(f"/proc/{pid}/environ").stat() for pid in own_descendants()]
            server.resume()
            running.result()
    assert found
    assert {(each.st_mode & 0o777, each.st_uid) for each in found} == {(0o400, os.getuid())}


@pytest.mark.parametrize("status", [400, 401, 403, 500])
def test_a_server_that_echoes_the_login_gives_nothing_away(
    fetcher: Fetcher, git_root: Path, repository: GitRepository, status: int
) -> None:
    with http_server(git_root, users={"bob": SECRET}) as server, recording() as records:
        server.fail(status, f"you sent {{authorization}}, that is {SECRET}\n")
        error = failure(lambda: newest(fetcher.mirror(server.url("app.git"), LOGIN)))
    assert _forms(everything_said(error)) == []
    assert _forms("\n".join(records)) == []


def test_a_server_that_points_to_the_login_gives_nothing_away(
    fetcher: Fetcher, git_root: Path, repository: GitRepository
) -> None:
    with http_server(git_root, users={"bob": SECRET}) as server, recording() as records:
        server.redirect_to("http://evil.example/{authorization}/" + SECRET.replace("+", "%2B"))
        error = failure(lambda: newest(fetcher.mirror(server.url("app.git"), LOGIN)))
    assert error.code == "git-redirected"
    assert _forms(everything_said(error) + "\n".join(records)) == []


def _forms(text: str) -> list[str]:
    """Return the forms of the secret that a text holds."""
    encoded = ("Ym9iOnBsNG50ZWQtczNjcmV0", "cGw0bnRlZC1zM2NyZXQ")  # bob:pl4…, pl4…
    percent = "pl4nted-s3cret%2F"
    return [form for form in ("pl4nted-s3cret", percent, *encoded) if form in text]
