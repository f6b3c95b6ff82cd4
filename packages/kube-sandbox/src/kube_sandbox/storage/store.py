"""
The objects of a cluster in memory, with versions, and what changed of late.

Knows nothing of kinds, HTTP or the disk: objects are bytes with a name. Every write is the next
version of the whole store, so versions have no gaps, and "the last thousand changes" is plain
arithmetic. Objects lie in buckets, one for each kind. The past is kept as changes, up to a limit;
what is forgotten is too old for watches and for lists alike.

A change is recorded before it takes effect: a `Recorder` receives it first, and if that raises, the
store does not change and no watch gets an event.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/storage/cacher/watch_cache.go watchCache.processEvent,
watchCache.getAllEventsSinceLocked.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kube_sandbox.api_errors import expired
from kube_sandbox.storage.records import Bucket, Change, ChangeType, Record, key_of

__all__ = [
    "FIRST_VERSION",
    "Change",
    "ChangeType",
    "History",
    "Record",
    "Recorder",
    "Store",
    "key_of",
]

# etcd begins with revision 1. Zero cannot be used: a resourceVersion of 0 means "any".
FIRST_VERSION = 1


class Recorder(Protocol):
    """Where changes are kept beyond the life of the process."""

    def append(self, change: Change) -> None:
        """Keep a change for good, or raise: then it does not happen."""

    def forget(self, version: int, superseded: Sequence[int]) -> None:
        """Drop the records of these versions; nothing before `version` is requested again."""


@dataclass(frozen=True, slots=True)
class History:
    """How much of the past is remembered: so many changes, so many bytes of what was replaced."""

    changes: int = 8192
    bytes: int = 16 * 1024 * 1024


Listener = Callable[[Change], None]
Cancel = Callable[[], None]


class Store:
    """
    All buckets; `version` is that of the last change, `oldest` the first at which all is known.

    Of a kind that changes rarely more is known than of others: what is forgotten is counted by
    bucket.
    """

    def __init__(self, history: History | None = None, version: int = FIRST_VERSION) -> None:
        self.version = version
        self.oldest = version
        self._origin = version  # of what was before, nothing is known of any bucket
        self._history = history or History()
        self._replaced = 0  # bytes of records that are only there for the sake of history
        self._buckets: dict[str, Bucket] = {}
        self._recorder: Recorder | None = None
        self._listeners: dict[object, Listener] = {}
        self._watchers: dict[str, dict[object, Listener]] = {}
        self._untold: deque[Change] = deque()
        self._is_telling = False

    @classmethod
    def of(
        cls,
        objects: Mapping[str, Iterable[Record]],
        version: int = FIRST_VERSION,
        history: History | None = None,
    ) -> "Store":
        """Return a store that holds these objects, by bucket; it knows nothing of their past."""
        store = cls(history, version)
        store._buckets = {name: Bucket(version, records) for name, records in objects.items()}
        return store

    def get(self, bucket: str, namespace: str, name: str) -> Record | None:
        """Return an object, or `None`."""
        found = self._buckets.get(bucket)
        return found.find(key_of(namespace, name)) if found else None

    def list(self, bucket: str, namespace: str = "") -> Sequence[Record]:
        """Return the objects of a bucket, of one namespace or all, in order; a copy."""
        found = self._buckets.get(bucket)
        return found.list(namespace) if found else []

    def at(self, bucket: str, version: int, namespace: str = "") -> Sequence[Record]:
        """Return the objects as they were at a version; raise 410 if that is too long ago."""
        found = self._known(bucket, version)
        return found.at(version, namespace) if found else []

    def count(self, bucket: str) -> int:
        """Return how many objects a bucket has."""
        found = self._buckets.get(bucket)
        return len(found.keys) if found else 0

    def buckets(self) -> Iterator[str]:
        """Return the names of the buckets that hold anything."""
        return iter([name for name, bucket in self._buckets.items() if bucket.keys])

    def stored(self, bucket: str, record: Record) -> bytes:
        """Return what was written for an object, which may be shown otherwise today."""
        found = self._buckets.get(bucket)
        return found.stored.get(record.key, record.value) if found else record.value

    def put(self, bucket: str, record: Record) -> Change:
        """Write an object, whose version must be the next one."""
        before = self.get(bucket, record.namespace, record.name)
        type_ = ChangeType.MODIFIED if before else ChangeType.ADDED
        return self._change(Change(type_, bucket, record.version, record, before))

    def delete(self, bucket: str, record: Record) -> Change:
        """Remove an object; `record` is its last state, at the version of the deletion."""
        before = self.get(bucket, record.namespace, record.name)
        if before is None:
            raise KeyError(f"{bucket} has no {record.key}")
        return self._change(Change(ChangeType.DELETED, bucket, record.version, record, before))

    def show(self, bucket: str, value_of: Callable[[Record], bytes]) -> None:
        """
        Replace the served form of a bucket, because its schema changed; no watch gets an event.

        `value_of` gets what was written, not what an earlier schema left of it: a field that is
        hidden by one schema comes back with the next, as it does where etcd keeps it.
        """
        if found := self._buckets.get(bucket):
            found.show(value_of)

    def listen(self, listener: Listener) -> Cancel:
        """Call back for every change, in order, before the write returns; it must not raise."""
        return _register(self._listeners, listener)

    def watch(self, bucket: str, listener: Listener) -> Cancel:
        """Call back for every change of one bucket."""
        return _register(self._watchers.setdefault(bucket, {}), listener)

    def record(self, recorder: Recorder | None) -> None:
        """Pass changes to a recorder from now on; it may raise."""
        self._recorder = recorder

    def since(self, bucket: str, version: int) -> Sequence[Change]:
        """Return the changes of a bucket after a version; raise 410 if some are forgotten."""
        found = self._known(bucket, version)
        return found.since(version) if found else []

    def compact(self, keep: int) -> None:
        """Forget all but the last changes."""
        self.compact_to(self.version - keep)

    def compact_to(self, version: int) -> None:
        """Forget what was before a version."""
        if version <= self.oldest:
            return
        version = min(version, self.version)
        gone = [change for each in self._buckets.values() for change in each.forget(version)]
        self.oldest = version
        self._replaced -= sum(map(_weight, gone))
        if self._recorder is not None:
            self._recorder.forget(version, _superseded(gone))

    def fork(self) -> "Store":
        """Return an independent copy without listeners; the records are shared."""
        twin = Store(self._history, self.version)
        twin.oldest, twin._origin = self.oldest, self._origin
        twin._replaced = self._replaced
        twin._buckets = {name: bucket.copy() for name, bucket in self._buckets.items()}
        return twin

    def replay(self, bucket: str, record: Record, *, deleted: bool) -> None:
        """Repeat a recorded change; it is not recorded again, and no watch gets an event."""
        before = self.get(bucket, record.namespace, record.name)
        if deleted and before is None:
            raise KeyError(f"{bucket} has no {record.key}")
        type_ = ChangeType.MODIFIED if before else ChangeType.ADDED
        self._apply(
            Change(ChangeType.DELETED if deleted else type_, bucket, record.version, record, before)
        )

    def _known(self, bucket: str, version: int) -> Bucket | None:
        """Return a bucket, or raise Expired if history before a version was compacted."""
        found = self._buckets.get(bucket)
        oldest = found.oldest if found else self._origin
        if version < oldest:
            raise expired(f"too old resource version: {version} ({oldest})")
        return found

    def _change(self, change: Change) -> Change:
        if change.version != self.version + 1:
            raise ValueError(f"version {change.version} cannot follow {self.version}")
        if self._recorder is not None:
            self._recorder.append(change)
        self._apply(change)
        self._untold.append(change)
        # A listener may write. Its change waits until all listeners were called.
        if not self._is_telling:
            self._is_telling = True
            try:
                while self._untold:
                    tell_change = self._untold.popleft()
                    watchers = self._watchers.get(tell_change.bucket, {})
                    for listener in (*self._listeners.values(), *watchers.values()):
                        listener(tell_change)
            finally:
                self._is_telling = False
        # An eighth more than is promised, so that not every write pays for forgetting one change.
        limit = self._history.changes
        if self.version - self.oldest > limit + limit // 8:
            self.compact(limit)
        if self._replaced > self._history.bytes:
            self.compact((self.version - self.oldest) // 2)
        return change

    def _apply(self, change: Change) -> None:
        """Apply a change to memory; `_replaced` counts towards the next compaction."""
        if (bucket := self._buckets.get(change.bucket)) is None:
            bucket = self._buckets[change.bucket] = Bucket(self._origin)
        bucket.apply(change)
        self.version = change.version
        self._replaced += _weight(change)


def _register(listeners: dict[object, Listener], listener: Listener) -> Cancel:
    token = object()
    listeners[token] = listener
    return lambda: listeners.pop(token, None) and None


def _weight(change: Change) -> int:
    """Return how many bytes are in memory only because a change is remembered."""
    weight = len(change.before.value) if change.before else 0
    return weight + len(change.record.value) if change.type is ChangeType.DELETED else weight


def _superseded(changes: Iterable[Change]) -> list[int]:
    """Return the versions of records that no state after these changes has."""
    found = []
    for change in changes:
        if change.before is not None:
            found.append(change.before.version)
        if change.type is ChangeType.DELETED:
            found.append(change.version)
    return found
