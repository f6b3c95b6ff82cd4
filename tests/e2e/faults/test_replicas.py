"""Two replicas and a lease: one works at a time, and the other takes over."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager
from datetime import datetime
from typing import Any

import pytest

from kro_gitops.objects.refs import KubeObject
from tests.connection import connect
from tests.e2e.faults.shops import Shops, Wish, definition
from tests.e2e.faults.stage import AS_INSTALLED
from tests.e2e.scenarios.controllers import OURS, Controller, start_controller, version_of
from tests.e2e.scenarios.parts import serve
from tests.e2e.scenarios.world import World
from tools.cluster.control_plane import ControlPlane

DURATION, RETRY = 6, 1  # seconds: of the lease, and between tries
SLACK = 5.0  # seconds: for requests, and for machines that have much to do
TERMS = {
    "leader_elect": True,
    "leader_election_namespace": "default",
    "leader_election_lease_duration": f"{DURATION}s",
    "leader_election_renew_deadline": "4s",
    "leader_election_retry_period": f"{RETRY}s",
}


class Replicas:
    """Replicas on one cluster."""

    def __init__(self, plane: ControlPlane, world: World, running: list[Controller]) -> None:
        self.world = world
        self.running = running
        self._lease = world.ref("coordination.k8s.io/v1", "Lease", "controller.kro.run", "default")
        self._plane = plane

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

    async def taken_from(self, former: str) -> float:
        """Return how long it takes until another leads."""
        began = time.monotonic()

        async def check() -> None:
            assert (await self.lease()).get("holderIdentity") not in ("", None, former)

        await self.world.until(check, within=DURATION + 2 * RETRY + 2 * SLACK, every=0.05)
        return time.monotonic() - began


@pytest.fixture
async def replicas(own_plane: ControlPlane) -> AsyncIterator[Replicas]:
    """Give two replicas."""
    async with AsyncExitStack() as stack:
        running = []
        for _ in range(2):
            flags = {**AS_INSTALLED, **TERMS}
            made = await asyncio.to_thread(start_controller, own_plane.kubeconfig, OURS, **flags)
            running.append(stack.enter_context(made))
        opened = await stack.enter_async_context(connect(own_plane.kubeconfig))
        world = World(opened.client, running[0], target=OURS, version=version_of(OURS))
        await world.open()
        yield Replicas(own_plane, world, running)


async def test_another_takes_over_when_the_leader_goes(replicas: Replicas) -> None:
    world = replicas.world
    await serve(world, definition(world))
    shops = Shops(world)
    names = [await shops.open(Wish(annex=True)) for _ in range(5)]
    await shops.as_wanted()
    first = await replicas.lease()
    leader = await replicas.leader()
    assert first["leaseTransitions"] == 0

    # As a crash: the lease must run out first, or two could be at work.
    with _timed() as dead:
        leader.kill()
    waited = await replicas.taken_from(first["holderIdentity"])
    assert waited < DURATION + 2 * RETRY + SLACK
    second = await replicas.lease()
    assert second["leaseTransitions"] == 1
    assert _time(second["acquireTime"]) - _time(first["renewTime"]) >= 0
    await shops.change(names[0], Wish(colour="blue"))
    await shops.close(names[1])
    await shops.as_wanted()
    await asyncio.to_thread(leader.start)
    del dead

    # As an upgrade: the lease is given back.
    successor = await replicas.leader()
    assert successor is not leader
    stopping = asyncio.create_task(asyncio.to_thread(successor.stop))
    waited = await replicas.taken_from(second["holderIdentity"])
    assert await stopping == 0
    assert waited < 3.0 + 2 * RETRY
    third = await replicas.lease()
    await shops.change(names[2], Wish(colour="green", goods=()))
    await shops.as_wanted()
    assert third["leaseTransitions"] == 2
    _never_two_at_once(replicas.running)
