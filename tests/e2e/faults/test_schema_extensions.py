"""A schema that grows under instances nobody touches: all of them get the new defaults."""

from tests.e2e.faults.stage import often
from tests.e2e.faults.test_source_kills import world
from tests.e2e.following.world import SourceWorld

__all__ = ["world"]  # a fixture of another file


async def test_instances_that_nobody_touches_get_new_defaults(world: SourceWorld) -> None:
    names = ("a", "b", "c", "d")
    world.commit({"shop.yaml": world.shop(), **{f"{n}.yaml": world.front(n) for n in names}})
    await world.follow()
    await world.ready()
    fields = {"color": "string"}
    for number in range(often(20, 6)):
        fields[f"field{number}"] = 'string | default="none"'
        # A pass may be under way by the old schema while the API server changes to the new one.
        touched = world.front("a", color=f"color-{number}")
        await world.ready(world.commit({"shop.yaml": world.shop(fields), "a.yaml": touched}))
        for name in names[1:]:
            await world.data({"color": "blue", **dict.fromkeys(list(fields)[1:], "none")}, name)
