"""
Tenants share a controller: whatever the remote of one does, the commits of another arrive.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from kro_gitops.kube.api import Cluster
from tests.e2e.following.watching import holding, spoil
from tests.e2e.following.world import Git, SourceWorld, config_map
from tests.e2e.scenarios.controllers import Controller
from tests.e2e.scenarios.world import condition
from tests.git_servers import HttpServer, http_server

HANGING = 20  # more than there are workers and slots for one namespace


@pytest.fixture
def server(world: SourceWorld) -> Iterator[HttpServer]:
    """Serve the repositories once more, at a server that may hang."""
    with http_server(world.git.root) as made:
        yield made
        made.resume()


@pytest.fixture
async def neighbour(
    cluster: Cluster, following: Controller, git: Git
) -> AsyncIterator[SourceWorld]:
    """Give a tenant of the same controller."""
    made = SourceWorld(cluster, following, git)
    await made.open()
    yield made
    await made.close()


async def hang(tenant: SourceWorld, server: HttpServer) -> None:
    """Have many sources of a tenant wait for a server that does not answer."""
    server.pause()
    for number in range(HANGING):
        # A URL of its own for each, or they would share one mirror.
        url = server.url(f"{number}/{tenant.repository.path.name}")
        await tenant.follow(f"hanging-{number}", url=url, timeout="100s")
    await tenant.until(lambda: _asked(server), 20.0)


async def _asked(server: HttpServer) -> None:
    await asyncio.sleep(0)
    assert len(server.requests) >= 4


async def test_hanging_remotes_of_one_tenant_do_not_delay_another(
    world: SourceWorld, neighbour: SourceWorld, server: HttpServer
) -> None:
    await neighbour.follow()
    await neighbour.ready(neighbour.commit({"a.yaml": config_map("a", color="blue")}))
    await hang(world, server)
    commit = neighbour.commit({"a.yaml": config_map("a", color="green")})
    await neighbour.ready(commit, within=15.0)
    await holding(neighbour, "a", color="green")


async def test_a_tenant_with_hanging_remotes_still_has_its_other_objects_corrected(
    world: SourceWorld, server: HttpServer
) -> None:
    await world.follow()
    await world.ready(world.commit({"a.yaml": config_map("a", color="blue")}))
    await hang(world, server)
    await spoil(world, "a", color="drifted")
    await holding(world, "a", 10.0, color="blue")


async def test_a_source_that_is_not_read_in_time_is_not_ready(
    world: SourceWorld, server: HttpServer
) -> None:
    commit = world.commit({"a.yaml": config_map("a", color="blue")})
    await world.follow(url=server.url(world.repository.path.name), interval="1s", timeout="100s")
    await world.ready(commit)
    server.pause()
    source = await world.reported("Stale", reason="FetchOverdue", text=f"main@sha1:{commit}")
    ready = condition(source, "Ready")
    assert (ready["status"], ready["reason"]) == ("Unknown", "FetchOverdue")
    assert source["status"]["lastAppliedRevision"] == f"main@sha1:{commit}"
    server.resume()
    source = await world.ready(commit)
    assert "Stale" not in {each["type"] for each in source["status"]["conditions"]}
