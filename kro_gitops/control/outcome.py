"""
What follows from what a reconcile returned or raised: one table.

The branch of an error decides, never its message:

| branch | tried again | log | event |
|---|---|---|---|
| a mistake of the author | when its inputs change | warning, once for the same message | Warning |
| nothing is wrong, wait | after a delay, or when a watch fires | info | none |
| the world failed | with back-off | warning; error once delays stop growing | then a Warning |
| anything else: our bug | with back-off | error, with traceback | Warning |

Nothing is ever dropped: there is no last try.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum, auto

from kro_gitops.control.backoff import Backoff
from kro_gitops.errors import ClusterUnavailable, NotYet, Unavailable, UserError


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a successful reconcile: nothing more, or a time to be called again."""

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
    """When a key is retried without a change."""

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
    # The level once delays have stopped growing.
    lasting: Level = Level.NOTHING


RULES = (
    Rule(UserError, Retry.NEVER, Level.WARNING, event=True, once=True),
    Rule(NotYet, Retry.LATER, Level.INFO),
    Rule(Unavailable, Retry.BACKOFF, Level.WARNING, lasting=Level.ERROR),
    # Timeouts and broken connections without a type of their own.
    Rule(OSError, Retry.BACKOFF, Level.WARNING, lasting=Level.ERROR),
    Rule(BaseException, Retry.BACKOFF, Level.ERROR, event=True, traceback=True),
)


# After these a key is retried as soon as the API server answers again.
_OUTAGES = (ClusterUnavailable, OSError)


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
    is_outage: bool = False  # the API server did not answer


def of_result(result: Result) -> Outcome:
    """Return what follows from a successful reconcile."""
    # To be called again is no success yet: failures before it still count.
    return Outcome(after=result.after, forgets_failures=result.after is None)


def of_error(error: BaseException, failures: int, pace: RetryDelays, jitter: float) -> Outcome:
    """Return what follows from an error; `failures` counts this one, too."""
    total = Outcome(forgets_failures=True, once=True)
    for leaf in _leaves(error):
        rule = next(rule for rule in RULES if isinstance(leaf, rule.branch))
        lasts = rule.lasting > rule.level and pace.backoff.is_capped(failures)
        delay: float | None = None
        match rule.retry:
            case Retry.NEVER:
                pass
            case Retry.LATER:
                delay = pace.later or None
            case Retry.BACKOFF:
                delay = pace.backoff.delay(failures, jitter)
        # Of several errors the shorter delay and the higher level win.
        total = Outcome(
            after=min((each for each in (total.after, delay) if each is not None), default=None),
            is_failure=total.is_failure or rule.retry is Retry.BACKOFF,
            forgets_failures=total.forgets_failures and rule.retry is Retry.NEVER,
            level=max(total.level, rule.lasting if lasts else rule.level),
            event=total.event or rule.event or lasts,
            traceback=total.traceback or rule.traceback,
            once=total.once and rule.once,
            is_outage=total.is_outage or isinstance(leaf, _OUTAGES),
        )
    return total


def _leaves(error: BaseException) -> Iterable[BaseException]:
    """Flatten exception groups."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for each in error.exceptions for leaf in _leaves(each)]
    return [error]
