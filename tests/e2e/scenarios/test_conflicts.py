"""Children of different kinds that happen to have the same name."""

import asyncio

from kro_gitops import metadata
from kube_objects.refs import KubeObject
from tests.e2e.scenarios.parts import at, becomes, config_map, node, serve
from tests.e2e.scenarios.world import World, labels


async def test_instances_of_one_name_keep_apart_what_is_theirs(world: World) -> None:
    elsewhere = await world.another_namespace()
    first = world.instance("FirstApp", "app", {"name": "shared"})
    second = world.instance("SecondApp", "app", {"name": "shared"}, namespace=elsewhere)
    await asyncio.gather(
        serve(world, _app(world, "FirstApp"), first),
        serve(world, _app(world, "SecondApp"), second),
    )
    await asyncio.gather(world.settled(first), world.settled(second))
    mine = world.ref("v1", "ConfigMap", "shared")
    theirs = world.ref("v1", "ConfigMap", "shared", elsewhere)
    for ref, kind in ((mine, "FirstApp"), (theirs, "SecondApp")):
        child = await world.get(ref)
        assert child["data"] == {"source": kind}
        assert labels(child)[metadata.INSTANCE_KIND] == kind
        assert labels(child)[metadata.INSTANCE_GROUP] == world.group
        assert labels(child)[metadata.INSTANCE_VERSION] == "v1alpha1"

    deleted = at(await world.get(mine), "metadata.uid")
    await world.delete(mine)
    again = await becomes(world, mine, "data.source", "FirstApp", within=30)
    assert again["metadata"]["uid"] != deleted
    await world.merge(theirs, {"data": {"source": "somebody else"}})
    await becomes(world, theirs, "data.source", "SecondApp", within=30)
    assert at(await world.get(mine), "data.source") == "FirstApp"


def _app(world: World, kind: str) -> KubeObject:
    template = config_map("${schema.spec.name}", {"source": kind})
    return world.definition(kind, {"name": "string"}, resources=[node("made", template)])
