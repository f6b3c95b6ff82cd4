"""A controller that is killed at any moment has done nothing that the next cannot make good."""

import asyncio
import random

import pytest

from tests.e2e.faults.shops import Bystanders, Shops, Wish, keep_busy
from tests.e2e.faults.stage import FULL, often
from tests.e2e.scenarios.controllers import Controller
from tools.cluster.parts import Part

SEEDS = (7, 11, 13) if FULL else (7,)
LONGEST = 4.0  # seconds that a controller lives: long enough to begin and get into work


@pytest.mark.parametrize("seed", SEEDS)
async def test_nothing_is_lost_when_the_controller_is_killed(shops: Shops, seed: int) -> None:
    chance = random.Random(seed)
    controller, bystanders = shops.world.controller, Bystanders(shops.world)
    await bystanders.settle()
    for _ in range(6):
        await shops.open(Wish().changed(chance))

    closing = asyncio.Event()
    busy = asyncio.create_task(keep_busy(shops, chance, closing))
    for _ in range(often(50, 5)):
        await asyncio.sleep(chance.uniform(0.05, LONGEST))
        _replace(controller)
    closing.set()
    await busy
    await asyncio.sleep(chance.uniform(0.05, LONGEST))
    controller.kill()
    await asyncio.to_thread(controller.start)

    await shops.as_wanted()
    await bystanders.are_untouched()


def _replace(controller: Controller) -> None:
    """Kill the controller and start it again, without waiting until it is at work."""
    controller.kill()
    Part.start(controller)
