"""
How long ago something was, as people say it: `5m12s`, `3d4h`, `2y`.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/util/duration/duration.go HumanDuration.
"""

from dataclasses import dataclass
from datetime import datetime

from kube_objects.times import format_span, parse_time

UNKNOWN = "<unknown>"


@dataclass(frozen=True, slots=True)
class Clock:
    """What time it is while a table is made."""

    now: datetime

    def since(self, written: object) -> str:
        """Print how long ago a time was."""
        found = parse_time(written)
        return format_span(self.now - found) if found else UNKNOWN
