"""
The engine on both servers: many instances from created to ready, as in `benchmarks/engine/create`.
"""

from benchmarks.embedded.servers import OURS, REAL
from benchmarks.engine import workload
from benchmarks.engine.arena import Fed, arena
from benchmarks.engine.attempts import Missing, attempt, goal_at_most, ratio
from benchmarks.engine.controllers import OURS as ENGINE
from benchmarks.report import Report

_COUNT = 500
_MOST = 2.0  # times the real one's


def run(report: Report) -> None:
    """Measure, print side by side, compare with the goal."""
    report.heading(f"{_COUNT} instances with {workload.CHILDREN} children each to Ready, by server")
    ours = attempt(report, OURS, lambda: _settled(is_embedded=True))
    real = attempt(report, REAL, lambda: _settled(is_embedded=False))
    rows = [
        [
            name,
            f"{fed.seconds:.2f}",
            f"{fed.milliseconds_each:.1f}",
            f"{fed.shared_cpu_seconds:.1f}",
        ]
        for name, fed in ((OURS, ours), (REAL, real))
        if not isinstance(fed, Missing)
    ]
    if rows:
        report.table(["", "s", "ms each", "CPU s of all"], rows)
    times = ratio(_seconds(ours), _seconds(real))
    report.goal(goal_at_most(f"{_COUNT} instances on ours, times", _MOST, times))


def _settled(*, is_embedded: bool) -> Fed:
    with arena(is_embedded=is_embedded) as field, field.serving(ENGINE) as controller:
        return field.feed(controller, 0, _COUNT)


def _seconds(fed: Fed | Missing) -> float | Missing:
    return fed if isinstance(fed, Missing) else fed.seconds
