"""
What others may want to know of sources: metrics. Does nothing by itself.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class SourceObserver:
    """Hears what happens, and does not care."""

    def polled(self, source: str, seconds: float, outcome: str) -> None:
        """Hear that a remote was asked: `unchanged`, `changed` or `failed`."""

    def synced(self, source: str, seconds: float, result: str) -> None:
        """Hear that a revision was gone through."""

    def timed(self, source: str, step: str, seconds: float) -> None:
        """Hear how long a step on the way of a revision took."""

    @contextmanager
    def step(self, source: str, name: str) -> Iterator[None]:
        """Take the time of a step, however it ends."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.timed(source, name, time.perf_counter() - began)

    def applied(self, source: str, created: int, changed: int, pruned: int) -> None:
        """Hear what was written."""

    def standing(self, source: str, ready: str, objects: int) -> None:
        """Hear how a source is; empty if it is gone."""

    def called(self, forge: str, outcome: str) -> None:
        """Hear that a webhook was called."""
