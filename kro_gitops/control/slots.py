"""
Slots that groups share fairly: the network, threads and workers that tenants compete for.

A group may take a slot only while it uses fewer slots than are free. So one group never has more
than half of them, a second one gets half of the rest, and so on: however many requests of one group
hang, another group finds a free slot at once. Among waiting groups the one with the fewest slots
goes first, then the one that was served longest ago.

The rule is the dynamic threshold of shared-memory switches (Choudhury and Hahne, 1998): no limit
has to be configured per group, and the idle share of one group is not lost to the others.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from typing import TypeVar

from kro_gitops.control.workqueue import has_room

T = TypeVar("T")


class FairSlots:
    """A fixed number of slots; belongs to one event loop."""

    def __init__(self, total: int, observe_wait: Callable[[float], None] | None = None) -> None:
        """Take the number of slots; `observe_wait` is called with the seconds of each wait."""
        self.total = total
        self._observe_wait = observe_wait
        self._used: Counter[Hashable] = Counter()
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}
        self._turns = count(1)
        self._turn: dict[Hashable, int] = {}  # of groups that wait or use slots

    @property
    def used(self) -> int:
        """Return how many slots are in use."""
        return self._used.total()

    @property
    def waiting(self) -> int:
        """Return how many requests wait for a slot."""
        return sum(map(len, self._waiting.values()))

    async def acquire(self, group: Hashable) -> None:
        """Wait for a slot; give it back with `release`."""
        loop = asyncio.get_running_loop()
        began, granted = loop.time(), loop.create_future()
        self._waiting.setdefault(group, deque()).append(granted)
        self._turn.setdefault(group, next(self._turns))
        self._grant()
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self.release(group)  # granted and cancelled at the same time
            else:
                self._forget(group, granted)
            raise
        if self._observe_wait is not None:
            self._observe_wait(loop.time() - began)

    def release(self, group: Hashable) -> None:
        """Give a slot back."""
        if self._used[group] < 1:
            raise ValueError(f"{group} has no slot")
        self._used[group] -= 1
        self._drop_if_idle(group)
        self._grant()

    def _grant(self) -> None:
        """Give free slots to groups that wait."""
        while self._waiting:
            group = min(self._waiting, key=lambda each: (self._used[each], self._turn[each]))
            if not has_room(self._used[group], self.total - self.used):
                return  # it has the fewest slots, so none of the others has room either
            granted = self._waiting[group].popleft()
            if not self._waiting[group]:
                del self._waiting[group]
            self._used[group] += 1
            self._turn[group] = next(self._turns)
            granted.set_result(None)

    def _forget(self, group: Hashable, granted: asyncio.Future[None]) -> None:
        """Remove a request that was cancelled while it waited."""
        queue = self._waiting[group]
        queue.remove(granted)
        if not queue:
            del self._waiting[group]
        self._drop_if_idle(group)

    def _drop_if_idle(self, group: Hashable) -> None:
        if not self._used[group]:
            del self._used[group]
            if group not in self._waiting:
                del self._turn[group]


class FairThreads:
    """Threads for calls that block, shared fairly by groups; belongs to one event loop."""

    def __init__(
        self, threads: int, name: str, observe_wait: Callable[[float], None] | None = None
    ) -> None:
        """Take a prefix of thread names, and what is called with the seconds of each wait."""
        self._slots = FairSlots(threads, observe_wait)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)

    async def run(self, group: Hashable, work: Callable[[], T]) -> T:
        """
        Call `work` in a thread and return its result.

        A thread cannot be cancelled: if the caller is, the slot counts for the group until `work`
        has returned.
        """
        loop = asyncio.get_running_loop()
        await self._slots.acquire(group)

        def returned(_: Future[T]) -> None:
            with suppress(RuntimeError):  # the event loop is closed
                loop.call_soon_threadsafe(self._slots.release, group)

        running = self._threads.submit(work)
        running.add_done_callback(returned)
        return await asyncio.wrap_future(running)

    def close(self) -> None:
        """Cancel what has not started; what has is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)
