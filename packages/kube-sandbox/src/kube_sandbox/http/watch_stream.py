"""
A watch on the wire: waits until there are lines to send, or until something is due.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/endpoints/handlers/watch.go WatchServer.HandleHTTP;
k8s.io/apiserver/pkg/storage/cacher/watch_cache.go watchCache.waitUntilFreshAndBlock.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from weakref import WeakSet

from kube_sandbox.storage.records import Change
from kube_sandbox.storage.resource_version import FRESHNESS_TIMEOUT
from kube_sandbox.storage.store import Store
from kube_sandbox.storage.watch import Watch

JSON_LINES = "application/json"


class WatchStream:
    """One client's watch, driven by the event loop's clock; it may have to wait for its start."""

    def __init__(
        self,
        begin: Callable[[], Watch],
        first: Callable[[], Awaitable[None]] | None = None,
        content_type: str = JSON_LINES,
    ) -> None:
        self.content_type = content_type
        self.warnings: Sequence[str] = ()
        self._begin = begin
        self._first = first
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()
        self._watch = self._begun() if first is None else None

    async def next(self) -> bytes:
        """Return lines as soon as there are any; nothing when the watch is over."""
        if self._watch is None:
            assert self._first is not None, "otherwise it has begun"
            await self._first()
            self._watch = self._begun()
        watch = self._watch
        while True:
            self._woken.clear()
            lines = watch.take()
            if lines or watch.is_over:
                return lines
            timer = self._loop.call_at(watch.due, self._woken.set)
            try:
                await self._woken.wait()
            finally:
                timer.cancel()
            if self._loop.time() >= watch.due:
                watch.tick(self._loop.time())

    def close(self) -> None:
        """End the watch."""
        if self._watch is not None:
            self._watch.close()

    def _begun(self) -> Watch:
        watch = self._begin()
        watch.wake = self._woken.set
        return watch


class OpenWatches:
    """All watches there are, so that those of a kind can be ended when it changes."""

    def __init__(self) -> None:
        self._of: dict[str, WeakSet[Watch]] = {}

    def add(self, bucket: str, watch: Watch) -> Watch:
        """Keep a watch in mind for as long as it lasts."""
        self._of.setdefault(bucket, WeakSet()).add(watch)
        return watch

    def end(self, bucket: str) -> None:
        """End all watches of a kind; clients come back and see it as it is now."""
        for watch in tuple(self._of.pop(bucket, ())):
            watch.end()


async def wait_for_version(store: Store, version: int) -> None:
    """Return when the store has got to a version, or when it was waited for long enough."""
    came = asyncio.Event()

    def on_change(change: Change) -> None:
        if change.version >= version:
            came.set()

    cancel = store.listen(on_change)
    try:
        if store.version < version:
            with suppress(TimeoutError):
                await asyncio.wait_for(came.wait(), FRESHNESS_TIMEOUT)
    finally:
        cancel()
