"""
One child among many changed by hand: how soon the controller puts it right.

Compared with the least that could: a process that does nothing but watch and apply. Both take
turns. The clock is the API server's, from the answer to the change to the answer to the repair, so
that nobody has to be quick to look.
"""

from collections.abc import Iterator, Sequence

from benchmarks.engine.arena import arena
from benchmarks.engine.attempts import Missing, attempt, goal_at_most, ratio
from benchmarks.engine.audit import Patched, patches_in
from benchmarks.engine.controllers import OURS
from benchmarks.engine.repairer import MANAGER as REPAIRER
from benchmarks.engine.tamperer import MANAGER as TAMPERER
from benchmarks.report import Report, middle, milliseconds

_COUNT = 500
_ROUNDS = 25


def run(report: Report) -> None:
    """Measure both, print them."""
    report.heading(f"10. One child among those of {_COUNT} instances changed by hand, and repaired")
    found = attempt(report, OURS, _measure)
    times: float | Missing
    if isinstance(found, Missing):
        times = found
    else:
        rows = [
            [name, milliseconds(middle(seconds)), milliseconds(max(seconds))]
            for name, seconds in found.items()
        ]
        report.table(["", "ms, median", "ms, longest"], rows)
        ours, floor = found.values()
        times = ratio(middle(ours), middle(floor))
    report.goal(goal_at_most("a repair, times one watch event and one apply", 2, times))


def _measure() -> dict[str, list[float]]:
    with arena() as field, field.serving(OURS) as controller:
        field.feed(controller, 0, _COUNT)
        mark = field.audit.mark()
        with field.running("repairer", _ROUNDS):
            field.run("tamperer", _ROUNDS, _COUNT, limit=60 + 2 * _ROUNDS)
        repairs = list(repairs_in(patches_in(field.audit.lines_since(mark), "configmaps")))
    return {
        "ours": [seconds for manager, seconds in repairs if manager != REPAIRER],
        "one event, one apply": [seconds for manager, seconds in repairs if manager == REPAIRER],
    }


def repairs_in(patches: Sequence[Patched]) -> Iterator[tuple[str, float]]:
    """Yield who repaired a change that was made by hand, and after how many seconds."""
    changed: dict[str, Patched] = {}
    for patched in patches:
        if patched.manager == TAMPERER:
            changed[patched.name] = patched
        elif change := changed.pop(patched.name, None):
            yield patched.manager, (patched.answered - change.answered).total_seconds()
