"""
Ever more instances: what each takes should stay what it was.

Each number has a control plane of its own. The floor beside it tells what the API server makes of
the number.
"""

from dataclasses import dataclass

from benchmarks.engine.arena import Fed
from benchmarks.engine.attempts import Missing, attempt, goal_at_most, ratio
from benchmarks.engine.controllers import OURS
from benchmarks.engine.create import pour, settle
from benchmarks.report import Report

_COUNTS = (100, 500, 2000)
_NOISE = 1.25


@dataclass(frozen=True, slots=True)
class Step:
    """One number of instances."""

    count: int
    floor: float | Missing
    fed: Fed | Missing

    @property
    def milliseconds(self) -> float | Missing:
        """Return the time of an instance."""
        return self.fed if isinstance(self.fed, Missing) else self.fed.milliseconds_each

    @property
    def cpu_milliseconds(self) -> float | Missing:
        """Return the controller's CPU time for an instance."""
        return (
            self.fed if isinstance(self.fed, Missing) else self.fed.cpu_seconds / self.count * 1e3
        )

    @property
    def floor_milliseconds(self) -> float | Missing:
        """Return what the bare requests of an instance take."""
        return self.floor if isinstance(self.floor, Missing) else self.floor / self.count * 1e3


def run(report: Report) -> None:
    """Measure each number, print what an instance takes."""
    report.heading("11. More and more instances, ms an instance")
    steps = [_step(report, count) for count in _COUNTS]
    rows = [
        [
            f"{step.count:,}",
            _shown(step.floor_milliseconds),
            _shown(step.milliseconds),
            _shown(ratio(step.milliseconds, step.floor_milliseconds)),
            _shown(step.cpu_milliseconds),
        ]
        for step in steps
    ]
    report.table(["instances", "floor", "ours", "× floor", "CPU time of ours"], rows)
    few, many = steps[0], steps[-1]
    words = f"at {many.count:,}, times that at {few.count:,}"
    took = ratio(many.milliseconds, few.milliseconds)
    report.goal(goal_at_most(f"time of an instance {words}", _NOISE, took))
    used = ratio(many.cpu_milliseconds, few.cpu_milliseconds)
    report.goal(goal_at_most(f"CPU time of an instance {words}", _NOISE, used))


def _step(report: Report, count: int) -> Step:
    floor = attempt(report, f"the floor of {count:,}", lambda: pour(count).seconds)
    fed = attempt(report, f"{OURS}, {count:,}", lambda: settle(OURS, count).fed)
    return Step(count, floor, fed)


def _shown(figure: float | Missing) -> str:
    return "–" if isinstance(figure, Missing) else f"{figure:.2f}"
