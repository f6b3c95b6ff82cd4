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
        self._synced = asyncio.Event()
        self._started_at: float | None = None
        self._version = ""  # to go on from; empty: list first
        self._is_doubted = False
        self._is_anew = False  # the next list may show the same versions otherwise
        # Where answers to our own writes are ahead of the watch: what listeners know of an object,
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

    async def wait_synced(self, limit: float) -> bool:
        """Wait until everything was listed once, at most `limit` seconds; return whether it was."""
        try:
            async with asyncio.timeout(limit):
                await self._synced.wait()
        except TimeoutError:
            return False
        return True

    def log_waiting(self) -> None:
        """Say in the log that somebody waits for everything to be listed, and why."""
        error = self.problem.message if self.problem else ""
        log.warning(
            "still waiting to list", extra={"kind": str(self.selection.kind), "error": error}
        )

    def saw(self, obj: KubeObject) -> None:
        """
        Cache the response to a write of ours; listeners are not told.

        What another client wrote just before is in the answer, too: they are told of that when the
        watch comes to it. An answer that is older than the watch, to an object that is not there,
        comes after its end.
        """
        key, version = key_of(obj), version_of(obj)
        before = self.cache.find(*key)
        if before is None and self._version and not is_newer(version, self._version):
            return
        if self.cache.put(obj) is not None:
            known, ours = self._ahead.get(key, (before, frozenset()))
            self._ahead[key] = (known, ours | {version})

    def reset_version(self) -> None:
        """List again when it is run the next time, and believe what that shows."""
        self._version, self._is_anew = "", True

    def relist_after_watch(self) -> None:
        """
        List again when the present watch has ended, instead of going on from there.

        For when the schema of a kind changes: a watch that began before shows objects by the old
        one, without fields that are new, until the server ends it.
        """
        self._is_doubted = True

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
            if self._is_doubted:
                self._is_doubted = False
                self.reset_version()
            lasted = asyncio.get_running_loop().time() - begun
            failures = 0 if lasted > MIN_WATCH_SECONDS else failures + 1
            if failures:
                await asyncio.sleep(
                    ratelimit.backoff_delay(failures - 1, random.random(), MAX_RETRY_DELAY)
                )

    async def _list_and_watch(self) -> None:
        """List if need be, then watch until the watch ends."""
        if not self._version:
            listing = await self._reader.list(self.selection, self._keep)
            overtaken, self._ahead = self._ahead, {}
            changes = self.cache.replace(
                listing.items, listing.resource_version, anew=self._is_anew
            )
            self._is_anew = False
            for change in changes:
                overtaken.pop(key_of(change.object), None)
                self._tell(change)
            for key, (known, _) in overtaken.items():
                current = self.cache.find(*key)
                if current is not None:
                    self._tell(Change(known, current))
            self._version = listing.resource_version
            if self._started_at is not None and self.sync_seconds is None:
                self.sync_seconds = asyncio.get_running_loop().time() - self._started_at
            self._synced.set()
        async with self._reader.watch(self.selection, self._version) as events:
            self.problem = None
            async for event in events:
                self._take(event)

    def _take(self, event: WatchEvent) -> None:
        self._version = event.resource_version
        if event.type is EventType.BOOKMARK:
            return
        obj = self._keep(event.object)
        if event.type is EventType.DELETED:
            change = self.cache.remove(key_of(obj), obj)
        else:
            change = self.cache.put(obj)
        if change is None:
            # What another client changed, though the cache holds a later write of ours.
            key, version = key_of(obj), version_of(obj)
            if key not in self._ahead:
                change = None
            else:
                known, ours = self._ahead[key]
                if version in ours:
                    current = self.cache.find(*key)
                    if current is None or version_of(current) == version:
                        del self._ahead[key]
                    change = None
                else:
                    self._ahead[key] = (obj, ours)
                    change = Change(known, obj)
        else:
            self._ahead.pop(key_of(obj), None)
        if change is not None:
            self._tell(change)

    def _tell(self, change: Change) -> None:
        for listener in tuple(self._listeners):
            listener(change)
