"""The processes below another one: to look at them, and to end them for certain. Linux only."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_SHARED = (
    "tools.cluster",
    "kube-apiserver",
    "/etcd",
    "kube-controller-manager",
    "kro_gitops",
    "kube_sandbox",
)


@dataclass(frozen=True, slots=True)
class Process:
    """What another user (argv), or the same one (environment), can read of a process."""

    pid: int
    argv: tuple[str, ...]
    environment: str


def descendants(of: int | None = None) -> list[int]:
    """Return the ids of all processes below one (this one, if none is named)."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found = list(children.get(of or os.getpid(), ()))
    for pid in found:
        found.extend(children.get(pid, ()))
    return found


def own_descendants() -> list[int]:
    """Return those below this process, without clusters and controllers that tests share."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    waiting = list(children.get(os.getpid(), ()))
    while waiting:
        pid = waiting.pop()
        seen = look(pid)
        if seen is not None and not any(each in " ".join(seen.argv) for each in _SHARED):
            found.append(pid)
            waiting.extend(children.get(pid, ()))
    return found


def look(pid: int) -> Process | None:
    """Return what can be seen of a process, if it is still there."""
    with suppress(OSError):
        argv = (_PROC / str(pid) / "cmdline").read_bytes()
        environment = (_PROC / str(pid) / "environ").read_bytes()
        words = tuple(os.fsdecode(word) for word in argv.split(b"\0") if word)
        return Process(pid, words, os.fsdecode(environment))
    return None


def processes_in(folder: Path, patience: float = 1.0) -> list[Process]:
    """
    Return the processes that work below a folder, after giving them a moment to end.

    One whose parent was killed is no descendant of ours any more; where it works still tells.
    """
    deadline = time.monotonic() + patience
    while found := [each for each in map(look, _at_work_in(folder.resolve())) if each]:
        if time.monotonic() > deadline:
            return found
        time.sleep(0.01)
    return []


def end(pid: int) -> None:
    """Kill a process and all below it, sessions of their own or not."""
    for each in (pid, *descendants(pid)):
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


def _at_work_in(folder: Path) -> Iterator[int]:
    for process in _PROC.iterdir():
        if process.name.isdigit():
            with suppress(OSError):
                if (process / "cwd").readlink().is_relative_to(folder):
                    yield int(process.name)


def _parents() -> Iterator[tuple[int, int]]:
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                # The name of the program, in parentheses, may hold anything.
                fields = (folder / "stat").read_text(encoding="utf-8", errors="replace")
                state, parent = fields.rpartition(")")[2].split()[:2]
                if state != "Z":
                    yield int(folder.name), int(parent)
