"""
From a commit to the cluster: the first sync, changes, moves, renames, deletions.
"""

import json

from kube_objects.refs import KubeObject, ObjectRef
from tests.e2e.following.world import CONFIG_MAP, SourceWorld, config_map
from tests.e2e.scenarios.world import annotations
from tests.git_repositories import Person


async def test_a_repository_becomes_a_definition_an_instance_and_its_child(
    world: SourceWorld,
) -> None:
    commit = world.commit({"rgds/shop.yaml": world.shop(), "apps/front.yaml": world.front()})
    await world.follow()
    source = await world.ready(commit)
    assert source["status"]["lastAppliedRevision"] == f"main@sha1:{commit}"
    assert source["status"]["phase"] == "Healthy"
    counts = source["status"]["inventory"]
    assert (counts["objects"], counts["definitions"], counts["instances"]) == (2, 1, 1)
    child = await world.data({"color": "blue"})
    marks = annotations(child)
    assert marks["gitops.kro.run/source"] == f"{world.namespace}/repo"
    assert marks["gitops.kro.run/path"] == "apps/front.yaml"
    assert marks["gitops.kro.run/revision"] == commit
    last = source["status"]["history"][0]
    assert (last["result"], last["created"], last["author"]) == ("Healthy", 2, "Alice")


async def test_a_token_in_a_commit_is_shown_nowhere(world: SourceWorld) -> None:
    token = "ghp_" + "x1Y2" * 9
    author = Person(f"Ada {token}", "ada@example.com")
    commit = world.commit({"a.yaml": config_map("a", b="1")}, f"Use {token}", author=author)
    await world.follow()
    source = await world.ready(commit)
    assert source["status"]["commit"]["message"] == "Use ***"
    last = source["status"]["history"][0]
    assert (last["author"], last["message"]) == ("Ada ***", "Use ***")
    assert token not in json.dumps(source)
    assert token not in world.controller.tail(1000)


async def test_a_merged_change_reaches_the_child(world: SourceWorld) -> None:
    world.commit({"shop.yaml": world.shop(), "front.yaml": world.front()})
    await world.follow()
    await world.ready()
    world.repository.force_branch("feature", world.repository.head())
    world.commit({"front.yaml": world.front(color="red")}, branch="feature")
    commit = world.repository.merge("feature")
    await world.ready(commit)
    child = await world.data({"color": "red"})
    assert annotations(child)["gitops.kro.run/revision"] == commit


async def test_an_unrelated_commit_rewrites_nothing(world: SourceWorld) -> None:
    first = world.commit({"shop.yaml": world.shop(), "front.yaml": world.front()})
    await world.follow()
    await world.ready(first)
    before = [await world.get(world.front()), await world.settings()]
    second = world.commit({"other.yaml": config_map("other", a="1"), "README.md": "words"})
    source = await world.ready(second)
    assert source["status"]["lastAppliedRevision"].endswith(second)
    after = [await world.get(world.front()), await world.settings()]
    for one, other in zip(before, after, strict=True):
        assert one["metadata"]["resourceVersion"] == other["metadata"]["resourceVersion"]
        assert annotations(other)["gitops.kro.run/revision"] == first


async def test_a_moved_file_is_no_deletion(world: SourceWorld) -> None:
    world.commit({"shop.yaml": world.shop(), "a/front.yaml": world.front()})
    await world.follow()
    await world.ready()
    before = await world.get(world.front())
    commit = world.repository.move("a/front.yaml", "b/front.yaml")
    await world.ready(commit)
    after = await world.get(world.front())
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert annotations(after)["gitops.kro.run/path"] == "b/front.yaml"


async def test_what_is_removed_from_git_is_removed_from_the_cluster(world: SourceWorld) -> None:
    world.commit({"shop.yaml": world.shop(), "front.yaml": world.front()})
    await world.follow()
    await world.ready()
    await world.settings()
    commit = world.commit({"front.yaml": None})
    await world.gone(world.front())
    await world.gone(ObjectRef(CONFIG_MAP, world.namespace, "front-settings"))
    source = await world.ready(commit)
    assert source["status"]["inventory"]["objects"] == 1
    assert source["status"]["history"][0]["pruned"] == 1
    assert len(await world.inventory()) == 1


