"""A definition's kind as the API server has it: a CRD that follows, and is kept."""

from typing import Any

from kube_objects.refs import KubeObject, ObjectRef
from tests.e2e.scenarios.parts import becomes, config_map, node, serve
from tests.e2e.scenarios.stamps import DEFINITION_ID, DEFINITION_NAME
from tests.e2e.scenarios.world import World, condition, labels

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"  # the API server's own finalizer


def _fields(crd: KubeObject) -> dict[str, Any]:
    """Return the schemas of the fields of a kind's spec."""
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    found: dict[str, Any] = schema["properties"]["spec"]["properties"]
    return found


async def _has_fields(
    world: World, crd: ObjectRef, wanted: dict[str, Any], within: float = 10.0
) -> KubeObject:
    async def check() -> KubeObject:
        found = await world.get(crd)
        assert _fields(found) == wanted
        return found

    return await world.until(check, within)


async def _set_fields(world: World, definition: KubeObject, fields: dict[str, str]) -> None:
    """Replace all fields of a kind's spec."""
    await world.change(definition, lambda obj: obj["spec"]["schema"].update(spec=fields))


async def _let_go(world: World, crd: ObjectRef) -> None:
    """Do what the API server does with a CRD that has no objects; under load it takes its time."""

    async def check() -> None:
        found = await world.find(crd)
        if found is not None and found["metadata"].get("finalizers") == [CLEANUP]:
            await world.merge(found, {"metadata": {"finalizers": None}})
        assert found is None

    await world.until(check, within=20)


async def test_a_definition_brings_its_kind_about(world: World) -> None:
    child = node(
        "settings",
        config_map("${schema.spec.title}", {"pages": "${string(schema.spec.pages)}"}),
    )
    fields = {"title": "string", "pages": "integer | default=42"}
    definition = await world.create(world.definition("Story", fields, resources=[child]))

    crd = await _has_fields(
        world,
        world.crd_of(definition, "stories"),
        {"title": {"type": "string"}, "pages": {"type": "integer", "default": 42}},
    )

    names = crd["spec"]["names"]
    assert (crd["spec"]["group"], crd["spec"]["scope"]) == (world.group, "Namespaced")
    assert (names["kind"], names["plural"], names["singular"]) == ("Story", "stories", "story")
    assert labels(crd)[DEFINITION_NAME] == definition["metadata"]["name"]
    assert labels(crd)[DEFINITION_ID] == definition["metadata"]["uid"]
    assert labels(crd)["kro.run/owned"] == "true"


async def test_a_field_that_is_added_is_served(world: World) -> None:
    definition = await world.create(world.definition("Poem", {"title": "string"}))
    crd = world.crd_of(definition, "poems")
    await _has_fields(world, crd, {"title": {"type": "string"}})

    await _set_fields(world, definition, {"title": "string", "rhymes": "boolean"})

    await _has_fields(world, crd, {"title": {"type": "string"}, "rhymes": {"type": "boolean"}})


async def test_short_names_and_categories_follow(world: World) -> None:
    definition = await world.create(
        world.definition(
            "Novel", {"title": "string"}, shortNames=["nv", "nov"], categories=["books", "paper"]
        )
    )
    crd = world.crd_of(definition, "novels")

    async def named(short: list[str], categories: list[str]) -> None:
        async def check() -> None:
            names = (await world.get(crd))["spec"]["names"]
            assert sorted(names.get("shortNames", [])) == short
            assert sorted(names.get("categories", [])) == categories

        await world.until(check, within=10)

    await named(["nov", "nv"], ["books", "paper"])
    changed = {"shortNames": ["nvl"], "categories": ["paper"]}
    await world.merge(definition, {"spec": {"schema": changed}})
    await named(["nvl"], ["paper"])
    await world.merge(definition, {"spec": {"schema": {"shortNames": None, "categories": None}}})
    await named([], [])


async def test_printer_columns_follow(world: World) -> None:
    definition = await world.create(world.definition("Draft", {"title": "string"}))
    await world.active(definition)
    crd = world.crd_of(definition, "drafts")
    assert _columns(await world.get(crd)) == ["State", "Ready", "Age"]

    column = {"name": "Title", "type": "string", "jsonPath": ".spec.title"}
    await world.merge(definition, {"spec": {"schema": {"additionalPrinterColumns": [column]}}})

    async def follows() -> None:
        assert _columns(await world.get(crd)) == ["Title"]

    await world.until(follows, within=10)


def _columns(crd: KubeObject) -> list[str]:
    return [each["name"] for each in crd["spec"]["versions"][0]["additionalPrinterColumns"]]


async def test_a_kind_goes_with_its_definition(world: World) -> None:
    definition = await world.create(world.definition("Note", {"text": "string"}))
    await world.active(definition)
    crd = world.crd_of(definition, "notes")
    await world.delete(definition)
    await world.gone(definition)
    await _let_go(world, crd)


async def test_a_kind_has_one_definition(world: World) -> None:
    first = await world.create(world.definition("Crown", {"gems": "integer"}))
    await world.active(first)
    second = await world.create(world.definition("Crown", {"gems": "integer", "gold": "string"}))

    await world.inactive(second, within=10)

    crd = await world.get(world.crd_of(first, "crowns"))
    assert labels(crd)[DEFINITION_NAME] == first["metadata"]["name"]
    assert _fields(crd) == {"gems": {"type": "integer"}}


