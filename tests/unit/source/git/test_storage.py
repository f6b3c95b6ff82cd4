"""The folder of mirrors may vanish or break at any time; nothing of value is in it."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kro_gitops.errors import Unavailable
from kro_gitops.source.git.mirror import Mirror, Mirrors
from kro_gitops.source.git.types import FetchRules, Remote
from kube_objects.errors import RefusedError
from tests.unit.source.git.origins import Origin, branch


def text_of(mirror: Mirror, commit: str) -> dict[str, bytes]:
    """Return the files of a commit by their paths."""
    listed = {entry.path: entry.id for entry in mirror.tree(commit)}
    contents = mirror.read(listed.values())
    return {path: contents[id] for path, id in listed.items()}


def test_a_folder_that_is_gone_is_created_again(
    origin: Origin, mirrors: Mirrors, mirror: Mirror
) -> None:
    first = origin.commit({"a": "1"})
    mirror.fetch(branch(first))
    assert text_of(mirror, first) == {"a": b"1"}
    shutil.rmtree(mirrors.root)
    assert mirror.ask(["refs/heads/main"]).refs == {"refs/heads/main": first}
    second = origin.commit({"a": "2"})
    assert mirror.follow(branch(first), ["refs/heads/main"]) is None, "it must be asked"
    mirror.fetch(branch(second))
    assert text_of(mirror, second) == {"a": b"2"}
    assert mirrors.root.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_vanishes_between_fetch_and_read(
    origin: Origin, mirrors: Mirrors, mirror: Mirror
) -> None:
    commit = origin.commit({"a": "1"})
    mirror.fetch(branch(commit))
    shutil.rmtree(mirrors.root)
    assert text_of(mirror, commit) == {"a": b"1"}


def test_a_mirror_that_vanishes_while_it_is_read(
    origin: Origin, mirrors: Mirrors, mirror: Mirror
) -> None:
    commit = origin.commit({"a": "1"})
    mirror.fetch(branch(commit))
    assert mirror.commit(commit).subject == "change"  # a reader runs now
    shutil.rmtree(mirrors.root)
    other = mirrors.of(Remote(origin.url, filters_blobs=True))
    other.fetch(branch(commit))
    assert text_of(other, commit) == {"a": b"1"}
    assert text_of(mirror, commit) == {"a": b"1"}


def test_a_folder_that_cannot_be_created_is_reported(
    origin: Origin, mirrors: Mirrors, mirror: Mirror
) -> None:
    commit = origin.commit({"a": "1"})
    mirror.fetch(branch(commit))
    shutil.rmtree(mirrors.root)
    mirrors.root.write_bytes(b"in the way")
    for use in (
        lambda: mirror.ask(["refs/heads/main"]),
        lambda: mirror.fetch(branch(commit)),
        lambda: mirror.commit(commit),
    ):
        with pytest.raises(Unavailable) as caught:
            use()
        assert caught.value.code == "git-storage-failed"
        assert str(mirrors.root) in caught.value.message
    mirrors.root.unlink()
    assert mirror.commit(commit).subject == "change"


def test_a_folder_that_another_user_put_there_is_not_used(
    origin: Origin, mirrors: Mirrors, mirror: Mirror, tmp_path: Path
) -> None:
    commit = origin.commit({"a": "1"})
    shutil.rmtree(mirrors.root)
    planted = tmp_path / "planted"
    planted.mkdir()
    mirrors.root.symlink_to(planted)
    with pytest.raises(Unavailable, match="is no folder any more"):
        mirror.fetch(branch(commit))
    assert list(planted.iterdir()) == []


# Limits

MIB = 1 << 20


class Tenants:
    """Repositories of several megabytes, and mirrors of them within a limit."""

    def __init__(self, folder: Path, *, total: int = 0, namespace: int = 0) -> None:
        self.folder = folder
        self.evicted = 0
        self.used = 0
        self.origins = {name: Origin(folder / name) for name in "abcd"}
        urls = frozenset(origin.url for origin in self.origins.values())
        rules = FetchRules(
            local_urls=urls,
            pack_bytes=4 * MIB,
            storage_bytes=total,
            namespace_storage_bytes=namespace,
        )
        self.mirrors = Mirrors(folder / "mirrors", rules, self.observe)

    def observe(self, used: int, evicted: int) -> None:
        self.used = used
        self.evicted += evicted

    def push(self, name: str, size: int = 2 * MIB) -> str:
        return self.origins[name].commit({"big": os.urandom(size), "a.yaml": name})

    def mirror(self, name: str, namespace: str = "team") -> Mirror:
        return self.mirrors.of(Remote(self.origins[name].url, namespace=namespace))

    def fetch(self, name: str, namespace: str = "team", size: int = 2 * MIB) -> Mirror:
        """Push a commit and fetch it."""
        commit, mirror = self.push(name, size), self.mirror(name, namespace)
        mirror.fetch(branch(commit))
        assert mirror.has(commit)
        return mirror

    @property
    def kept(self) -> set[str]:
        """Return the repositories of which there is a mirror on disk."""
        folders = {each.name for each in self.mirrors.root.iterdir() if each.is_dir()}
        named = {name: Remote(origin.url).identity for name, origin in self.origins.items()}
        return {name for name, identity in named.items() if identity in folders}

    @property
    def on_disk(self) -> int:
        files = self.mirrors.root.rglob("*")
        return sum(file.stat().st_size for file in files if file.is_file())


@pytest.fixture
def tenants(tmp_path: Path) -> Iterator[Callable[..., Tenants]]:
    made: list[Tenants] = []

    def make(**limits: int) -> Tenants:
        made.append(Tenants(tmp_path, **limits))
        return made[-1]

    yield make
    for each in made:
        each.mirrors.close()


def test_the_least_recently_used_mirror_makes_room(tenants: Callable[..., Tenants]) -> None:
    world = tenants(total=7 * MIB)
    commit = world.push("a")
    world.mirror("a").fetch(branch(commit))
    world.fetch("b")
    world.mirror("a").tree(commit)  # used again
    world.fetch("c")
    assert world.kept == {"a", "c"}
    assert world.evicted == 1
    assert world.used < 7 * MIB
    assert world.on_disk < 7 * MIB


def test_an_evicted_mirror_is_fetched_again(tenants: Callable[..., Tenants]) -> None:
    world = tenants(total=5 * MIB)
    commit = world.push("a")
    mirror = world.mirror("a")
    mirror.fetch(branch(commit))
    mirror.commit(commit)  # its reader runs
    world.fetch("b")
    assert world.kept == {"b"}
    assert mirror.changed_paths(commit, commit) is None
    assert mirror.follow(branch(commit), ["refs/heads/main"]) is None, "it must be asked"
    assert len(mirror.tree(commit)) == 2
    assert world.kept == {"a"}


def test_mirrors_of_an_earlier_run_go_first(tenants: Callable[..., Tenants]) -> None:
    world = tenants(total=7 * MIB)
    commit = world.push("b")
    world.mirror("b").fetch(branch(commit))
    world.fetch("a")
    world.mirrors.close()
    world.mirrors = Mirrors(world.mirrors.root, world.mirrors.rules, world.observe)
    world.mirror("b").tree(commit)
    world.fetch("c")
    assert world.kept == {"b", "c"}


def test_one_namespace_evicts_its_own_mirrors_only(tenants: Callable[..., Tenants]) -> None:
    world = tenants(total=20 * MIB, namespace=5 * MIB)
    world.fetch("a", "victim")
    world.fetch("b", "greedy")
    world.fetch("c", "greedy")
    world.fetch("d", "greedy")
    assert world.kept == {"a", "d"}


def test_a_shared_mirror_is_not_evicted_for_one_namespace(tenants: Callable[..., Tenants]) -> None:
    world = tenants(total=20 * MIB, namespace=5 * MIB)
    world.fetch("a", "victim")
    world.mirror("a", "greedy")
    world.fetch("b", "greedy")
    world.fetch("c", "greedy")
    assert world.kept == {"a", "c"}
    # When the victim's source is deleted, it counts for the other namespace alone.
    identities = {name: Remote(world.origins[name].url).identity for name in "ac"}
    world.mirrors.forget({identity: ["greedy"] for identity in identities.values()})
    world.fetch("d", "greedy")
    assert world.kept == {"d"}


@pytest.mark.parametrize(
    ("limits", "whose"),
    [
        ({"total": 3 * MIB}, "all repositories"),
        ({"namespace": 3 * MIB}, "the repositories of one namespace"),
    ],
)
def test_a_repository_that_does_not_fit_alone_is_reported(
    tenants: Callable[..., Tenants], limits: dict[str, int], whose: str
) -> None:
    world = tenants(**limits)
    world.fetch("a", size=MIB)
    commit = world.push("b", 3 * MIB + 1)
    with pytest.raises(RefusedError) as caught:
        world.mirror("b").fetch(branch(commit))
    assert caught.value.code == "git-storage-exceeded"
    assert f"3 MiB of storage, which is the limit for {whose}" in caught.value.message
    assert "--storage-size" in caught.value.hint
    assert world.on_disk < 3 * MIB
    world.fetch("a", size=MIB)


def test_a_mirror_gives_up_old_revisions_before_it_fails(tenants: Callable[..., Tenants]) -> None:
    world = tenants(total=5 * MIB)
    for _ in range(4):
        world.fetch("a")
    assert world.on_disk < 5 * MIB


def test_what_running_fetches_may_add_counts(tenants: Callable[..., Tenants]) -> None:
    world = tenants(total=7 * MIB)
    commit = world.push("a")
    storage = world.mirrors._storage
    with storage.growing("running", 4 * MIB) as allowance:
        assert allowance.size == 4 * MIB
        world.mirror("a").fetch(branch(commit))  # 3 MiB are left
        with pytest.raises(Unavailable) as caught:
            world.mirror("b").fetch(branch(world.push("b", 3 * MIB)))
        assert caught.value.code == "git-storage-full"
        assert world.on_disk < 7 * MIB
    world.mirror("b").fetch(branch(world.push("b", 3 * MIB)))
    assert world.on_disk < 7 * MIB


def test_a_mirror_in_use_is_not_evicted(tenants: Callable[..., Tenants]) -> None:
    world = tenants(total=5 * MIB)
    used = world.fetch("a")
    commit = world.push("b", 3 * MIB)
    with used._alone(), pytest.raises(Unavailable) as caught:
        world.mirror("b").fetch(branch(commit))
    assert caught.value.code == "git-storage-full"
    world.mirror("b").fetch(branch(commit))
    assert world.kept == {"b"}


def test_no_room_for_a_repack_starts_the_mirror_again(tenants: Callable[..., Tenants]) -> None:
    world = tenants(total=7 * MIB)
    for _ in range(30):
        world.fetch("a", size=MIB // 4)
        assert world.on_disk < 7 * MIB
