"""
Which revision a source follows: branches, tags, versions, refs, commits, and rewritten history.
"""

from tests.e2e.following.watching import event_of, holding, map_ref, polled
from tests.e2e.following.world import SourceWorld, config_map
from tests.e2e.scenarios.world import annotations
from tests.git_repositories import GitRepository


def colored(color: str) -> dict[str, object]:
    """Return a file with one object in it."""
    return {"settings.yaml": config_map("settings", color=color)}


async def test_another_branch_is_followed_when_the_spec_names_it(world: SourceWorld) -> None:
    first = world.commit({**colored("blue"), "old.yaml": config_map("old")})
    world.repository.force_branch("next", first)
    await world.follow(ref={"branch": "main"})
    await world.ready(first)
    commit = world.commit({**colored("green"), "old.yaml": None}, branch="next")
    await world.respec(ref={"branch": "next"})
    source = await world.ready(commit)
    assert source["status"]["lastAppliedRevision"] == f"next@sha1:{commit}"
    await holding(world, "settings", color="green")
    await world.gone(map_ref(world, "old"))
    world.commit(colored("red"))  # on main, where nobody looks any more
    await polled(world)
    await world.ready(commit)
    await holding(world, "settings", color="green")


async def test_a_branch_that_is_not_there_is_named_with_one_that_is(world: SourceWorld) -> None:
    commit = world.commit(colored("blue"))
    await world.follow(ref={"branch": "mian"})
    source = await world.reported("FetchFailed", text="no branch 'mian'", reason="RefNotFound")
    assert "did you mean 'main'?" in str(source["status"]["conditions"])
    world.repository.force_branch("mian", commit)
    await world.ready(commit)
    await holding(world, "settings", color="blue")


async def test_a_deleted_branch_takes_nothing_along(world: SourceWorld) -> None:
    commit = world.commit(colored("blue"), branch="next")
    world.commit({"README.md": "words"})
    await world.follow(ref={"branch": "next"})
    await world.ready(commit)
    world.repository.set_ref("refs/heads/next", "")
    source = await world.reported("FetchFailed", text="no branch 'next'")
    assert source["status"]["lastAppliedRevision"] == f"next@sha1:{commit}"
    await holding(world, "settings", color="blue")


async def test_who_is_called_for_a_deleted_branch_is_told_the_same(world: SourceWorld) -> None:
    commit = world.commit(colored("blue"), branch="next")
    world.commit({"README.md": "words"})
    await world.follow(ref={"branch": "next"}, interval="1h")
    await world.ready(commit)
    world.repository.set_ref("refs/heads/next", "")
    await world.poke()
    await world.reported("FetchFailed", text="no branch 'next'", reason="RefNotFound")
    await holding(world, "settings", color="blue")


async def test_a_tag_is_followed_where_it_goes(world: SourceWorld) -> None:
    first = world.commit(colored("blue"))
    world.repository.tag("stable", first, annotated=True)
    second = world.commit(colored("green"))
    await world.follow(ref={"tag": "stable"})
    source = await world.ready(first)
    assert source["status"]["lastAppliedRevision"] == f"stable@sha1:{first}"
    world.repository.tag("stable", second)
    await world.ready(second)
    await holding(world, "settings", color="green")


async def test_the_highest_version_of_a_range_is_followed(world: SourceWorld) -> None:
    first = world.commit(colored("one"))
    world.repository.tag("v1.0.0", first)
    world.repository.tag("v2.0.0", world.commit(colored("two")))
    world.repository.tag("v1.1.0-rc.1", world.commit(colored("candidate")))
    await world.follow(ref={"semver": "1.x"})
    await world.ready(first)
    higher = world.commit(colored("higher"))
    world.repository.tag("v1.0.10", higher, annotated=True)
    source = await world.ready(higher)
    assert source["status"]["lastAppliedRevision"] == f"v1.0.10@sha1:{higher}"
    await holding(world, "settings", color="higher")
    world.repository.tag("v1.0.9", world.commit(colored("lower")))
    await polled(world)
    await world.ready(higher)
    await holding(world, "settings", color="higher")


async def test_a_pull_request_is_followed_by_its_ref(world: SourceWorld) -> None:
    world.commit(colored("blue"))
    proposed = world.commit(colored("green"), branch="proposal")
    world.repository.set_ref("refs/pull/7/head", proposed)
    world.repository.set_ref("refs/heads/proposal", "")
    await world.follow(ref={"name": "refs/pull/7/head"})
    source = await world.ready(proposed)
    assert source["status"]["lastAppliedRevision"] == f"refs/pull/7/head@sha1:{proposed}"
    await holding(world, "settings", color="green")


async def test_a_commit_of_a_branch_is_kept_to(world: SourceWorld) -> None:
    world.commit(colored("one"))
    wanted = world.commit(colored("two"))
    world.commit(colored("three"))
    await world.follow(ref={"branch": "main", "commit": wanted})
    source = await world.ready(wanted)
    assert source["status"]["lastAppliedRevision"] == f"main@sha1:{wanted}"
    await holding(world, "settings", color="two")
    elsewhere = world.commit(colored("elsewhere"), branch="elsewhere")
    await world.respec(ref={"branch": "main", "commit": elsewhere})
    source = await world.reported("FetchFailed", text=elsewhere[:12])
    assert source["status"]["lastAppliedRevision"] == f"main@sha1:{wanted}"
    await holding(world, "settings", color="two")


async def test_a_forced_branch_is_followed_and_told_of(world: SourceWorld) -> None:
    base = world.commit(colored("base"))
    world.commit({"extra.yaml": config_map("extra", a="1")})
    lost = world.commit(colored("lost"))
    await world.follow()
    await world.ready(lost)
    world.repository.force_branch("rewritten", base)
    files = {**colored("forced"), "new.yaml": config_map("new", b="2")}
    commit = world.commit(files, branch="rewritten")
    world.repository.force_branch("main", commit)
    await world.ready(commit)
    await holding(world, "settings", color="forced")
    await holding(world, "new", b="2")
    await world.gone(map_ref(world, "extra"))
    event = await event_of(world, "HistoryRewritten")
    assert event["type"] == "Warning"
    assert lost[:12] in event["note"]
    assert commit[:12] in event["note"]


async def test_a_repository_with_sha256_is_followed(world: SourceWorld) -> None:
    path = world.git.root / f"{world.token}-sha256.git"
    repository = GitRepository.create(path, hash_name="sha256")
    world.repository = repository
    first = world.commit(colored("blue"))
    assert len(first) == 64
    await world.follow(url=world.url(repository))
    source = await world.ready(first)
    assert source["status"]["lastAppliedRevision"] == f"main@sha256:{first}"
    second = world.commit(colored("green"))
    await world.ready(second)
    found = await holding(world, "settings", color="green")
    assert annotations(found)["gitops.kro.run/revision"] == second
