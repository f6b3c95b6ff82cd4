"""
Measurements that may not come off: a program that is missing costs its own figures, no others.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from benchmarks.peers.processes import NotMeasuredError
from benchmarks.report import Goal, Report
from kro_gitops.errors import KroGitopsError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there is no figure."""

    reason: str

    @property
    def in_short(self) -> str:
        """Return the beginning; the whole reason was said once."""
        return self.reason.partition("\n")[0][:100]


def attempt(report: Report, what: str, measure: Callable[[], T]) -> T | Missing:
    """Measure, or say loudly why not."""
    try:
        return measure()
    except (NotMeasuredError, KroGitopsError) as error:
        report.missing(what, str(error))
        return Missing(str(error))


def ratio(one: float | Missing, other: float | Missing) -> float | Missing:
    """Return how many times the other a figure is, if there are both."""
    if isinstance(one, Missing):
        return one
    return other if isinstance(other, Missing) else one / other


def goal_at_most(subject: str, limit: float, found: float | Missing) -> Goal:
    """Return a goal that is met below a limit."""
    if isinstance(found, Missing):
        return Goal(subject, limit, None, missing=found.in_short)
    return Goal(subject, limit, found)


def goal_at_least(subject: str, limit: float, found: float | Missing) -> Goal:
    """Return a goal that is met above a limit."""
    if isinstance(found, Missing):
        return Goal(subject, limit, None, at_least=True, missing=found.in_short)
    return Goal(subject, limit, found, at_least=True)
