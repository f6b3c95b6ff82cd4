"""
The benchmarks' own way to the cluster, told apart in the audit log by its user agent.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.engine.audit import USER_AGENT
from kro_gitops.kube.client import Client
from kro_gitops.kube.credentials import from_kubeconfigs
from kro_gitops.kube.discovery import Discovery
from kro_gitops.kube.ratelimit import ClientLimits
from kro_gitops.kube.transport import Transport

IN_FLIGHT = 16


@asynccontextmanager
async def connect(kubeconfig: Path) -> AsyncIterator[Client]:
    """Connect to the cluster of a kubeconfig."""
    access = await from_kubeconfigs([kubeconfig])
    limits = ClientLimits(in_flight=IN_FLIGHT)
    async with Transport(access, limits, user_agent=USER_AGENT) as transport:
        yield Client(transport, Discovery(transport))


async def for_each(numbers: Iterable[int], work: Callable[[int], Awaitable[None]]) -> None:
    """Do something for every number, as many at once as there may be requests under way."""
    remaining = iter(numbers)

    async def worker() -> None:
        for number in remaining:
            await work(number)

    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(worker())


def write_result(path: str, result: dict[str, Any]) -> None:
    """Leave a result for whoever started this process."""
    Path(path).write_text(json.dumps(result))
