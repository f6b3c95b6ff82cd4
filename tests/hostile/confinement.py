"""
Run the reading of a hostile repository between walls: memory, processor time, and the clock.

The walls are the kernel's, so a failure here is a failure there: a reader that needs more than
it is given dies of it, and the test says so.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from objects_testing.budgets import examples

from tests.child_processes import end, processes_in

_ROOT = Path(__file__).parents[2]
MEMORY = 1 << 30
PROCESSOR_SECONDS = examples(40)
CLOCK_SECONDS = examples(50)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a reading: its report, all it printed, what it cost."""

    report: Mapping[str, Any]
    printed: str
    seconds: float

    @property
    def error(self) -> str:
        """Return the code of the error that ended it, or nothing."""
        return str(self.report["error"][1]) if self.report["error"] else ""

    @property
    def findings(self) -> list[tuple[str, str, int]]:
        """Return code, file and line of what was found wrong."""
        return [(code, file, line) for code, file, line, _ in self.report.get("findings", ())]

    @property
    def shown(self) -> list[str]:
        """Return the texts that people get to see."""
        findings = self.report.get("findings", ())
        told = [text for _, file, _, summary in findings for text in (file, summary)]
        return [*told, *(self.report["error"] or ()), *self.report.get("commit", ())]

    @property
    def kib(self) -> int:
        """Return the memory of its largest process."""
        return max(int(self.report["own_kib"]), int(self.report["git_kib"]))


@dataclass(frozen=True, slots=True)
class Question:
    """A repository to read; `local` ones may be on this machine and without TLS."""

    url: str
    ref: Mapping[str, str]
    local: bool = True
    seconds: float = examples(20)  # for each visit to the server


def confined(questions: Sequence[Question], folder: Path) -> list[Outcome]:
    """Read repositories in one process; fail if it breaks a wall or leaves another behind."""
    asked = [{**asdict(each), "folder": str(folder)} for each in questions]
    begun = time.monotonic()
    out, complaint = _run(asked, folder)
    seconds = time.monotonic() - begun
    left = processes_in(folder)
    for process in left:
        end(process.pid)
    assert not left, "a process was left behind"
    return [Outcome(report, out + complaint, seconds) for report in json.loads(out)]


def _run(questions: Sequence[Mapping[str, Any]], folder: Path) -> tuple[str, str]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.hostile.reading"],
        cwd=_ROOT,
        env={"PATH": os.environ["PATH"], "HOME": str(folder.parent)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=_raise_walls,
    ) as process:
        try:
            out, err = process.communicate(json.dumps(questions).encode(), CLOCK_SECONDS)
        finally:
            end(process.pid)
    complaint = err.decode("utf-8", "replace")
    assert process.returncode == 0, f"{_cause(process.returncode)}: {complaint[-3000:]}"
    return out.decode("utf-8", "replace"), complaint


def _raise_walls() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _cause(code: int) -> str:
    return f"it was ended by {signal.Signals(-code).name}" if code < 0 else f"it ended with {code}"
