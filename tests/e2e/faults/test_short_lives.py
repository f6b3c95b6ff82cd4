"""
Instances that go while they are seen for the first time leave nothing behind.

The API server takes one away at once that is deleted while it gets its finalizer, and answers as if
the finalizer held (kubernetes/kubernetes#77988).
"""

import asyncio
import random

from tests.e2e.faults.shops import Shops, Wish
from tests.e2e.faults.stage import often

AT_ONCE = 4
LONGEST = 0.03  # seconds that a shop lives: until about when it gets its finalizer


async def test_nothing_is_left_of_instances_that_go_as_they_get_their_finalizer(
    shops: Shops,
) -> None:
    chance = random.Random(7)
    for _ in range(often(200, 20)):
        await _come_and_go(shops, chance)
    await shops.as_wanted()


async def test_nothing_is_left_of_them_by_a_controller_that_is_killed(shops: Shops) -> None:
    chance = random.Random(7)
    controller = shops.world.controller
    for _ in range(often(20, 3)):
        for _ in range(chance.randrange(1, 8)):
            await _come_and_go(shops, chance)
        controller.kill()
        await asyncio.to_thread(controller.start)
    await shops.as_wanted()


async def _come_and_go(shops: Shops, chance: random.Random) -> None:
    async def one() -> None:
        name = await shops.open(Wish(annex=True, goods=("fig", "pear")))
        await asyncio.sleep(chance.uniform(0, LONGEST))
        await shops.close(name)

    await asyncio.gather(*(one() for _ in range(AT_ONCE)))
