"""
Many instances at once: how long until all are ready, and what the API server was asked for.

Ours and kro are given the same instances by the same feeder. The floor is the same requests with no
engine behind them; it is measured before and after, because a machine has moods.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial

from benchmarks.engine import workload
from benchmarks.engine.arena import Fed, arena
from benchmarks.engine.attempts import Missing, attempt, goal_at_least, goal_at_most, ratio
from benchmarks.engine.controllers import KRO, OURS, WORKERS
from benchmarks.engine.usage import resident_bytes
from benchmarks.report import Report

COUNT = 500
_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds on the wall, and CPU seconds of all processes that had a part in it."""

    seconds: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Settled:
    """Instances that were fed to a controller, and its memory before and after."""

    fed: Fed
    bytes_before: int
    bytes_after: int

    @property
    def cost(self) -> Cost:
        """Return what it took, the API server and the feeder included."""
        return Cost(self.fed.seconds, self.fed.shared_cpu_seconds)


def pour(count: int) -> Cost:
    """Return what the bare requests cost, on a control plane of their own."""
    with arena() as field:
        field.prepare(workload.graph().crd)
        server_cpu = field.plane.cpu_seconds()
        done = field.run("floor", count, limit=60 + count)
        return Cost(done["ready"], done["cpu"] + field.plane.cpu_seconds() - server_cpu)


def settle(name: str, count: int) -> Settled:
    """Have a controller settle instances, on a control plane of its own."""
    with arena() as field, field.serving(name) as controller:
        before = resident_bytes(controller.pid)
        fed = field.feed(controller, 0, count)
        return Settled(fed, before, resident_bytes(controller.pid))


def run(report: Report) -> None:
    """Measure all, print them side by side."""
    report.heading(
        f"7. {COUNT} instances with {workload.CHILDREN} children each, from created to ready"
    )
    floors = [attempt(report, "the floor", partial(pour, COUNT))]
    ours, kro = (attempt(report, name, partial(settle, name, COUNT)) for name in (OURS, KRO))
    floors.append(attempt(report, "the floor again", partial(pour, COUNT)))
    floor = _mean(floors)
    _print_costs(report, floor, {"ours": ours, "kro, limits off": kro})
    shown = [f"{one.seconds:.2f}" for one in floors if not isinstance(one, Missing)]
    report.line(f"the floor is the mean of {' and '.join(shown)} s; {WORKERS} workers each")
    _print_controllers(report, {"ours": ours, "kro": kro})
    _compare(report, floor, ours, kro)


def _mean(floors: Sequence[Cost | Missing]) -> Cost | Missing:
    found = [cost for cost in floors if not isinstance(cost, Missing)]
    if not found:
        return floors[0]
    seconds, cpu_seconds = (sum(column) for column in zip(*map(astuple, found), strict=True))
    return Cost(seconds / len(found), cpu_seconds / len(found))


def _print_costs(
    report: Report, floor: Cost | Missing, found: Mapping[str, Settled | Missing]
) -> None:
    """Print times; CPU seconds tell more where others are at work on the same machine."""
    costs = {"the floor": floor} | {
        name: one if isinstance(one, Missing) else one.cost for name, one in found.items()
    }
    rows = [
        [
            name,
            f"{cost.seconds:.2f}",
            f"{cost.seconds / COUNT * 1e3:.1f}",
            _times(ratio(cost.seconds, _seconds(floor))),
            f"{cost.cpu_seconds:.1f}",
            _times(ratio(cost.cpu_seconds, _cpu_seconds(floor))),
        ]
        for name, cost in costs.items()
        if not isinstance(cost, Missing)
    ]
    if rows:
        report.table(["", "s", "ms each", "× floor", "CPU s of all", "× floor"], rows)


def _print_controllers(report: Report, found: Mapping[str, Settled | Missing]) -> None:
    """Print what the controllers themselves used and asked for."""
    measured = {name: one for name, one in found.items() if not isinstance(one, Missing)}
    rows = [
        [
            name,
            f"{settled.fed.cpu_seconds:.1f}",
            f"{settled.bytes_before / _MIB:.0f}",
            f"{settled.bytes_after / _MIB:.0f}",
            f"{settled.fed.requests.total / COUNT:.2f}",
            f"{settled.fed.requests.reads / COUNT:.2f}",
        ]
        for name, settled in measured.items()
    ]
    if rows:
        heads = ["controller", "CPU s", "MiB before", "after", "requests each", "of which reads"]
        report.table(heads, rows)
    for name, settled in measured.items():
        report.line(f"{name}, for each instance: {settled.fed.requests.per(COUNT)}")


def _compare(
    report: Report, floor: Cost | Missing, ours: Settled | Missing, kro: Settled | Missing
) -> None:
    """Hold ours against the goals."""
    took = ours if isinstance(ours, Missing) else ours.fed.seconds
    theirs = kro if isinstance(kro, Missing) else kro.fed.seconds
    times = ratio(took, _seconds(floor))
    report.goal(goal_at_most(f"{COUNT} instances, times the floor", 1.4, times))
    faster = ratio(theirs, took)
    report.goal(goal_at_least(f"{COUNT} instances, times faster than kro", 2.5, faster))
    total = ours if isinstance(ours, Missing) else ours.fed.requests.total / COUNT
    reads = ours if isinstance(ours, Missing) else ours.fed.requests.reads / COUNT
    limit = workload.CHILDREN + 2
    report.goal(goal_at_most("requests an instance (children + 2)", limit, total))
    report.goal(goal_at_most("of which reads", 0, reads))


def _seconds(cost: Cost | Missing) -> float | Missing:
    return cost if isinstance(cost, Missing) else cost.seconds


def _cpu_seconds(cost: Cost | Missing) -> float | Missing:
    return cost if isinstance(cost, Missing) else cost.cpu_seconds


def _times(figure: float | Missing) -> str:
    return "–" if isinstance(figure, Missing) else f"{figure:.2f}"
