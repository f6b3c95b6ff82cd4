"""What an instance's status shows: values of children and of its own spec, as far as known."""

from typing import Any

from kube_objects.refs import KubeObject
from tests.builders import config_map, resource
from tests.e2e.scenarios.samples import ABSENT, serve, settle, shows
from tests.e2e.scenarios.world import World


async def test_a_list_of_expressions_becomes_a_list(world: World) -> None:
    definition = world.definition(
        "Relay",
        status={
            "stations": ["${near.data.at}", "${far.data.at}"],
            "route": {"names": ["${near.metadata.name}"]},
        },
        resources=[
            resource("near", config_map("${schema.metadata.name}-near", at="km-1")),
            resource("far", config_map("${schema.metadata.name}-far", at="km-9")),
        ],
    )
    await serve(world, definition)
    relay = world.instance("Relay", "coast")
    await world.create(relay)
    wanted = {"stations": ["km-1", "km-9"], "route": {"names": ["coast-near"]}}
    await shows(world, relay, {"status": wanted}, within=30)


async def test_a_status_may_come_from_the_spec_alone(world: World) -> None:
    definition = world.definition(
        "Badge",
        {"holder": "string", "level": "integer"},
        status={"holder": "${schema.spec.holder}", "level": "${schema.spec.level}"},
        resources=[resource("card", config_map())],
    )
    await serve(world, definition)
    badge = world.instance("Badge", "guest", {"holder": "Ada", "level": 3})
    await world.create(badge)
    await shows(world, badge, {"status": {"holder": "Ada", "level": 3}}, within=30)


async def test_a_status_mixes_spec_and_children_and_follows_the_spec(world: World) -> None:
    definition = world.definition(
        "Ticket",
        {"seat": "string"},
        status={
            "seat": "${schema.spec.seat}",
            "printed": "${paper.metadata.name}",
            "line": "${schema.spec.seat} on ${paper.metadata.name}",
        },
        resources=[resource("paper", config_map(seat="${schema.spec.seat}"))],
    )
    await serve(world, definition)
    ticket = world.instance("Ticket", "opera", {"seat": "12a"})
    await world.create(ticket)
    await shows(
        world,
        ticket,
        {"status": {"seat": "12a", "printed": "opera", "line": "12a on opera"}},
        within=30,
    )

    await world.merge(ticket, {"spec": {"seat": "3c"}})
    await shows(world, ticket, {"status": {"seat": "3c", "line": "3c on opera"}}, within=30)
    await shows(world, world.ref("v1", "ConfigMap", "opera"), {"data": {"seat": "3c"}})


async def test_several_expressions_make_one_text(world: World) -> None:
    definition = world.definition(
        "Postcard",
        status={"address": "${card.metadata.name}-in-${card.metadata.namespace}"},
        resources=[resource("card", config_map())],
    )
    await serve(world, definition)
    postcard = world.instance("Postcard", "greeting")
    await world.create(postcard)
    await shows(world, postcard, {"status": {"address": f"greeting-in-{world.namespace}"}}, 30)


async def test_a_field_is_there_only_while_all_it_needs_is_there(world: World) -> None:
    await serve(world, _choir(world))
    choir = world.instance("Choir", "town", dict.fromkeys(("alto", "bass", "tenor"), False))
    await settle(world, choir)
    await shows(world, choir, {"status": _heard()})

    steps: tuple[tuple[dict[str, bool], dict[str, Any]], ...] = (
        ({"alto": True}, _heard(solo="a")),
        ({"bass": True}, _heard(solo="a", duet="a-b")),
        ({"tenor": True}, _heard(solo="a", duet="a-b", trio="a-b-t")),
        ({"bass": False}, _heard(solo="a")),
    )
    for spec, status in steps:
        await world.merge(choir, {"spec": spec})
        await shows(world, choir, {"status": status}, within=30)


def _choir(world: World) -> KubeObject:
    voices = ("alto", "bass", "tenor")
    return world.definition(
        "Choir",
        dict.fromkeys(voices, "boolean"),
        status={
            "solo": "${alto.data.voice}",
            "duet": "${alto.data.voice}-${bass.data.voice}",
            "trio": "${alto.data.voice}-${bass.data.voice}-${tenor.data.voice}",
        },
        resources=[
            resource(
                voice,
                config_map(f"${{schema.metadata.name}}-{voice}", voice=voice[0]),
                includeWhen=[f"${{schema.spec.{voice}}}"],
            )
            for voice in voices
        ],
    )


def _heard(**fields: str) -> dict[str, Any]:
    return {"solo": ABSENT, "duet": ABSENT, "trio": ABSENT, **fields}


async def test_the_data_of_a_secret_is_bytes_to_expressions(world: World) -> None:
    key = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "${schema.metadata.name}"},
        "stringData": {"user": "${schema.spec.user}"},
    }
    definition = world.definition(
        "Login",
        {"user": "string"},
        status={"user": "${string(key.data.user)}"},
        resources=[resource("key", key)],
    )
    await serve(world, definition)
    login = world.instance("Login", "desk", {"user": "m.curie"})
    await world.create(login)
    await shows(world, login, {"status": {"state": "ACTIVE", "user": "m.curie"}})
