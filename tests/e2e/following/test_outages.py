"""
Git servers that are away, broken or slow: the last revision stays at work, and drift is undone.
"""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from kube_objects.refs import KubeObject
from tests.e2e.following.watching import holding, map_ref, spoil, witnessed
from tests.e2e.following.world import SourceWorld, config_map
from tests.e2e.scenarios.world import condition
from tests.git_servers import HttpServer, http_server

FILES: dict[str, object] = {
    "settings.yaml": config_map("settings", color="blue"),
    "extra.yaml": config_map("extra", a="1"),
}


@pytest.fixture
def server(world: SourceWorld) -> Iterator[HttpServer]:
    """Serve the world's repositories once more, at a server that may be disturbed."""
    with http_server(world.git.root) as made:
        yield made


async def start(world: SourceWorld, server: HttpServer, **spec: Any) -> str:
    """Follow a repository at a server until it is ready; return the revision."""
    commit = world.commit(FILES)
    await world.follow(url=server.url(world.repository.path.name), **spec)
    await world.ready(commit)
    return f"main@sha1:{commit}"


async def at_work(world: SourceWorld, revision: str) -> KubeObject:
    """See that a revision is applied, kept to, and that nothing of it went."""
    source = await world.get(world.source_ref())
    assert source["status"]["lastAppliedRevision"] == revision
    assert condition(source, "Applied")["status"] == "True"
    await spoil(world, "settings", color="drifted")
    await holding(world, "settings", 8.0, color="blue")
    assert await world.find(map_ref(world, "extra")) is not None
    return source


async def recovers(world: SourceWorld, commit: str) -> None:
    """See that a source is at a commit, and that no trouble is told any more."""
    source = await world.ready(commit)
    assert {each["type"] for each in source["status"]["conditions"]} == {
        "Ready",
        "Applied",
        "Healthy",
    }


async def test_a_server_that_is_down_and_comes_back(world: SourceWorld, server: HttpServer) -> None:
    revision = await start(world, server)
    server.go_away()
    commit = world.commit({"new.yaml": config_map("new", b="2")})
    await world.reported("FetchFailed", reason="GitConnectionFailed", text="cannot be reached")
    source = await at_work(world, revision)
    assert condition(source, "Ready")["status"] == "False"
    server.come_back()
    await recovers(world, commit)
    await holding(world, "new", b="2")


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (500, "Internal Server Error", "GitServerFailed"),
        (503, "<html>maintenance</html>", "GitServerFailed"),
        (429, "slow down", "GitRateLimited"),
        (404, "not found", "GitRepositoryNotFound"),
        (200, "<html>\nPlease log in\n</html>\n", "GitRepositoryNotFound"),
    ],
)
async def test_a_server_that_answers_nonsense(
    world: SourceWorld, server: HttpServer, status: int, body: str, reason: str
) -> None:
    revision = await start(world, server)
    server.fail(status, body)
    commit = world.commit({"extra.yaml": None})
    await world.reported("FetchFailed", reason=reason)
    await at_work(world, revision)
    server.fail(0)
    await recovers(world, commit)
    await world.gone(map_ref(world, "extra"))


async def test_a_server_that_never_answers(world: SourceWorld, server: HttpServer) -> None:
    revision = await start(world, server, timeout="2s")
    server.pause()
    await world.reported("FetchFailed", reason="GitTimeout")
    await at_work(world, revision)
    server.resume()
    await recovers(world, world.commit({"extra.yaml": None}))


async def test_drift_is_undone_though_the_server_hangs(
    world: SourceWorld, server: HttpServer
) -> None:
    await start(world, server, timeout="20s")
    polled = len(server.requests)
    server.pause()
    try:
        await world.until(_more_than(server, polled), 10.0)  # a poll is under way, and hangs
        began = time.monotonic()
        await spoil(world, "settings", color="drifted")
        await holding(world, "settings", 15.0, color="blue")
        assert time.monotonic() - began < 5.0
    finally:
        server.resume()


async def test_a_repository_that_vanishes_takes_nothing_along(world: SourceWorld) -> None:
    commit = world.commit(FILES)
    await world.follow()
    await world.ready(commit)
    away = world.repository.path.with_suffix(".away")
    world.repository.path.rename(away)
    await world.reported("FetchFailed", reason="GitRepositoryNotFound")
    await at_work(world, f"main@sha1:{commit}")
    away.rename(world.repository.path)
    await recovers(world, commit)


async def test_a_failing_server_writes_nothing_again_and_again(
    world: SourceWorld, server: HttpServer
) -> None:
    await start(world, server)
    server.fail(500)
    await world.reported("FetchFailed", reason="GitServerFailed")
    asked = server.count("info/refs")
    async with witnessed(world, world.source_ref()) as witness:
        await world.until(_more_than(server, asked + 3), 20.0)
    assert not witness.seen, "the same trouble needs to be told only once"


def _more_than(server: HttpServer, count: int) -> Any:
    async def check() -> None:
        assert len(server.requests) > count

    return check
