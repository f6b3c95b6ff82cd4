"""
How much an evaluation may do.

CEL always ends, but not always soon: two nested loops over a long list, or a text doubled
thirty times, would keep a process busy or fill its memory. A `Budget` says how much is
allowed. What is left of it during an evaluation is kept in the frame, the list that also holds
the variables: `frame[BUDGET]` and `frame[LEFT]`.

Counting must cost nearly nothing, so small things are not counted: a loop pays once for all
its rounds, and a text or list pays only when it is longer than `FREE_SIZE`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kube_cel.containers import MixedMap
from kube_cel.errors import EvaluationStopped
from kube_cel.scalars import OptionalValue
from kube_cel.size_limits import MAX_SIZE, check_size

BUDGET = 0
REMAINING = 1
FIRST_SLOT = 2
"""The places in a frame: the budget, the steps left, then variables."""

FREE_SIZE = 128
_CHARACTERS_PER_STEP = 64
_STEPS_PER_DEADLINE_CHECK = 256

_FREE_TYPES = frozenset({int, float, bool, type(None)})

Frame = list[Any]


@dataclass(frozen=True, slots=True)
class Budget:
    """
    The limits of one evaluation.

    `iterations` bounds the rounds of all loops together; large values count by their size.
    `elements` bounds one list or map and the whole result, `characters` one text, `depth` the
    nesting of the result. `deadline` is asked every few hundred steps and ends the evaluation
    by returning True: the engine has no clock of its own. `meter` is told after each evaluation
    how many of its iterations it took, for who bounds several together.
    """

    iterations: int = 1_000_000
    elements: int = 1_000_000
    characters: int = MAX_SIZE
    depth: int = 10_000
    deadline: Callable[[], bool] | None = None
    meter: Callable[[int], None] | None = None


DEFAULT_BUDGET = Budget()


def charge(frame: Frame, steps: int) -> None:
    """Take steps off the budget, before they are done."""
    frame[REMAINING] -= steps
    budget = frame[BUDGET]
    if frame[REMAINING] < 0:
        raise EvaluationStopped(f"more than {budget.iterations} iterations")
    if budget.deadline is not None and budget.deadline():
        raise EvaluationStopped("the time allowed is over")


def charge_loop(frame: Frame, items: Iterable[Any], steps: int) -> Iterable[Any]:
    """Pay for a loop over `items`; return them, watched if there is a deadline."""
    frame[REMAINING] -= steps
    if frame[REMAINING] >= 0 and frame[BUDGET].deadline is None:
        return items
    charge(frame, 0)
    return _with_deadline_checks(frame, items)


def _with_deadline_checks(frame: Frame, items: Iterable[Any]) -> Iterator[Any]:
    for count, item in enumerate(items, 1):
        if count % _STEPS_PER_DEADLINE_CHECK == 0:
            charge(frame, 0)
        yield item


def charge_created(frame: Frame, value: Any) -> None:
    """Count a text, list or map that the expression has made; for those beyond `FREE_SIZE`."""
    size = len(value)
    budget = frame[BUDGET]
    if type(value) is str or type(value) is bytes:
        check_size(size, budget.characters)
        charge(frame, size // _CHARACTERS_PER_STEP)
    else:
        check_size(size, budget.elements)
        charge(frame, size)


def charge_read(frame: Frame, value: Any) -> None:
    """
    Count a value that is about to be read through, down to its last element.

    A list may hold another one many times over, and so weigh far more than it takes to build.
    """
    charge(frame, estimate_work(value, frame[REMAINING]))


def estimate_work(value: Any, limit: int) -> int:
    """Estimate the work of walking a value; stop where it exceeds the limit."""
    waiting = [value]
    total = 0
    while waiting and total <= limit:
        part = waiting.pop()
        part = getattr(part, "raw", part)  # a view is as heavy as what it shows
        if type(part) is dict:
            total += 1 + len(part)
            waiting.extend(part.values())
        elif type(part) is MixedMap:
            total += 1 + len(part)
            waiting.extend(value for _, value in part.items())
        elif type(part) is list:
            total += 1 + len(part)
            if not _FREE_TYPES.issuperset(map(type, part)):
                waiting.extend(part)
        elif type(part) is str or type(part) is bytes:
            total += len(part) // _CHARACTERS_PER_STEP
        elif type(part) is OptionalValue:
            waiting.append(part.value)
    return total
