"""
The kinds that a cluster serves at present, and their schemas.

Discovery documents are read when a kind is requested that is not cached, so a new CRD is usable at
once; concurrent requests share one read. A kind that is no longer served is removed from the cache.
An OpenAPI document is read when a schema is requested, and again when the server's index has
another hash for it.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

from kro_gitops.errors import ClusterUnavailable, NotServed
from kro_gitops.kube import requests
from kro_gitops.kube.api import Resource
from kro_gitops.kube.openapi import INDEX_PATH, OpenAPIDocument, index_entry
from kro_gitops.kube.rest_mapping import (
    AGGREGATED,
    PATHS,
    first_of_each,
    is_aggregated,
    resource_of_custom,
    resources,
)
from kube_objects.crds import kinds_of_crd
from kube_objects.refs import Kind, KubeObject
from kube_objects.schemas import KindSchema, SchemaSet

# Seconds for which "not served" is believed: many wait for the same CRD, and ask again and again.
NOT_SERVED_TTL = 0.25


class DocumentReader(Protocol):
    """Reads documents from the API server: a `Transport`."""

    async def send(self, request: requests.Request) -> Any:
        """Send a request and return the JSON that comes back."""


@dataclass(slots=True)
class _CachedDocument:
    """A document that was read, and where from: the hash in the address is its version."""

    address: str
    publication: OpenAPIDocument = field(repr=False)


class Discovery:
    """What one cluster serves."""

    def __init__(self, documents: DocumentReader) -> None:
        self._documents = documents
        self._served: dict[Kind, Resource] = {}
        self._learned: dict[Kind, Resource] = {}
        self._read_at = float("-inf")
        self._reading = asyncio.Lock()
        self._index: dict[str, Any] = {}
        self._index_at = float("-inf")
        self._published: dict[str, _CachedDocument] = {}
        self._publishing = asyncio.Lock()

    async def resource_of(self, kind: Kind) -> Resource:
        """Return how a kind is served, or raise `NotServed`."""
        found = self._find(kind)
        if found is None:
            await self._read_after(asyncio.get_running_loop().time() - NOT_SERVED_TTL)
            found = self._find(kind)
        if found is None:
            raise NotServed("not-served", f"the API server does not serve {kind}")
        return found

    async def kinds(self) -> Sequence[Kind]:
        """List the kinds that are served now."""
        await self._read_after(asyncio.get_running_loop().time() - NOT_SERVED_TTL)
        return tuple(self._served | self._learned)

    def learn(self, crd: KubeObject) -> None:
        """Store a CRD that is served; discovery itself may need a moment more."""
        for known in kinds_of_crd(crd):
            self._learned[known.kind] = resource_of_custom(known)

    def forget(self, kind: Kind) -> None:
        """Drop what is cached about a kind."""
        self._served.pop(kind, None)
        self._learned.pop(kind, None)

    async def schema_of(self, kind: Kind) -> KindSchema:
        """Return a kind with its schema, or raise `NotServed` if there is none yet."""
        resource = await self.resource_of(kind)
        async with self._publishing:
            # The document of a kind's group and version, read again if it has changed.
            name = index_entry(kind)
            now = asyncio.get_running_loop().time()
            if now - self._index_at > NOT_SERVED_TTL:
                self._index = (await self._documents.send(requests.read(INDEX_PATH)))["paths"]
                self._index_at = now
            entry = self._index.get(name)
            if entry is None:
                publication: OpenAPIDocument | None = None
            else:
                address: str = entry["serverRelativeURL"]
                held = self._published.get(name)
                if held is None or held.address != address:
                    split = urlsplit(address)
                    request = requests.read(split.path, query=tuple(parse_qsl(split.query)))
                    held = _CachedDocument(
                        address, OpenAPIDocument(await self._documents.send(request))
                    )
                    self._published[name] = held
                publication = held.publication
        found = publication.schema_of(resource) if publication else None
        if found is None:
            raise NotServed("not-published", f"the API server publishes no schema of {kind} yet")
        return found

    async def schemas(self, kinds: Iterable[Kind]) -> SchemaSet:
        """Return what is known of the kinds that are served; the others are left out."""
        found = SchemaSet()
        for kind in kinds:
            try:
                found.add(await self.schema_of(kind))
            except NotServed:
                continue
        return found

    def _find(self, kind: Kind) -> Resource | None:
        """Look a kind up; what was learned of it last is newer than what was read."""
        return self._learned.get(kind) or self._served.get(kind)

    async def _read_after(self, moment: float) -> None:
        """Read the discovery documents, unless another task has done so after `moment`."""
        async with self._reading:
            if self._read_at > moment:
                return
            begun = asyncio.get_running_loop().time()
            documents: list[Any] = []
            for path in PATHS:
                document = await self._documents.send(requests.read(path, AGGREGATED))
                if not is_aggregated(document):
                    raise ClusterUnavailable(
                        "no-discovery",
                        "the API server has no aggregated discovery",
                        hint="Kubernetes 1.27 or later is needed",
                    )
                documents.append(document)
            self._served = first_of_each(
                resource for document in documents for resource in resources(document)
            )
            self._read_at = begun
