"""
A controller started anew over a repository that is in the cluster already.
"""

import time
from dataclasses import dataclass

from benchmarks.engine.arena import QUIET
from benchmarks.engine.attempts import goal_at_most
from benchmarks.engine.audit import Requests
from benchmarks.engine.usage import cpu_seconds, resident_bytes
from benchmarks.peers.processes import NotMeasuredError
from benchmarks.report import Report
from benchmarks.source.world import GLANCE, Following, World

_LIMIT = 600.0
_KIB, _MIB = 2**10, 2**20
_FIXED_READS = 25
_PAGE = 100  # instances: kinds are listed in pages of 500, and each object is in three lists
_OBJECTS = 2  # an instance and its child


@dataclass(frozen=True, slots=True)
class Restart:
    """What a start took until the source had been gone through, and until all was quiet."""

    answers_after: float
    done_after: float
    cpu_seconds: float
    requests: Requests
    resident: int
    empty: int  # resident bytes of a controller that has nothing to do
    steps: dict[str, float]


def measure(world: World, empty: int) -> Restart:
    """Start a controller, and wait until it finds nothing more to do."""
    mark, began = world.field.audit.mark(), time.monotonic()
    with world.following() as following:
        pid = following.controller.pid
        done = _gone_through(following, began)
        world.field.audit.wait_until_quiet(2 * QUIET)
        return Restart(
            following.controller.ready_after,
            done,
            cpu_seconds(pid),
            world.field.audit.since(mark),
            resident_bytes(pid),
            empty,
            following.figures(),
        )


def _gone_through(following: Following, began: float) -> float:
    while time.monotonic() - began < _LIMIT:
        if "sync" in following.figures():
            return time.monotonic() - began
        time.sleep(GLANCE)
    raise NotMeasuredError(f"the source was not gone through within {_LIMIT:.0f} s")


def print_restart(report: Report, restart: Restart, count: int) -> None:
    """Print what a restart takes, and compare."""
    report.heading(f"14. The controller restarted over {count:,} instances from git")
    steps = ", ".join(f"{step} {seconds:.2f}" for step, seconds in restart.steps.items())
    report.line(
        f"answers after {restart.answers_after:.1f} s, done after {restart.done_after:.1f} s, "
        f"{restart.cpu_seconds:.1f} s of CPU time; steps in s: {steps}"
    )
    report.line(f"asks: {restart.requests}")
    grown = restart.resident - restart.empty
    report.line(
        f"{restart.resident / _MIB:.0f} MiB resident, {restart.empty / _MIB:.0f} with nothing to "
        f"do: {grown / count / _KIB:.1f} KiB an instance with its file and its child, "
        f"{grown / count / _OBJECTS / _KIB:.1f} an object"
    )
    report.goal(goal_at_most("writes of a restart", 0, restart.requests.writes))
    limit = _FIXED_READS + count // _PAGE
    report.goal(goal_at_most("reads of a restart", limit, restart.requests.reads))
