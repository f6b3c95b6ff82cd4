"""A branch is fetched from where it stands, in one visit, if it can be told that way."""

import os
import shutil
from pathlib import Path

import pytest

from kro_gitops.errors import KroGitopsError
from kro_gitops.source.git.mirror import Mirror
from kro_gitops.source.git.types import Remote
from tests.unit.source.git.origins import Origin, branch

MAIN = "refs/heads/main"
BOTH = ("HEAD", MAIN)


def packs(mirror: Mirror) -> dict[str, int]:
    found = (mirror.path / "objects" / "pack").glob("*.pack")
    return {each.name: each.stat().st_size for each in found}


def kept(mirror: Mirror) -> set[str]:
    return {each.name for each in (mirror.path / "refs").rglob("*") if each.is_file()}


@pytest.mark.parametrize("refs", [(MAIN,), BOTH], ids=["a branch", "the default branch"])
def test_a_branch_that_moved_is_brought_in_one_visit(
    origin: Origin, mirror: Mirror, refs: tuple[str, ...]
) -> None:
    old = origin.commit({"a": "1"})
    mirror.fetch(branch(old))
    new = origin.commit({"a": "2"})
    assert mirror.follow(branch(old), refs) == branch(new)
    assert mirror.has(new)
    [entry] = mirror.tree(new)
    assert mirror.read([entry.id]) == {entry.id: b"2"}
    assert kept(mirror) == {old, new}


def test_a_branch_that_stands_where_it_stood_brings_nothing(origin: Origin, mirror: Mirror) -> None:
    commit = origin.commit({"a": os.urandom(300)})
    mirror.fetch(branch(commit))
    before = packs(mirror)
    for _ in range(3):
        assert mirror.follow(branch(commit), BOTH) == branch(commit)
    brought = packs(mirror).items() - before.items()
    assert [size for _, size in brought] in ([], [32])  # git may keep a pack of nothing
    assert kept(mirror) == {commit}


def test_a_forced_branch_is_brought(origin: Origin, mirror: Mirror) -> None:
    first = origin.commit({"a": "1"})
    second = origin.commit({"a": "2"})
    mirror.fetch(branch(second))
    origin.git("reset", "-q", "--hard", first)
    assert mirror.follow(branch(second), BOTH) == branch(first)
    assert mirror.tree(first)


def test_a_branch_that_is_gone_is_to_be_asked_for(origin: Origin, mirror: Mirror) -> None:
    commit = origin.commit({"a": "1"})
    mirror.fetch(branch(commit))
    origin.git("branch", "-m", "trunk")
    assert mirror.follow(branch(commit), (MAIN,)) is None
    assert mirror.follow(branch(commit), BOTH) is None
    assert kept(mirror) == {commit}


def test_another_default_branch_is_to_be_asked_for(origin: Origin, mirror: Mirror) -> None:
    commit = origin.commit({"a": "1"})
    mirror.fetch(branch(commit))
    origin.git("switch", "-q", "-c", "trunk")
    origin.commit({"a": "2"})
    assert mirror.follow(branch(commit), BOTH) is None
    assert kept(mirror) == {commit}
    assert mirror.follow(branch(commit), (MAIN,)) == branch(commit)


def test_what_was_never_fetched_is_to_be_asked_for(origin: Origin, mirror: Mirror) -> None:
    commit = origin.commit({"a": "1"})
    assert mirror.follow(branch(commit), BOTH) is None
    assert not mirror.has(commit)


def test_a_broken_mirror_is_thrown_away_and_the_remote_to_be_asked(
    origin: Origin, mirror: Mirror
) -> None:
    old = origin.commit({"a": os.urandom(300)})
    mirror.fetch(branch(old))
    for pack in (mirror.path / "objects" / "pack").iterdir():
        pack.unlink()
    new = origin.commit({"b": "1"})
    found = mirror.follow(branch(old), BOTH)
    if found is None:
        mirror.fetch(branch(new))
    assert {entry.path for entry in mirror.tree(new)} == {"a", "b"}


def test_a_remote_that_is_gone_is_told(origin: Origin, mirror: Mirror) -> None:
    commit = origin.commit({"a": "1"})
    mirror.fetch(branch(commit))
    shutil.rmtree(origin.folder)
    with pytest.raises(KroGitopsError) as caught:
        mirror.follow(branch(commit), BOTH)
    assert caught.value.code == "git-repository-not-found"
    assert mirror.has(commit)


def test_more_than_may_come_is_refused_and_not_kept(origin: Origin, tmp_path: Path) -> None:
    mirrors = origin.mirrors(tmp_path / "small", pack_bytes=200_000)
    mirror = mirrors.of(Remote(origin.url))
    old = origin.commit({"a": "1"})
    mirror.fetch(branch(old))
    new = origin.commit({"b": os.urandom(2_000_000)})
    with pytest.raises(KroGitopsError) as caught:
        mirror.follow(branch(old), BOTH)
    assert caught.value.code == "git-too-large"
    assert not mirror.has(new)
    assert kept(mirror) == {old}
    mirrors.close()