async def test_the_end_of_a_rival_does_not_disturb(world: World) -> None:
    child = node(
        "settings", config_map("${schema.metadata.name}", {"motto": "${schema.spec.motto}"})
    )
    first = world.definition("Throne", {"motto": "string"}, resources=[child])
    await serve(world, first, world.instance("Throne", "one", {"motto": "mine"}))
    await becomes(world, world.ref("v1", "ConfigMap", "one"), "data.motto", "mine")
    rival = world.definition("Throne", {"motto": "string"})
    await world.create(rival)
    await world.inactive(rival)
    await world.delete(rival)
    await world.gone(rival)

    await world.active(first)
    await world.create(world.instance("Throne", "two", {"motto": "still mine"}))
    await becomes(world, world.ref("v1", "ConfigMap", "two"), "data.motto", "still mine")


async def test_a_rival_that_breaks_does_not_take_over(world: World) -> None:
    theirs = node("settings", config_map("${schema.metadata.name}", {"motto": "theirs"}))
    ours = node("settings", config_map("${schema.metadata.name}", {"motto": "ours"}))
    first = world.definition("Palace", {"motto": "string"}, resources=[ours])
    instance = world.instance("Palace", "one", {"motto": "a"})
    await serve(world, first, instance)
    rival = world.definition("Palace", {"motto": "string"}, resources=[theirs])
    await world.create(rival)
    await world.inactive(rival)

    broken = node("settings", config_map("${schema.metadata.name}", {"motto": "${nowhere}"}))
    await world.change(rival, lambda obj: obj["spec"].update(resources=[broken]))
    await becomes(world, rival, "status.state", "Inactive")
    await world.merge(instance, {"spec": {"motto": "b"}})

    await world.settled(instance)
    settings = await world.get(world.ref("v1", "ConfigMap", "one"))
    assert settings["data"] == {"motto": "ours"}


async def test_a_breaking_change_needs_consent(world: World) -> None:
    fields = {"title": "string", "pages": "integer | default=42"}
    definition = await world.create(world.definition("Letter", fields))
    await world.active(definition)
    crd = world.crd_of(definition, "letters")

    await _set_fields(world, definition, {"title": "string"})
    refused = await world.inactive(definition, within=10)
    served = condition(refused, "KindReady")
    assert served["status"] == "False"
    assert "breaking" in served["message"]
    assert "pages" in _fields(await world.get(crd))

    consent = {"kro.run/allow-breaking-changes": "true"}
    await world.merge(definition, {"metadata": {"annotations": consent}})
    await world.active(definition)
    await _has_fields(world, crd, {"title": {"type": "string"}}, within=30)


async def test_optional_fields_and_defaults_may_change(world: World) -> None:
    definition = await world.create(world.definition("Essay", {"title": "string"}))
    await world.active(definition)
    crd = world.crd_of(definition, "essays")
    for default in (42, 52):
        fields = {"title": "string", "pages": f"integer | default={default}"}
        await _set_fields(world, definition, fields)
        pages = {"type": "integer", "default": default}
        await _has_fields(world, crd, {"title": {"type": "string"}, "pages": pages}, within=30)
        await world.active(definition)


async def test_limits_may_be_lifted(world: World) -> None:
    limited = {"copies": "integer | default=3 minimum=1 maximum=10"}
    definition = await world.create(world.definition("Print", limited))
    crd = world.crd_of(definition, "prints")
    copies = {"type": "integer", "default": 3}
    await _has_fields(world, crd, {"copies": copies | {"minimum": 1, "maximum": 10}})

    await _set_fields(world, definition, {"copies": "integer | default=3"})

    await _has_fields(world, crd, {"copies": copies}, within=30)
    await world.active(definition)


async def test_a_field_that_somebody_removes_comes_back(world: World) -> None:
    fields = {"title": "string", "pages": "integer | default=42"}
    definition = await world.create(world.definition("Diary", fields))
    await world.active(definition)
    crd = world.crd_of(definition, "diaries")
    wanted = _fields(await world.get(crd))

    damaged = await world.change(crd, lambda obj: _fields(obj).pop("pages"))
    assert "pages" not in _fields(damaged)

    repaired = await _has_fields(world, crd, wanted, within=20)
    assert wanted["pages"] == {"type": "integer", "default": 42}
    assert repaired["metadata"]["resourceVersion"] != damaged["metadata"]["resourceVersion"]


async def test_a_kind_that_somebody_deletes_comes_back(world: World) -> None:
    fields = {"title": "string", "pages": "integer | default=42"}
    definition = await world.create(world.definition("Album", fields))
    await world.active(definition)
    crd = world.crd_of(definition, "albums")
    before = await world.get(crd)

    await world.delete(crd)

    async def back() -> None:
        found = await world.get(crd)
        assert found["metadata"]["uid"] != before["metadata"]["uid"]
        assert labels(found)["kro.run/owned"] == "true"
        assert _fields(found) == _fields(before)

    await world.until(back, within=30)
    await world.active(definition)
