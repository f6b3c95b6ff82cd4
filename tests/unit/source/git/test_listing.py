"""A listing told by how a tree differs from another is the one that git gives of it."""

import hashlib
import random
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from objects_testing.budgets import examples

from kro_gitops.source.git.listing import (
    Listed,
    UnusualError,
    blobs,
    differences,
    parse_tree,
)
from kro_gitops.source.git.output import name_of, read_found
from kro_gitops.source.git.types import Entry, Found, RefusedPath, Remote
from tests.unit.source.git.origins import Origin, branch

NAMES = (b"a", b"a.b", b"a0", b"b", b"..", b"\xff", "ü".encode(), "\ue000".encode(), b".git ")
MODES = ("100644", "100664", "100755", "120000", "160000")

Files = dict[tuple[bytes, ...], tuple[str, str]]


@dataclass
class Store:
    """Trees by their ids, as git would keep them."""

    digits: int = 40
    trees: dict[str, bytes] = field(default_factory=dict)

    def write(self, files: Files) -> str:
        """Keep a tree; return its id."""
        entries: dict[bytes, tuple[str, str]] = {}
        folders: dict[bytes, Files] = {}
        for (name, *rest), place in files.items():
            if rest:
                folders.setdefault(name, {})[tuple(rest)] = place
            else:
                entries[name] = place
        for name, below in folders.items():
            entries[name] = ("40000", self.write(below))
        ordered = sorted(entries.items(), key=lambda e: e[0] + b"/" * (e[1][0] == "40000"))
        content = b"".join(
            mode.encode() + b" " + name + b"\0" + bytes.fromhex(id) for name, (mode, id) in ordered
        )
        made = hashlib.sha256(content).hexdigest()[: self.digits]
        self.trees[made] = content
        return made

    def read(self, ids: Collection[str]) -> dict[str, bytes]:
        return {id: self.trees[id] for id in ids if id in self.trees}

    def listed(self, tree: str) -> dict[str, Found]:
        """List a tree as git does: from the top, folder by folder."""
        return {name_of(path): read_found(path, *place) for path, place in self._walk(b"", tree)}

    def _walk(self, prefix: bytes, tree: str) -> list[tuple[bytes, tuple[str, str, int]]]:
        found: list[tuple[bytes, tuple[str, str, int]]] = []
        for name, (mode, id) in parse_tree(self.trees[tree], self.digits).items():
            if mode == "40000":
                found += self._walk(prefix + name + b"/", id)
            else:
                found.append((prefix + name, (mode, id, size_of(mode, id))))
        return found


def size_of(mode: str, id: str) -> int:
    return -1 if mode == "160000" else int(id[:4], 16)


def parted(files: Files) -> Files:
    """Leave out files in whose place another has a folder."""
    folders = {path[:end] for path in files for end in range(1, len(path))}
    return {path: place for path, place in files.items() if path not in folders}


def paths() -> st.SearchStrategy[tuple[bytes, ...]]:
    return st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(tuple)


def trees(digits: int) -> st.SearchStrategy[Files]:
    ids = st.sampled_from([f"{number:04x}" * (digits // 4) for number in (7, 80, 900)])
    places = st.tuples(st.sampled_from(MODES), ids)
    return st.dictionaries(paths(), places, max_size=9).map(parted)


@settings(max_examples=examples(120))
@given(data=st.data(), digits=st.sampled_from([40, 64]))
def test_what_follows_from_another_tree_is_what_is_there(data: st.DataObject, digits: int) -> None:
    store = Store(digits)
    old = data.draw(trees(digits))
    first = store.write(old)
    listed = Listed(first, store.listed(first), 0)
    for _ in range(2):
        edits = data.draw(trees(digits))
        gone = data.draw(st.sets(st.sampled_from(sorted(old)))) if old else set()
        old = parted({path: place for path, place in old.items() if path not in gone} | edits)
        tree = store.write(old)
        changes = differences(listed.tree, tree, store.read)
        sizes = {id: int(id[:4], 16) for id in blobs(changes)}
        former, listed = listed, listed.at(tree, changes, sizes)
        expected = store.listed(tree)
        assert list(listed.found.items()) == list(expected.items())
        entries = tuple(each for each in expected.values() if isinstance(each, Entry))
        refused = tuple(each for each in expected.values() if isinstance(each, RefusedPath))
        assert (listed.listing.entries, listed.listing.refused) == (entries, refused)
        same = [name for name, each in expected.items() if former.found.get(name) == each]
        changed = {name_of(name) for name in changes}
        assert all(listed.found[n] is former.found[n] for n in same if n not in changed)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"100644 a", id="cut off in a name"),
        pytest.param(b"100644 a\0" + b"1" * 19, id="cut off in an id"),
        pytest.param(b"100644 \0" + b"1" * 20, id="without a name"),
        pytest.param(b"10x644 a\0" + b"1" * 20, id="a mode that is no number"),
        pytest.param(b"060000 a\0" + b"1" * 20, id="a device"),
        pytest.param(2 * (b"100644 a\0" + b"1" * 20), id="a name twice"),
    ],
)
def test_a_tree_that_is_not_as_trees_are_is_left_to_git(content: bytes) -> None:
    with pytest.raises(UnusualError):
        parse_tree(content, 40)


def test_many_folders_are_left_to_git() -> None:
    store = Store()
    place = ("100644", "7" * 40)
    old = store.write({})
    new = store.write({(f"{n}".encode(), b"a"): place for n in range(300)})
    with pytest.raises(UnusualError):
        differences(old, new, store.read)


def test_a_tree_that_is_not_here_is_left_to_git() -> None:
    store = Store()
    with pytest.raises(UnusualError):
        differences("1" * 40, store.write({}), store.read)


def edit(origin: Origin, chance: random.Random) -> str:
    """Change, add, remove and move files; return the commit."""
    files = [
        each for each in origin.folder.rglob("*") if each.is_file() and ".git" not in each.parts
    ]
    for file in chance.sample(files, min(len(files), 3)):
        if chance.random() < 0.5:
            file.unlink()
        else:
            file.chmod(chance.choice((0o644, 0o755)))
    names = (
        f"{chance.choice('ab')}.{n}/{chance.choice('cd')}/{n}" for n in chance.sample(range(9), 4)
    )
    return origin.commit({name: "x" * chance.randrange(40) for name in names})


@pytest.mark.parametrize("is_filtered", [False, True], ids=["all files", "files on demand"])
def test_git_lists_the_same(origin: Origin, tmp_path: Path, is_filtered: bool) -> None:
    chance = random.Random(7)
    remote = Remote(origin.url, filters_blobs=is_filtered)
    mirrors = origin.mirrors(tmp_path / "mirrors")
    for _ in range(8):
        commit = edit(origin, chance)
        mirrors.of(remote).fetch(branch(commit))
        fresh = origin.mirrors(tmp_path / "mirrors")
        assert mirrors.of(remote).listing(commit) == fresh.of(remote).listing(commit)
        fresh.close()
    mirrors.close()


def test_too_many_files_are_refused_also_when_they_came_one_by_one(
    origin: Origin, tmp_path: Path
) -> None:
    mirrors = origin.mirrors(tmp_path / "mirrors", tree_entries=3)
    mirror = mirrors.of(Remote(origin.url))
    for number in range(3):
        commit = origin.commit({f"{number}": "x"})
        mirror.fetch(branch(commit))
        assert len(mirror.tree(commit)) == number + 1
    commit = origin.commit({"one more": "x"})
    mirror.fetch(branch(commit))
    with pytest.raises(Exception, match="more than 3 files"):
        mirror.listing(commit)
    mirrors.close()
