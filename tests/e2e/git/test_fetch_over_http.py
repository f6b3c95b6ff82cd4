"""Fetching over HTTP from a real `git http-backend`: refs of all sorts, history, logins."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kro_gitops.errors import UserError
from kro_gitops.source.api.types import WantedRef
from kro_gitops.source.git.credentials import ANONYMOUS, Credentials
from kro_gitops.source.git.revisions import choose, patterns
from tests.e2e.git.fetching import (
    MAIN,
    Fetcher,
    everything_said,
    failure,
    newest,
    texts,
)
from tests.git_fixtures import CONFIG_MAP
from tests.git_repositories import BOB, GitRepository
from tests.git_servers import HttpServer, http_server

SECRET = "pl4nted-s3cret/with+signs"
LOGIN = Credentials(username="bob", password=SECRET)


def test_anybody_may_fetch_from_an_open_server(
    fetcher: Fetcher, git_http: HttpServer, repository: GitRepository
) -> None:
    mirror = fetcher.mirror(git_http.url("app.git"))
    commit = newest(mirror)
    assert commit == repository.head()
    assert texts(mirror, commit) == {"apps/settings.yaml": CONFIG_MAP.encode()}
    about = mirror.commit(commit)
    assert (about.author, about.author_email) == ("Alice", "alice@example.com")
    assert (about.subject, about.committed) == ("Add settings", "2026-01-01T00:01:00Z")


def test_what_is_there_is_not_fetched_again(
    fetcher: Fetcher, git_http: HttpServer, repository: GitRepository
) -> None:
    mirror = fetcher.mirror(git_http.url("app.git"))
    newest(mirror)
    before = git_http.count()
    newest(mirror)
    question = git_http.count() - before
    assert question == 2  # the capabilities and the refs
    repository.commit({"apps/more.yaml": "a: 1\n"})
    assert newest(mirror) == repository.head()
    assert git_http.count() > before + 2 * question


def test_a_second_process_finds_what_the_first_fetched(
    fetcher: Fetcher, git_http: HttpServer, repository: GitRepository
) -> None:
    commit = newest(fetcher.mirror(git_http.url("app.git")))
    again = fetcher.mirror(git_http.url("app.git"))
    assert again.has(commit)
    git_http.go_away()
    assert texts(again, commit) == {"apps/settings.yaml": CONFIG_MAP.encode()}


@pytest.mark.parametrize("name", ["feature/ümlaut", "a" * 200, "release-1.0", "x#1"])
def test_branches_have_all_sorts_of_names(
    fetcher: Fetcher, git_http: HttpServer, repository: GitRepository, name: str
) -> None:
    commit = repository.commit({"b.yaml": "b: 1\n"}, branch=name)
    mirror = fetcher.mirror(git_http.url("app.git"))
    assert newest(mirror, WantedRef(branch=name)) == commit


def test_tags_are_followed_to_their_commits(
    fetcher: Fetcher, git_http: HttpServer, repository: GitRepository
) -> None:
    repository.tag("v1.0.0")
    second = repository.commit({"b.yaml": "b: 1\n"})
    repository.tag("v1.1.0", annotated=True)
    repository.commit({"c.yaml": "c: 1\n"})
    mirror = fetcher.mirror(git_http.url("app.git"))
    assert newest(mirror, WantedRef(tag="v1.1.0")) == second
    assert newest(mirror, WantedRef(semver="1.x")) == second


def test_a_commit_is_fetched_by_its_id(
    fetcher: Fetcher, git_http: HttpServer, repository: GitRepository
) -> None:
    first = repository.head()
    repository.commit({"b.yaml": "b: 1\n"})
    mirror = fetcher.mirror(git_http.url("app.git"))
    assert newest(mirror, WantedRef(commit=first)) == first
    assert newest(mirror, WantedRef(branch="main", commit=first)) == first


def test_a_sha256_repository_is_fetched(
    fetcher: Fetcher, git_http: HttpServer, git_root: Path
) -> None:
    other = GitRepository.create(git_root / "new.git", hash_name="sha256")
    commit = other.commit({"a.yaml": "a: 1\n"})
    mirror = fetcher.mirror(git_http.url("new.git"))
    assert newest(mirror) == commit
    assert texts(mirror, commit) == {"a.yaml": b"a: 1\n"}


def test_blobs_can_be_left_out_until_they_are_read(
    fetcher: Fetcher, git_http: HttpServer, repository: GitRepository
) -> None:
    repository.commit({"other/large.yaml": os.urandom(300_000)})
    mirror = fetcher.mirror(git_http.url("app.git"), filters_blobs=True)
    commit = newest(mirror)
    wanted = [entry.id for entry in mirror.tree(commit) if entry.path.startswith("apps/")]
    assert [*mirror.read(wanted).values()] == [CONFIG_MAP.encode()]
    stored = sum(path.stat().st_size for path in fetcher.root.rglob("*.pack"))
    assert stored < 100_000


def test_history_is_deepened_when_it_is_asked_for(
    fetcher: Fetcher, git_http: HttpServer, repository: GitRepository
) -> None:
    first = repository.head()
    second = repository.commit({"b.yaml": "b: 1\nc: 1\n"}, "Add b", author=BOB)
    repository.commit({"c.yaml": "c: 1\n"})
    mirror = fetcher.mirror(git_http.url("app.git"))
    commit = newest(mirror)
    assert mirror.blame(commit, "b.yaml", 2).id == second
    assert mirror.blame(commit, "b.yaml", 2).author == "Bob"
    assert mirror.is_ancestor(first, commit) is True
    assert mirror.is_ancestor(commit, first) is False
    repository.force_branch("main", first)
    rewritten = repository.commit({"d.yaml": "d: 1\n"})
    assert newest(mirror) == rewritten
    assert mirror.is_ancestor(commit, rewritten) is False
    assert mirror.changed_paths(commit, rewritten) == frozenset(("b.yaml", "c.yaml", "d.yaml"))


def test_a_password_opens(fetcher: Fetcher, git_root: Path, repository: GitRepository) -> None:
    with http_server(git_root, users={"bob": SECRET}) as server:
        assert newest(fetcher.mirror(server.url("app.git"), LOGIN)) == repository.head()


def test_a_bearer_token_opens(fetcher: Fetcher, git_root: Path, repository: GitRepository) -> None:
    with http_server(git_root, bearer_tokens=(SECRET,)) as server:
        mirror = fetcher.mirror(server.url("app.git"), Credentials(bearer=SECRET))
        assert newest(mirror) == repository.head()


@pytest.mark.parametrize(
    "login",
    [ANONYMOUS, Credentials(username="bob", password="no-" + SECRET), Credentials(bearer=SECRET)],
    ids=["nobody", "wrong-password", "wrong-token"],
)
def test_who_is_not_let_in_is_told_so(
    fetcher: Fetcher, git_root: Path, repository: GitRepository, login: Credentials
) -> None:
    with http_server(git_root, users={"bob": SECRET}) as server:
        error = failure(lambda: newest(fetcher.mirror(server.url("app.git"), login)))
    assert error.code == "git-auth-failed"
    assert SECRET not in everything_said(error)


def test_a_repository_that_is_not_there_is_told(
    fetcher: Fetcher, git_http: HttpServer, git_root: Path
) -> None:
    error = failure(lambda: newest(fetcher.mirror(git_http.url("nothing.git"))))
    assert error.code == "git-repository-not-found"
    assert "nothing.git" in error.message


def test_an_empty_repository_is_told(
    fetcher: Fetcher, git_http: HttpServer, git_root: Path
) -> None:
    GitRepository.create(git_root / "empty.git")
    error = failure(lambda: newest(fetcher.mirror(git_http.url("empty.git"))))
    assert isinstance(error, UserError)
    assert error.code == "ref-not-found"


def test_a_tag_that_moves_is_seen(
    fetcher: Fetcher, git_http: HttpServer, repository: GitRepository
) -> None:
    first = repository.head()
    repository.tag("v1", annotated=True)
    mirror = fetcher.mirror(git_http.url("app.git"))
    assert newest(mirror, WantedRef(tag="v1")) == first
    second = repository.commit({"b.yaml": "b: 1\n"})
    repository.tag("v1")
    assert newest(mirror, WantedRef(tag="v1")) == second


def test_a_branch_that_moves_between_question_and_fetch_is_not_mixed_up(
    fetcher: Fetcher, git_http: HttpServer, repository: GitRepository
) -> None:
    mirror = fetcher.mirror(git_http.url("app.git"))
    old = choose(mirror.ask(patterns(MAIN)), MAIN)
    repository.commit({"b.yaml": "b: 1\n"})
    mirror.fetch(old)
    assert [*texts(mirror, old.commit)] == ["apps/settings.yaml"]
    repository.force_branch("main", repository.commit_tree(repository.tree([])))
    gone = choose(mirror.ask(patterns(MAIN)), MAIN)
    repository.commit({"c.yaml": "c: 1\n"})
    mirror.fetch(gone)
    assert texts(mirror, gone.commit) == {}


def test_many_may_ask_at_once(
    fetcher: Fetcher, git_http: HttpServer, repository: GitRepository
) -> None:
    mirror = fetcher.mirror(git_http.url("app.git"))
    with ThreadPoolExecutor(8) as pool:
        commits = [*pool.map(lambda _: newest(mirror), range(8))]
        read = [*pool.map(lambda commit: texts(mirror, commit), commits)]
    assert set(commits) == {repository.head()}
    assert all(each == read[0] for each in read)
