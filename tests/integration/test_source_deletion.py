"""Sources that are deleted while they are reconciled for the first time leave nothing behind."""

import asyncio

import pytest

from kro_gitops.kube.requests import Request
from kro_gitops.source.kinds import GIT_SOURCE_KIND
from kube_objects.refs import ObjectRef
from tests.integration.sources import NAMESPACE, SourceScene, config_map

REF = ObjectRef(GIT_SOURCE_KIND, NAMESPACE, "repo")
QUIET = 1.5  # seconds in which a source would have been polled and applied


def adds_finalizer(request: Request) -> bool:
    return (
        request.method == "PATCH"
        and request.path.endswith("/gitsources/repo")
        and "finalizers" in str(request.body)
    )


async def nothing_is_left(scene: SourceScene) -> None:
    async def check() -> None:
        assert await scene.config_maps() == {}
        assert await scene.cluster.client.find(REF) is None
        assert "town/repo" not in scene.store

    await scene.cluster.eventually(check, 10.0)
    await asyncio.sleep(QUIET)
    await check()


async def test_a_source_that_is_gone_before_it_has_its_finalizer_applies_nothing(
    sources: SourceScene,
) -> None:
    async def lost(request: Request) -> None:
        if adds_finalizer(request):
            sources.transport.fault = nothing
            sources.cluster.lose(REF)

    sources.commit({"a.yaml": config_map("a", x="1")})
    sources.transport.fault = lost
    await sources.follow()
    await nothing_is_left(sources)
    assert not [each for each in sources.transport.writes if "configmaps" in each.path]


async def test_a_source_that_goes_though_it_has_its_finalizer_applies_nothing(
    sources: SourceScene,
) -> None:
    """The API server accepts the finalizer, and removes the source all the same."""
    is_patched = False

    async def lost(request: Request) -> None:
        nonlocal is_patched
        if adds_finalizer(request):
            is_patched = True
        elif is_patched:
            sources.transport.fault = nothing
            sources.cluster.lose(REF)

    sources.commit({"a.yaml": config_map("a", x="1")})
    sources.transport.fault = lost
    await sources.follow()
    await nothing_is_left(sources)
    assert not [each for each in sources.transport.writes if "configmaps" in each.path]


@pytest.mark.parametrize("policy", ["MirrorPrune", "Delete", "Orphan"])
async def test_what_a_lost_source_applied_is_deleted_by_its_policy(
    sources: SourceScene, policy: str
) -> None:
    commit = sources.commit({"a.yaml": config_map("a", x="1"), "b.yaml": config_map("b")})
    await sources.follow(deletionPolicy=policy)
    await sources.ready(REF, commit)
    sources.cluster.lose(REF)
    if policy != "Orphan":
        await nothing_is_left(sources)
    else:
        await asyncio.sleep(QUIET)
        assert (await sources.config_maps()).keys() == {"a", "b"}


async def test_a_new_source_of_that_name_takes_the_objects_of_a_lost_one_over(
    sources: SourceScene,
) -> None:
    commit = sources.commit({"a.yaml": config_map("a", x="1")})
    await sources.follow()
    await sources.ready(REF, commit)
    sources.cluster.lose(REF)
    await sources.follow()
    await sources.ready(REF, commit)
    await asyncio.sleep(QUIET)
    assert (await sources.config_maps()).keys() == {"a"}


async def nothing(_request: Request) -> None:
    """Let every request through."""
