"""Markers in a schema, as the API server enforces them on instances."""

from typing import Any

import pytest

from kro_gitops.kube.responses import Invalid
from kube_objects.refs import KubeObject
from tests.builders import config_map, resource
from tests.e2e.scenarios.samples import NAME, differences, serve, settle, shows
from tests.e2e.scenarios.world import World

MEMBER = {
    "mail": r'string | pattern="^[a-z.]+@[a-z.]+\.[a-z]{2,}$" description="Where to write"',
    "nick": 'string | minLength=3 maxLength=8 pattern="^[a-z0-9_]+$"',
    "teams": "[]string | uniqueItems=true minItems=1 maxItems=3",
    "ranks": "[]integer | minItems=0 maxItems=2",
    "motto": 'string | default="none yet" maxLength=20',
    "years": "integer | default=1 minimum=1 maximum=10",
}
GOOD: dict[str, Any] = {
    "mail": "ada@example.org",
    "nick": "ada_7",
    "teams": ["red", "blue"],
    "ranks": [1, 3],
    "years": 4,
}


async def test_values_within_limits_are_accepted_and_defaults_filled_in(world: World) -> None:
    await serve(world, _club(world))
    await settle(world, world.instance("Member", "ada", GOOD))
    card = "ada@example.org (ada_7): none yet; red,blue; 4"
    await shows(world, world.ref("v1", "ConfigMap", "ada"), {"data": {"card": card}})


async def test_values_beyond_limits_are_refused(world: World) -> None:
    """One definition for all values: each costs a kind, and none is stored."""
    await serve(world, _club(world))
    for field, value in (
        ("mail", "nowhere"),
        ("nick", "ab"),
        ("nick", "much_too_long"),
        ("teams", ["red", "blue", "red"]),
        ("teams", []),
        ("teams", ["a", "b", "c", "d"]),
        ("ranks", [1, 2, 3]),
        ("motto", "x" * 21),
        ("years", 0),
        ("years", 11),
    ):
        with pytest.raises(Invalid, match=f"spec.{field}"):
            await world.create(world.instance("Member", "bad", {**GOOD, field: value}))


async def test_limits_are_in_the_schema_of_the_kind(world: World) -> None:
    definition = _club(world)
    await serve(world, definition)
    crd = await world.get(world.crd_of(definition, "members"))
    found = _spec_schema(crd)["properties"]
    wanted = {
        "mail": {
            "type": "string",
            "pattern": r"^[a-z.]+@[a-z.]+\.[a-z]{2,}$",
            "description": "Where to write",
        },
        "nick": {"type": "string", "minLength": 3, "maxLength": 8, "pattern": "^[a-z0-9_]+$"},
        "teams": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": 3,
            "x-kubernetes-list-type": "set",
        },
        "ranks": {"type": "array", "items": {"type": "integer"}, "minItems": 0, "maxItems": 2},
        "motto": {"type": "string", "default": "none yet", "maxLength": 20},
        "years": {"type": "integer", "default": 1, "minimum": 1, "maximum": 10},
    }
    assert not differences(found, wanted)


async def test_required_and_default_meet_in_nested_types(world: World) -> None:
    definition = _hotel(world)
    await serve(world, definition)
    schema = _spec_schema(await world.get(world.crd_of(definition, "hotels")))
    assert schema["required"] == ["title"]
    found = schema["properties"]
    assert found["kitchen"]["required"] == ["chef", "stoves"]
    assert "default" not in found["kitchen"]  # a required field has to be given
    assert found["heating"]["default"] == {}  # so that the defaults inside apply
    assert found["rooms"]["default"] == {}
    assert found["doors"]["items"]["required"] == ["key", "label"]
    rules = found["place"]["x-kubernetes-validations"]
    assert rules == [{"rule": "self == oldSelf", "message": "field is immutable"}]
    assert found["floors"]["x-kubernetes-validations"][0]["rule"] == "self <= 10 || self % 2 == 0"

    hotel = world.instance(
        "Hotel",
        "grand",
        {
            "title": "Grand",
            "kitchen": {"chef": "Escoffier", "stoves": 4},
            "doors": [{"label": "front", "key": "brass-1"}],
            "place": "quay",
        },
    )
    await settle(world, hotel)
    filled = {
        "stars": "three",
        "floors": 1,
        "kitchen": {"chef": "Escoffier", "stoves": 4, "port": 8080, "style": "plain"},
        "heating": {"degrees": 20, "night": True},
        "rooms": {"single": "12m", "double": "20m"},
        "doors": [{"label": "front", "key": "brass-1", "weight": 30}],
    }
    assert not differences((await world.get(hotel))["spec"], filled)
    note = {"title": "Grand", "stars": "three", "port": "8080", "floors": "1"}
    await shows(world, world.ref("v1", "ConfigMap", "grand"), {"data": note})

    for change in ({"place": "hill"}, {"floors": 13}, {"stars": "six"}):
        with pytest.raises(Invalid):
            await world.merge(hotel, {"spec": change})


def _club(world: World) -> KubeObject:
    card = (
        "${schema.spec.mail} (${schema.spec.nick}): ${schema.spec.motto}; "
        '${schema.spec.teams.join(",")}; ${string(schema.spec.years)}'
    )
    return world.definition("Member", MEMBER, resources=[resource("card", config_map(card=card))])


def _hotel(world: World) -> KubeObject:
    types = {
        "Needed": "string | required=true",
        "Port": "integer | default=8080 minimum=1 maximum=65535",
        "Kitchen": {
            "chef": "string | required=true",
            "stoves": "integer | required=true",
            "port": "Port",
            "style": 'string | default="plain"',
        },
        "Heating": {
            "degrees": "integer | default=20 maximum=30",
            "night": "boolean | default=true",
        },
        "Door": {
            "label": "Needed",
            "key": 'string | required=true pattern="^brass-"',
            "weight": "integer | default=30",
        },
    }
    spec = {
        "title": "Needed",
        "stars": 'string | default="three" enum="one,three,five"',
        "kitchen": "Kitchen",
        "heating": "Heating",
        "doors": "[]Door | minItems=1",
        "notes": "map[string]string",
        "place": "string | immutable=true",
        "floors": 'integer | default=1 minimum=0 validation="self <= 10 || self % 2 == 0"',
        "rooms": {"single": 'string | default="12m"', "double": 'string | default="20m"'},
    }
    note = config_map(
        NAME,
        title="${schema.spec.title}",
        stars="${schema.spec.stars}",
        port="${string(schema.spec.kitchen.port)}",
        floors="${string(schema.spec.floors)}",
    )
    return world.definition("Hotel", spec, types=types, resources=[resource("note", note)])


def _spec_schema(crd: KubeObject) -> Any:
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema["properties"]["spec"]
