"""
Objects that go from one source to another, and objects that two sources want.
"""

import asyncio

from kube_objects.refs import ObjectRef
from tests.e2e.following.watching import holding, map_ref, witnessed
from tests.e2e.following.world import SourceWorld, config_map
from tests.e2e.scenarios.world import annotations, condition


async def owned_by(world: SourceWorld, name: str, ref: ObjectRef) -> None:
    """Return when an object names a source, and only that source has it in its inventory."""

    async def check() -> None:
        found = await world.get(ref)
        assert annotations(found)["gitops.kro.run/source"] == f"{world.namespace}/{name}"
        holders = [each for each in ("a", "b") if _key(ref) in await world.inventory(each)]
        assert holders == [name], holders

    await world.until(check, 20.0)


def _key(ref: ObjectRef) -> str:
    return f"{ref.kind.group}/{ref.kind.kind}/{ref.namespace}/{ref.name}"


async def test_a_file_moves_between_two_sources_of_a_repository(world: SourceWorld) -> None:
    world.commit(
        {
            "shop.yaml": world.shop(),
            "a/front.yaml": world.front(),
            "a/map.yaml": config_map("map", x="1"),
            "a/stays.yaml": config_map("stays"),
            "b/other.yaml": config_map("other"),
        }
    )
    await world.follow("shops", paths=["shop.yaml"])
    await world.ready(name="shops")
    for name in ("a", "b"):
        await world.follow(name, paths=[name])
    await world.ready(name="a")
    await world.ready(name="b")
    child = map_ref(world, "front-settings")
    refs = (ObjectRef.of(world.front()), map_ref(world, "map"), child)
    before = [await world.get(ref) for ref in refs]
    async with (
        witnessed(world, refs[0]) as front,
        witnessed(world, refs[1]) as moved,
        witnessed(world, child) as settings,
    ):
        commit = world.commit(
            {
                "a/front.yaml": None,
                "a/map.yaml": None,
                "b/front.yaml": world.front(),
                "b/map.yaml": config_map("map", x="2"),
            }
        )
        await owned_by(world, "b", refs[0])
        await owned_by(world, "b", refs[1])
        await holding(world, "map", x="2")
        await world.ready(commit, name="a")
        await world.ready(commit, name="b")
    for witness, former in zip((front, moved, settings), before, strict=True):
        assert witness.deletions == 0
        assert witness.uids <= {former["metadata"]["uid"]}
        now = await world.get(former)
        assert "deletionTimestamp" not in now["metadata"]


async def test_an_object_is_added_there_before_it_is_removed_here(world: SourceWorld) -> None:
    other = world.new_repository()
    world.commit({"x.yaml": config_map("x", v="1"), "keep.yaml": config_map("keep")})
    await world.follow("a")
    await world.ready(name="a")
    ref = map_ref(world, "x")
    uid = (await world.get(ref))["metadata"]["uid"]
    async with witnessed(world, ref) as witness:
        added = other.commit({"x.yaml": _text("x", "2")})
        await world.follow("b", url=world.url(other))
        text = f"belongs to source {world.namespace}/a, which still wants it"
        await world.reported("Ready", "False", text=text, name="b", commit=added)
        await holding(world, "x", v="1")
        removed = world.commit({"x.yaml": None})
        await owned_by(world, "b", ref)
        await holding(world, "x", v="2")
        await world.ready(added, name="b")
        await world.ready(removed, name="a")
    assert witness.deletions == 0
    assert witness.uids == {uid}


async def test_an_object_is_removed_here_before_it_is_added_there(world: SourceWorld) -> None:
    other = world.new_repository()
    other.commit({"other.yaml": _text("other", "1")})
    world.commit({"x.yaml": config_map("x", v="1"), "keep.yaml": config_map("keep")})
    await world.follow("a")
    await world.follow("b", url=world.url(other))
    await world.ready(name="a")
    await world.ready(name="b")
    removed = world.commit({"x.yaml": None})
    await world.gone(map_ref(world, "x"))
    added = other.commit({"x.yaml": _text("x", "2")})
    await owned_by(world, "b", map_ref(world, "x"))
    await holding(world, "x", v="2")
    await world.ready(removed, name="a")
    await world.ready(added, name="b")


async def test_an_object_changes_its_repository_at_one_moment(world: SourceWorld) -> None:
    other = world.new_repository()
    other.commit({"other.yaml": _text("other", "1")})
    world.commit({"x.yaml": config_map("x", v="1"), "keep.yaml": config_map("keep")})
    await world.follow("a")
    await world.follow("b", url=world.url(other))
    await world.ready(name="a")
    await world.ready(name="b")
    added = other.commit({"x.yaml": _text("x", "2")})
    removed = world.commit({"x.yaml": None})
    await owned_by(world, "b", map_ref(world, "x"))
    await world.ready(removed, name="a")
    await world.ready(added, name="b")
    await holding(world, "x", v="2")


async def test_what_a_deleted_source_left_is_taken_over(world: SourceWorld) -> None:
    commit = world.commit({"shop.yaml": world.shop(), "front.yaml": world.front()})
    await world.follow("a", deletionPolicy="Orphan")
    await world.ready(name="a")
    refs = (ObjectRef.of(world.front()), map_ref(world, "front-settings"))
    uids = [(await world.get(ref))["metadata"]["uid"] for ref in refs]
    async with witnessed(world, refs[0]) as front, witnessed(world, refs[1]) as settings:
        await world.delete(world.source_ref("a"))
        await world.gone(world.source_ref("a"))
        await world.follow("b")
        await world.ready(commit, name="b")
        await owned_by(world, "b", refs[0])
    assert (front.deletions, settings.deletions) == (0, 0)
    for ref, uid in zip(refs, uids, strict=True):
        assert (await world.get(ref))["metadata"]["uid"] == uid


async def test_of_two_sources_that_want_an_object_one_has_it(world: SourceWorld) -> None:
    other = world.new_repository()
    world.commit({"x.yaml": config_map("x", v="1")})
    await world.follow("a")
    await world.ready(name="a")
    other.commit({"x.yaml": _text("x", "2"), "z.yaml": _text("z", "2")})
    await world.follow("b", url=world.url(other))
    whose = f"ConfigMap {world.namespace}/x: source {world.namespace}/a"
    source = await world.reported("ForeignOwner", text=whose, name="b")
    [failure] = source["status"]["failures"]
    assert (failure["code"], failure["file"], failure["line"]) == ("foreign-owner", "x.yaml", 1)
    await holding(world, "z", v="2")  # the rest is applied
    refs = (map_ref(world, "x"), world.source_ref("a"))
    async with witnessed(world, refs[0]) as first, witnessed(world, refs[1]) as second:
        await asyncio.sleep(5.0)  # some polls of both
    assert not first.seen
    assert not second.seen
    assert condition(await world.get(refs[1]), "Ready")["status"] == "True"
    await holding(world, "x", v="1")


def _text(name: str, value: str) -> str:
    return f'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  v: "{value}"\n'
