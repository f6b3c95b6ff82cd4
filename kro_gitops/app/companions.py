"""
A task that runs beside the controllers, sees what they do and may end them.

Examples are the live view in a terminal and the supervision of the embedded API process.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from kro_gitops.kube.api import Cluster
from kro_gitops.kube.discovery import Discovery


@dataclass(frozen=True, slots=True)
class ControllerView:
    """What a companion sees."""

    cluster: Cluster
    discovery: Discovery
    is_idle: Callable[[], bool]  # whether all that was due has been looked at


Companion = Callable[[ControllerView], Awaitable[int]]


async def run_with_companion(
    work: Coroutine[Any, Any, int], beside: Awaitable[int], stop: Callable[[], None]
) -> int:
    """
    Work with a companion, and return the exit code; either ends the other.

    If the companion returns, work is asked to stop and may finish what is in progress. If it
    raises, everything ends at once.
    """
    working, watching = asyncio.create_task(work), asyncio.ensure_future(beside)
    try:
        await asyncio.wait((working, watching), return_when=asyncio.FIRST_COMPLETED)
        if not watching.done():
            return await working
        code = watching.result()
        stop()
        return await working or code
    finally:
        working.cancel()
        watching.cancel()
        await asyncio.wait((working, watching))
