"""
A controller that starts over instances which are settled: it should find nothing to do.

It must read what there is, but by lists, which grow by a page for hundreds of instances. So reads
are compared between few instances and many, on one control plane.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks.engine.arena import QUIET, Arena, arena
from benchmarks.engine.attempts import Missing, attempt, goal_at_most
from benchmarks.engine.audit import Requests
from benchmarks.engine.controllers import KRO, OURS
from benchmarks.report import Report

_FEW, _MANY = 100, 500
# A controller may put work off for a moment after it is ready.
_MOMENT = 2 * QUIET


@dataclass(frozen=True, slots=True)
class Restart:
    """A start over settled instances."""

    name: str
    instances: int
    ready_after: float
    requests: Requests


def run(report: Report, *, full: bool) -> None:
    """Restart ours over few and many instances, kro too if there is time; print what they ask."""
    report.heading(f"8. The controller restarted over {_FEW} and {_MANY} settled instances")
    found = {
        name: attempt(report, name, partial(_restarts, name))
        for name in ((OURS, KRO) if full else (OURS,))
    }
    _print_table(report, [one for each in found.values() if isinstance(each, list) for one in each])
    ours = found[OURS]
    writes: float | Missing
    reads: float | Missing
    if isinstance(ours, Missing):
        writes = reads = ours
    else:
        few, many = ours
        writes = many.requests.writes
        reads = (many.requests.reads - few.requests.reads) / (_MANY - _FEW)
        report.line(f"ours asks at {_MANY}: {many.requests}")
    report.goal(goal_at_most(f"writes of a restart over {_MANY} instances", 0, writes))
    report.goal(goal_at_most("reads of a restart for each further instance", 0.01, reads))


def _restarts(name: str) -> list[Restart]:
    with arena() as field:
        with field.serving(name) as controller:
            field.feed(controller, 0, _FEW)
        few = _restart(field, name, _FEW, feed=_MANY - _FEW)
        return [few, _restart(field, name, _MANY, feed=0)]


def _restart(field: Arena, name: str, instances: int, feed: int) -> Restart:
    """Start over instances, then add some."""
    mark = field.audit.mark()
    with field.controller(name) as controller:
        field.audit.wait_until_quiet(_MOMENT)
        found = Restart(name, instances, controller.ready_after, field.audit.since(mark))
        if feed:
            field.feed(controller, instances, feed)
    return found


def _print_table(report: Report, restarts: Sequence[Restart]) -> None:
    rows = [
        [
            f"{one.name}, {one.instances} instances",
            f"{one.ready_after:.2f}",
            f"{one.requests.writes:,}",
            f"{one.requests.reads:,}",
            f"{one.requests.watches:,}",
        ]
        for one in restarts
    ]
    if rows:
        report.table(["", "s until ready", "writes", "reads", "watches opened"], rows)
