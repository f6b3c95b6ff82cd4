"""`omit()`: fields that are left out of a child, as if the template had never named them."""

from tests.builders import config_map, resource
from tests.e2e.scenarios.samples import ABSENT, deployment, serve, settle, shows
from tests.e2e.scenarios.world import World

MOTTO = '${schema.spec.motto != "" ? schema.spec.motto : omit()}'


async def test_an_omitted_key_comes_and_goes_with_the_spec(world: World) -> None:
    sheet = resource("sheet", config_map(title="fixed", motto=MOTTO))
    await serve(
        world, world.definition("Leaflet", {"motto": 'string | default=""'}, resources=[sheet])
    )
    quiet, loud = (
        world.instance("Leaflet", name, spec)
        for name, spec in (("quiet", {"motto": ""}), ("loud", {"motto": "fresh"}))
    )
    await settle(world, quiet, loud)

    quiet_sheet = world.ref("v1", "ConfigMap", "quiet")
    await shows(world, quiet_sheet, {"data": {"title": "fixed", "motto": ABSENT}})
    await shows(world, world.ref("v1", "ConfigMap", "loud"), {"data": {"motto": "fresh"}})

    await world.merge(quiet, {"spec": {"motto": "now heard"}})
    await shows(world, quiet_sheet, {"data": {"title": "fixed", "motto": "now heard"}})

    await world.merge(quiet, {"spec": {"motto": ""}})
    await shows(world, quiet_sheet, {"data": {"title": "fixed", "motto": ABSENT}})


async def test_an_omitted_element_leaves_a_shorter_list(world: World) -> None:
    word = '${schema.spec.word != "" ? schema.spec.word : omit()}'
    speaker = resource("speaker", deployment(command=["say", word]))
    await serve(
        world, world.definition("Speaker", {"word": 'string | default=""'}, resources=[speaker])
    )
    await settle(
        world,
        world.instance("Speaker", "mute", {"word": ""}),
        world.instance("Speaker", "polite", {"word": "hello"}),
    )

    for name, command in (("mute", ["say"]), ("polite", ["say", "hello"])):
        made = await world.get(world.ref("apps/v1", "Deployment", name))
        assert made["spec"]["template"]["spec"]["containers"][0]["command"] == command
