"""
Deployments with Services to available, few and many: what one costs must not depend on the others.

Only the embedded API: pods of a real one would need nodes.
"""

from dataclasses import dataclass

from benchmarks.embedded.servers import OURS, started
from benchmarks.engine.attempts import Missing, attempt, goal_at_most, ratio
from benchmarks.report import Report

_COUNTS = (100, 800)
_LIMIT = 300.0
_MOST = 1.5  # times what it costs beside few


@dataclass(frozen=True, slots=True)
class Rolled:
    """How long it took until all were available, and CPU seconds of the server."""

    count: int
    seconds: float
    cpu_seconds: float

    @property
    def milliseconds_each(self) -> float:
        """Return the CPU time of one Deployment with all that comes of it."""
        return self.cpu_seconds / self.count * 1e3


def run(report: Report) -> None:
    """Measure, print, compare with the goal."""
    report.heading("Deployments with a Service each to available, in one namespace")
    found = [
        attempt(report, OURS, lambda count=count: _measure(count))  # type: ignore[misc]
        for count in _COUNTS
    ]
    rows = [
        [f"{each.count}", f"{each.seconds:.1f}", f"{each.milliseconds_each:.1f}"]
        for each in found
        if not isinstance(each, Missing)
    ]
    report.table(["Deployments", "s", "CPU ms each"], rows)
    few, many = (each if isinstance(each, Missing) else each.milliseconds_each for each in found)
    report.goal(goal_at_most("one Deployment among many, times", _MOST, ratio(many, few)))


def _measure(count: int) -> Rolled:
    with started(OURS, controllers=True) as server:
        before = server.cpu_seconds
        found = server.run("apps", count, limit=_LIMIT)
        return Rolled(count, found["seconds"], server.cpu_seconds - before)
