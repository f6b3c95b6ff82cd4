"""A client for a test: all of `kube` put together, open for as long as a block lasts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from kro_gitops.kube.client import Client
from kro_gitops.kube.credentials import from_kubeconfigs
from kro_gitops.kube.discovery import Discovery
from kro_gitops.kube.ratelimit import ClientLimits
from kro_gitops.kube.transport import RequestReport, Transport


@dataclass(frozen=True, slots=True)
class Connection:
    """A client, what it knows of the cluster, and the requests that were sent."""

    client: Client
    discovery: Discovery
    transport: Transport
    sent: list[RequestReport]


@asynccontextmanager
async def connect(
    kubeconfig: Path, limits: ClientLimits | None = None
) -> AsyncIterator[Connection]:
    """Connect to the cluster of a kubeconfig."""
    sent: list[RequestReport] = []
    access = await from_kubeconfigs([kubeconfig])
    async with Transport(access, limits, sent.append) as transport:
        discovery = Discovery(transport)
        yield Connection(Client(transport, discovery), discovery, transport, sent)
