"""
`--watch`: shows something, and shows it again whenever what it was read from changes.

A reader remembers which lists were read, and at which version. They are watched from there on, so
nothing is read while nothing changes. Where a watch is not allowed, and where there would be too
many, everything is read again after a pause.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import NoReturn, TypeVar

from kro_gitops.cli.cluster_session import Session
from kro_gitops.cli.messages import say
from kro_gitops.errors import ClusterUnavailable
from kro_gitops.kube.api import (
    EventType,
    Listing,
    Reader,
    Selection,
    Transform,
    WatchEvent,
    as_served,
)
from kro_gitops.kube.responses import Expired, Forbidden
from kro_gitops.telemetry.printable import printable
from kube_objects.refs import KubeObject, ObjectRef

_MAX_WATCHES = 64  # at once; a tree of more lists is read again and again
_READ_INTERVAL = 5.0  # seconds, where nothing can be watched
_SETTLE_TIME = 0.2  # seconds in which several changes are shown as one
_READ_SHARE = 2  # a pause lasts at least as many times as long as the read before it

T = TypeVar("T")


class RecordingReader:
    """Reads a cluster, and remembers which lists were read at which version."""

    def __init__(self, reader: Reader) -> None:
        self.versions: dict[Selection, str] = {}
        self._reader = reader

    async def get(self, ref: ObjectRef) -> KubeObject:
        """Return an object, or raise `NotFound`."""
        return self._with_version(ref, await self._reader.get(ref))

    async def find(self, ref: ObjectRef) -> KubeObject | None:
        """Return an object, or `None`."""
        found = await self._reader.find(ref)
        return None if found is None else self._with_version(ref, found)

    async def list(self, selection: Selection, keep: Transform = as_served) -> Listing:
        """Return all objects of a selection."""
        listing = await self._reader.list(selection, keep)
        self.versions[selection] = listing.resource_version
        return listing

    def watch(
        self, selection: Selection, since: str
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """Open a watch."""
        return self._reader.watch(selection, since)

    def _with_version(self, ref: ObjectRef, obj: KubeObject) -> KubeObject:
        selection = Selection(ref.kind, ref.namespace, fields=f"metadata.name={ref.name}")
        self.versions[selection] = obj["metadata"]["resourceVersion"]
        return obj


async def watch(
    session: Session, read: Callable[[Session], Awaitable[T]], show: Callable[[T], None]
) -> NoReturn:
    """Read and show until Ctrl-C; errors of the first read are raised, later ones are shown."""
    loop, notes, trouble, is_first = asyncio.get_running_loop(), set[str](), "", True
    while True:
        begun, recorder = loop.time(), RecordingReader(session.cluster)
        reading = session.reading.over(recorder)
        try:
            found = await read(replace(session, reading=reading))
        except ClusterUnavailable as error:
            if is_first:
                raise
            if error.message != trouble:
                trouble = error.message
                say(f"note: {printable(trouble)}")
            await asyncio.sleep(_READ_INTERVAL)
            continue
        show(found)
        for note in reading.notes:
            if note not in notes:
                say(f"note: {printable(note)}")
                notes.add(note)
        is_first, trouble = False, ""
        await asyncio.sleep((loop.time() - begun) * _READ_SHARE)
        await wait_for_change(recorder)
        await asyncio.sleep(_SETTLE_TIME)


async def wait_for_change(reader: RecordingReader) -> None:
    """Return when something changed in one of the lists that were read, or may have changed."""

    async def next_event(selection: Selection, version: str) -> None:
        try:
            # The change is all that counts; what changed is read with the rest.
            bare = replace(selection, metadata_only=True)
            async with reader.watch(bare, version) as events:
                async for event in events:
                    if event.type is not EventType.BOOKMARK:
                        return
        except Expired:
            return
        except (Forbidden, ClusterUnavailable):
            await asyncio.sleep(_READ_INTERVAL)

    if not reader.versions or len(reader.versions) > _MAX_WATCHES:
        await asyncio.sleep(_READ_INTERVAL)
        return
    tasks = [asyncio.create_task(next_event(*each)) for each in reader.versions.items()]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
