"""Many at one mirror: threads, and other processes."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kro_gitops.source.git.credentials import Credentials
from kro_gitops.source.git.locks import locked
from kro_gitops.source.git.mirror import Mirrors
from kro_gitops.source.git.types import Remote
from tests.unit.source.git.origins import Origin, branch

_OTHER = """
import sys
from pathlib import Path
from kro_gitops.source.git.mirror import Mirrors
from kro_gitops.source.git.types import FetchRules, Remote
from kro_gitops.source.git.revisions import Chosen

root, url, *commits = sys.argv[1:]
mirror = Mirrors(Path(root), FetchRules(local_urls={url})).of(Remote(url))
for number, commit in enumerate(commits):
    mirror.fetch(Chosen(f"refs/heads/b{number}", commit))
    entries = mirror.tree(commit)
    assert mirror.read([entry.id for entry in entries]), commit
mirror.close()
"""


def branches(origin: Origin, count: int) -> list[str]:
    origin.commit({"base": "x"})
    commits = []
    for number in range(count):
        origin.git("checkout", "-q", "-b", f"b{number}", "main")
        commits.append(origin.commit({"mine": f"{number}\n" * 50}))
    return commits


def test_threads_get_what_they_asked_for(origin: Origin, mirrors: Mirrors) -> None:
    commits = branches(origin, 8)

    def use(number: int) -> tuple[int, bytes]:
        mirror = mirrors.of(Remote(origin.url))
        which = number % len(commits)
        mirror.fetch(branch(commits[which], f"b{which}"))
        ids = {entry.path: entry.id for entry in mirror.tree(commits[which])}
        return which, mirror.read([ids["mine"], ids["base"]])[ids["mine"]]

    with ThreadPoolExecutor(8) as pool:
        for which, content in pool.map(use, range(32)):
            assert content == f"{which}\n".encode() * 50


@pytest.mark.timeout(120)
def test_processes_do_not_tear_a_mirror(origin: Origin, tmp_path: Path) -> None:
    commits = branches(origin, 6)
    root = tmp_path / "mirrors"
    orders = (commits, commits[:], commits[:])
    others = [
        subprocess.Popen([sys.executable, "-c", _OTHER, str(root), origin.url, *order])
        for order in orders
    ]
    assert [other.wait() for other in others] == [0, 0, 0]
    mirror = origin.mirrors(root).of(Remote(origin.url))
    assert all(map(mirror.has, commits))


def test_many_mirrors_do_not_keep_as_many_processes(origin: Origin, mirrors: Mirrors) -> None:
    commit = origin.commit({"a": "1"})
    remotes = [Remote(origin.url, Credentials("ada", f"{number}")) for number in range(20)]
    for remote in remotes:
        mirror = mirrors.of(remote)
        mirror.fetch(branch(commit))
        assert mirror.commit(commit).subject == "change"
    folders = [str(each.readlink()) for each in Path("/proc").glob("[0-9]*/cwd") if is_ours(each)]
    readers = [folder for folder in folders if folder.startswith(str(mirrors.root))]
    assert 0 < len(readers) <= 17
    assert mirrors.of(remotes[0]).commit(commit).subject == "change"


def is_ours(cwd: Path) -> bool:
    try:
        return f"PPid:\t{os.getpid()}\n" in (cwd.parent / "status").read_text()
    except OSError:
        return False


def test_a_lock_survives_that_its_file_is_deleted(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    order: list[str] = []

    def second() -> None:
        with locked(file):
            order.append("second")

    with ThreadPoolExecutor(1) as pool:
        with locked(file):
            waiting = pool.submit(second)
            file.unlink()
            order.append("first")
        waiting.result(timeout=30)
        assert file.exists()
    assert order[-1] in ("first", "second")
    assert sorted(order) == ["first", "second"]


def test_one_that_waits_for_a_slow_server_keeps_nobody_waiting(
    origin: Origin, mirrors: Mirrors
) -> None:
    slow, other = Remote(origin.url, Credentials("ada", "1")), Remote(origin.url)
    with ThreadPoolExecutor(2) as pool:
        with mirrors.of(slow)._alone():  # as long as its fetch lasts
            pool.submit(mirrors.forget, {other.identity: [""]}).result(timeout=10)
            pool.submit(mirrors.of, other).result(timeout=10)
        mirrors.of(slow).fetch(branch(origin.commit({"a": "1"})))
        assert (mirrors.root / slow.identity).exists()
        mirrors.forget({other.identity: [""]})
        assert not (mirrors.root / slow.identity).exists()
