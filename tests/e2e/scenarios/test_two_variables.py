"""Comprehensions with two variables, in a template."""

from tests.builders import config_map, resource
from tests.e2e.scenarios.samples import serve, shows
from tests.e2e.scenarios.world import World


async def test_comprehensions_see_keys_and_values(world: World) -> None:
    sums = config_map(
        raised="${string({'a': 1, 'b': 2}.transformMap(k, v, v + 10)['a'])}",
        place="${['x', 'y'].transformMapEntry(i, v, {v: string(i)})['x']}",
        keys="${string({'p': 1, 'q': 2, 'r': 3}.transformList(k, v, k).size())}",
        doubled="${string([10, 20, 30].transformMap(i, v, i > 0, v * 2).size())}",
    )
    await serve(world, world.definition("Abacus", resources=[resource("sums", sums)]))
    await world.create(world.instance("Abacus", "desk"))
    wanted = {"raised": "11", "place": "0", "keys": "3", "doubled": "2"}
    await shows(world, world.ref("v1", "ConfigMap", "desk"), {"data": wanted})
