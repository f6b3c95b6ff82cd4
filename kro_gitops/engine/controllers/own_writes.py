"""
Tells events that our own writes caused from those of other clients.

Every write of ours comes back as an event. If the response to the write is cached first, the event
changes nothing; but either may come first. So the versions of events about an instance are kept
while it is reconciled, and looked at when the reconcile ends: versions that we wrote ourselves
queue nothing.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

from kube_objects.refs import KubeObject

K = TypeVar("K", bound=Hashable)


class OwnWrites(Generic[K]):
    """Tracks events and our own writes while an instance is being reconciled."""

    def __init__(self) -> None:
        self._seen: dict[K, set[str]] = {}
        self._written: dict[K, set[str]] = {}

    def begin(self, key: K) -> None:
        """Begin a reconcile."""
        self._seen[key] = set()
        self._written[key] = set()

    def end(self, key: K) -> bool:
        """End a reconcile; return whether another client changed something meanwhile."""
        return bool(self._seen.pop(key) - self._written.pop(key))

    def defer_event(self, key: K, obj: KubeObject) -> bool:
        """Keep an event for later if its instance is being reconciled; return whether it is."""
        seen = self._seen.get(key)
        if seen is None:
            return False
        seen.add(obj["metadata"]["resourceVersion"])
        return True

    def record_write(self, key: K, obj: KubeObject) -> None:
        """Record the response to a write of ours."""
        written = self._written.get(key)
        if written is not None:
            written.add(obj["metadata"]["resourceVersion"])
