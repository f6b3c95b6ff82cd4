"""What a commit costs is known before it is paid: packs of nothing can hold gigabytes."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from kro_gitops.source.api.types import SourceSpec
from kro_gitops.source.controllers.fetch import _read
from kro_gitops.source.controllers.state import Fetched
from kro_gitops.source.files.manifests import SourceLimits
from kro_gitops.source.files.revision import Library
from kro_gitops.source.git.types import Remote
from kube_objects.errors import RefusedError
from tests.unit.source.git.origins import Origin, branch

LIMITS = SourceLimits(total_bytes=1 << 20)
PADDING = "#" * (1 << 18)
Read = Callable[..., Fetched]


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    return Origin(tmp_path / "origin")


@pytest.fixture
def read(origin: Origin, tmp_path: Path) -> Read:
    def read(commit: str, **rules: object) -> Fetched:
        is_filtered = bool(rules.pop("filters_blobs", False))
        mirrors = origin.mirrors(tmp_path / "mirrors", **rules)
        mirror = mirrors.of(Remote(origin.url, filters_blobs=is_filtered))
        mirror.fetch(branch(commit))
        spec = SourceSpec(origin.url, filters_blobs=is_filtered)
        try:
            return _read(mirror, branch(commit), spec, Library(LIMITS), ())
        finally:
            mirrors.close()

    return read


@pytest.mark.parametrize("filters_blobs", [False, True])
@pytest.mark.parametrize("is_same", [False, True], ids=["different files", "one file many times"])
def test_files_beyond_the_limit_are_not_read(
    origin: Origin, read: Read, is_same: bool, filters_blobs: bool
) -> None:
    text = "# {}\n" + PADDING
    names = range(64)  # 16 MiB, packed into a few KiB
    commit = origin.commit({f"{n}.yaml": text.format(0 if is_same else n) for n in names})
    tracemalloc.start()
    try:
        found = read(commit, filters_blobs=filters_blobs)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [each.problem.code for each in found.snapshot.errors] == ["source-too-large"]
    assert filters_blobs or peak < 12 << 20


@pytest.mark.parametrize("largest", [1, 1 << 21], ids=["many files", "one too large, too"])
def test_what_a_filter_left_out_is_not_read_without_end(
    origin: Origin, read: Read, largest: int
) -> None:
    files = {f"{n}.yaml": f"# {n}\n{PADDING}" for n in range(8)}
    commit = origin.commit({**files, "large.yaml": "#" * largest})
    with pytest.raises(RefusedError) as caught:
        read(commit, filters_blobs=True, read_bytes=1 << 20)
    assert caught.value.code == "git-too-large"


def test_ignore_files_have_one_limit_together(origin: Origin, read: Read) -> None:
    commit = origin.commit({f"{n}/.sourceignore": f"# {n}\n{PADDING}" for n in range(5)})
    with pytest.raises(RefusedError, match="ignore files have more than"):
        read(commit)
