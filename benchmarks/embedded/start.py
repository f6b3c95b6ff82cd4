"""
From nothing to ready, and from a store that is there to ready; and the memory of it.
"""

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.embedded.servers import REAL, started
from benchmarks.engine.attempts import attempt, goal_at_most
from benchmarks.engine.usage import cpu_seconds
from benchmarks.peers.processes import ROOT, NotMeasuredError
from benchmarks.report import Report, middle

_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Started:
    """One start of a server."""

    seconds: float
    cpu_seconds: float


def run(report: Report) -> None:
    """Measure, print, compare with the goal."""
    report.heading("From the start of the embedded API server to its first answer")
    with tempfile.TemporaryDirectory(prefix="kro-gitops-benchmark-") as home:
        folders = [Path(home) / str(number) for number in range(_ROUNDS)]
        first = [_start(folder) for folder in folders]
        again = [_start(folder) for folder in folders]
    rows = [_row("first, with keys to make", first), _row("again", again)]
    real = attempt(report, REAL, _real)
    if isinstance(real, float):
        rows.append([REAL, f"{real:.2f}", ""])
    report.table(["", "s", "CPU s"], rows)
    found = middle([each.seconds for each in first])
    report.goal(goal_at_most("seconds until ready, at first", 1.0, found))


def _row(name: str, found: list[Started]) -> list[str]:
    seconds, cpu = (
        [getattr(each, field) for each in found] for field in ("seconds", "cpu_seconds")
    )
    return [name, f"{middle(seconds):.2f}", f"{middle(cpu):.2f}"]


def _start(folder: Path) -> Started:
    command = [sys.executable, "-m", "kube_sandbox", str(folder), "--guarded"]
    begun = time.monotonic()
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            if not process.stdout.readline():
                raise NotMeasuredError("the server ended before it was ready")
            return Started(time.monotonic() - begun, cpu_seconds(process.pid))
        finally:
            process.kill()


def _real() -> float:
    with started(REAL) as server:
        return server.ready_after
