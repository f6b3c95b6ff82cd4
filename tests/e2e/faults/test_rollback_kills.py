"""
A controller that is killed amid a rollback has deleted nothing that stays, and forgotten nothing.

A source goes back to an older revision, forth again, and holds a single object at the older one; in
between the controller is killed at moments that are drawn.
"""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from kube_objects.refs import KubeObject, ObjectRef
from tests.e2e.faults.growing import SourceBystanders
from tests.e2e.faults.stage import LIMIT, following, insist, often
from tests.e2e.following.world import CONFIG_MAP, SourceWorld, config_map
from tools.cluster.plane import Plane

SEED = 11
BULK = 12  # ConfigMaps that both revisions have
LONGEST = 1.5  # seconds from the request to the kill
GOALS = ("back", "forth", "one")


@pytest.fixture
async def world(own_plane: Plane, tmp_path: Path) -> AsyncIterator[SourceWorld]:
    """Give a world on a cluster of its own, to be disturbed."""
    async with following(own_plane, tmp_path) as made:
        yield made


def files(world: SourceWorld, value: str, only: str, former: str = "") -> dict[str, object]:
    """Return a revision: what all have, with a value, and an object and an instance of its own."""
    found: dict[str, object] = {
        "shop.yaml": world.shop(),
        "front.yaml": world.front(color=value),
        f"{only}.yaml": config_map(only, value=value),
        f"{only}-shop.yaml": world.front(only, color=value),
    }
    for number in range(BULK):
        found[f"bulk-{number}.yaml"] = config_map(f"bulk-{number}", value=value)
    return found | (dict.fromkeys((f"{former}.yaml", f"{former}-shop.yaml")) if former else {})


class Rollbacks:
    """A source with two revisions, and what must be there of each."""

    def __init__(self, world: SourceWorld) -> None:
        self.world = world
        self.older = self.newer = ""
        self.uids: dict[str, str] = {}  # of what both revisions have

    async def begin(self) -> None:
        """Have both revisions followed."""
        world = self.world
        self.older = world.commit(files(world, "blue", "older"))
        await world.follow(maxPrune={"percent": 100, "count": 100})
        await world.ready(self.older)
        self.newer = world.commit(files(world, "red", "newer", "older"))
        await self.are_at("forth")

    async def request(self, goal: str) -> None:
        """Set the pins of a goal."""
        pin = {"kind": "ConfigMap", "name": "bulk-0", "commit": self.older}
        spec: dict[str, Any] = {"pin": None, "pins": None}
        if goal == "back":
            spec["pin"] = {"commit": self.older}
        elif goal == "one":
            spec["pins"] = [pin]
        await self.world.respec(**spec)

    async def are_at(self, goal: str) -> None:
        """Return when the cluster is as a goal wants it, and what stays is what it was."""
        commit = self.older if goal == "back" else self.newer
        await insist(lambda: self.world.ready(commit, within=LIMIT), LIMIT)
        await insist(lambda: self._check(goal), LIMIT)

    async def _check(self, goal: str) -> None:
        is_back = goal == "back"
        value, mine, other = ("blue", "older", "newer") if is_back else ("red", "newer", "older")
        expected = {f"bulk-{number}": value for number in range(BULK)} | {mine: value}
        if goal == "one":
            expected["bulk-0"] = "blue"
        for name, wanted in expected.items():
            assert (await self._config_map(name))["data"]["value"] == wanted, name
        for name in ("front", mine):
            child = await self._config_map(f"{name}-settings")
            assert child["data"]["color"] == value, name
        for name in (other, f"{other}-settings"):
            assert await self.world.find(ObjectRef(CONFIG_MAP, self.world.namespace, name)) is None
        for name in (*(f"bulk-{number}" for number in range(BULK)), "front-settings"):
            uid = (await self._config_map(name))["metadata"]["uid"]
            assert self.uids.setdefault(name, uid) == uid, f"{name} was deleted and created again"
        assert len(await self.world.inventory()) == BULK + 4

    async def moment(self, goal: str) -> str:
        """Return how far the rollback was when the controller died."""
        value, other = ("blue", "newer") if goal == "back" else ("red", "older")
        found = [(await self._config_map(f"bulk-{n}"))["data"]["value"] for n in range(1, BULK)]
        if goal != "one" and found.count(value) < len(found):
            return "before the objects" if value not in found else "amid the objects"
        left = await self.world.find(ObjectRef(CONFIG_MAP, self.world.namespace, other))
        return "before or amid pruning" if left is not None else "after pruning"

    async def _config_map(self, name: str) -> KubeObject:
        return await self.world.get(ObjectRef(CONFIG_MAP, self.world.namespace, name))


async def test_nothing_is_lost_when_the_controller_is_killed_amid_a_rollback(
    world: SourceWorld, record_property: Callable[[str, object], None]
) -> None:
    rollbacks, bystanders = Rollbacks(world), SourceBystanders(world)
    chance = random.Random(SEED)
    await bystanders.settle()
    await rollbacks.begin()
    counted: Counter[str] = Counter()
    for number in range(often(50, 5)):
        goal = GOALS[number % len(GOALS)]
        await rollbacks.request(goal)
        await asyncio.sleep(chance.uniform(0.0, LONGEST))
        world.controller.kill()
        counted[await rollbacks.moment(goal)] += 1
        await asyncio.to_thread(world.controller.start)
        await rollbacks.are_at(goal)  # what is wrong now must not be hidden by what comes later
    await bystanders.are_untouched()
    for moment, count in counted.items():
        record_property("tally: controllers killed amid a rollback", [moment, count])
