"""
Keeps a cache equal to the cluster, and calls listeners at every change.

An informer lists once, then watches. After a watch has ended, the next one continues at the same
version; only if the server has compacted that version is everything listed again, and the changes
in between are found by comparison. There is no periodic resync: a watch without events is trusted,
but one without even bookmarks is given up (`ClientLimits.silence`).

Listeners are plain functions, called in the order of events; they must be quick and not raise.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping

from kro_gitops.errors import KroGitopsError
from kro_gitops.kube import ratelimit
from kro_gitops.kube.api import EventType, Reader, Selection, Transform, WatchEvent
from kro_gitops.kube.cache import (
    DROP_MANAGED_FIELDS,
    Cache,
    Change,
    Index,
    Key,
    is_newer,
    key_of,
    version_of,
)
from kro_gitops.kube.responses import Expired
from kube_objects.refs import KubeObject

log = logging.getLogger(__name__)

_RANDOM = random.Random()  # not the generator of the module `random`

Listener = Callable[[Change], None]

MAX_RETRY_DELAY = 10.0  # seconds between attempts while the cluster is out of reach
MIN_WATCH_SECONDS = 1.0  # a watch that ends sooner is as good as one that failed


class Informer:
    """The objects of one selection; `run` it as a task, and cancel that to stop."""

    def __init__(
        self,
        reader: Reader,
        selection: Selection,
        keep: Transform = DROP_MANAGED_FIELDS,
        indexes: Mapping[str, Index] | None = None,
    ) -> None:
        self.selection = selection
        self.cache = Cache(indexes)
        self.problem: KroGitopsError | None = None  # why it cannot list or watch just now
        self.sync_seconds: float | None = None  # how long the first list took, with retries
        self._reader = reader
        self._keep = keep
        self._listeners: list[Listener] = []
        self._on_recovery: list[Callable[[], None]] = []
        self._synced = asyncio.Event()
        self._started_at: float | None = None
        self._version = ""  # where the next watch begins; empty: list first
        self._must_relist = False
        self._has_new_schema = False  # the next list may show the same versions differently
        # Where responses to our own writes are ahead of the watch: the state that listeners know,
        # and the versions that are ours.
        self._ahead: dict[Key, tuple[KubeObject | None, frozenset[str]]] = {}

    @property
    def is_synced(self) -> bool:
        """Return whether everything was listed once."""
        return self._synced.is_set()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call a function at every change from now on; return how to stop that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def on_recovery(self, call: Callable[[], None]) -> None:
        """Call a function whenever the watch is established again after a problem."""
        self._on_recovery.append(call)

    async def wait_synced(self, limit: float) -> bool:
        """Wait until everything was listed once, at most `limit` seconds; return whether it was."""
        try:
            async with asyncio.timeout(limit):
                await self._synced.wait()
        except TimeoutError:
            return False
        return True

    def log_waiting(self) -> None:
        """Log that a caller waits for the first list, and why it is not complete."""
        error = self.problem.message if self.problem else ""
        log.warning(
            "still waiting to list", extra={"kind": str(self.selection.kind), "error": error}
        )

    def record_write(self, obj: KubeObject) -> None:
        """
        Cache the response to a write of ours; listeners are not called.

        The response may contain what another client wrote just before: listeners are called for
        that when its event arrives. A response that is older than the watch, about an object that
        is not cached, belongs to an object that was deleted since.
        """
        key, version = key_of(obj), version_of(obj)
        before = self.cache.find(*key)
        if before is None and self._version and not is_newer(version, self._version):
            return
        if self.cache.put(obj) is not None:
            known, ours = self._ahead.get(key, (before, frozenset()))
            self._ahead[key] = (known, ours | {version})

    def reset_version(self) -> None:
        """List again when it is run the next time, and compare objects of equal versions, too."""
        self._version, self._has_new_schema = "", True

    def relist_after_watch(self) -> None:
        """
        List again when the current watch has ended, instead of continuing at its version.

        Needed when the schema of a kind changes: a watch that began before shows objects by the old
        schema, without fields that are new, until the server ends it.
        """
        self._must_relist = True

    async def run(self) -> None:
        """List and watch until cancelled."""
        failures = 0
        if self._started_at is None:
            self._started_at = asyncio.get_running_loop().time()
        while True:
            begun = asyncio.get_running_loop().time()
            try:
                await self._list_and_watch()
                self.problem = None
            except Expired:
                self._version = ""
            except KroGitopsError as error:
                level = logging.WARNING if self.problem is None else logging.DEBUG
                self.problem = error
                facts = {"kind": str(self.selection.kind), "error": error.message}
                log.log(level, "watch interrupted", extra=facts)
            except Exception:  # a bug must not end a watch for good
                log.exception("informer failed", extra={"kind": str(self.selection.kind)})
                self._version = ""
            if self._must_relist:
                self._must_relist = False
                self.reset_version()
            lasted = asyncio.get_running_loop().time() - begun
            failures = 0 if lasted > MIN_WATCH_SECONDS else failures + 1
            if failures:
                await asyncio.sleep(
                    ratelimit.backoff_delay(failures - 1, _RANDOM.random(), MAX_RETRY_DELAY)
                )

    async def _list_and_watch(self) -> None:
        """List if need be, then watch until the watch ends."""
        if not self._version:
            listing = await self._reader.list(self.selection, self._keep)
            overtaken, self._ahead = self._ahead, {}
            changes = self.cache.replace(
                listing.items, listing.resource_version, has_new_schema=self._has_new_schema
            )
            self._has_new_schema = False
            for change in changes:
                overtaken.pop(key_of(change.object), None)
                self._notify(change)
            for key, (known, _) in overtaken.items():
                current = self.cache.find(*key)
                if current is not None:
                    self._notify(Change(known, current))
            self._version = listing.resource_version
            if self._started_at is not None and self.sync_seconds is None:
                self.sync_seconds = asyncio.get_running_loop().time() - self._started_at
            self._synced.set()
        async with self._reader.watch(self.selection, self._version) as events:
            if self.problem is not None:
                self.problem = None
                for on_recovery in self._on_recovery:
                    on_recovery()
            async for event in events:
                self._version = event.resource_version
                if event.type is not EventType.BOOKMARK:
                    self._handle(event)

    def _handle(self, event: WatchEvent) -> None:
        obj = self._keep(event.object)
        key, version = key_of(obj), version_of(obj)
        if event.type is EventType.DELETED:
            change = self.cache.remove(key, obj)
        else:
            change = self.cache.put(obj)
        if change is not None:
            self._ahead.pop(key, None)
            self._notify(change)
        elif key in self._ahead:
            # The cache holds a later write of ours. Listeners need only the changes of others.
            known, ours = self._ahead[key]
            if version not in ours:
                self._ahead[key] = (obj, ours)
                self._notify(Change(known, obj))
                return
            current = self.cache.find(*key)
            if current is None or version_of(current) == version:
                del self._ahead[key]

    def _notify(self, change: Change) -> None:
        for listener in tuple(self._listeners):
            listener(change)
