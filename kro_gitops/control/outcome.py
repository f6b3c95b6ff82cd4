"""
What follows from what a reconcile returned or raised: one table.

The branch of an error decides, never its words:

| branch | tried again | log | event |
|---|---|---|---|
| a mistake of the author | when its inputs change | warning, once for the same words | Warning |
| nothing is wrong, wait | after a delay, or when a watch fires | info | none |
| the world failed | with back-off | warning; error once delays stop growing | then a Warning |
| anything else: our bug | with back-off | error, with traceback | Warning |

Nothing is ever dropped: there is no last try.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum, auto
from functools import reduce

from kro_gitops.control.backoff import Backoff
from kro_gitops.errors import NotYet, Unavailable, UserError


@dataclass(frozen=True, slots=True)
class Result:
    """What a reconcile that went well wants: nothing more, or to be called again."""

    after: float | None = None  # seconds


DONE = Result()
REQUEUE = Result(0.0)


class Level(IntEnum):
    """The log level; higher is worse."""

    NOTHING = 0
    INFO = 1
    WARNING = 2
    ERROR = 3


class Retry(StrEnum):
    """When a key is tried again of its own accord."""

    NEVER = auto()
    LATER = auto()
    BACKOFF = auto()


@dataclass(frozen=True, slots=True)
class Rule:
    """A row: what follows from one branch of errors."""

    branch: type[BaseException]
    retry: Retry
    level: Level
    event: bool = False
    traceback: bool = False
    once: bool = False
    # Where delays have stopped growing, it is said louder.
    lasting: Level = Level.NOTHING


RULES = (
    Rule(UserError, Retry.NEVER, Level.WARNING, event=True, once=True),
    Rule(NotYet, Retry.LATER, Level.INFO),
    Rule(Unavailable, Retry.BACKOFF, Level.WARNING, lasting=Level.ERROR),
    # Time-outs and broken connections that nobody gave a name.
    Rule(OSError, Retry.BACKOFF, Level.WARNING, lasting=Level.ERROR),
    Rule(BaseException, Retry.BACKOFF, Level.ERROR, event=True, traceback=True),
)


@dataclass(frozen=True, slots=True)
class RetryDelays:
    """How long is later."""

    later: float = 3.0  # after "not yet"; zero: only when a watch fires
    backoff: Backoff = field(default_factory=Backoff)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What to do with a key, and what to log."""

    after: float | None = None
    is_failure: bool = False
    forgets_failures: bool = False
    level: Level = Level.NOTHING
    event: bool = False
    traceback: bool = False
    once: bool = False


def of_result(result: Result) -> Outcome:
    """Return what follows from a reconcile that went well."""
    # To be called again is no success yet: failures before it still count.
    return Outcome(after=result.after, forgets_failures=result.after is None)


def of_error(error: BaseException, failures: int, pace: RetryDelays, jitter: float) -> Outcome:
    """Return what follows from an error; `failures` counts this one, too."""
    found: list[Outcome] = []
    for leaf in _leaves(error):
        rule = next(rule for rule in RULES if isinstance(leaf, rule.branch))
        lasts = rule.lasting > rule.level and pace.backoff.is_capped(failures)
        outcome = Outcome(
            after=_delay(rule, failures, pace, jitter),
            is_failure=rule.retry is Retry.BACKOFF,
            forgets_failures=rule.retry is Retry.NEVER,
            level=rule.lasting if lasts else rule.level,
            event=rule.event or lasts,
            traceback=rule.traceback,
            once=rule.once,
        )
        found.append(outcome)
    return reduce(_combine, found)


def _delay(rule: Rule, failures: int, pace: RetryDelays, jitter: float) -> float | None:
    match rule.retry:
        case Retry.NEVER:
            return None
        case Retry.LATER:
            return pace.later or None
        case Retry.BACKOFF:
            return pace.backoff.delay(failures, jitter)


def _leaves(error: BaseException) -> Iterable[BaseException]:
    """Flatten exception groups."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for each in error.exceptions for leaf in _leaves(each)]
    return [error]


def _combine(one: Outcome, other: Outcome) -> Outcome:
    """Combine two outcomes: the shorter delay and the higher level win."""
    delays = [each.after for each in (one, other) if each.after is not None]
    return Outcome(
        after=min(delays, default=None),
        is_failure=one.is_failure or other.is_failure,
        forgets_failures=one.forgets_failures and other.forgets_failures,
        level=max(one.level, other.level),
        event=one.event or other.event,
        traceback=one.traceback or other.traceback,
        once=one.once and other.once,
    )
