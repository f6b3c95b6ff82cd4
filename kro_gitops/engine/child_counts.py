"""
Counts the children that were created, changed and deleted, for the sources behind them.

A source reports them in its history, by the revision that led to them. Repairs of drift are not
counted. Counts that were not taken yet are lost when the process ends.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChildCounts:
    """How many children were created, changed and deleted."""

    created: int = 0
    changed: int = 0
    deleted: int = 0

    def __add__(self, other: "ChildCounts") -> "ChildCounts":
        return ChildCounts(
            self.created + other.created,
            self.changed + other.changed,
            self.deleted + other.deleted,
        )


class ChildCounter:
    """Keeps the counts by source and revision until the source takes them."""

    def __init__(self) -> None:
        self._counts: dict[str, dict[str, ChildCounts]] = {}
        self._listener: Callable[[str], None] = lambda _source: None

    def listen(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with a source whenever there is something for it to take."""
        self._listener = listener

    def add(self, source: str, revision: str, counts: ChildCounts) -> None:
        """Count children of a source (`namespace/name`); an empty revision is the current one."""
        if not source:
            return
        of_source = self._counts.setdefault(source, {})
        of_source[revision] = of_source.get(revision, ChildCounts()) + counts
        self._listener(source)

    def take(self, source: str) -> Mapping[str, ChildCounts]:
        """Return what was counted for a source since the last time, by revision."""
        return self._counts.pop(source, {})
