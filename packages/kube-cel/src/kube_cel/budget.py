"""
How much an evaluation may do, and how large a single value may become.

CEL always terminates, but not always soon: two nested loops over a long list, or a string doubled
thirty times, would keep a process busy or fill its memory. A `Budget` is the limit. What remains of
it during an evaluation is kept in the frame, the list that also holds the variables:
`frame[BUDGET]` and `frame[REMAINING]`.

Counting must cost nearly nothing, so small things are not counted: a loop is charged once for all
its rounds, and a string or list only when it is longer than `FREE_SIZE`.

A budget cannot look into a call of a function. Functions that return more than they were given
compute its size first and call `check_size`, as do those that take long for what they are given:
no call may take more than about half a second.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kube_cel.containers import MixedMap
from kube_cel.errors import EvaluationStopped
from kube_cel.scalars import OptionalValue

MAX_SIZE = 4 * 1024 * 1024
"""Characters of a text, bytes, elements of a list or entries of a map."""

MAX_PARTS = 200_000
"""Parts that are read, written or found one by one: values in a text, matches of a pattern."""


def check_size(count: int, limit: int = MAX_SIZE) -> None:
    """Raise `EvaluationStopped` if a value of `count` characters or elements is too large."""
    if count > limit:
        raise EvaluationStopped(f"a value of {count} characters or elements, {limit} are allowed")


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

    `iterations` limits the rounds of all loops together; large values count by their size.
    `elements` limits one list or map and the whole result, `characters` one string, `depth` the
    nesting of the result. `deadline` is called every few hundred steps and stops the evaluation
    by returning True: the engine has no clock of its own. `meter` is called after each evaluation
    with the number of iterations it took, for callers that limit several together.
    """

    iterations: int = 1_000_000
    elements: int = 1_000_000
    characters: int = MAX_SIZE
    depth: int = 10_000
    deadline: Callable[[], bool] | None = None
    meter: Callable[[int], None] | None = None


DEFAULT_BUDGET = Budget()


def charge(frame: Frame, steps: int) -> None:
    """Take steps off the budget, before they are executed."""
    frame[REMAINING] -= steps
    budget = frame[BUDGET]
    if frame[REMAINING] < 0:
        raise EvaluationStopped(f"more than {budget.iterations} iterations")
    if budget.deadline is not None and budget.deadline():
        raise EvaluationStopped("the time allowed is over")


def charge_loop(frame: Frame, items: Iterable[Any], steps: int) -> Iterable[Any]:
    """Charge a loop over `items`; return them, with checks of the deadline if there is one."""
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
    """Charge a string, list or map the expression created; called above `FREE_SIZE` only."""
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
    Charge a value that is about to be read completely.

    A list may hold another one many times over, so reading it may cost far more than building it.
    """
    charge(frame, estimate_work(value, frame[REMAINING]))


def estimate_work(value: Any, limit: int) -> int:
    """Estimate the steps of walking a value; stops counting above `limit`."""
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
