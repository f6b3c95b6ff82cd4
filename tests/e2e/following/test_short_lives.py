"""
Sources that go while they are seen for the first time leave nothing behind.

The API server takes one away at once that is deleted while it gets its finalizer, and answers as if
the finalizer held (kubernetes/kubernetes#77988).
"""

import asyncio
import random

from kro_gitops.kube.api import Selection
from kro_gitops.metadata import SOURCE_HASH
from tests.e2e.faults.stage import often
from tests.e2e.following.world import CONFIG_MAP, SourceWorld, config_map

AT_ONCE = 4
LONGEST = 0.03  # seconds that a source lives: until about when it gets its finalizer


async def test_nothing_is_left_of_sources_that_go_as_they_get_their_finalizer(
    world: SourceWorld,
) -> None:
    world.commit({f"{name}/a.yaml": config_map(f"a-{name}") for name in range(AT_ONCE)})
    chance = random.Random(7)

    async def come_and_go(number: int) -> None:
        source = await world.follow(f"short-{number}", paths=[str(number)])
        await asyncio.sleep(chance.uniform(0, LONGEST))
        await world.delete(source)
        await world.gone(source)

    for _ in range(often(40, 12)):
        await asyncio.gather(*(come_and_go(number) for number in range(AT_ONCE)))

    async def check() -> None:
        selection = Selection(CONFIG_MAP, world.namespace, labels=SOURCE_HASH, metadata_only=True)
        found = (await world.cluster.list(selection)).items
        assert [each["metadata"]["name"] for each in found] == []

    await world.until(check, 20.0)
