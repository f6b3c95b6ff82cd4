"""kubectl get --watch tells of the same changes, in the same order, on both clusters."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.kubectl.said import Said
from tests.e2e.kubectl.twins import Kubectl, Twins, compare

pytestmark = pytest.mark.timeout(240)  # a command takes a second where others are at work

LIMIT = 20.0


class Watcher:
    """A command that goes on printing until it is ended."""

    def __init__(self, process: "subprocess.Popen[bytes]", output: Path) -> None:
        self._process = process
        self._output = output

    def lines(self, count: int) -> Said:
        """Return what it has printed, as soon as it is that much."""
        deadline = time.monotonic() + LIMIT
        while len(found := self._output.read_text().splitlines()) < count:
            assert time.monotonic() < deadline, f"{count} lines never came: {found}"
            time.sleep(0.05)
        return Said(0, "\n".join(found), "")


@contextmanager
def _watching(kubectl: Kubectl, output: Path, *arguments: str) -> Iterator[Watcher]:
    with (
        output.open("wb") as file,
        subprocess.Popen(kubectl.command(*arguments), stdout=file) as process,
    ):
        try:
            yield Watcher(process, output)
        finally:
            process.terminate()


@pytest.mark.parametrize(
    ("flags", "before", "after"),
    [
        pytest.param(("-w",), 2, 5, id="watch"),
        pytest.param(("--watch-only",), 0, 4, id="watch only"),
        pytest.param(("-w", "-o", "name"), 1, 4, id="names"),
        pytest.param(("-w", "--output-watch-events"), 2, 5, id="with the type of event"),
        pytest.param(("-w", "-l", "app=shop"), 2, 4, id="selected"),
        pytest.param(("-w", "-o", "jsonpath={.metadata.name}{.data}{'\\n'}"), 1, 4, id="paths"),
    ],
)
def test_changes_are_told(
    twins: Twins, tmp_path: Path, flags: tuple[str, ...], before: int, after: int
) -> None:
    twins("create", "configmap", "first", "--from-literal=a=1")
    twins("label", "configmap", "first", "app=shop")
    with (
        _watching(twins.real, tmp_path / "real", "get", "configmaps", *flags) as real,
        _watching(twins.ours, tmp_path / "ours", "get", "configmaps", *flags) as ours,
    ):
        for each in (real, ours):
            each.lines(before)
        if not before:
            time.sleep(2.0)  # nothing says when it has begun
        twins("patch", "configmap", "first", "-p", '{"data":{"a":"2"}}')
        twins("create", "configmap", "second", "--from-literal=a=1")
        twins("delete", "configmap", "first")
        assert not compare(real.lines(after), ours.lines(after))
