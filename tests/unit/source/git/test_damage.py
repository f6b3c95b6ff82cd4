"""A mirror is a cache: broken, half-written or too large, it is made again."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kro_gitops.errors import Unavailable
from kro_gitops.source.git.mirror import Mirror
from kro_gitops.source.git.types import Remote
from kube_objects.errors import RefusedError
from tests.unit.source.git.origins import Origin, branch


def largest_pack(mirror: Mirror) -> Path:
    packs = (mirror.path / "objects" / "pack").glob("*.pack")
    return max(packs, key=lambda pack: pack.stat().st_size)


def truncate(mirror: Mirror) -> None:
    pack = largest_pack(mirror)
    pack.chmod(0o600)
    os.truncate(pack, pack.stat().st_size // 2)


def overwrite(mirror: Mirror) -> None:
    pack = largest_pack(mirror)
    pack.chmod(0o600)
    content = bytearray(pack.read_bytes())
    content[len(content) // 3 : -20] = os.urandom(len(content) - 20 - len(content) // 3)
    pack.write_bytes(content)


def remove_packs(mirror: Mirror) -> None:
    for file in (mirror.path / "objects" / "pack").iterdir():
        file.unlink()


def remove_head(mirror: Mirror) -> None:
    (mirror.path / "HEAD").unlink()


@pytest.mark.parametrize("break_it", [truncate, overwrite, remove_packs, remove_head])
@pytest.mark.parametrize("restarted", [True, False])
def test_a_broken_mirror_is_made_again(
    origin: Origin,
    mirror: Mirror,
    break_it: Callable[[Mirror], None],
    restarted: bool,
) -> None:
    commit = origin.commit({f"{number}": os.urandom(300) for number in range(30)})
    mirror.fetch(branch(commit))
    before = mirror.read([entry.id for entry in mirror.tree(commit)])
    if restarted:
        mirror.close()
    break_it(mirror)
    assert mirror.read([entry.id for entry in mirror.tree(commit)]) == before


def test_a_mirror_broken_while_we_were_away_is_made_again_on_fetch(
    origin: Origin, tmp_path: Path
) -> None:
    first = origin.commit({"a": "1" * 500})
    earlier = origin.mirrors(tmp_path / "mirrors").of(Remote(origin.url))
    earlier.fetch(branch(first))
    earlier.close()
    truncate(earlier)
    mirror = origin.mirrors(tmp_path / "mirrors").of(Remote(origin.url))
    with pytest.raises(Unavailable) as caught:
        mirror.tree(first)  # nobody told this one how to fetch it
    assert caught.value.code == "git-mirror-damaged"
    second = origin.commit({"a": "2"})
    mirror.fetch(branch(second))
    assert [entry.path for entry in mirror.tree(second)] == ["a"]
    mirror.close()


def test_a_broken_mirror_does_not_stop_the_next_fetch(origin: Origin, mirror: Mirror) -> None:
    mirror.fetch(branch(origin.commit({"a": os.urandom(5000)})))
    mirror.close()
    truncate(mirror)
    second = origin.commit({"b": "2"})
    mirror.fetch(branch(second))
    assert sorted(entry.path for entry in mirror.tree(second)) == ["a", "b"]


def test_what_a_killed_fetch_left_does_not_disturb(origin: Origin, mirror: Mirror) -> None:
    mirror.fetch(branch(origin.commit({"a": "1"})))
    second = origin.commit({"a": "2"})
    leftover = mirror.path / "objects" / "pack" / "tmp_pack_x1"
    leftover.write_bytes(b"half")
    for lock in ("shallow.lock", "config.lock", f"refs/kg/{second}.lock"):
        (mirror.path / lock).write_bytes(b"")
    mirror.fetch(branch(second))
    assert mirror.has(second)
    assert not leftover.exists()


def test_the_reader_is_started_again_when_it_was_killed(origin: Origin, mirror: Mirror) -> None:
    commit = origin.commit({"a": "1"})
    mirror.fetch(branch(commit))
    assert mirror.commit(commit).subject == "change"
    reader = mirror._repository.reader()
    os.killpg(reader.pid, signal.SIGKILL)
    reader.wait()
    assert mirror.commit(commit).subject == "change"


@pytest.mark.parametrize("limit", [{"refs": 30}, {"refs_bytes": 2000}], ids=str)
def test_a_remote_with_more_refs_than_are_read(
    limit: dict[str, int], origin: Origin, tmp_path: Path
) -> None:
    commit = origin.commit({"a": "1"})
    for number in range(40):
        origin.git("tag", f"v1.{number}.0")
    mirrors = origin.mirrors(tmp_path / "mirrors", **limit)
    mirror = mirrors.of(Remote(origin.url))
    with pytest.raises(RefusedError) as caught:
        mirror.ask(["refs/tags/*"])
    assert caught.value.code == "git-too-many-refs"
    assert "'ref.branch'" in caught.value.hint
    assert mirror.ask(["refs/heads/main"]).refs == {"refs/heads/main": commit}
    mirrors.close()


def test_a_fetch_that_brings_too_much_is_ended(origin: Origin, tmp_path: Path) -> None:
    commit = origin.commit({"big": os.urandom(3 << 20)})
    mirror = origin.mirrors(tmp_path / "mirrors", pack_bytes=1 << 20).of(Remote(origin.url))
    with pytest.raises(RefusedError) as caught:
        mirror.fetch(branch(commit))
    assert caught.value.code == "git-too-large"
    assert "1 MiB" in caught.value.message
    assert not mirror.has(commit)
    packs = list((mirror.path / "objects" / "pack").iterdir())
    assert sum(file.stat().st_size for file in packs) < 1 << 20
    mirror.close()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("filters", [False, True])
def test_a_mirror_does_not_grow_for_ever(origin: Origin, tmp_path: Path, filters: bool) -> None:
    mirrors = origin.mirrors(tmp_path / "mirrors")
    mirror = mirrors.of(Remote(origin.url, filters_blobs=filters))
    commits = []
    for number in range(40):
        commits.append(origin.commit({"a": os.urandom(2000), f"{number}": "x"}))
        mirror.fetch(branch(commits[-1]))
    kept = [commit for commit in commits if mirror.has(commit)]
    assert commits[-1] in kept
    assert len(kept) < 33
    assert len(list((mirror.path / "objects" / "pack").glob("*.pack"))) < 26
    entries = mirror.tree(commits[-1])
    assert len(entries) == 41
    assert len(mirror.read({entry.id for entry in entries})) == 2
    assert mirror.is_ancestor(commits[0], commits[-1])
    mirrors.close()


def test_a_process_that_dies_in_a_fetch_leaves_the_next_one_its_lock(
    origin: Origin, tmp_path: Path
) -> None:
    commit = origin.commit({f"{number}": os.urandom(1000) for number in range(50)})
    script = (
        "import sys; from pathlib import Path\n"
        "from kro_gitops.source.git.mirror import Mirrors\n"
        "from kro_gitops.source.git.types import FetchRules, Remote\n"
        "from kro_gitops.source.git.revisions import Chosen\n"
        "root, url, commit = sys.argv[1:]\n"
        "mirror = Mirrors(Path(root), FetchRules(local_urls={url})).of(Remote(url))\n"
        "print('ready', flush=True)\n"
        "mirror.fetch(Chosen('refs/heads/main', commit))\n"
    )
    root = tmp_path / "mirrors"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(root), origin.url, commit], stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"ready\n"
        time.sleep(0.02)
        other.kill()
    mirror = origin.mirrors(root).of(Remote(origin.url))
    mirror.fetch(branch(commit))
    assert len(mirror.read([entry.id for entry in mirror.tree(commit)])) == 50
    mirror.close()
