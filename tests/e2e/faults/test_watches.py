"""Nothing that happens to children is missed, whatever becomes of the watches."""

import asyncio
import random
from pathlib import Path

from kro_gitops.kube.api import MergePatch
from kro_gitops.kube.responses import NotFound
from tests.e2e.faults.cuts import Line, line
from tests.e2e.faults.shops import Shops, Wish, definition
from tests.e2e.faults.stage import insist, often, staged
from tests.e2e.scenarios.parts import serve
from tools.cluster.plane import Plane

SEED = 5
EVERY = 0.1  # seconds between cuts


async def test_children_are_repaired_though_watches_are_cut(
    own_plane: Plane, tmp_path: Path
) -> None:
    async with (
        line(own_plane.kubeconfig, tmp_path) as (laid, through),
        staged(own_plane.kubeconfig, through=through) as world,
    ):
        await serve(world, definition(world))
        shops, chance = Shops(world), random.Random(SEED)
        for _ in range(5):
            await shops.open(Wish(annex=True))
        await shops.as_wanted()

        tampering = asyncio.create_task(_tamper(shops, chance, 40))
        await _cut(laid, often(100, 20))
        await tampering
        assert laid.cuts > 20, "nothing was cut"
        await shops.as_wanted()


async def _cut(laid: Line, times: int) -> None:
    for _ in range(times):
        await asyncio.sleep(EVERY)
        laid.cut()


async def _tamper(shops: Shops, chance: random.Random, times: int) -> None:
    """Change and delete children that nobody but the controller should touch."""
    for _ in range(times):
        name = chance.choice(sorted(shops.wanted))
        child, data = chance.choice(sorted(shops.wanted[name].children(name).items()))
        ref = shops.child(child)
        try:
            if chance.random() < 0.5:
                await shops.world.cluster.delete(ref)
            else:
                change = MergePatch({"data": dict.fromkeys(data, "odd")})
                await shops.world.cluster.patch(ref, change)
        except NotFound:
            continue  # not made anew yet
        finally:
            await asyncio.sleep(0.05)


async def test_what_happened_is_noticed_though_it_was_forgotten(
    own_plane: Plane, shops: Shops
) -> None:
    """The store forgets old versions while the controller sleeps: watches cannot go on."""
    world = shops.world
    names = [await shops.open(Wish(annex=True)) for _ in range(4)]
    await shops.as_wanted()
    world.controller.pause()

    await world.delete(shops.child(f"{names[0]}-sign"))
    await world.merge(shops.child(f"{names[1]}-base"), {"data": {"colour": "odd"}})
    await shops.close(names[2])
    await shops.change(names[3], Wish(colour="blue", goods=("fig", "lime")))
    late = await shops.open(Wish())
    await world.delete(shops.child("shop-1-annex"))
    own_plane.compact()
    await asyncio.to_thread(own_plane.restart_api_server)
    own_plane.compact()
    world.controller.resume()

    await shops.as_wanted()
    assert late in shops.wanted
    found = await insist(lambda: world.get(shops.child(f"{names[1]}-base")))
    assert found["data"] == {"colour": "red"}
