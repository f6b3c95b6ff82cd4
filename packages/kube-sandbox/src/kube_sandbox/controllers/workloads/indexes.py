"""
Indexes of related objects: a controller finds what it depends on without scanning a bucket.

A Service depends on the pods that it selects, a volume on its claim. Each object has index keys
(`ties`), such as its labels; a query (`wishes`) names the keys that an object must have. A change
wakes only the objects whose queries match, so its cost does not depend on the size of the store.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from kube_objects.refs import KubeObject

T = TypeVar("T")
Key = tuple[str, str, str]  # bucket, namespace, name
IndexKey = str
IndexQuery = frozenset[IndexKey]  # ties that an object must have, all of them


@dataclass(frozen=True, slots=True)
class RelatedBucket:
    """
    Objects of a bucket that a controller looks at.

    `wishes`: the keys that a controlled object reads by; an object with such a key is read.
    `ties`: what those of the bucket have.
    """

    bucket: str
    wishes: Callable[[KubeObject], Iterable[IndexQuery]]
    ties: Callable[[KubeObject], Iterable[IndexKey]]


def label_index_keys(obj: KubeObject) -> list[IndexKey]:
    """Return a tie for each label of an object, and one that all in its namespace have."""
    namespace = obj["metadata"].get("namespace", "")
    labels: Mapping[str, str] = obj["metadata"].get("labels") or {}
    return [namespace, *_pairs(namespace, labels)]


def label_query(namespace: str, labels: Mapping[str, str] | None) -> IndexQuery:
    """Wish for what has all of these labels; without labels, for all in a namespace."""
    return frozenset(_pairs(namespace, labels) if labels else (namespace,))


def _pairs(namespace: str, labels: Mapping[str, str]) -> list[IndexKey]:
    return [f"{namespace}/{name}={value}" for name, value in labels.items()]


class RelatedIndexes:
    """Who looks at whom; remembers keys and ties, no objects."""

    def __init__(self, relations: Mapping[str, Iterable[RelatedBucket]]) -> None:
        """Begin with none; `relations` are by the bucket of who looks."""
        self._sides = [
            _Sides(looker, relation) for looker, each in relations.items() for relation in each
        ]

    def put(self, key: Key, obj: KubeObject | None) -> list[Key]:
        """Take note of an object, `None` if it is gone; return who looks at it, or did so far."""
        return [found for each in self._sides for found in each.put(key, obj)]

    def seen(self, key: Key) -> dict[str, list[Key]]:
        """Return what an object looks at, by bucket, in the order of names."""
        return {each.bucket: each.seen(key) for each in self._sides if each.looker == key[0]}


class _Sides:
    """Both sides of one relation."""

    def __init__(self, looker: str, relation: RelatedBucket) -> None:
        self.looker, self.bucket = looker, relation.bucket
        self._relation = relation
        self._wishes: dict[Key, frozenset[IndexQuery]] = {}
        self._ties: dict[Key, frozenset[IndexKey]] = {}
        # A wish is found by one of its ties, an object by each.
        self._wishing: dict[IndexKey, set[tuple[Key, IndexQuery]]] = {}
        self._having: dict[IndexKey, set[Key]] = {}

    def put(self, key: Key, obj: KubeObject | None) -> list[Key]:
        if key[0] == self.looker:
            wishes = frozenset(self._relation.wishes(obj) if obj else ())
            old_wishes = self._wishes.pop(key, frozenset())
            if wishes:
                self._wishes[key] = wishes
            for wish in old_wishes - wishes:
                _drop(self._wishing, max(wish), (key, wish))
            for wish in wishes - old_wishes:
                self._wishing.setdefault(max(wish), set()).add((key, wish))
        if key[0] != self.bucket:
            return []
        before = self._ties.get(key, frozenset())
        after = frozenset(self._relation.ties(obj) if obj else ())
        if before == after:
            return self._wished(after)
        if after:
            self._ties[key] = after
        else:
            self._ties.pop(key, None)
        for tie in before - after:
            _drop(self._having, tie, key)
        for tie in after - before:
            self._having.setdefault(tie, set()).add(key)
        return sorted({*self._wished(before), *self._wished(after)})

    def _wished(self, ties: frozenset[IndexKey]) -> list[Key]:
        """Return who looks for an object with these ties."""
        possible = (pair for tie in ties for pair in self._wishing.get(tie, ()))
        return sorted({key for key, wish in possible if wish <= ties})

    def seen(self, key: Key) -> list[Key]:
        """Return the objects that a selector-like key matches; starts from the rarest label."""
        found: set[Key] = set()
        for wish in self._wishes.get(key, ()):
            fewest = min((self._having.get(tie, set()) for tie in wish), key=len)
            found.update(candidate for candidate in fewest if wish <= self._ties[candidate])
        return sorted(found)


def _drop(table: dict[IndexKey, set[T]], tie: IndexKey, entry: T) -> None:
    table[tie].discard(entry)
    if not table[tie]:
        del table[tie]
