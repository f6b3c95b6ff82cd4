"""
Creates instances and sees when the last of them is ready; a process of its own.

    python -m benchmarks.engine.feeder KUBECONFIG RESULT FIRST COUNT SECONDS
"""

import asyncio
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from benchmarks.engine.connection import connect, for_each, write_result
from benchmarks.engine.workload import KIND, NAMESPACE, instance, is_ready, name_of
from kro_gitops.kube.api import Cluster, Selection
from kube_objects.refs import KubeObject

_SELECTION = Selection(KIND, NAMESPACE)


class Waiting:
    """Instances that are not ready, each with the status it was last seen with."""

    def __init__(self, names: Iterable[str]) -> None:
        self._statuses: dict[str, object] = dict.fromkeys(names)
        self._ended = 0.0
        self.is_watching = asyncio.Event()

    async def watch(self, cluster: Cluster) -> float:
        """Return the time at which the last became ready."""
        while self._statuses:
            # Once, as a rule; but the server ends a watch when it is told more about the kind.
            listing = await cluster.list(_SELECTION)
            for obj in listing.items:
                self._see(obj)
            await self._follow(cluster, listing.resource_version)
        return self._ended

    async def _follow(self, cluster: Cluster, since: str) -> None:
        async with cluster.watch(_SELECTION, since) as events:
            self.is_watching.set()
            async for event in events:
                self._see(event.object)
                if not self._statuses:
                    return

    def _see(self, obj: KubeObject) -> None:
        name = obj["metadata"].get("name")  # a bookmark has none
        if name not in self._statuses:
            return
        self._statuses[name] = obj.get("status")
        if is_ready(obj):
            del self._statuses[name]
            self._ended = time.monotonic()

    def __str__(self) -> str:
        name, status = next(iter(self._statuses.items()), ("", None))
        return f"{len(self._statuses)} instances are not ready; {name} has {status}"


async def feed(cluster: Cluster, numbers: range, waiting: Waiting) -> dict[str, float]:
    """Return the seconds, and our own CPU seconds, from the first create to the last ready."""

    async def create(number: int) -> None:
        await cluster.create(instance(number))

    async with asyncio.TaskGroup() as group:
        ready = group.create_task(waiting.watch(cluster))
        await waiting.is_watching.wait()
        begun, used = time.monotonic(), time.process_time()
        await for_each(numbers, create)
        seconds = await ready - begun
    return {"ready": seconds, "cpu": time.process_time() - used}


async def _main(kubeconfig: str, result: str, first: str, count: str, seconds: str) -> None:
    numbers = range(int(first), int(first) + int(count))
    waiting = Waiting(map(name_of, numbers))
    try:
        async with asyncio.timeout(float(seconds)), connect(Path(kubeconfig)) as cluster:
            write_result(result, await feed(cluster, numbers, waiting))
    except TimeoutError:
        sys.exit(f"after {seconds} s {waiting}")


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
