"""
A poll that finds nothing new: it should cost what the question to the remote costs.
"""

import asyncio
import os
import subprocess
import time
from dataclasses import dataclass

from benchmarks.engine.attempts import goal_at_most
from benchmarks.engine.connection import connect
from benchmarks.engine.usage import children_cpu_seconds, cpu_seconds
from benchmarks.peers.processes import NotMeasuredError
from benchmarks.report import Report, middle, milliseconds
from benchmarks.source import workload
from benchmarks.source.world import Following, World, wait_until_ready
from kro_gitops.kube.api import MergePatch
from tests.git_repositories import clean_environment, git_program

_SECONDS = 60.0
_INTERVAL = "1s"
_SETTLE = 5.0  # seconds
_BARE = 20


@dataclass(frozen=True, slots=True)
class Polls:
    """What one poll takes, and what the bare question takes."""

    count: int
    seconds: float
    own_cpu_seconds: float
    git_cpu_seconds: float
    requests: float
    bare_seconds: float
    bare_cpu_seconds: float

    @property
    def cpu_seconds(self) -> float:
        """Return the CPU time of the controller and its git."""
        return self.own_cpu_seconds + self.git_cpu_seconds


def measure(world: World, following: Following) -> Polls:
    """Have the source polled every second, and count."""
    _set_interval(world, _INTERVAL)
    time.sleep(_SETTLE)
    wait_until_ready(world, world.repository.head(), 60.0)
    pid = following.controller.pid
    before, mark = following.figures(), world.field.audit.mark()
    own, git = cpu_seconds(pid), children_cpu_seconds(pid)
    time.sleep(_SECONDS)  # to ask how far it is would cost more than the polls
    own, git = cpu_seconds(pid) - own, children_cpu_seconds(pid) - git
    asked, after = world.field.audit.since(mark).total, following.figures()
    _set_interval(world, "1h")
    count = int(after["polls"] - before["polls"])
    if not count:
        raise NotMeasuredError(f"there was no poll in {_SECONDS:.0f} s")
    bare = [_ask(world) for _ in range(_BARE)]
    return Polls(
        count,
        (after["poll"] - before["poll"]) / count,
        own / count,
        git / count,
        asked / count,
        middle([seconds for seconds, _ in bare]),
        sum(cpu for _, cpu in bare) / _BARE,
    )


def _set_interval(world: World, interval: str) -> None:
    async def set_it() -> None:
        async with connect(world.field.plane.kubeconfig) as cluster:
            await cluster.patch(workload.SOURCE, MergePatch({"spec": {"interval": interval}}))

    asyncio.run(set_it())


def _ask(world: World) -> tuple[float, float]:
    """Return the seconds, and the CPU seconds, of a bare question."""
    command = [git_program(), "ls-remote", "--symref", world.url, "HEAD"]
    began = time.perf_counter()
    process = subprocess.Popen(
        command, env=clean_environment(world.home), stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return time.perf_counter() - began, used.ru_utime + used.ru_stime


def print_polls(report: Report, polls: Polls, count: int) -> None:
    """Print what a poll takes, and compare."""
    report.heading(f"13. A poll that finds nothing new, {count:,} instances, ms")
    rows = [
        ["ours", milliseconds(polls.seconds), milliseconds(polls.cpu_seconds)],
        ["git ls-remote", milliseconds(polls.bare_seconds), milliseconds(polls.bare_cpu_seconds)],
    ]
    report.table(["", "wall", "CPU"], rows)
    own = f"{milliseconds(polls.own_cpu_seconds)} ms of the CPU time are the controller's own"
    report.line(f"{polls.count} polls; {own}")
    times = polls.cpu_seconds / polls.bare_cpu_seconds
    report.goal(goal_at_most("CPU time of a poll, times git ls-remote", 1.5, times))
    wall = polls.seconds / polls.bare_seconds
    report.goal(goal_at_most("wall time of a poll, times git ls-remote", 1.5, wall))
    report.goal(goal_at_most("requests to the API server a poll", 0, polls.requests))
