"""
What settled instances cost for as long as they are there: memory, and CPU time while nothing
happens.
"""

import time
from dataclasses import dataclass

from benchmarks.engine.arena import arena
from benchmarks.engine.attempts import Missing, attempt, goal_at_most
from benchmarks.engine.controllers import OURS
from benchmarks.engine.usage import cpu_seconds, resident_bytes
from benchmarks.report import Report

_FEW, _MANY = 100, 500
_IDLE = 20.0
_KIB, _MIB = 2**10, 2**20


@dataclass(frozen=True, slots=True)
class Upkeep:
    """Resident bytes by number of instances, and what the idle seconds took."""

    resident: dict[int, int]
    idle_cpu_seconds: float
    idle_requests: int

    def kibibytes_each(self, few: int, many: int) -> float:
        """Return the memory of an instance."""
        return (self.resident[many] - self.resident[few]) / (many - few) / _KIB


def run(report: Report) -> None:
    """Measure, print, compare with the goals."""
    report.heading(f"9. Memory and idle CPU time with {_MANY} settled instances")
    upkeep = attempt(report, OURS, _measure)
    each: float | Missing
    idle: float | Missing
    asked: float | Missing
    if isinstance(upkeep, Missing):
        each = idle = asked = upkeep
    else:
        rows = [[str(count), f"{size / _MIB:.1f}"] for count, size in upkeep.resident.items()]
        report.table(["instances", "MiB resident"], rows)
        slope = upkeep.kibibytes_each(_FEW, _MANY)
        report.line(f"between {_FEW} and {_MANY}: {slope:.1f} KiB an instance")
        each, idle = upkeep.kibibytes_each(0, _MANY), upkeep.idle_cpu_seconds * 1e3
        asked = upkeep.idle_requests
    report.goal(goal_at_most("KiB an instance", 40, each))
    report.goal(goal_at_most(f"ms of CPU time in {_IDLE:.0f} idle seconds", 100, idle))
    report.goal(goal_at_most("requests in them", 0, asked))


def _measure() -> Upkeep:
    with arena() as field, field.serving(OURS) as controller:
        resident = {0: resident_bytes(controller.pid)}
        for first, last in ((0, _FEW), (_FEW, _MANY)):
            field.feed(controller, first, last - first)
            resident[last] = resident_bytes(controller.pid)
        mark, cpu = field.audit.mark(), cpu_seconds(controller.pid)
        time.sleep(_IDLE)
        used = cpu_seconds(controller.pid) - cpu
        return Upkeep(resident, used, field.audit.since(mark).total)
