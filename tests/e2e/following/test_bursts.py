"""
Many commits in little time: the last one counts, and those between cost next to nothing.
"""

import asyncio

from tests.e2e.following.watching import holding, map_ref, metric, witnessed
from tests.e2e.following.world import SourceWorld, config_map

COMMITS = 100


async def test_of_a_hundred_commits_the_last_one_counts(world: SourceWorld) -> None:
    world.commit({"shop.yaml": world.shop(), "front.yaml": world.front(color="0")})
    await world.follow()
    await world.ready()
    before = await metric(world, "kro_gitops_source_syncs_total")
    last = ""
    async with witnessed(world, map_ref(world, "front-settings")) as witness:
        for number in range(1, COMMITS + 1):
            files = {"front.yaml": world.front(color=str(number))}
            last = await asyncio.to_thread(world.commit, files)
            if number % 10 == 0:
                await world.poke()  # as webhooks would
        source = await world.ready(last)
        await world.data({"color": str(COMMITS)})
    colors = list(map(int, witness.values("color")))
    assert colors == sorted(colors), "an older commit came after a newer one"
    assert colors[-1] == COMMITS
    assert source["status"]["lastAppliedRevision"] == f"main@sha1:{last}"
    syncs = await metric(world, "kro_gitops_source_syncs_total") - before
    assert 1 <= syncs <= COMMITS / 3, syncs
    # Once it is there, nothing is left to do.
    await asyncio.sleep(1.5)
    assert await metric(world, "kro_gitops_source_syncs_total") - before <= syncs + 1


async def test_many_objects_in_one_commit(world: SourceWorld) -> None:
    count = 300
    files = {f"maps/{n}.yaml": config_map(f"map-{n}", number=str(n)) for n in range(count)}
    commit = world.commit(files)
    await world.follow()
    source = await world.ready(commit)
    assert source["status"]["inventory"]["objects"] == count
    assert source["status"]["history"][0]["created"] == count
    one = world.commit({"maps/7.yaml": config_map("map-7", number="seven")})
    source = await world.ready(one)
    await holding(world, "map-7", number="seven")
    last = source["status"]["history"][0]
    assert (last["created"], last["changed"], last["pruned"]) == (0, 1, 0)
