"""
A workqueue: keys that are due now, later, or again after a rejected write.

It stores keys only, and has no clock. A key is due at one time, the earliest that was added; its
reconcile then returns when it is due next. A rejected write is retried after a delay that doubles
each time, as in the workqueues of real controllers.

Follows kubernetes 1.35 k8s.io/client-go/util/workqueue/rate_limiting_queue.go
rateLimitingType.AddRateLimited; k8s.io/client-go/util/workqueue/default_rate_limiters.go
TypedItemExponentialFailureRateLimiter.When.
"""

import heapq
from datetime import datetime, timedelta

Key = tuple[str, str, str]  # bucket, namespace, name
_SHORTEST, _LONGEST = 1.0, 1000.0  # seconds; how long a pause is
# Times in objects have whole seconds: a moment later they are sure to have passed.
_WAKE_MARGIN = 0.01


class WorkQueue:
    """Keys that wait for their turn, in the order in which they were noted."""

    def __init__(self) -> None:
        self._awake: dict[Key, None] = {}
        self._due: list[tuple[datetime, Key]] = []
        self._times: dict[Key, datetime] = {}
        self._refusals: dict[Key, int] = {}

    def __bool__(self) -> bool:
        return bool(self._awake)

    def wake(self, key: Key) -> None:
        """Have something looked at now."""
        self._awake[key] = None

    def take(self) -> Key:
        """Return what is next; it is no longer noted."""
        key = next(iter(self._awake))
        del self._awake[key]
        return key

    def add_after(self, key: Key, now: datetime, seconds: float) -> None:
        """Have something looked at later."""
        time = now + timedelta(seconds=max(seconds, _WAKE_MARGIN))
        if (known := self._times.get(key)) is None or time < known:
            self._times[key] = time
            heapq.heappush(self._due, (time, key))

    def move_due(self, now: datetime) -> None:
        """Wake what is due."""
        while self._due and self._due[0][0] <= now:
            time, key = heapq.heappop(self._due)
            if self._times.get(key) == time:  # it may have been moved to an earlier time
                del self._times[key]
                self.wake(key)

    def wait(self, now: datetime) -> float | None:
        """Return in how many seconds something is due; `None`: nothing is."""
        return (self._due[0][0] - now).total_seconds() if self._due else None

    def refused(self, key: Key) -> float:
        """Return the delay in seconds after another rejected write."""
        before = self._refusals.get(key, 0)
        self._refusals[key] = before + 1
        return min(_SHORTEST * (1 << min(before, 10)), _LONGEST)

    def succeeded(self, key: Key) -> None:
        """Reset the delay of a key."""
        self._refusals.pop(key, None)
