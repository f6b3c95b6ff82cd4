"""
`explain` on what a source did: an object that is not what git says is not called healthy.
"""

import asyncio

import yaml

from kube_objects.refs import ObjectRef
from tests.command import Outcome, start
from tests.e2e.following.objects import data_of
from tests.e2e.following.world import CONFIG_MAP, SourceWorld
from tests.e2e.scenarios.world import condition
from tools.cluster.plane import Plane

RGD = "rgds/shop.yaml"
FRONT = "apps/front.yaml"


async def explain(plane: Plane, world: SourceWorld, target: str) -> Outcome:
    words = ("explain", target, "-n", world.namespace, "--kubeconfig", plane.kubeconfig)
    return await asyncio.to_thread(start, *words)


async def shop_in_git(world: SourceWorld) -> str:
    """Commit a definition with an instance, and wait until both are there."""
    world.commit({RGD: world.shop(), FRONT: world.front()})
    await world.follow()
    await world.ready()
    await world.data({"color": "blue"})
    return f"shops.{ObjectRef.of(world.front()).kind.group}/front"


async def test_a_healthy_instance_that_is_what_git_says(
    world: SourceWorld, followed_plane: Plane
) -> None:
    target = await shop_in_git(world)
    done = await explain(followed_plane, world, target)
    assert (done.code, done.err) == (0, "")
    assert "There is nothing to do." in done.out
    done = await explain(followed_plane, world, "source/repo")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"GitSource {world.namespace}/repo is healthy")


async def test_an_instance_whose_version_in_git_was_rejected_is_not_healthy(
    world: SourceWorld, followed_plane: Plane
) -> None:
    target = await shop_in_git(world)
    text = yaml.safe_dump({**world.front(), "spec": {"color": [1]}}, sort_keys=False)
    world.commit({FRONT: text})
    source = await world.reported("Ready", "False", text="color")
    [failure] = source["status"]["failures"]
    place = f"{FRONT}:{failure['line']}:{failure['column']}"
    done = await explain(followed_plane, world, target)
    assert done.code == 1
    head, *lines = done.out.splitlines()
    assert head.endswith(f"its version in git was rejected by source {world.namespace}/repo")
    assert place in lines[2]
    assert f"kro-gitops validate {FRONT}" in done.out
    assert f"kro-gitops explain source/repo -n {world.namespace}" in done.out
    await data_of(
        world, ObjectRef(CONFIG_MAP, world.namespace, "front-settings"), {"color": "blue"}
    )

    done = await explain(followed_plane, world, "source/repo")
    assert done.code == 1
    assert place in done.out
    assert condition(source, "Ready")["reason"] in done.out


async def test_a_file_that_is_not_yaml_any_more_holds_back_what_is_written_in_it(
    world: SourceWorld, followed_plane: Plane
) -> None:
    target = await shop_in_git(world)
    world.commit({FRONT: "a: [\n"})
    await world.reported("Ready", "False", text=FRONT)
    done = await explain(followed_plane, world, target)
    assert done.code == 1
    assert f"{FRONT}:" in done.out
    assert "rejected" in done.out.splitlines()[0]


async def test_a_definition_whose_version_in_git_was_rejected_is_not_healthy(
    world: SourceWorld, followed_plane: Plane
) -> None:
    target = await shop_in_git(world)
    definition = world.shop()
    definition["spec"]["resources"][0]["id"] = 7
    world.commit({RGD: definition})
    await world.reported("Ready", "False", text=RGD)
    done = await explain(followed_plane, world, f"rgd/{definition['metadata']['name']}")
    assert done.code == 1
    assert f"rejected by source {world.namespace}/repo" in done.out.splitlines()[0]
    assert f"{RGD}:" in done.out
    done = await explain(followed_plane, world, target)
    assert done.code == 1
    assert "its definition" in done.out.splitlines()[0]
    assert f"{RGD}:" in done.out


async def test_an_instance_that_was_never_applied_is_found_in_the_failures(
    world: SourceWorld, followed_plane: Plane
) -> None:
    target = await shop_in_git(world)
    new = {**world.front("new"), "spec": {"color": [1]}}
    world.commit({"apps/new.yaml": new})
    await world.reported("Ready", "False", text="apps/new.yaml")
    done = await explain(followed_plane, world, target.replace("/front", "/new"))
    assert done.code == 1
    assert "is not in the cluster: its version in git was rejected" in done.out
    assert "apps/new.yaml:" in done.out


async def test_what_holds_a_source_back_holds_its_objects_back(
    world: SourceWorld, followed_plane: Plane
) -> None:
    target = await shop_in_git(world)
    source = await world.get(world.source_ref())
    commit = source["status"]["commit"]["id"]
    await world.respec(pin={"commit": commit, "reason": "checkout fails", "by": "Ann"})
    await world.reported("Pinned")
    for each in (target, "source/repo"):
        done = await explain(followed_plane, world, each)
        assert done.code == 1
        assert "pinned" in done.out.splitlines()[0]
        assert "checkout fails" in done.out
        assert f"kro-gitops rollback {world.namespace}/repo --undo" in done.out
    await world.respec(pin=None, suspend=True)
    await world.reported("Suspended")
    for each in (target, "source/repo"):
        done = await explain(followed_plane, world, each)
        assert done.code == 1
        assert "suspended" in done.out.splitlines()[0]
        assert f"kro-gitops resume {world.namespace}/repo" in done.out
    await world.respec(suspend=False, url=world.url() + "-moved")
    await world.reported("FetchFailed")
    for each in (target, "source/repo"):
        done = await explain(followed_plane, world, each)
        assert done.code == 1
        assert "git cannot be read" in done.out.splitlines()[0]
