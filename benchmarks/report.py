"""
Figures on paper: tables, goals, and what could not be measured, said loudly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Goal:
    """A limit on a ratio; `found` is None when there was nothing to compare with."""

    subject: str
    limit: float
    found: float | None
    at_least: bool = False
    missing: str = ""

    @property
    def is_met(self) -> bool:
        """Say whether the figure is on the right side of the limit."""
        if self.found is None:
            return False
        return self.found >= self.limit if self.at_least else self.found <= self.limit

    def __str__(self) -> str:
        wanted = f"goal {'≥' if self.at_least else '≤'} {self.limit:g}"
        if self.found is None:
            return f"{self.subject}: NOT MEASURED ({wanted}): {self.missing}"
        return f"{self.subject}: {self.found:.3g} ({wanted}, {'met' if self.is_met else 'NOT MET'})"


class Report:
    """Prints as it goes, and remembers the goals for the end."""

    def __init__(self) -> None:
        self._goals: list[Goal] = []

    def heading(self, text: str) -> None:
        """Begin a subject."""
        print(f"\n{text}\n{'─' * len(text)}", flush=True)

    def line(self, text: str) -> None:
        """Print a remark."""
        print(text, flush=True)

    def missing(self, what: str, reason: str) -> None:
        """Say that something could not be measured."""
        print(f"!!! not measured: {what}: {reason}", flush=True)

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a table: the first column is words, the others are figures."""
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        for row in (heads, *rows):
            first, *others = zip(row, widths, strict=True)
            cells = [f"{first[0]:<{first[1]}}", *(f"{cell:>{width}}" for cell, width in others)]
            print("  ".join(cells).rstrip())

    def goal(self, goal: Goal) -> None:
        """Print how a figure stands to its limit."""
        self._goals.append(goal)
        print(f"→ {goal}", flush=True)

    def summary(self) -> None:
        """Print every goal again, together."""
        self.heading("Goals")
        for goal in self._goals:
            mark = "?" if goal.found is None else "✓" if goal.is_met else "✗"
            print(f"{mark} {goal}")


def microseconds(seconds: float) -> str:
    """Print a short time."""
    return f"{seconds * 1e6:.2f}" if seconds < 1e-4 else f"{seconds * 1e6:,.0f}"


def milliseconds(seconds: float) -> str:
    """Print a longer time."""
    return f"{seconds * 1e3:,.2f}" if seconds < 1e-2 else f"{seconds * 1e3:,.0f}"


def middle(values: Sequence[float]) -> float:
    """Return the median of rounds."""
    return float(median(values))
