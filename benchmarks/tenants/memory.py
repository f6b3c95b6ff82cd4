"""
The peak memory of a process and of everything it started.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_INTERVAL = 0.2  # seconds


class Peak:
    """The largest sum that was seen, and the largest size of the process alone."""

    def __init__(self) -> None:
        self.total = 0
        self.own = 0

    def look(self, pid: int) -> None:
        """Look once."""
        own, program = _proportional(pid), _read(pid, "cmdline")
        # A child that has not executed its program yet uses the memory of its parent (vfork).
        children = [child for child in descendants(pid) if _read(child, "cmdline") != program]
        total = own + sum(map(_proportional, children))
        self.total, self.own = max(total, self.total), max(own, self.own)


@contextmanager
def peak_of(pid: int) -> Iterator[Peak]:
    """Watch a process for as long as the block lasts."""
    peak, ended = Peak(), threading.Event()

    def watch() -> None:
        while not ended.wait(_INTERVAL):
            peak.look(pid)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        ended.set()
        thread.join()


def descendants(pid: int) -> list[int]:
    """Return the processes that a process started, and those that they started."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        with suppress(OSError):  # it has ended
            for task in Path(f"/proc/{waiting.pop()}/task").iterdir():
                children = [int(word) for word in (task / "children").read_text().split()]
                found += children
                waiting += children
    return found


def _proportional(pid: int) -> int:
    """Return the memory of a process, in which pages that it shares count in part."""
    for line in _read(pid, "smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return ""  # it has ended
