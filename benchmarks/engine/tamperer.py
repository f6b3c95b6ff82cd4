"""
Changes ConfigMaps by hand, one after the other as they are repaired; a process of its own.

    python -m benchmarks.engine.tamperer KUBECONFIG RESULT ROUNDS COUNT

In each round one child among COUNT is changed, then one of those the repairer keeps. How long it
took stands in the audit log.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

from benchmarks.engine import repairer
from benchmarks.engine.connection import connect, write_result
from benchmarks.engine.workload import NAMESPACE, config_ref, greeting_of
from kro_gitops.kube.api import Cluster, MergePatch, Selection, WatchEvent, WriteOptions
from kube_objects.refs import ObjectRef

MANAGER = "somebody"
_BY_HAND = WriteOptions(manager=MANAGER)
_TAMPERED = "tampered with"
_PATIENCE = 30.0  # seconds for one repair
_PAUSE = 0.2  # seconds until what a repair sets off has come to rest


async def tamper(cluster: Cluster, rounds: int, count: int) -> None:
    """Change a child, then what the repairer keeps, and go on when each is repaired."""
    selection = Selection(config_ref(0).kind, NAMESPACE)
    await _until_there(cluster, repairer.ref_of(rounds - 1))
    listing = await cluster.list(selection)
    async with cluster.watch(selection, listing.resource_version) as events:
        for number in range(rounds):
            child = number * (count // rounds)
            await _one(cluster, events, config_ref(child), greeting_of(child))
            await _one(cluster, events, repairer.ref_of(number), greeting_of(number))


async def _one(
    cluster: Cluster, events: AsyncIterator[WatchEvent], ref: ObjectRef, greeting: str
) -> None:
    await asyncio.sleep(_PAUSE)
    patch = MergePatch({"data": {"greeting": _TAMPERED}})
    async with asyncio.timeout(_PATIENCE):
        await cluster.patch(ref, patch, _BY_HAND)
        await _repaired(events, ref.name, greeting)


async def _repaired(events: AsyncIterator[WatchEvent], name: str, greeting: str) -> None:
    has_changed = False
    async for event in events:
        if event.object["metadata"].get("name") != name:
            continue
        found = event.object["data"]["greeting"]
        if found == _TAMPERED:
            has_changed = True
        elif found == greeting and has_changed:
            return
    raise RuntimeError(f"the watch ended before {name} was repaired")


async def _until_there(cluster: Cluster, ref: ObjectRef) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if await cluster.find(ref) is not None:
            return
        await asyncio.sleep(_PAUSE)
    raise RuntimeError(f"{ref} never came")


async def _main(kubeconfig: str, result: str, rounds: str, count: str) -> None:
    async with connect(Path(kubeconfig)) as cluster:
        await tamper(cluster, int(rounds), int(count))
        write_result(result, {})


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
