"""
A source goes, together with its namespace.
"""

from tests.e2e.following.watching import map_ref
from tests.e2e.following.world import SourceWorld, config_map


async def test_a_source_does_not_hold_up_a_namespace_that_goes(world: SourceWorld) -> None:
    elsewhere = config_map("settings")
    elsewhere["metadata"]["namespace"] = await world.another_namespace()
    world.commit({"settings.yaml": elsewhere})
    await world.follow(suspend=True)
    await world.reported("Suspended")
    # From here on nothing can be made in it, not even an inventory.
    await world.delete(world.ref("v1", "Namespace", world.namespace, ""))
    await world.respec(suspend=False)
    await world.reported("Ready", "False", text="being terminated")
    await world.delete(world.source_ref())
    await world.gone(world.source_ref())


async def test_what_a_source_made_goes_with_a_namespace_that_goes(world: SourceWorld) -> None:
    commit = world.commit({"shop.yaml": world.shop(), "front.yaml": world.front()})
    await world.follow()
    await world.ready(commit)
    await world.settings()
    await world.delete(world.ref("v1", "Namespace", world.namespace, ""))
    await world.delete(world.source_ref())
    await world.gone(world.source_ref())
    await world.gone(map_ref(world, "front-settings"))
    await world.gone(world.shop())
    assert not await world.inventory()
