"""
What tests ask beside "is it so now": what happened to an object all the while, and who was told.
"""

import asyncio
import re
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from kro_gitops.kube.api import EventType, Selection, WatchEvent
from kro_gitops.metadata import REQUESTED_AT
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.e2e.following.world import CONFIG_MAP, SourceWorld

EVENT = Kind("events.k8s.io", "v1", "Event")


@dataclass(slots=True)
class Witness:
    """Everything that happened to one object since the watch began."""

    seen: list[WatchEvent] = field(default_factory=list)

    @property
    def deletions(self) -> int:
        """Return how often it went."""
        return sum(each.type is EventType.DELETED for each in self.seen)

    @property
    def uids(self) -> set[str]:
        """Return under which identities it was seen."""
        return {each.object["metadata"]["uid"] for each in self.seen}

    def values(self, key: str) -> list[str]:
        """Return what a ConfigMap held under a key, one after the other, without repetition."""
        held = [each.object["data"][key] for each in self.seen]
        return [one for one, before in zip(held, [None, *held], strict=False) if one != before]


@asynccontextmanager
async def witnessed(world: SourceWorld, ref: ObjectRef) -> AsyncIterator[Witness]:
    """Watch one object for as long as a block lasts."""
    selection = Selection(ref.kind, ref.namespace, fields=f"metadata.name={ref.name}")
    since = (await world.cluster.list(selection)).resource_version
    witness = Witness()

    async def look() -> None:
        async with world.cluster.watch(selection, since) as events:
            async for event in events:
                if event.type is not EventType.BOOKMARK:
                    witness.seen.append(event)

    task = asyncio.create_task(look())
    try:
        yield witness
        assert not task.done(), "the watch ended before its time"
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def map_ref(world: SourceWorld, name: str) -> ObjectRef:
    """Name a ConfigMap of our namespace."""
    return ObjectRef(CONFIG_MAP, world.namespace, name)


async def holding(
    world: SourceWorld, name: str, within: float = 20.0, /, **data: str
) -> KubeObject:
    """Return a ConfigMap when it holds exactly this."""

    async def check() -> KubeObject:
        found = await world.get(map_ref(world, name))
        assert found.get("data", {}) == data, found.get("data")
        return found

    return await world.until(check, within)


async def polled(world: SourceWorld, source: str = "repo") -> None:
    """Have git asked, and return when all that follows from its answer is done."""
    await world.poke(source)

    async def check() -> None:
        found = await world.get(world.source_ref(source))
        wish = found["metadata"]["annotations"][REQUESTED_AT]
        assert found["status"].get("lastHandledReconcileAt") == wish

    await world.until(check, 15.0)


async def spoil(world: SourceWorld, name: str, **data: str) -> None:
    """Change a ConfigMap behind its source's back."""
    await world.merge(map_ref(world, name), {"data": data})


async def event_of(world: SourceWorld, reason: str, source: str = "repo") -> KubeObject:
    """Return an Event that was recorded about a source."""

    async def check() -> KubeObject:
        listing = await world.cluster.list(Selection(EVENT, world.namespace))
        about = [each for each in listing.items if each["regarding"]["name"] == source]
        found = [each for each in about if each["reason"] == reason]
        assert len(found) == 1, [each["reason"] for each in about]
        return found[0]

    return await world.until(check, 15.0)


async def everything_said(world: SourceWorld, source: str = "repo") -> str:
    """Return all that people can read of a source: its status, its Events, the log."""
    found = await world.get(world.source_ref(source))
    listing = await world.cluster.list(Selection(EVENT, world.namespace))
    return f"{found['status']}\n{listing.items}\n{world.controller.log.read_text(errors='replace')}"


async def metric(world: SourceWorld, name: str, source: str = "repo") -> float:
    """Return the sum of a metric over all that it tells of a source."""
    page = await asyncio.to_thread(_page, f"{world.controller.at.metrics}/metrics")
    label = re.escape(f'source="{world.namespace}/{source}"')
    lines = re.findall(rf"^{name}\{{[^}}]*{label}[^}}]*\}} (\S+)$", page, re.MULTILINE)
    assert lines, f"no {name} of {source}"
    return sum(map(float, lines))


def _page(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as answer:
        text: str = answer.read().decode()
        return text
