"""
A controller that is killed amid a sync has done nothing that the next cannot make good.

The moments are chosen, not only drawn: right after git was asked, after the inventory was written,
after the first object was applied, and anywhere within a sync.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from kro_gitops.kube.api import Selection
from kro_gitops.kube.informer import Informer
from kro_gitops.source.api.resources import SOURCE_INVENTORY_KIND
from kube_objects.refs import Kind
from tests.e2e.faults.accounts import OWN_WORK, Account, rule
from tests.e2e.faults.growing import Growing, SourceBystanders
from tests.e2e.faults.stage import FULL, following, often
from tests.e2e.following.world import CONFIG_MAP, SourceWorld, config_map
from tests.e2e.scenarios.world import condition
from tools.cluster.parts import Part
from tools.cluster.plane import Plane

SEED = 7
# In CI the engine's own tests kill the API server and hang the store.
IN_FULL = pytest.mark.skipif(not FULL, reason="disturbs a whole cluster; in test-full")
LONGEST = 4.0  # seconds that a controller lives: long enough to begin and get into work
MOMENTS = ("blind", "sync", "fetch", "inventory", "object")
BRIEF = 0.04  # seconds: as long as a few requests take


@pytest.fixture
async def world(own_plane: Plane, tmp_path: Path) -> AsyncIterator[SourceWorld]:
    """Give a world on a cluster of its own, to be disturbed."""
    async with following(own_plane, tmp_path) as made:
        yield made


async def begun(world: SourceWorld, seed: int) -> tuple[Growing, SourceBystanders]:
    """Have a repository followed, with bystanders beside it."""
    growing, bystanders = Growing(world, random.Random(seed)), SourceBystanders(world)
    await bystanders.settle()
    growing.begin()
    await world.follow(maxPrune={"percent": 100, "count": 100})
    await growing.as_wanted()
    return growing, bystanders


async def test_nothing_is_lost_when_the_controller_is_killed_amid_a_sync(
    world: SourceWorld, record_property: Callable[[str, object], None]
) -> None:
    growing, bystanders = await begun(world, SEED)
    counted: Counter[str] = Counter()
    seconds = await _sync_takes(growing)
    world.controller.kill()
    for number in range(often(50, 5)):
        await _strike(growing, MOMENTS[number % len(MOMENTS)], seconds)
        counted[await growing.moment()] += 1
        if number % 10 == 9:  # what is wrong now must not be hidden by what comes later
            await asyncio.to_thread(world.controller.start)
            await growing.as_wanted()
            await bystanders.are_untouched()
            world.controller.kill()
    for moment, count in counted.items():
        record_property("tally: controllers killed amid a sync", [moment, count])
    await asyncio.to_thread(world.controller.start)
    await growing.as_wanted()
    await bystanders.are_untouched()


async def _sync_takes(growing: Growing) -> float:
    """Return how long a sync takes when nobody disturbs it."""
    began = time.monotonic()
    growing.change()
    await growing.world.ready(growing.head)
    return time.monotonic() - began


async def _strike(growing: Growing, moment: str, seconds: float) -> None:
    """Start the controller, commit something, and kill it at a moment."""
    world, chance = growing.world, growing.chance
    if moment == "blind":
        growing.change()
        Part.start(world.controller)
        await asyncio.sleep(chance.uniform(0.0, LONGEST))
        world.controller.kill()
        return
    await asyncio.to_thread(world.controller.start)
    await world.ready(growing.head)
    kind = {"inventory": SOURCE_INVENTORY_KIND, "object": CONFIG_MAP}.get(moment)
    async with _changes(world, kind) as changed:
        asked = world.git.server.count("git-upload-pack")
        growing.change(most=5)
        if moment == "sync":
            await asyncio.sleep(chance.uniform(0.0, seconds))
        elif moment == "fetch":
            await _asked(world, asked + 1)
        else:
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), 10.0)
        await asyncio.sleep(chance.uniform(0.0, BRIEF))
        world.controller.kill()


async def _asked(world: SourceWorld, times: int) -> None:
    """Return when the git server was asked so often."""

    async def check() -> None:
        assert world.git.server.count("git-upload-pack") >= times

    await world.until(check, every=0.002)


@asynccontextmanager
async def _changes(world: SourceWorld, kind: Kind | None) -> AsyncIterator[asyncio.Event]:
    """Give an event that is set as soon as an object of a kind changes in our namespace."""
    changed = asyncio.Event()
    if kind is None:
        yield changed
        return
    informer = Informer(world.cluster, Selection(kind, world.namespace))
    running = asyncio.create_task(informer.run())
    try:
        assert await informer.wait_synced(10.0)
        informer.listen(lambda _: changed.set())
        yield changed
    finally:
        running.cancel()


async def test_what_was_made_anew_is_not_forgotten(own_plane: Plane, tmp_path: Path) -> None:
    """It has another uid than the inventory says, if that could not be written any more."""
    account = Account(own_plane, "controller")
    all_but_inventories = [*OWN_WORK, rule("", "*"), *_SOURCES_ONLY]
    await asyncio.to_thread(account.may, [*all_but_inventories, rule("gitops.kro.run", "*")])
    kubeconfig = await asyncio.to_thread(account.kubeconfig, tmp_path)
    async with following(own_plane, tmp_path, through=kubeconfig) as world:
        world.commit({"a.yaml": config_map("a", b="c"), "b.yaml": config_map("b", b="c")})
        await world.follow()
        await world.ready()
        await asyncio.to_thread(account.may, all_but_inventories)
        await world.delete(world.ref("v1", "ConfigMap", "a"))
        await world.reported("Ready", "False", text="sourceinventories")
        world.controller.kill()
        commit = world.commit({"a.yaml": None})
        await asyncio.to_thread(account.may, [*all_but_inventories, rule("gitops.kro.run", "*")])
        await asyncio.to_thread(world.controller.start)
        await world.ready(commit)
        await world.gone(world.ref("v1", "ConfigMap", "a"))
        assert len(await world.inventory()) == 1


_SOURCES_ONLY = (
    rule("gitops.kro.run", "gitsources"),
    rule("gitops.kro.run", "gitsources/status"),
    rule("gitops.kro.run", "sourceinventories", "get", "list", "watch"),
)


@IN_FULL
async def test_a_sync_goes_on_after_the_api_server_was_killed(
    own_plane: Plane, world: SourceWorld
) -> None:
    growing, bystanders = await begun(world, SEED)
    for _ in range(often(5, 2)):
        growing.change(most=5)
        await world.poke()
        await asyncio.sleep(growing.chance.uniform(0.1, 1.0))
        await asyncio.to_thread(own_plane.restart_api_server)
    await growing.as_wanted()
    await bystanders.are_untouched()
    assert world.controller.is_running


@IN_FULL
async def test_a_sync_goes_on_after_the_store_hung(own_plane: Plane, world: SourceWorld) -> None:
    growing, bystanders = await begun(world, SEED)
    for _ in range(often(4, 1)):
        growing.change(most=5)
        await world.poke()
        await asyncio.sleep(growing.chance.uniform(0.1, 0.8))
        own_plane.store.pause()
        await asyncio.sleep(growing.chance.uniform(5.0, 10.0))
        own_plane.store.resume()
    await growing.as_wanted()
    await bystanders.are_untouched()


async def test_a_git_server_that_dies_amid_a_pack_changes_nothing(world: SourceWorld) -> None:
    growing, bystanders = await begun(world, SEED)
    server, before = world.git.server, await growing.applied()
    server.slow(40_000)
    noise = growing.chance.randbytes(400_000)
    asked = server.count("git-upload-pack")
    world.commit({"noise.bin": noise})
    growing.change(most=5)
    # The second is the request for the pack; then a part of it is on its way.
    await _asked(world, asked + 2)
    await asyncio.sleep(1.0)
    server.go_away()
    said = await world.reported("FetchFailed", within=30.0)
    assert condition(said, "Ready")["status"] == "False"
    assert await growing.applied() == before, "something was changed by half a pack"
    server.slow(0)
    server.come_back()
    await growing.as_wanted()
    await bystanders.are_untouched()
