"""
Limits the time of one CEL evaluation.
"""

import time

from kube_cel.budget import Budget


class EvaluationDeadline:
    """
    Budgets that end with the time allowed for one evaluation.

    The wall clock is cheap to ask, but goes on while others have the processor; the thread's own
    clock is asked only when the first has run out.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._until = 0.0
        self._used: float | None = None
        self._budget = Budget(deadline=self._is_over) if limit else Budget()

    def begin(self) -> Budget:
        """Restart the clock and return the budget."""
        self._until = time.perf_counter() + self._limit
        self._used = None
        return self._budget

    def _is_over(self) -> bool:
        now = time.perf_counter()
        if now <= self._until:
            return False
        used = time.thread_time()
        if self._used is not None and used - self._used >= self._limit / 2:
            return True
        if self._used is None:
            self._used = used
        self._until = now + self._limit / 2
        return False
