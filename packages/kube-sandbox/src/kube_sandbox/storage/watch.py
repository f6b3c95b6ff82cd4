"""
One client's watch: changes go in, lines of events come out.

Knows neither sockets nor clocks: the shell calls `take` while it can send, is called back through
`wake` when there is something to take, and calls `tick` when `due` has come. Events are kept as
records, shared with the store, and become lines only as they are taken; objects are not parsed. So
a client that reads slowly costs little, and one that falls too far behind is let go: it comes back
and asks from the last version it saw.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/storage/cacher/cache_watcher.go cacheWatcher.process,
cacheWatcher.convertToWatchEvent.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from operator import attrgetter

import orjson

from kube_sandbox.api_errors import StatusError
from kube_sandbox.storage.resource_version import VersionOptions, parse_version, require_version
from kube_sandbox.storage.store import Change, ChangeType, Record, Store

_BOOKMARK = "BOOKMARK"
_ERROR = "ERROR"
# Seconds between bookmarks, and how long before its end a watch gets the last one.
_BOOKMARK_INTERVAL = 60.0
_BOOKMARK_BEFORE_END = 2.0
# The first one after initial events comes soon, since reading those may have taken a while.
_FIRST_BOOKMARK = 1.0
# Who sets no limit is let go after half an hour or so, each at another time.
_MIN_TIMEOUT = 1800.0
_CHUNK = 256 * 1024

Event = tuple[str, Record]
_value_of: Callable[[Record], bytes] = attrgetter("value")


@dataclass(frozen=True, slots=True)
class Watched:
    """
    What is watched and how it is shown.

    `render` makes the object of an event (for a bookmark of the `bookmark`): as it is stored, or
    its metadata, or a table. `matches` is left out where there is no selector.
    """

    bucket: str
    bookmark: Callable[[int, bool], bytes]
    namespace: str = ""
    matches: Callable[[Record], bool] | None = None
    render: Callable[[Record], bytes] = _value_of
    allow_bookmarks: bool = False

    def has(self, record: Record | None) -> bool:
        """Return whether an object is one of those that are watched."""
        if record is None or (self.namespace and record.namespace != self.namespace):
            return False
        return self.matches is None or self.matches(record)


@dataclass(frozen=True, slots=True)
class WatchBufferLimits:
    """How far a client may fall behind: events, and bytes of them."""

    events: int = 10_000
    bytes: int = 16 * 1024 * 1024


def needed_version(asked: VersionOptions) -> int:
    """Return the version for which to hold a watch; raise 500 if what is asked is no version."""
    version = parse_version(asked.resource_version)
    return version if asked.send_initial_events else 0


def timeout(seconds: int | None, jitter: float) -> float:
    """Return how long a watch may last; `jitter` is between 0 and 1."""
    return float(max(seconds, 0)) if seconds else _MIN_TIMEOUT * (1 + jitter)


class Watch:
    """
    A watch that has begun.

    It takes changes from the store until it ends: its time is over, it sent an error, its client is
    too slow, or it was closed.
    """

    def __init__(
        self, store: Store, watched: Watched, asked: VersionOptions, now: float, lasts: float
    ) -> None:
        version = parse_version(asked.resource_version)
        self.is_over = False
        self.wake: Callable[[], None] = lambda: None
        self._store = store
        self._watched = watched
        self._patience = WatchBufferLimits()
        self._pending: deque[Event] = deque()
        self._weight = 0
        self._ends = now + lasts
        first = _FIRST_BOOKMARK if asked.send_initial_events else _BOOKMARK_INTERVAL
        self._next_bookmark = self._bookmark_after(now, first)
        self._from = version
        self._backlog: Iterator[Event] = iter(())
        self._cancel: Callable[[], object] = lambda: None
        try:
            self._backlog = self._begin(asked, version)
        except StatusError as error:
            # A watch reports an error as an event, a list by its status code.
            self._pending.append((_ERROR, _anonymous_record(orjson.dumps(error.status()))))
            self.is_over = True
        else:
            self._cancel = store.watch(watched.bucket, self._hear)

    @property
    def due(self) -> float:
        """Return when to call `tick` next."""
        return min(self._ends, self._next_bookmark)

    def tick(self, now: float) -> None:
        """Do what is due: a bookmark, or the end."""
        if now >= self._ends:
            self.close()
        elif now >= self._next_bookmark:
            self._next_bookmark = self._bookmark_after(now)
            # Nothing is said of a version from which the client came, or that is yet to come.
            if self._store.version > self._from and not self.is_over:
                self._pending.append(self._bookmark(is_end=False))
                self.wake()

    def take(self, most: int = _CHUNK) -> bytes:
        """Return lines to send, about so many bytes; nothing: there are none at present."""
        lines: list[bytes] = []
        size = 0
        while size < most and (event := self._next()) is not None:
            type_, record = event
            shown = record.value if type_ == _ERROR else self._watched.render(record)
            line = b'{"type":"%b","object":%b}\n' % (type_.encode(), shown)
            lines.append(line)
            size += len(line)
        return b"".join(lines)

    def end(self) -> None:
        """Take no more changes; what was not taken can still be."""
        self._cancel()
        self.is_over = True
        self.wake()

    def close(self) -> None:
        """Take no more changes; what was not taken is dropped."""
        self._cancel()
        self._backlog = iter(())
        self._pending.clear()
        self._weight = 0
        self.is_over = True
        self.wake()

    def _begin(self, asked: VersionOptions, version: int) -> Iterator[Event]:
        bucket, has = self._watched.bucket, self._watched.has
        if asked.send_initial_events:
            require_version(self._store, version)
            self._from = self._store.version
            watched = self._watched
            # The list is taken now, the rest as the client reads.
            records = self._store.list(watched.bucket, watched.namespace)
            end = [self._bookmark(is_end=True)] if watched.allow_bookmarks else []

            def events() -> Iterator[Event]:
                for record in records:
                    if watched.has(record):
                        yield ChangeType.ADDED, record
                yield from end

            return events()
        if version == 0:
            self._from = self._store.version
            return iter(())
        changes = self._store.since(bucket, version)
        return (event for change in changes if (event := _event(change, has)) is not None)

    def _hear(self, change: Change) -> None:
        if self.is_over or change.version <= self._from:
            return
        event = _event(change, self._watched.has)
        if event is None:
            return
        self._pending.append(event)
        self._weight += len(event[1].value)
        if len(self._pending) > self._patience.events or self._weight > self._patience.bytes:
            self.close()
        else:
            self.wake()

    def _next(self) -> Event | None:
        event = next(self._backlog, None)
        if event is None and self._pending:
            event = self._pending.popleft()
            if isinstance(event[0], ChangeType):
                self._weight -= len(event[1].value)
        return event

    def _bookmark(self, *, is_end: bool) -> Event:
        version = self._store.version
        return _BOOKMARK, replace(
            _anonymous_record(self._watched.bookmark(version, is_end)), version=version
        )

    def _bookmark_after(self, now: float, wait: float = _BOOKMARK_INTERVAL) -> float:
        """Return when the next bookmark is due; the last one comes shortly before the end."""
        if not self._watched.allow_bookmarks:
            return self._ends
        last = self._ends - _BOOKMARK_BEFORE_END
        found = min(now + wait, last)
        return found if found > now else self._ends


def _event(change: Change, has: Callable[[Record | None], bool]) -> Event | None:
    """Return the event of a change for a watch: objects are added and deleted as they match."""
    is_there = change.type is not ChangeType.DELETED and has(change.record)
    was_there = has(change.before)
    if is_there:
        return ChangeType.MODIFIED if was_there else ChangeType.ADDED, change.record
    if not was_there or change.before is None:
        return None
    if change.type is ChangeType.DELETED:
        return ChangeType.DELETED, change.record
    # It exists, but no longer matches: reported in its former state, with the new version.
    # A record that says another version of itself.
    record = change.before
    version = change.version
    written = b'"resourceVersion":"%d"' % record.version
    if record.value.count(written) == 1:
        value = record.value.replace(written, b'"resourceVersion":"%d"' % version)
    else:
        # It says the same of something else: an Event of what it is about, for one.
        parsed = orjson.loads(record.value)
        parsed["metadata"]["resourceVersion"] = str(version)
        value = orjson.dumps(parsed)
    return ChangeType.DELETED, replace(record, version=version, value=value)


def _anonymous_record(value: bytes) -> Record:
    return Record("", "", "", 0, value, {})
