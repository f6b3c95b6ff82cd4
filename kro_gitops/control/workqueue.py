"""
The keys to reconcile, and when.

Pure: no clock, no tasks. Times are arguments, and only compared.

Guarantees:

- A key is never processed twice at once. One that is added while it is processed is processed
  again afterwards, once, however often it was added.
- What is due sooner wins: a key that waits and is added becomes due now.
- No group starves another. Of all groups with something to do, the one with the least in work
  goes first, then the one whose turn was longest ago. So ten slow instances of one namespace do
  not keep the first of another waiting for more than one of them. With a number of workers, one
  group gets at most half of them, so that the others find one free at once (`has_room`). Within a
  group, its parts take turns: instances of one namespace by their kind.
- Nothing costs more than the logarithm of what is queued, and what is idle costs nothing.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import Enum, auto
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

_COMPACTION_SLACK = 64


def has_room(used: int, free: int) -> bool:
    """Return True if a group that uses `used` slots may take one of `free` slots."""
    return used < free


@dataclass(frozen=True, slots=True)
class WorkItem(Generic[K]):
    """A key taken out of the queue; it must be given back with `done`."""

    key: K
    failures: int  # in a row, before this try
    waited: float  # since it was due


@dataclass(frozen=True, slots=True)
class Depth:
    """How many keys are ready, waiting and being processed."""

    ready: int
    waiting: int
    working: int


class _State(Enum):
    IDLE = auto()
    WAITING = auto()
    READY = auto()
    WORKING = auto()


@dataclass(slots=True)
class _Entry:
    """What is known about a key; `due` is also when a key in work should be taken again."""

    state: _State = _State.IDLE
    due: float | None = None
    failures: int = 0


@dataclass(slots=True)
class _Group(Generic[K]):
    """Keys that compete with those of other groups."""

    ready: OrderedDict[Hashable, OrderedDict[K, None]]  # by part; the next part first
    working: int = 0
    turn: int = 0

    @property
    def rank(self) -> tuple[int, int]:
        return (self.working, self.turn)

    def add(self, part: Hashable, key: K) -> None:
        self.ready.setdefault(part, OrderedDict())[key] = None

    def take(self) -> K:
        """Take the first key of the part whose turn it is."""
        part, keys = self.ready.popitem(last=False)
        key, _ = keys.popitem(last=False)
        if keys:
            self.ready[part] = keys
        return key

    def remove(self, part: Hashable, key: K) -> None:
        keys = self.ready[part]
        del keys[key]
        if not keys:
            del self.ready[part]


class WorkQueue(Generic[K]):
    """Keys due now or later; `group_of` returns the group as which a key competes."""

    def __init__(
        self,
        group_of: Callable[[K], Hashable],
        workers: int | None = None,
        part_of: Callable[[K], Hashable] = lambda _: None,
    ) -> None:
        """
        Take the number of workers if no group may have more than its share (`slots`).

        `part_of` returns the part of its group that a key belongs to.
        """
        self._group_of = group_of
        self._part_of = part_of
        self._workers = workers
        self._entries: dict[K, _Entry] = {}
        self._groups: dict[Hashable, _Group[K]] = {}
        self._turns = count(1)
        self._counts = dict.fromkeys(_State, 0)
        # Heaps with entries that may be outdated: what counts is what the entry or group says.
        self._later: list[tuple[float, int, K]] = []
        self._next: list[tuple[tuple[int, int], int, Hashable]] = []
        self._pushes = count()

    def __len__(self) -> int:
        """Return how many keys are due, waiting or in work."""
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    @property
    def depth(self) -> Depth:
        """Return how many keys are where."""
        return Depth(
            self._counts[_State.READY],
            self._counts[_State.WAITING],
            self._counts[_State.WORKING],
        )

    def next_due(self) -> float | None:
        """Return when the first waiting key is due."""
        while self._later and not self._is_waiting(*self._later[0]):
            heappop(self._later)
        return self._later[0][0] if self._later else None

    def add(self, key: K, now: float) -> None:
        """Queue a key now."""
        self.add_at(key, now, now)

    def add_at(self, key: K, due: float, now: float) -> None:
        """Queue a key for a time, unless it is due sooner already."""
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry()
        self._schedule(key, entry, due, now)

    def take(self, now: float) -> WorkItem[K] | None:
        """Take a key that is due; it is not taken again until it is given back."""
        due = self.next_due()
        while due is not None and due <= now:
            _, _, due_key = heappop(self._later)
            self._make_ready(due_key, self._entries[due_key])
            due = self.next_due()
        found = self._next_group()
        if found is None:
            return None
        name, group = found
        key = group.take()
        group.working += 1
        group.turn = next(self._turns)
        self._rank(name, group)

        entry = self._entries[key]
        waited = now - entry.due if entry.due is not None else 0.0
        entry.due = None
        self._move(entry, _State.WORKING)
        return WorkItem(key, entry.failures, max(waited, 0.0))

    def expedite(self, key: K, now: float) -> None:
        """Make a waiting key due now, as if it had not failed."""
        entry = self._entries.get(key)
        if entry is not None:
            entry.failures = 0
            self._schedule(key, entry, now, now)

    def again_at(self, key: K, due: float) -> None:
        """Requeue a key that is being processed."""
        entry = self._working(key)
        entry.due = due if entry.due is None else min(entry.due, due)

    def failed(self, key: K) -> int:
        """Count a failure of a key in work; return how many there were in a row."""
        entry = self._working(key)
        entry.failures += 1
        return entry.failures

    def succeeded(self, key: K) -> None:
        """Forget the failures of a key in work."""
        self._working(key).failures = 0

    def done(self, key: K, now: float) -> None:
        """Give a key back."""
        entry = self._working(key)
        name = self._group_of(key)
        group = self._groups[name]
        group.working -= 1
        due, entry.due = entry.due, None
        self._move(entry, _State.IDLE)
        if due is not None:
            self._schedule(key, entry, due, now)
        else:
            # It is not queued again, so its failures are forgotten, too.
            del self._entries[key]
        self._rank(name, group)

    def discard(self, key: K) -> None:
        """Drop a key that is due or waiting, with its failures; one in work is not taken again."""
        entry = self._entries.get(key)
        if entry is None:
            return
        entry.due, entry.failures = None, 0
        if entry.state is _State.WORKING:
            return
        if entry.state is _State.READY:
            name = self._group_of(key)
            self._groups[name].remove(self._part_of(key), key)
            self._rank(name, self._groups[name])
        self._move(entry, _State.IDLE)
        del self._entries[key]

    def _schedule(self, key: K, entry: _Entry, due: float, now: float) -> None:
        if entry.state is _State.READY or (entry.due is not None and entry.due <= due):
            return
        entry.due = due
        if entry.state is _State.WORKING:
            return
        if due <= now:
            self._make_ready(key, entry)
            return
        self._move(entry, _State.WAITING)
        heappush(self._later, (due, next(self._pushes), key))
        # Drop outdated entries before they outnumber the others.
        if len(self._later) > 2 * self._counts[_State.WAITING] + _COMPACTION_SLACK:
            self._later = [each for each in self._later if self._is_waiting(*each)]
            heapify(self._later)

    def _make_ready(self, key: K, entry: _Entry) -> None:
        self._move(entry, _State.READY)
        name = self._group_of(key)
        group = self._groups.get(name)
        if group is None:
            # A new group has waited least: it must not jump a queue by coming and going.
            group = self._groups[name] = _Group(OrderedDict(), turn=next(self._turns))
        was_idle = not group.ready
        group.add(self._part_of(key), key)
        if was_idle:
            self._rank(name, group)

    def _next_group(self) -> tuple[Hashable, _Group[K]] | None:
        while self._next:
            rank, _, name = self._next[0]
            group = self._groups.get(name)
            if group is None or not group.ready or group.rank != rank:
                heappop(self._next)  # outdated
                continue
            if self._workers is not None:
                free = self._workers - self._counts[_State.WORKING]
                if not has_room(group.working, free):
                    return None  # it has the least in work: the others have no room either
            return name, group
        return None

    def _rank(self, name: Hashable, group: _Group[K]) -> None:
        """Put a group in its place among others after a change, or drop it when it is idle."""
        if group.ready:
            heappush(self._next, (group.rank, next(self._pushes), name))
            if len(self._next) > 2 * len(self._groups) + _COMPACTION_SLACK:
                self._next = [
                    (each.rank, next(self._pushes), name)
                    for name, each in self._groups.items()
                    if each.ready
                ]
                heapify(self._next)
        elif not group.working:
            del self._groups[name]

    def _is_waiting(self, due: float, _: int, key: K) -> bool:
        entry = self._entries.get(key)
        return entry is not None and entry.state is _State.WAITING and entry.due == due

    def _working(self, key: K) -> _Entry:
        entry = self._entries.get(key)
        if entry is None or entry.state is not _State.WORKING:
            raise ValueError(f"{key} is not in work")
        return entry

    def _move(self, entry: _Entry, state: _State) -> None:
        self._counts[entry.state] -= 1
        self._counts[state] += 1
        entry.state = state
