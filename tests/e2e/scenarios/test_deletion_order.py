"""An instance goes after its children, and they go in waves: who needs another goes first."""

from kube_objects.refs import ObjectRef
from tests.e2e.scenarios.parts import becomes, config_map, external, node, serve
from tests.e2e.scenarios.stamps import APPLY_ORDER, all_exist
from tests.e2e.scenarios.world import World, annotations

NAME = "${schema.metadata.name}"


async def _hold(world: World, ref: ObjectRef, *finalizers: str) -> None:
    """Have an object stay when it is deleted, or without finalizers let it go."""
    await world.merge(ref, {"metadata": {"finalizers": list(finalizers)}})


async def _is_going(world: World, ref: ObjectRef) -> None:
    async def check() -> None:
        assert "deletionTimestamp" in (await world.get(ref))["metadata"]

    await world.until(check, within=30)


async def test_children_go_though_what_they_were_made_of_is_gone(world: World) -> None:
    data = {"inherited": "${source.data.value}"}
    definition = world.definition(
        "Heir",
        {"title": "string | default=duke"},
        resources=[
            external("source", "v1", "ConfigMap", name="estate"),
            node("legacy", config_map("${source.data.heir}", data)),
        ],
    )
    estate = config_map("estate", {"heir": "legacy", "value": "silver"}, namespace=world.namespace)
    await world.create(estate)
    instance = world.instance("Heir", "son")
    await serve(world, definition, instance)
    assert (await world.get(definition))["status"]["topologicalOrder"] == ["source", "legacy"]
    legacy = world.ref("v1", "ConfigMap", "legacy")
    made = await becomes(world, legacy, "data.inherited", "silver")
    assert annotations(made)[APPLY_ORDER] == "2"
    await world.in_state(instance, "ACTIVE")

    await _hold(world, legacy, "example.org/hold")
    await world.delete(estate)
    await world.delete(instance)
    await _is_going(world, legacy)
    assert await world.find(instance) is not None

    await _hold(world, legacy)
    await world.gone(legacy, within=30)
    await world.gone(instance, within=30)


async def test_a_wave_waits_for_the_one_before_it(world: World) -> None:
    roof = node("roof", config_map(f"{NAME}-roof", {"on": "${walls.metadata.name}"}))
    definition = world.definition(
        "Hut",
        {"size": "integer | default=1"},
        resources=[node("walls", config_map(f"{NAME}-walls", {"of": "wood"})), roof],
    )
    instance = world.instance("Hut", "log")
    await serve(world, definition, instance)
    walls, top = (world.ref("v1", "ConfigMap", f"log-{part}") for part in ("walls", "roof"))
    made = await all_exist(world, walls, top, within=30)
    assert [annotations(each)[APPLY_ORDER] for each in made] == ["1", "2"]
    await _hold(world, top, "example.org/hold")

    await world.delete(instance)
    await _is_going(world, top)

    async def stands() -> None:
        assert "deletionTimestamp" not in (await world.get(walls))["metadata"]

    await world.holds(stands, during=2)
    await _hold(world, top)
    for ref in (top, walls):
        await world.gone(ref, within=30)
    await world.gone(instance, within=30)
