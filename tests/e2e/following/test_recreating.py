"""
Objects that cannot be changed: refused, or made anew where somebody said that they may be.
"""

from typing import Any

from kro_gitops.metadata import FORCE
from tests.e2e.following.objects import data_of, marked, named, stays
from tests.e2e.following.world import SourceWorld, config_map


def sealed(color: str, **annotations: str) -> dict[str, Any]:
    """Build a ConfigMap that nobody may change."""
    return {**marked(config_map("a", color=color), annotations=annotations), "immutable": True}


async def test_an_object_that_cannot_be_changed_is_left_alone(world: SourceWorld) -> None:
    world.commit({"a.yaml": sealed("blue")})
    await world.follow()
    await world.ready()
    world.commit({"a.yaml": sealed("red")})
    await stays(world, named(world, "a"), {"color": "blue"})


async def test_an_object_says_that_it_may_be_made_anew(world: SourceWorld) -> None:
    world.commit({"a.yaml": sealed("blue", **{FORCE: "enabled"})})
    await world.follow()
    await world.ready()
    before = await world.get(named(world, "a"))
    world.commit({"a.yaml": sealed("red", **{FORCE: "enabled"})})
    after = await data_of(world, named(world, "a"), {"color": "red"})
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    await world.ready()
