"""
How long to wait before trying again.

Delays double up to a cap and stay there. There is no last attempt: an instance that could not be
deleted for an hour is deleted when the hour is over. Jitter is an argument.
"""

from dataclasses import dataclass

_MAX_DOUBLINGS = 1000


@dataclass(frozen=True, slots=True)
class Backoff:
    """Growing delays, in seconds; the defaults are kro's."""

    first: float = 0.2
    cap: float = 1000.0
    spread: float = 0.1  # the part of a delay that jitter may take off

    def delay(self, failures: int, jitter: float = 0.0) -> float:
        """Return the delay after so many failures in a row; `jitter` is between 0 and 1."""
        return self._full(failures) * (1 - self.spread * jitter)

    def is_capped(self, failures: int) -> bool:
        """Return whether delays have stopped growing."""
        return self._full(failures) >= self.cap

    def _full(self, failures: int) -> float:
        # More doublings than a float holds are more than any cap.
        doublings = min(max(failures - 1, 0), _MAX_DOUBLINGS)
        return min(self.first * 2.0**doublings, self.cap)
