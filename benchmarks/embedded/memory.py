"""
What servers keep in memory: with nothing but their own objects, and with many.
"""

import time

from benchmarks.embedded.servers import NAMES, OURS, REAL, started
from benchmarks.engine.attempts import Missing, attempt, goal_at_most, ratio
from benchmarks.report import Report

_COUNT = 2000
_LIMIT = 300.0
_REST = 3.0  # seconds after which a server has done what it does by itself
_MIB = 2**20
_MOST = 1 / 3  # of the real one's

Sizes = dict[int, int]  # bytes by number of objects


def run(report: Report) -> None:
    """Measure, print side by side, compare with the goals."""
    report.heading(f"Memory with 0 and {_COUNT} objects")
    found = {name: attempt(report, name, lambda name=name: _measure(name)) for name in NAMES}  # type: ignore[misc]
    rows = [
        [name, *(f"{size / _MIB:.0f}" for size in sizes.values())]
        for name, sizes in found.items()
        if not isinstance(sizes, Missing)
    ]
    if rows:
        report.table(["MiB resident", "0 objects", f"{_COUNT} objects"], rows)
    for count in (0, _COUNT):
        share = ratio(_size(found[OURS], count), _size(found[REAL], count))
        report.goal(goal_at_most(f"memory with {count} objects, times", _MOST, share))


def _measure(name: str) -> Sizes:
    with started(name) as server:
        time.sleep(_REST)
        sizes = {0: server.resident_bytes}
        server.run("fill", _COUNT, limit=_LIMIT)
        time.sleep(_REST)
        return {**sizes, _COUNT: server.resident_bytes}


def _size(sizes: Sizes | Missing, count: int) -> float | Missing:
    return sizes if isinstance(sizes, Missing) else float(sizes[count])
