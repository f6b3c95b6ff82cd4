"""Two replicas and a lease: one works at a time, and the other takes over."""

import asyncio
import re
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from kro_gitops.objects.refs import KubeObject
from tests.connection import connect
from tests.e2e.faults.shops import Shops, Wish, definition
from tests.e2e.faults.stage import AS_INSTALLED
from tests.e2e.scenarios.controllers import OURS, Controller, Flag, start_controller, version_of
from tests.e2e.scenarios.parts import serve
from tests.e2e.scenarios.world import World
from tools.cluster.control_plane import ControlPlane

DURATION, DEADLINE, RETRY = 6, 4, 1  # seconds: of the lease, to renew it, between tries
SLACK = 5.0  # seconds: for requests, and for machines that have much to do
GIVEN_BACK = 3.0  # seconds until a lease that was given back is taken
TERMS: dict[str, Flag] = {
    "leader_elect": True,
    "leader_election_namespace": "default",
    "leader_election_lease_duration": f"{DURATION}s",
    "leader_election_renew_deadline": f"{DEADLINE}s",
    "leader_election_retry_period": f"{RETRY}s",
}
WRITES = re.compile(r'^rest_client_requests_total\{.*method="(?:PATCH|POST|PUT|DELETE)".*\} (.+)$')


class Replicas:
    """Replicas on one cluster."""

    def __init__(self, world: World, running: list[Controller]) -> None:
        self.world = world
        self.running = running
        self._lease = world.ref("coordination.k8s.io/v1", "Lease", "controller.kro.run", "default")

    async def lease(self) -> dict[str, Any]:
        """Return what the lease says."""
        found: KubeObject = await self.world.get(self._lease)
        spec: dict[str, Any] = found["spec"]
        return spec

    async def leader(self) -> Controller:
        """Return the replica that leads."""
        holder = (await self.lease())["holderIdentity"]
        (found,) = [each for each in self.running if holder in each.log.read_text()]
        return found

    def other(self, than: Controller) -> Controller:
        """Return the replica that is not this one."""
        (found,) = [each for each in self.running if each is not than]
        return found

    async def taken_from(self, former: str) -> float:
        """Return how long it takes until another leads."""
        began = time.monotonic()

        async def check() -> None:
            assert (await self.lease()).get("holderIdentity") not in ("", None, former)

        await self.world.until(check, within=DURATION + 2 * RETRY + 2 * SLACK, every=0.05)
        return time.monotonic() - began


@pytest.fixture
async def replicas(own_plane: ControlPlane) -> AsyncIterator[Replicas]:
    """Give two replicas, of which one leads."""
    async with AsyncExitStack() as stack:
        running = []
        for _ in range(2):
            flags = {**AS_INSTALLED, **TERMS}
            made = await asyncio.to_thread(start_controller, own_plane.kubeconfig, OURS, **flags)
            running.append(stack.enter_context(made))
        opened = await stack.enter_async_context(connect(own_plane.kubeconfig))
        world = World(opened.client, running[0], target=OURS, version=version_of(OURS))
        await world.open()
        yield Replicas(world, running)


@pytest.fixture
async def shops(replicas: Replicas) -> Shops:
    """Give some shops that are as they should be."""
    await serve(replicas.world, definition(replicas.world))
    made = Shops(replicas.world)
    for _ in range(4):
        await made.open(Wish(annex=True))
    await made.as_wanted()
    return made


async def test_another_takes_over_when_the_leader_is_killed(
    replicas: Replicas, shops: Shops
) -> None:
    before, leader = await replicas.lease(), await replicas.leader()
    follower = replicas.other(leader)
    assert await _writes(follower) == 0
    leader.kill()
    await shops.change("shop-1", Wish(colour="blue"))
    await shops.close("shop-2")
    waited = await replicas.taken_from(before["holderIdentity"])
    # Not before the lease ran out, or two could be at work; not long after.
    assert DURATION - RETRY - SLACK < waited < DURATION + 2 * RETRY + SLACK
    await shops.as_wanted()
    after = await replicas.lease()
    assert after["leaseTransitions"] == before["leaseTransitions"] + 1


async def test_another_takes_over_when_the_leader_is_stopped(
    replicas: Replicas, shops: Shops
) -> None:
    before, leader = await replicas.lease(), await replicas.leader()
    stopping = asyncio.create_task(asyncio.to_thread(leader.stop))
    waited = await replicas.taken_from(before["holderIdentity"])
    assert waited < GIVEN_BACK + RETRY
    assert await stopping == 0
    await shops.change("shop-1", Wish(colour="blue"))
    await shops.close("shop-2")
    await shops.as_wanted()
    assert (await replicas.lease())["leaseTransitions"] == before["leaseTransitions"] + 1


async def test_a_leader_that_slept_does_nothing_when_it_wakes(
    replicas: Replicas, shops: Shops
) -> None:
    before, leader = await replicas.lease(), await replicas.leader()
    written = await _writes(leader)
    leader.pause()
    # It would see these first if it went on.
    await shops.change("shop-1", Wish(colour="blue"))
    await shops.close("shop-2")
    await replicas.taken_from(before["holderIdentity"])
    await shops.as_wanted()
    await shops.change("shop-3", Wish(colour="green"))
    leader.resume()

    async def has_ended() -> None:
        assert not leader.is_running

    try:
        await replicas.world.until(has_ended, within=DEADLINE + SLACK)
    except AssertionError:
        assert await _writes(leader) == written, "two were at work"
        raise
    assert "the lease is lost" in leader.tail()
    await shops.as_wanted()


async def _writes(controller: Controller) -> int:
    """Return how many requests to change something a controller has sent; its lease is apart."""

    def read() -> str:
        with urllib.request.urlopen(f"{controller.at.metrics}/metrics", timeout=5) as answer:
            page: bytes = answer.read()
        return page.decode()

    found = [WRITES.match(line) for line in (await asyncio.to_thread(read)).splitlines()]
    return sum(int(float(each[1])) for each in found if each)
