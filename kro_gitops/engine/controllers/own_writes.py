"""
What happened while an instance was worked on, and was it us?

Every write of ours comes back as an event. If the answer to the write is taken in first, the event
is no news; but either may be first. So events about an instance in work are set aside with their
version, and judged when the work is done: versions that we wrote ourselves wake nobody.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

from kube_objects.refs import KubeObject

K = TypeVar("K", bound=Hashable)


class OwnWrites(Generic[K]):
    """Tracks events and our own writes while an instance is being reconciled."""

    def __init__(self) -> None:
        self._heard: dict[K, set[str]] = {}
        self._written: dict[K, set[str]] = {}

    def begin(self, key: K) -> None:
        """Begin a reconcile."""
        self._heard[key] = set()
        self._written[key] = set()

    def end(self, key: K) -> bool:
        """End a reconcile; return whether another client changed something meanwhile."""
        return bool(self._heard.pop(key) - self._written.pop(key))

    def defer_event(self, key: K, obj: KubeObject) -> bool:
        """Keep an event for later if its instance is being reconciled; return whether it is."""
        heard = self._heard.get(key)
        if heard is None:
            return False
        heard.add(obj["metadata"]["resourceVersion"])
        return True

    def record_write(self, key: K, obj: KubeObject) -> None:
        """Note what the server answered to a write of ours."""
        written = self._written.get(key)
        if written is not None:
            written.add(obj["metadata"]["resourceVersion"])
