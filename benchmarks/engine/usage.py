"""
What a running process uses, as Linux tells it.
"""

import os
from pathlib import Path

from benchmarks.peers.processes import NotMeasuredError


def resident_bytes(pid: int) -> int:
    """Return the memory of a process that is in RAM."""
    pages = int(_read(pid, "statm").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid: int) -> float:
    """Return the CPU time a process has used, all threads that live together."""
    tasks = Path(f"/proc/{pid}/task")
    if not tasks.exists():
        raise NotMeasuredError("only Linux says what a running process uses")
    return sum(_task_seconds(task) for task in tasks.iterdir())


def children_cpu_seconds(pid: int) -> float:
    """Return the CPU time of the processes that a process started and that have ended."""
    # The name, in brackets, may hold anything; the third field follows it.
    fields = _read(pid, "stat").rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def _task_seconds(task: Path) -> float:
    # In nanoseconds; the other place where Linux says it counts in hundredths of a second.
    try:
        return int((task / "schedstat").read_text().split()[0]) / 1e9
    except FileNotFoundError:
        return 0.0  # a thread that has just ended


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except FileNotFoundError:
        raise NotMeasuredError("only Linux says what a running process uses") from None
