"""
Which files of a repository count: folders that the spec names, and files that are ignored.
"""

from tests.e2e.following.watching import holding, map_ref, metric, polled
from tests.e2e.following.world import SourceWorld, config_map


async def test_only_the_named_folders_are_read(world: SourceWorld) -> None:
    commit = world.commit(
        {
            "teams/a/settings.yaml": config_map("a", x="1"),
            "teams/ab/settings.yaml": config_map("ab", x="1"),
            "single.yaml": config_map("single", x="1"),
            "broken.yaml": "kind: [",
        }
    )
    await world.follow(paths=["teams/a", "single.yaml"])
    source = await world.ready(commit)
    assert source["status"]["inventory"]["objects"] == 2
    await holding(world, "a", x="1")
    await holding(world, "single", x="1")
    assert await world.find(map_ref(world, "ab")) is None


async def test_a_commit_elsewhere_moves_only_the_revision(world: SourceWorld) -> None:
    first = world.commit({"ours/a.yaml": config_map("a", x="1"), "theirs/b.yaml": config_map("b")})
    await world.follow(paths=["ours"])
    await world.ready(first)
    before = await world.get(map_ref(world, "a"))
    writes = await metric(world, "kro_gitops_source_writes_total")
    second = world.commit({"theirs/b.yaml": config_map("b", y="2")})
    source = await world.ready(second)
    assert source["status"]["lastAppliedRevision"] == f"main@sha1:{second}"
    after = await world.get(map_ref(world, "a"))
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert await metric(world, "kro_gitops_source_writes_total") == writes


async def test_a_folder_that_is_not_there_deletes_nothing(world: SourceWorld) -> None:
    commit = world.commit({"apps/a.yaml": config_map("a", x="1"), "other/b.yaml": config_map("b")})
    await world.follow(paths=["apps"])
    await world.ready(commit)
    await world.respec(paths=["app"])
    source = await world.reported("Ready", "False")
    assert "'app'" in str(source["status"]["failures"] + source["status"].get("warnings", []))
    await polled(world)
    await holding(world, "a", x="1")


async def test_ignored_files_are_not_read(world: SourceWorld) -> None:
    commit = world.commit(
        {
            ".sourceignore": "drafts/\n*.tmpl.yaml\n",
            "a.yaml": config_map("a", x="1"),
            "b.tmpl.yaml": "kind: {{ template }}",
            "drafts/c.yaml": config_map("c", x="1"),
            "d.yaml": config_map("d", x="1"),
        }
    )
    await world.follow(ignore="d.yaml\n")
    source = await world.ready(commit)
    assert source["status"]["inventory"]["objects"] == 1
    await holding(world, "a", x="1")
    commit = world.commit({".sourceignore": "*.tmpl.yaml\n"})
    source = await world.ready(commit)
    await holding(world, "c", x="1")
    assert source["status"]["inventory"]["objects"] == 2
