"""
A `Cluster` over HTTP.

Each call is one request, built by `requests` and sent by a `Transport`. A `Mapper` knows how a kind
is served; when the server answers 404 for a path that the mapper knew, the mapper forgets the kind,
and the kind counts as not served.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any, Protocol

from kro_gitops.errors import ConnectionLost, NotServed
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
from kro_gitops.kube.responses import (
    AlreadyExists,
    Expired,
    NotFound,
    error_of_status,
    parse_status,
)
from kro_gitops.kube.transport import Transport, decode_json
from kube_objects.refs import Kind, KubeObject, ObjectRef

PAGE_SIZE = 500  # objects asked for at once
_MAX_CREATES = 4  # requests without an answer for one object


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
        """
        Create an object that must not exist.

        If the connection ends without an answer, it is not known whether the request arrived. One
        with a name is sent again: if the first arrived, the second is rejected, and the object is
        read back.
        """
        ref = ObjectRef.of(obj)
        resource = await self._mapper.resource_of(ref.kind)
        request = requests.create(resource, obj, options)
        sent = 1
        while True:
            try:
                return await self._send(ref.kind, request)
            except ConnectionLost:
                # Other connections that were kept may be closed, too.
                if not ref.name or options.dry_run or sent == _MAX_CREATES:
                    raise
                sent += 1
            except AlreadyExists:
                found = await self.find(ref) if sent > 1 else None
                if found is None or not _contains(found, obj):
                    raise
                return found

    async def apply(self, obj: KubeObject, options: WriteOptions) -> KubeObject:
        """Apply the fields of `obj`; other fields that the manager set before are removed."""
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
        """Delete an object, or raise `NotFound`; return its last state, or a Status."""
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


def _contains(found: Any, sent: Any) -> bool:
    """Return True if everything that was sent is in what was found."""
    if isinstance(sent, dict) and isinstance(found, dict):
        return all(key in found and _contains(found[key], each) for key, each in sent.items())
    return bool(found == sent)