async def test_a_renamed_object_is_there_before_the_old_one_goes(world: SourceWorld) -> None:
    world.commit({"shop.yaml": world.shop(), "front.yaml": world.front("old")})
    await world.follow()
    await world.ready()
    commit = world.commit({"front.yaml": world.front("new")})
    await world.ready(commit)
    await world.data({"color": "blue"}, "new")
    await world.gone(world.front("old"))


async def test_a_field_is_added_and_used_in_one_commit(world: SourceWorld) -> None:
    world.commit({"shop.yaml": world.shop(), "front.yaml": world.front()})
    await world.follow()
    await world.ready()
    fields = {"color": "string", "size": 'string | default="M"'}
    commit = world.commit(
        {"shop.yaml": world.shop(fields), "front.yaml": world.front(color="blue", size="XL")}
    )
    await world.ready(commit)
    instance = await world.get(world.front())
    assert instance["spec"] == {"color": "blue", "size": "XL"}
    await world.data({"color": "blue", "size": "XL"})


async def test_a_breaking_change_is_refused_and_instances_stay(world: SourceWorld) -> None:
    world.commit({"shop.yaml": world.shop(), "front.yaml": world.front()})
    await world.follow()
    await world.ready()
    before = await world.get(world.front())
    broken = world.shop({"colour": "string"})
    commit = world.commit({"shop.yaml": broken, "front.yaml": world.front(colour="red")})
    source = await world.reported("Ready", "False", text="breaking changes", commit=commit)
    [refused, held_back] = source["status"]["failures"]
    assert (refused["file"], refused["line"]) == ("shop.yaml", 1)
    assert "held back" in held_back["message"]
    after = await world.get(world.front())
    assert after["spec"] == before["spec"]
    assert (await world.settings())["data"] == {"color": "blue"}
    await world.ready(world.commit({"shop.yaml": world.shop(), "front.yaml": world.front()}))


async def test_an_emptied_repository_deletes_nothing(world: SourceWorld) -> None:
    world.commit({"shop.yaml": world.shop(), "front.yaml": world.front(), "keep.md": "x"})
    await world.follow()
    await world.ready()
    commit = world.commit({"shop.yaml": None, "front.yaml": None})
    source = await world.reported("PruneBlocked", text="no objects are left", commit=commit)
    assert source["status"]["phase"] == "Degraded"
    await world.settled(world.front())
    world.commit({"keep.md": "y"}, "Close the shop\n\nkro-gitops: allow-prune\n")
    await world.gone(world.front())
    await world.ready()


async def test_who_is_called_fetches_a_branch_without_asking_first(world: SourceWorld) -> None:
    world.commit({"a.yaml": config_map("a", says="one")})
    await world.follow(interval="1h")
    await world.ready()
    visit = f"{world.repository.path.name}/info/refs"
    before = world.git.server.count(visit)
    commit = world.commit({"a.yaml": config_map("a", says="two")})
    await world.poke()
    await world.ready(commit)
    assert world.git.server.count(visit) == before + 1


async def test_who_is_called_for_nothing_changes_nothing(world: SourceWorld) -> None:
    commit = world.commit({"a.yaml": config_map("a", says="one")})
    await world.follow(interval="1h")
    source = await world.ready(commit)
    ref = ObjectRef(CONFIG_MAP, world.namespace, "a")
    before = await world.get(ref)
    await world.poke()

    async def answered() -> KubeObject:
        found = await world.get(world.source_ref())
        wish = annotations(found)["reconcile.fluxcd.io/requestedAt"]
        assert found["status"]["lastHandledReconcileAt"] == wish
        return found

    after = await world.until(answered, 20.0)
    assert after["status"]["history"] == source["status"]["history"]
    assert after["status"]["artifact"] == source["status"]["artifact"]
    assert await world.get(ref) == before
