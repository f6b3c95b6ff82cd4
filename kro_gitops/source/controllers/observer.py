"""
What is reported to metrics about sources. The base class does nothing.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class SourceObserver:
    """Is called when something happens to a source."""

    def polled(self, source: str, seconds: float, outcome: str) -> None:
        """Count a poll of the remote: `unchanged`, `changed` or `failed`."""

    def synced(self, source: str, seconds: float, result: str) -> None:
        """Count a sync."""

    def timed(self, source: str, step: str, seconds: float) -> None:
        """Record the duration of one step of a reconcile."""

    @contextmanager
    def step(self, source: str, name: str) -> Iterator[None]:
        """Time a step, also if it raises."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.timed(source, name, time.perf_counter() - began)

    def applied(self, source: str, created: int, changed: int, pruned: int) -> None:
        """Count writes."""

    def standing(self, source: str, ready: str, objects: int) -> None:
        """Record the Ready status and the number of objects; an empty status if it is gone."""

    def called(self, forge: str, outcome: str) -> None:
        """Count a call of a webhook."""
