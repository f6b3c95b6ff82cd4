"""Servers that fail, dawdle, point elsewhere or send too much, and what we allow at all."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kro_gitops.errors import Unavailable, UserError
from kro_gitops.source.git.credentials import Credentials
from kro_gitops.source.git.types import FetchRules
from kube_objects.errors import RefusedError
from tests.child_processes import look, own_descendants, processes_in
from tests.e2e.git.fetching import (
    Fetcher,
    changed,
    everything_said,
    failure,
    newest,
    texts,
    until,
)
from tests.git_repositories import GitRepository
from tests.git_servers import HttpServer, http_server

SECRET = "pl4nted-s3cret/with+signs"
LOGIN = Credentials(username="bob", password=SECRET)


def test_plain_http_must_be_allowed(
    fetcher: Fetcher, git_http: HttpServer, repository: GitRepository
) -> None:
    rules = changed(allow_plain_http=False)
    url = git_http.url("app.git")
    error = failure(lambda: newest(fetcher.mirror(url, rules=rules)))
    assert isinstance(error, RefusedError)
    assert git_http.count() == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_private_networks_must_be_allowed(
    fetcher: Fetcher, git_http: HttpServer, repository: GitRepository, host: str
) -> None:
    rules = FetchRules(allow_plain_http=True)
    url = git_http.url("app.git").replace("127.0.0.1", host)
    error = failure(lambda: newest(fetcher.mirror(url, rules=rules)))
    assert isinstance(error, RefusedError)
    assert git_http.count() == 0


def test_a_redirect_is_not_followed(
    fetcher: Fetcher, git_root: Path, repository: GitRepository
) -> None:
    with http_server(git_root) as second, http_server(git_root, users={"bob": SECRET}) as first:
        first.redirect_to(second.address)
        error = failure(lambda: newest(fetcher.mirror(first.url("app.git"), LOGIN)))
    assert second.count() == 0
    assert SECRET not in everything_said(error)


def test_a_server_that_fails_is_asked_again_later(
    fetcher: Fetcher, git_http: HttpServer, repository: GitRepository
) -> None:
    mirror = fetcher.mirror(git_http.url("app.git"))
    git_http.fail(503, "maintenance until noon")
    error = failure(lambda: newest(mirror))
    assert isinstance(error, Unavailable)
    git_http.fail(0)
    assert newest(mirror) == repository.head()


def test_a_server_that_is_down_may_come_back(
    fetcher: Fetcher, git_http: HttpServer, repository: GitRepository
) -> None:
    mirror = fetcher.mirror(git_http.url("app.git"))
    first = newest(mirror)
    git_http.go_away()
    assert isinstance(failure(lambda: newest(mirror)), Unavailable)
    assert texts(mirror, first), "what was fetched stays readable"
    repository.commit({"b.yaml": "b: 1\n"})
    git_http.come_back()
    assert newest(mirror) == repository.head()


def test_a_line_that_is_cut_leaves_nothing_half_done(
    fetcher: Fetcher, git_http: HttpServer, repository: GitRepository
) -> None:
    repository.commit({"large.yaml": os.urandom(3 << 20)})
    mirror = fetcher.mirror(git_http.url("app.git"))
    chosen = mirror.ask(["refs/heads/main"]).refs["refs/heads/main"]
    git_http.slow(500_000)
    cut = threading.Timer(1.5, git_http.go_away)
    cut.start()
    assert isinstance(failure(lambda: newest(mirror)), Unavailable)
    cut.join()
    assert not mirror.has(chosen)
    assert not [*fetcher.root.rglob("tmp_*")]
    git_http.slow(0)
    git_http.come_back()
    assert newest(mirror) == chosen


@pytest.mark.parametrize("rate", [0, 20_000], ids=["silent", "slow"])
def test_a_time_limit_ends_git(
    fetcher: Fetcher, git_http: HttpServer, repository: GitRepository, rate: int
) -> None:
    repository.commit({"large.yaml": os.urandom(3 << 20)})
    mirror = fetcher.mirror(git_http.url("app.git"), timeout=2.0)
    if rate:
        git_http.slow(rate)
    else:
        git_http.pause()
    begun = time.monotonic()
    error = failure(lambda: newest(mirror))
    took = time.monotonic() - begun
    assert isinstance(error, Unavailable)
    assert 1.5 < took < 6
    assert processes_in(fetcher.root) == []
    assert not [*fetcher.root.rglob("tmp_*")]


def test_a_pack_that_is_too_large_is_given_up(
    fetcher: Fetcher, git_http: HttpServer, repository: GitRepository
) -> None:
    small = repository.head()
    repository.commit({"large.yaml": os.urandom(8 << 20)})
    rules = changed(pack_bytes=1 << 20)
    mirror = fetcher.mirror(git_http.url("app.git"), rules=rules)
    error = failure(lambda: newest(mirror))
    assert isinstance(error, UserError)
    assert error.code == "git-too-large"
    stored = sum(path.stat().st_size for path in fetcher.root.rglob("*") if path.is_file())
    assert stored < 2 << 20
    repository.force_branch("main", small)
    assert newest(mirror) == small


def test_limits_hold_for_all_that_git_starts(
    fetcher: Fetcher, git_http: HttpServer, repository: GitRepository
) -> None:
    """Git starts others within a millisecond; this process is too busy to be as quick."""
    over = threading.Event()
    busy = [threading.Thread(target=_keep_busy, args=(over,)) for _ in range(4)]
    for thread in busy:
        thread.start()
    git_http.pause()
    try:
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(newest, fetcher.mirror(git_http.url("app.git")))
            until(lambda: bool(git_http.requests))
            limits = {look(pid): _memory_limit(pid) for pid in own_descendants()}
            git_http.resume()
            running.result()
    finally:
        over.set()
        for thread in busy:
            thread.join()
    assert any("http" in " ".join(process.argv) for process in limits if process)
    assert "unlimited" not in limits.values()


def test_what_a_server_says_is_made_short_and_printable(
    fetcher: Fetcher, git_http: HttpServer, repository: GitRepository
) -> None:
    git_http.fail(500, "\x1b[2J\x1b]0;owned\x07 all is well \u202e\0 " + "very " * 100_000)
    error = failure(lambda: newest(fetcher.mirror(git_http.url("app.git"))))
    assert error.message.isprintable()
    assert len(error.message) < 2_000


def _keep_busy(over: threading.Event) -> None:
    while not over.is_set():
        sum(range(10_000))


def _memory_limit(pid: int) -> str:
    lines = Path(f"/proc/{pid}/limits").read_text(encoding="ascii").splitlines()
    return next(line.split()[3] for line in lines if line.startswith("Max address space"))
