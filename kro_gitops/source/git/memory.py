"""
How much memory git may use: a share of the container's limit.

A kernel that runs out of the container's memory kills any process in it, the controller included.
So the commands that may run at the same time, and the controller, must fit into the limit
together. The limit is read from the control group, version 2 or 1, once: it does not change while
a container runs, except by a resize in place, which a restart picks up.
"""

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_MIB = 1 << 20
_CONTROLLER = 256 * _MIB  # what the controller itself is expected to need
# Git and its transport need about 20 MiB for themselves: with less, hardly any repository could be
# fetched.
_LEAST = 64 * _MIB
_COMMANDS = (4, 16)  # that run at the same time, at least and at most
_UNLIMITED = 1 << 60  # version 1 reports about 2**63 where there is no limit


@dataclass(frozen=True, slots=True)
class GitMemory:
    """
    How many commands may run at the same time, and the bytes that a process of them may use.

    `refs` is for listing the refs of a remote, `command` for everything else.
    """

    commands: int
    refs: int
    command: int


# Without a limit of the container: enough for large repositories on a developer's machine.
DEFAULT = GitMemory(commands=_COMMANDS[1], refs=128 * _MIB, command=1024 * _MIB)


def share_of(container: int | None) -> GitMemory:
    """
    Return what git may use in a container with this limit; None: no limit.

    Listing refs gets less: 100,000 of them need about 45 MiB, and it is the cheapest way for a
    hostile server to send without end.
    """
    if container is None:
        return DEFAULT
    fewest, most = _COMMANDS
    commands = min(most, max(fewest, (container - _CONTROLLER) // _LEAST))
    share = max(_LEAST, (container - _CONTROLLER) // commands)
    return GitMemory(commands, min(share, DEFAULT.refs), min(share, DEFAULT.command))


@functools.cache
def git_memory() -> GitMemory:
    """Return what git may use in the container that this process runs in."""
    return share_of(container_memory())


def container_memory(system: Path = Path("/")) -> int | None:
    """Return the memory limit of this process's control group, or None if it has none."""
    found: list[int] = []
    for file in _limit_files(system):
        with contextlib.suppress(OSError, ValueError):  # it may say "max"
            found.append(int(file.read_text("ascii")))
    limits = [limit for limit in found if 0 < limit < _UNLIMITED]
    return min(limits, default=None)


def _limit_files(system: Path) -> Iterator[Path]:
    """
    Yield the files that may hold the limit.

    A group is limited by all groups above it. In a container the path of a group is usually `/`,
    but it is that of the host where the container shares the host's cgroup namespace; then only
    the top of the mounted tree exists.
    """
    groups = system / "sys/fs/cgroup"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        for line in (system / "proc/self/cgroup").read_text("utf-8").splitlines():
            hierarchy, controllers, path = (*line.split(":", 2), "", "")[:3]
            below = PurePosixPath(path.lstrip("/"))
            for folder in (below, *below.parents):
                if hierarchy == "0":
                    yield groups / folder / "memory.max"
                    yield groups / "unified" / folder / "memory.max"
                elif "memory" in controllers.split(","):
                    yield groups / "memory" / folder / "memory.limit_in_bytes"
