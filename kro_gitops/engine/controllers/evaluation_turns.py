"""
Shares the CPU time of expressions between instances, so that none of them blocks the event loop.

All reconciles run in one thread. An expression is short, but an instance may have thousands of
them. So they are evaluated in slices (`plan.slices`), and after each slice other work runs:

- Of one instance, an expression, a slice and all expressions of a reconcile are limited.
- A slice of a new reconcile starts at once, unless other slices used up this round of the event
  loop. So small instances do not wait.
- Further slices wait for a turn. There is one turn at a time, and after it a rest of the same
  length. So large instances use at most half of the time, however many there are.
- The next turn goes to the namespace and the kind that used the least time (start-time fair
  queueing: Goyal, Vin and Cheng, 1996). So neither the instances of one tenant nor those of one
  definition delay all others. Instances that are equal in this are finished one after the other.
"""

import asyncio
import time
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

from kro_gitops.engine.plan.slices import Slices
from kro_gitops.errors import UserError
from kube_cel.budget import Budget

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EvaluationLimits:
    """Time limits in seconds; 0 is no limit."""

    expression: float = 0.05
    slice: float = 0.01
    instance: float = 5.0  # CPU time of all expressions in one reconcile


class EvaluationLimitExceeded(UserError):  # noqa: N818 - the name of the condition's reason
    """The expressions of one instance took too long."""

    def __init__(self, limit: float) -> None:
        super().__init__(
            "evaluation-limit",
            f"evaluating the expressions of this instance took more than {limit:g}s of CPU time "
            "and was stopped",
            hint="use fewer or simpler expressions, smaller collections, or several instances; "
            "--instance-evaluation-limit is the limit",
        )
        self.limit = limit


class EvaluationTurns:
    """The turns of all reconciles of a process; belongs to one event loop."""

    def __init__(self, limits: EvaluationLimits | None = None) -> None:
        self.limits = limits or EvaluationLimits()
        self._orders = count()
        self._waiting: dict[Evaluation, asyncio.Future[None]] = {}
        self._used: dict[Hashable, float] = {}  # virtual time by namespace, and by kind
        self._virtual = 0.0  # virtual time of the latest turn
        self._is_taken = False
        self._not_before = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._round = 0.0  # seconds of slices in this round of the event loop
        self._starting: deque[asyncio.Future[None]] = deque()  # first slices that wait for a round

    @property
    def waiting(self) -> int:
        """Return how many reconciles wait for a turn."""
        return len(self._waiting)

    def begin(self, *accounts: Hashable) -> "Evaluation":
        """Begin the reconcile of an instance, whose time is charged to these accounts."""
        return Evaluation(self, accounts, next(self._orders))

    async def wait_for_round(self) -> None:
        """Wait until this round of the event loop has time for another slice."""
        if self._round < self.limits.slice and not self._starting:
            return
        started = asyncio.get_running_loop().create_future()
        self._starting.append(started)
        try:
            await started
        except asyncio.CancelledError:
            if started.done() and not started.cancelled():
                self._start_next()
            raise

    async def wait_for_turn(self, evaluation: "Evaluation") -> None:
        """Wait for a turn; it ends with `release`."""
        granted = self._waiting[evaluation] = asyncio.get_running_loop().create_future()
        self._schedule()
        try:
            await granted
        except asyncio.CancelledError:
            self._waiting.pop(evaluation, None)
            if granted.done() and not granted.cancelled():
                self.release(0.0)
            raise

    def charge(self, accounts: tuple[Hashable, ...], seconds: float) -> None:
        """Charge a slice to its accounts."""
        if not self._round:
            asyncio.get_running_loop().call_soon(self._begin_round)
        self._round += seconds
        if self._round < self.limits.slice:
            self._start_next()
        if self._waiting or self._is_taken or seconds >= self.limits.slice:
            for account in accounts:
                used = max(self._used.get(account, 0.0), self._virtual)
                self._used[account] = used + seconds

    def release(self, seconds: float) -> None:
        """End a turn that took so long; other work runs for as long before the next one."""
        self._is_taken = False
        self._not_before = asyncio.get_running_loop().time() + seconds
        self._schedule()

    def _begin_round(self) -> None:
        self._round = 0.0
        self._start_next()

    def _start_next(self) -> None:
        """Start the reconcile that waits longest for its turn."""
        while self._starting:
            started = self._starting.popleft()
            if not started.done():  # it is if its reconcile was cancelled
                started.set_result(None)
                return

    def _schedule(self) -> None:
        if self._is_taken or self._timer is not None:
            return
        if self._waiting:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(max(self._not_before, loop.time()), self._grant)
        else:
            # Without competition it does not matter how much was used.
            self._used.clear()
            self._virtual = 0.0

    def _grant(self) -> None:
        self._timer = None
        candidates = (
            (max(self._used.get(account, 0.0) for account in each.accounts), each.order, each)
            for each, granted in self._waiting.items()
            if not granted.done()  # it is if its reconcile was cancelled
        )
        first = min(candidates, default=None)
        if first is None:
            self._schedule()
            return
        self._virtual, _, evaluation = first
        self._is_taken = True
        self._waiting.pop(evaluation).set_result(None)


