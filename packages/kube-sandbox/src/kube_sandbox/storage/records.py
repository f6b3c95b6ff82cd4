"""
An object as it is stored, a change of it, and the objects of one kind in their order.

The order is that in which an API server lists: of `namespace/name` as text, so `a-b/x` comes before
`a/x`. A state of the past needs no copy: it is today's without the changes made since, and those
are remembered anyway, for watches.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/storage/cacher/store_btree.go threadedStoreIndexer;
k8s.io/apiserver/pkg/storage/cacher/watch_cache.go watchCacheEvent.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from operator import attrgetter


@dataclass(frozen=True, slots=True)
class Record:
    """An object as it is stored; `value` is its JSON, as it is served."""

    namespace: str
    name: str
    uid: str
    version: int
    value: bytes
    labels: Mapping[str, str]

    @property
    def key(self) -> str:
        """Return what it is called within its bucket."""
        return key_of(self.namespace, self.name)


def key_of(namespace: str, name: str) -> str:
    """Name an object within its bucket; the order of these names is the order of lists."""
    return f"{namespace}/{name}" if namespace else name


class ChangeType(StrEnum):
    """What happened to an object, as watches say it."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class Change:
    """One write: `record` is what is there after it, or last was; `before` what was there."""

    type: ChangeType
    bucket: str
    version: int
    record: Record
    before: Record | None


_version_of: Callable[[Change], int] = attrgetter("version")
_key_of: Callable[[Record], str] = attrgetter("key")


class Bucket:
    """The objects of one kind, sorted, and their changes, oldest first."""

    __slots__ = ("changes", "keys", "oldest", "records", "stored")

    def __init__(self, oldest: int, records: Iterable[Record] = ()) -> None:
        self.oldest = oldest  # no change after this version is forgotten
        self.records = sorted(records, key=_key_of)
        self.keys = [record.key for record in self.records]
        self.changes: list[Change] = []
        # What was written, where something else is shown.
        self.stored: dict[str, bytes] = {}

    def copy(self) -> "Bucket":
        """Return a copy that shares the records."""
        twin = Bucket(self.oldest)
        twin.keys, twin.records = self.keys.copy(), self.records.copy()
        twin.changes, twin.stored = self.changes.copy(), self.stored.copy()
        return twin

    def find(self, key: str) -> Record | None:
        """Return an object, or `None`."""
        index = bisect_left(self.keys, key)
        return self.records[index] if self.keys[index : index + 1] == [key] else None

    def list(self, namespace: str) -> Sequence[Record]:
        """Return the objects of a namespace, or all."""
        start, end = self._range(namespace)
        return self.records[start:end]

    def at(self, version: int, namespace: str) -> Sequence[Record]:
        """Return the objects as they were."""
        then: dict[str, Record | None] = {}
        for change in self.since(version):
            then.setdefault(change.record.key, change.before)
        start, end = self._range(namespace)
        keys, records = self.keys[start:end], self.records[start:end]
        prefix = f"{namespace}/" if namespace else ""
        for key, record in then.items():
            if key.startswith(prefix):
                # Put back what was there under a key, or nothing.
                index = bisect_left(keys, key)
                end = index + (keys[index : index + 1] == [key])
                keys[index:end] = [key] if record else []
                records[index:end] = [record] if record else []
        return records

    def apply(self, change: Change) -> None:
        """Create a change."""
        key = change.record.key
        self.stored.pop(key, None)
        index = bisect_left(self.keys, key)
        if change.type is ChangeType.DELETED:
            del self.keys[index], self.records[index]
        elif change.type is ChangeType.MODIFIED:
            self.records[index] = change.record
        else:
            self.keys.insert(index, key)
            self.records.insert(index, change.record)
        self.changes.append(change)

    def since(self, version: int) -> Sequence[Change]:
        """Return the changes after a version."""
        return self.changes[bisect_right(self.changes, version, key=_version_of) :]

    def forget(self, version: int) -> Sequence[Change]:
        """Forget the changes up to a version; return them."""
        count = bisect_right(self.changes, version, key=_version_of)
        gone, self.changes[:count] = self.changes[:count], []
        if gone:
            self.oldest = gone[-1].version
        return gone

    def show(self, value_of: Callable[[Record], bytes]) -> None:
        """Show every object otherwise, those of the past too."""
        shown: dict[int, Record] = {}  # by identity: changes share records with each other
        for index, record in enumerate(self.records):
            key = record.key
            written = self.stored.pop(key, record.value)
            value = value_of(replace(record, value=written))
            if value != written:
                self.stored[key] = written
            shown[id(record)] = replace(record, value=value)
            self.records[index] = shown[id(record)]

        def seen(past: Record) -> Record:
            if id(past) not in shown:
                shown[id(past)] = replace(past, value=value_of(past))
            return shown[id(past)]

        # The old list lives until the new one is done, so that identities stay what they are.
        changes = self.changes
        self.changes = [
            replace(each, record=seen(each.record), before=each.before and seen(each.before))
            for each in changes
        ]

    def _range(self, namespace: str) -> tuple[int, int]:
        if not namespace:
            return 0, len(self.keys)
        # "0" is the character after "/".
        return bisect_left(self.keys, f"{namespace}/"), bisect_left(self.keys, f"{namespace}0")
