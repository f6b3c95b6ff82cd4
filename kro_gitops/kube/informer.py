"""
Keep a cache equal to the cluster, and tell who listens.

List once, then watch. A watch that ends goes on where it was; only when the server has forgotten
that version is everything listed again, and then what happened in between is worked out by
comparing. Nothing is repeated by the clock: a watch that says nothing is believed, but one from
which not even bookmarks come is given up (`Limits.silence`).

Listeners are plain functions, called in the order of events; they must be quick and not raise.
"""

import asyncio
import logging
import random
import time
from collections.abc import Callable, Mapping

from kro_gitops.errors import KroGitopsError
from kro_gitops.kube import pace
from kro_gitops.kube.api import EventType, Keep, Reader, Selection, WatchEvent
from kro_gitops.kube.cache import WITHOUT_MANAGERS, Cache, Change, Index, key_of
from kro_gitops.kube.responses import Expired

log = logging.getLogger(__name__)

Listener = Callable[[Change], None]

LONGEST_PAUSE = 10.0  # seconds between attempts while the cluster is out of reach
QUICK_END = 1.0  # a watch that ends sooner is as good as one that failed


class Informer:
    """The objects of one selection; `run` it as a task, and cancel that to stop."""

    def __init__(
        self,
        reader: Reader,
        selection: Selection,
        keep: Keep = WITHOUT_MANAGERS,
        indexes: Mapping[str, Index] | None = None,
    ) -> None:
        self.selection = selection
        self.cache = Cache(indexes)
        self.problem: KroGitopsError | None = None  # why it cannot list or watch just now
        self._reader = reader
        self._keep = keep
        self._listeners: list[Listener] = []
        self._synced = asyncio.Event()
        self._version = ""  # to go on from; empty: list first

    @property
    def is_synced(self) -> bool:
        """Say whether everything was listed once."""
        return self._synced.is_set()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call a function at every change from now on; return how to stop that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def wait_synced(self, limit: float) -> bool:
        """Wait until everything was listed once, at most `limit` seconds; say whether it was."""
        try:
            async with asyncio.timeout(limit):
                await self._synced.wait()
        except TimeoutError:
            return False
        return True

    async def run(self) -> None:
        """List and watch until cancelled."""
        failures = 0
        while True:
            begun = time.monotonic()
            try:
                await self._list_and_watch()
                self.problem = None
            except Expired:
                self._version = ""
            except KroGitopsError as error:
                self._report(error)
            except Exception:  # a mistake of ours must not end a watch for good
                log.exception("informer failed", extra={"kind": str(self.selection.kind)})
                self._version = ""
            failures = 0 if time.monotonic() - begun > QUICK_END else failures + 1
            if failures:
                await asyncio.sleep(pace.delay(failures - 1, random.random(), LONGEST_PAUSE))

    async def _list_and_watch(self) -> None:
        """List if need be, then watch until the watch ends."""
        if not self._version:
            listing = await self._reader.list(self.selection, self._keep)
            self._version = listing.resource_version
            for change in self.cache.replace(listing.items, listing.resource_version):
                self._tell(change)
            self._synced.set()
        async with self._reader.watch(self.selection, self._version) as events:
            self.problem = None
            async for event in events:
                self._take(event)

    def _report(self, error: KroGitopsError) -> None:
        """Keep the reason; warn at the first failure only, or a long outage fills the log."""
        level = logging.WARNING if self.problem is None else logging.DEBUG
        self.problem = error
        facts = {"kind": str(self.selection.kind), "error": error.message}
        log.log(level, "watch interrupted", extra=facts)

    def _take(self, event: WatchEvent) -> None:
        self._version = event.resource_version
        if event.type is EventType.BOOKMARK:
            return
        obj = self._keep(event.object)
        if event.type is EventType.DELETED:
            change = self.cache.remove(key_of(obj), obj)
        else:
            change = self.cache.put(obj)
        if change is not None:
            self._tell(change)

    def _tell(self, change: Change) -> None:
        for listener in tuple(self._listeners):
            listener(change)