class Evaluation:
    """The expressions of one reconcile: their clock, and their turns."""

    def __init__(self, turns: EvaluationTurns, accounts: tuple[Hashable, ...], order: int) -> None:
        self.accounts = accounts
        self.order = order
        self.seconds = 0.0  # CPU time so far
        self._turns = turns
        self._limits = turns.limits
        self._has_turn = False
        self._slice_began: float | None = None  # CPU time
        self._slice_end = 0.0
        self._expression_end = 0.0
        self._expression_began: float | None = None  # CPU time, once the wall clock has run out
        limit = self._limits.expression
        self._budget = Budget(deadline=self._is_expression_over) if limit else Budget()

    async def run(self, slices: Slices[T]) -> T:
        """Run slice by slice; return the result, or raise `EvaluationLimitExceeded`."""
        await self._turns.wait_for_round()
        self._begin_slice()
        try:
            while True:
                try:
                    next(slices)
                except StopIteration as stop:
                    result: T = stop.value
                    return result
                self._end_slice()
                limit = self._limits.instance
                if limit and self.seconds > limit:
                    raise EvaluationLimitExceeded(limit)
                await self._turns.wait_for_turn(self)
                self._has_turn = True
                self._begin_slice()
        finally:
            self._end_slice()
            slices.close()

    def budget(self) -> Budget:
        """Return the budget of the next expression, which begins now."""
        self._expression_end = time.perf_counter() + self._limits.expression
        self._expression_began = None
        return self._budget

    def is_slice_over(self) -> bool:
        """Return whether other work should run before the next expression."""
        # The wall clock is cheap to read, but continues while other processes have the processor;
        # so the thread's own clock decides, and is read only when the first has run out.
        now = time.perf_counter()
        if now < self._slice_end or self._slice_began is None:
            return False
        left = self._limits.slice - (time.thread_time() - self._slice_began)
        self._slice_end = now + left
        return left <= 0

    def _begin_slice(self) -> None:
        self._slice_began = time.thread_time()
        self._slice_end = time.perf_counter() + self._limits.slice

    def _end_slice(self) -> None:
        if self._slice_began is None:
            return
        seconds = time.thread_time() - self._slice_began
        self._slice_began = None
        self.seconds += seconds
        self._turns.charge(self.accounts, seconds)
        if self._has_turn:
            self._has_turn = False
            self._turns.release(seconds)

    def _is_expression_over(self) -> bool:
        now = time.perf_counter()  # as for a slice
        if now <= self._expression_end:
            return False
        used, half = time.thread_time(), self._limits.expression / 2
        if self._expression_began is not None and used - self._expression_began >= half:
            return True
        if self._expression_began is None:
            self._expression_began = used
        self._expression_end = now + half
        return False
