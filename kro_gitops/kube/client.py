"""
A `Cluster` over HTTP.

Each call is one request, worked out by `requests`, sent by a `Transport`. How a kind is served is
asked of a `Mapper`; when the server does not know a path that the mapper knew, the mapper is told,
and the kind counts as not served.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any, Protocol

from kro_gitops.errors import NotServed
from kro_gitops.kube import requests
from kro_gitops.kube.api import (
    DEFAULT_DELETE,
    DEFAULT_WRITE,
    DeleteOptions,
    EventType,
    Identity,
    Listing,
    Patch,
    Resource,
    Selection,
    Transform,
    WatchEvent,
    WriteOptions,
    as_served,
)
from kro_gitops.kube.requests import Request
from kro_gitops.kube.responses import Expired, NotFound, error_of_status, parse_status
from kro_gitops.kube.transport import Transport, decode_json
from kube_objects.refs import Kind, KubeObject, ObjectRef

PAGE_SIZE = 500  # objects asked for at once


class Mapper(Protocol):
    """Maps kinds to resources."""

    async def resource_of(self, kind: Kind) -> Resource:
        """Return how a kind is served, or raise `NotServed`."""

    def forget(self, kind: Kind) -> None:
        """Drop what is cached about a kind."""


class Client:
    """A cluster, seen with our own rights or those of another."""

    def __init__(
        self, transport: Transport, mapper: Mapper, identity: Identity | None = None
    ) -> None:
        self._transport = transport
        self._mapper = mapper
        self._identity = identity

    def acting_as(self, identity: Identity | None) -> "Client":
        """Return the same cluster as another identity sees it; `None` is ourselves."""
        return Client(self._transport, self._mapper, identity)

    async def get(self, ref: ObjectRef) -> KubeObject:
        """Return an object, or raise `NotFound`."""
        resource = await self._mapper.resource_of(ref.kind)
        return await self._send(ref.kind, requests.get(resource, ref))

    async def find(self, ref: ObjectRef) -> KubeObject | None:
        """Return an object, or `None`."""
        try:
            return await self.get(ref)
        except NotFound:
            return None

    async def list(self, selection: Selection, keep: Transform = as_served) -> Listing:
        """Return all objects of a selection, read page by page."""
        try:
            return await self._list(selection, keep, PAGE_SIZE)
        except Expired:
            # The version of the first page was forgotten before the last was read.
            return await self._list(selection, keep, limit=0)

    @asynccontextmanager
    async def watch(
        self, selection: Selection, since: str
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        """Open a watch that reports what happens after version `since`."""
        resource = await self._mapper.resource_of(selection.kind)
        seconds = self._transport.limits.watch
        request = self._signed(requests.watch(resource, selection, since, seconds))
        try:
            async with (
                self._transport.stream(request) as lines,
                aclosing(_events(selection.kind, request, lines)) as events,
            ):
                yield events
        except NotFound as error:
            self._raise_if_not_served(selection.kind, error)
            raise

    async def create(self, obj: KubeObject, options: WriteOptions = DEFAULT_WRITE) -> KubeObject:
        """Create an object that must not exist."""
        kind = ObjectRef.of(obj).kind
        resource = await self._mapper.resource_of(kind)
        return await self._send(kind, requests.create(resource, obj, options))

    async def apply(self, obj: KubeObject, options: WriteOptions) -> KubeObject:
        """Have the fields of `obj`, and of those the manager set before no others."""
        kind = ObjectRef.of(obj).kind
        resource = await self._mapper.resource_of(kind)
        return await self._send(kind, requests.apply(resource, obj, options))

    async def patch(
        self, ref: ObjectRef, patch: Patch, options: WriteOptions = DEFAULT_WRITE
    ) -> KubeObject:
        """Change some fields of an object that must exist."""
        resource = await self._mapper.resource_of(ref.kind)
        return await self._send(ref.kind, requests.patch(resource, ref, patch, options))

    async def delete(self, ref: ObjectRef, options: DeleteOptions = DEFAULT_DELETE) -> KubeObject:
        """Delete an object, or raise `NotFound`; return it, or the word that it is gone."""
        resource = await self._mapper.resource_of(ref.kind)
        return await self._send(ref.kind, requests.delete(resource, ref, options))

    async def _list(self, selection: Selection, keep: Transform, limit: int) -> Listing:
        resource = await self._mapper.resource_of(selection.kind)
        items: list[KubeObject] = []
        token = ""
        while True:
            request = requests.page(resource, selection, limit, token)
            page = await self._send(selection.kind, request)
            items.extend(keep(_named(item, selection.kind)) for item in page.get("items") or ())
            metadata = page["metadata"]
            token = metadata.get("continue", "")
            if not token:
                return Listing(tuple(items), metadata["resourceVersion"])
            await asyncio.sleep(0)  # let others have their turn between large pages

    async def _send(self, kind: Kind, request: Request) -> KubeObject:
        try:
            answer: KubeObject = await self._transport.send(self._signed(request))
        except NotFound as error:
            self._raise_if_not_served(kind, error)
            raise
        return answer

    def _signed(self, request: Request) -> Request:
        return request if self._identity is None else request.acting_as(self._identity)

    def _raise_if_not_served(self, kind: Kind, error: NotFound) -> None:
        if error.is_of_kind:
            self._mapper.forget(kind)
            raise NotServed("not-served", f"the API server does not serve {kind}") from error


async def _events(
    kind: Kind, request: Request, lines: AsyncIterator[bytes]
) -> AsyncGenerator[WatchEvent, None]:
    async for line in lines:
        event: dict[str, Any] = decode_json(request, line)
        if event["type"] == "ERROR":
            raise error_of_status(parse_status(event["object"]))
        yield WatchEvent(EventType(event["type"]), _named(event["object"], kind))


def _named(obj: KubeObject, kind: Kind) -> KubeObject:
    """Give an object its kind: items of lists have none, and partial ones that of their wrapper."""
    obj["apiVersion"] = kind.api_version
    obj["kind"] = kind.kind
    return obj
