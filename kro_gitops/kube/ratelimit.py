"""
Rate limits and retry delays: arithmetic on times that are parameters.

No clock and no random numbers are read here: the caller passes both.
"""

from dataclasses import dataclass, field

from kro_gitops.errors import ClusterUnavailable
from kro_gitops.kube.requests import Request
from kro_gitops.kube.responses import ApiError, TooManyRequests

INITIAL_DELAY = 0.25  # seconds before the first repetition
BACKOFF_FACTOR = 2.0
MAX_DELAY = 30.0

# Codes that mean: try again later. 500 may come from a webhook, which would answer the same.
_RETRYABLE_CODES = {429, 502, 503, 504}


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """What one client may ask of the API server, and how long it waits."""

    in_flight: int = 64  # requests under way; watches do not count
    per_second: float = 0.0  # 0: as many as there are
    burst: int = 100
    timeout: float = 30.0  # seconds for a request, its answer included
    watch: int = 600  # seconds after which the server ends a watch, and we begin another
    silence: float = 120.0  # seconds without a byte after which a watch is given up
    attempts: int = 4  # times that a request which may be repeated is sent
    max_retry_after: float = 10.0  # seconds; the longest Retry-After that a request waits for


def backoff_delay(attempt: int, jitter: float, longest: float = MAX_DELAY) -> float:
    """
    Return how long to wait before repetition `attempt`, which counts from 0.

    `jitter` is a number from 0 to 1: of the delay, at least half is waited, so that many who
    failed together come back apart.
    """
    # Beyond a few doublings the cap decides; the exponent must not grow forever.
    whole = min(longest, INITIAL_DELAY * BACKOFF_FACTOR ** min(attempt, 32))
    return whole * (0.5 + jitter / 2)


def retry_delay(
    request: Request, error: ClusterUnavailable, attempt: int, limits: ClientLimits, jitter: float
) -> float | None:
    """Return how long to wait before a failed request is sent again, or `None` to give up."""
    asked = error.status.retry_after if isinstance(error, ApiError) else None
    if isinstance(error, TooManyRequests):
        is_retryable = True  # rejected before anything was done
    elif isinstance(error, ApiError):
        may_succeed = error.status.http_code in _RETRYABLE_CODES or asked is not None
        is_retryable = request.may_repeat and may_succeed
    else:
        is_retryable = request.may_repeat  # no response at all
    if attempt + 1 >= limits.attempts or not is_retryable:
        return None
    if asked is None:
        return backoff_delay(attempt, jitter)
    return asked + backoff_delay(attempt, jitter) if asked <= limits.max_retry_after else None


@dataclass(slots=True)
class TokenBucket:
    """So many per second, and `burst` at once after a rest."""

    per_second: float
    burst: int
    _tokens: float = field(init=False)
    _seen: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self._tokens = float(self.burst)

    def reserve(self, now: float) -> float:
        """Take one, and return how long to wait until it is there."""
        grown = max(0.0, now - self._seen) * self.per_second
        self._tokens = min(float(self.burst), self._tokens + grown) - 1
        self._seen = now
        return max(0.0, -self._tokens / self.per_second)
