"""
Finds the instances that an event requeues.

An instance requests watches: of one object, or of all objects with certain labels. An event costs
two lookups in dictionaries, and no more if no instance requested it. Equal selectors are matched
once, however many instances have them.

The requests of an instance may change from pass to pass. New ones are added at once, so that no
event during a pass is missed; old ones are removed at the end of the pass.
"""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from kube_objects.label_selectors import Selector
from kube_objects.refs import Kind, KubeObject

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class ObjectWatch:
    """One object."""

    kind: Kind
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class SelectorWatch:
    """All objects of a kind with certain labels; no namespace means all of them."""

    kind: Kind
    namespace: str
    selector: Selector

    def matches(self, obj: KubeObject) -> bool:
        """Return whether an object is among them."""
        metadata = obj["metadata"]
        if self.namespace and metadata.get("namespace", "") != self.namespace:
            return False
        return self.selector.matches(metadata.get("labels") or {})


WatchRequest = ObjectWatch | SelectorWatch


class WatchSet(Generic[K]):
    """The watch requests of all keys."""

    def __init__(self) -> None:
        self._requests: dict[K, set[WatchRequest]] = {}
        self._ones: dict[ObjectWatch, set[K]] = {}
        self._many: dict[Kind, dict[SelectorWatch, set[K]]] = {}

    def __len__(self) -> int:
        """Return how many look at anything."""
        return len(self._requests)

    def __iter__(self) -> Iterator[K]:
        """Yield every key that watches anything."""
        return iter(self._requests)

    def requests(self) -> Iterator[WatchRequest]:
        """Yield every request once for each key that made it."""
        for requests in self._requests.values():
            yield from requests

    def look(self, key: K, request: WatchRequest) -> None:
        """Add a watch request of a key."""
        self._requests.setdefault(key, set()).add(request)
        match request:
            case ObjectWatch():
                self._ones.setdefault(request, set()).add(key)
            case SelectorWatch():
                self._many.setdefault(request.kind, {}).setdefault(request, set()).add(key)

    def keep_only(self, key: K, requests: Iterable[WatchRequest]) -> None:
        """Remove the requests of a key that are not listed."""
        wanted = set(requests)
        for request in self._requests.get(key, set()) - wanted:
            match request:
                case ObjectWatch():
                    _leave(self._ones, request, key)
                case SelectorWatch():
                    group = self._many[request.kind]
                    _leave(group, request, key)
                    if not group:
                        del self._many[request.kind]
        if wanted:
            self._requests[key] = wanted & self._requests.get(key, set())
        else:
            self._requests.pop(key, None)

    def forget(self, key: K) -> None:
        """Remove all requests of a key."""
        self.keep_only(key, ())

    def watchers_of(self, kind: Kind, *states: KubeObject | None) -> set[K]:
        """Return the keys with a request for an object, in any of its states."""
        found: set[K] = set()
        many = self._many.get(kind)
        for obj in states:
            if obj is None:
                continue
            metadata = obj["metadata"]
            found |= self._ones.get(
                ObjectWatch(kind, metadata.get("namespace", ""), metadata["name"]), frozenset()
            )
            if many:
                for request, keys in many.items():
                    if request.matches(obj):
                        found |= keys
        return found


R = TypeVar("R", ObjectWatch, SelectorWatch)


def _leave(index: dict[R, set[K]], request: R, key: K) -> None:
    keys = index[request]
    keys.discard(key)
    if not keys:
        del index[request]
