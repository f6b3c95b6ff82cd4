"""
Server-side apply and the latency of watches: the same client against both servers.
"""

from dataclasses import dataclass

from benchmarks.embedded.load import AT_ONCE
from benchmarks.embedded.servers import NAMES, OURS, REAL, started
from benchmarks.engine.attempts import Missing, attempt, goal_at_most, ratio
from benchmarks.report import Report

_COUNT = 300
_LIMIT = 300.0
_MOST = 2.0  # times the real one's


@dataclass(frozen=True, slots=True)
class Loaded:
    """Seconds of each way to apply, the latency of a watch, and CPU seconds of the whole run."""

    apply: dict[str, float]
    latency: float
    cpu_seconds: float


def run(report: Report) -> None:
    """Measure, print side by side, compare with the goals."""
    report.heading(
        f"Server-side apply, one at a time and {AT_ONCE} at once; the latency of watches"
    )
    found = {name: attempt(report, name, lambda name=name: _measure(name)) for name in NAMES}  # type: ignore[misc]
    ours, real = found[OURS], found[REAL]
    if not isinstance(ours, Missing):
        rows = [_row(way, ours, real) for way in ours.apply]
        report.table(["", "ms", "of the real one", "times", "a second"], rows)
        for name, one in found.items():
            if not isinstance(one, Missing):
                report.line(f"{name}: {one.cpu_seconds:.1f} CPU seconds for all of it")
    for at_once in (1, AT_ONCE):
        worst = _worst(ours, real, at_once)
        report.goal(goal_at_most(f"the slowest apply, {at_once} at once, times", _MOST, worst))
    latency = ratio(_latency(ours), _latency(real))
    report.goal(goal_at_most("latency of a watch, times", _MOST, latency))


def _measure(name: str) -> Loaded:
    with started(name) as server:
        before = server.cpu_seconds
        found = server.run("load", _COUNT, limit=_LIMIT)
        return Loaded(found["apply"], found["latency"], server.cpu_seconds - before)


def _row(way: str, ours: Loaded, real: Loaded | Missing) -> list[str]:
    kind, what, at_once = way.split("/")
    seconds = ours.apply[way]
    beside = ["–", "–"]
    if not isinstance(real, Missing):
        beside = [f"{real.apply[way] * 1e3:.2f}", f"{seconds / real.apply[way]:.2f}"]
    name = f"{what} a {kind}, {at_once} at once"
    return [name, f"{seconds * 1e3:.2f}", *beside, f"{1 / seconds:.0f}"]


def _worst(ours: Loaded | Missing, real: Loaded | Missing, at_once: int) -> float | Missing:
    if isinstance(ours, Missing):
        return ours
    if isinstance(real, Missing):
        return real
    ways = [way for way in ours.apply if way.endswith(f"/{at_once}")]
    return max(ours.apply[way] / real.apply[way] for way in ways)


def _latency(found: Loaded | Missing) -> float | Missing:
    return found if isinstance(found, Missing) else found.latency
