"""
An informer and its asyncio task, shared by the served kinds that need it.
"""

import asyncio
from dataclasses import dataclass, field

from kro_gitops.engine.graph.read_paths import ReadPaths
from kro_gitops.errors import NotYet
from kro_gitops.kube.informer import Informer
from kro_gitops.kube.responses import Forbidden
from kube_objects.refs import Kind

_POLL_INTERVAL = 0.25  # seconds between two checks of an informer that cannot list


@dataclass(slots=True)
class InformerTask:
    """An informer and the task that runs it, for some served kinds."""

    informer: Informer
    task: asyncio.Task[None]
    users: set[Kind] = field(default_factory=set)
    parts: ReadPaths | None = None
    is_sync_reported: bool = False

    def stop(self) -> None:
        """Cancel the task."""
        self.task.cancel()

    def replace(self, informer: Informer) -> None:
        """Stop this informer and start another one."""
        self.task.cancel()
        self.informer = informer
        self.is_sync_reported = False
        self.task = _task(informer)

    def relist(self) -> None:
        """List again at once, and again when the watch that follows has ended."""
        self.task.cancel()
        self.informer.reset_version()
        self.informer.relist_after_watch()
        self.task = _task(self.informer)

    def retry_now(self) -> None:
        """Retry at once instead of after the backoff."""
        if self.informer.problem is not None:
            self.task.cancel()
            self.task = _task(self.informer)

    async def wait_synced(self, limit: float) -> None:
        """
        Wait until everything was listed once; raise `NotYet` after `limit` seconds.

        The informer is read again on each round: another definition that reads more of the same
        kind replaces it, and the one that was replaced never finishes its list.
        """
        until = asyncio.get_running_loop().time() + limit
        while not self.informer.is_synced:
            problem = self.informer.problem
            if isinstance(problem, Forbidden) or asyncio.get_running_loop().time() > until:
                why = f": {problem.message}" if problem is not None else ""
                text = f"cache sync timeout for {self.informer.selection.kind}{why}"
                raise NotYet("cache-sync-timeout", text)
            await self.informer.wait_synced(_POLL_INTERVAL)


def start_informer(informer: Informer) -> InformerTask:
    """Start an informer."""
    return InformerTask(informer, _task(informer))


def _task(informer: Informer) -> asyncio.Task[None]:
    return asyncio.create_task(informer.run(), name=f"informer {informer.selection.kind}")
