"""An API server that dies, a store that hangs: afterwards everything is as people want it."""

import asyncio
import random

from tests.e2e.faults.shops import Bystanders, Shops, Wish, keep_busy
from tests.e2e.faults.stage import often
from tools.cluster.plane import Plane

SEED = 3
SHOPS = 20


async def test_all_converge_after_the_api_server_was_killed(own_plane: Plane, shops: Shops) -> None:
    chance, bystanders = random.Random(SEED), Bystanders(shops.world)
    await bystanders.settle()
    closing = asyncio.Event()
    opening = asyncio.create_task(_open_many(shops, chance))
    busy = asyncio.create_task(keep_busy(shops, chance, closing))
    for _ in range(often(5, 1)):
        await asyncio.sleep(chance.uniform(0.3, 1.0))
        await asyncio.to_thread(own_plane.restart_api_server)
    await asyncio.sleep(1.0)
    closing.set()
    await asyncio.gather(opening, busy)

    await shops.as_wanted()
    await bystanders.are_untouched()


async def test_all_converge_after_the_store_hung(own_plane: Plane, shops: Shops) -> None:
    chance = random.Random(SEED)
    for _ in range(5):
        await shops.open(Wish().changed(chance))
    closing = asyncio.Event()
    busy = asyncio.create_task(keep_busy(shops, chance, closing))
    for _ in range(often(4, 1)):
        await asyncio.sleep(0.5)
        own_plane.store.pause()
        await asyncio.sleep(chance.uniform(5.0, 10.0))
        own_plane.store.resume()
    await asyncio.sleep(1.0)
    closing.set()
    await busy

    await shops.as_wanted()


async def _open_many(shops: Shops, chance: random.Random) -> None:
    for _ in range(SHOPS):
        await shops.open(Wish().changed(chance))
