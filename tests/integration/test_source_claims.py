"""A claim of a source that cannot take an object over does not keep the object for ever."""

import asyncio

from kro_gitops.kube.api import MergePatch
from kro_gitops.metadata import PRUNE
from kube_objects.refs import ObjectRef
from tests.integration.sources import CONFIG_MAP, NAMESPACE, SourceScene, config_map

SHARED = ObjectRef(CONFIG_MAP, NAMESPACE, "shared")


async def claimed_by_suspended(scene: SourceScene) -> tuple[ObjectRef, str]:
    """Remove an object from git that another, suspended source still has; return source, commit."""
    objects = {f"{name}/shared.yaml": config_map("shared", x="1") for name in "ab"}
    commit = scene.commit({**objects, "a/own.yaml": config_map("own")})
    owner = await scene.follow("a", paths=["a"])
    await scene.ready(owner, commit)
    other = await scene.follow("b", paths=["b"])

    async def rejected() -> None:
        found = (await scene.cluster.get(other))["status"]
        assert [each["code"] for each in found["failures"]] == ["foreign-owner"]

    await scene.cluster.eventually(rejected)
    await scene.cluster.client.patch(other, MergePatch({"spec": {"suspend": True}}))

    async def suspended() -> None:
        found = await scene.cluster.get(other)
        assert found["status"]["phase"] == "Suspended"

    await scene.cluster.eventually(suspended)
    return owner, scene.commit({"a/shared.yaml": None})


async def waits(scene: SourceScene, owner: ObjectRef) -> str:
    """Return the message of a source once it waits for a source that is suspended."""

    async def check() -> str:
        found = await scene.cluster.get(owner)
        conditions = {each["type"]: each for each in found["status"]["conditions"]}
        message: str = conditions["Ready"]["message"]
        assert "source town/b to take over" in message, message
        return message

    return await scene.cluster.eventually(check, 20.0)


async def test_a_source_names_the_suspended_one_that_keeps_it_from_pruning(
    sources: SourceScene,
) -> None:
    owner, _ = await claimed_by_suspended(sources)
    message = await waits(sources, owner)
    assert "it is suspended" in message
    assert "is deleted at 20" in message
    assert await sources.cluster.client.find(SHARED) is not None


async def test_the_claim_of_a_suspended_source_ends(sources: SourceScene) -> None:
    await sources.kill()
    await sources.start(claim_timeout=3.0)
    owner, commit = await claimed_by_suspended(sources)
    await waits(sources, owner)
    await sources.cluster.gone(SHARED, within=20.0)
    await sources.ready(owner, commit)


async def test_an_annotation_overrules_the_claim_of_a_suspended_source(
    sources: SourceScene,
) -> None:
    owner, commit = await claimed_by_suspended(sources)
    await waits(sources, owner)
    overruled = {"metadata": {"annotations": {PRUNE: "enabled"}}}
    await sources.cluster.client.patch(SHARED, MergePatch(overruled))
    await sources.cluster.gone(SHARED, within=20.0)
    await sources.ready(owner, commit)


async def test_a_source_that_is_resumed_in_time_takes_the_object_over(
    sources: SourceScene,
) -> None:
    owner, commit = await claimed_by_suspended(sources)
    await waits(sources, owner)
    uid = (await sources.cluster.get(SHARED))["metadata"]["uid"]
    other = ObjectRef(owner.kind, NAMESPACE, "b")
    await sources.cluster.client.patch(other, MergePatch({"spec": {"suspend": False}}))
    await sources.ready(other, commit)
    await sources.ready(owner, commit)
    await asyncio.sleep(0.5)
    assert (await sources.cluster.get(SHARED))["metadata"]["uid"] == uid
