"""What an instance says of itself while it lives and while it goes."""

from kube_objects.refs import KubeObject
from tests.e2e.scenarios.parts import BUILT_IN, condition_types, config_map, node, serve
from tests.e2e.scenarios.world import World, condition


async def test_ready_says_for_which_generation_and_since_when(world: World) -> None:
    instance = world.instance("Plain", "plain")
    await serve(world, _plain(world), instance)
    settled = await world.settled(instance)
    ready = condition(settled, "Ready")
    assert (ready["status"], ready["reason"]) == ("True", "Ready")
    assert ready["observedGeneration"] == settled["metadata"]["generation"]
    assert ready["lastTransitionTime"]
    assert await world.find(world.ref("v1", "ConfigMap", "plain")) is not None


async def test_an_instance_that_goes_can_be_seen_going(world: World) -> None:
    instance = world.instance("Plain", "going")
    await serve(world, _plain(world), instance)
    await world.settled(instance)
    child = world.ref("v1", "ConfigMap", "going")
    await world.merge(child, {"metadata": {"finalizers": ["example.org/hold"]}})
    await world.delete(instance)
    going = await world.in_state(instance, "DELETING", within=20)
    assert going["metadata"]["deletionTimestamp"]
    assert condition(going, "Ready")["status"] == "Unknown"
    assert condition(going, "ResourcesReady")["reason"] == "UnderDeletion"
    assert condition_types(going) == BUILT_IN
    for each in going["status"]["conditions"]:
        assert each["status"] in {"True", "False", "Unknown"}
        assert each["lastTransitionTime"]
        assert "reason" in each
    await world.merge(child, {"metadata": {"finalizers": None}})
    await world.gone(instance)


def _plain(world: World) -> KubeObject:
    template = config_map("${schema.metadata.name}", {"key": "value"})
    return world.definition("Plain", resources=[node("made", template)])
