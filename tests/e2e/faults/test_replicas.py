"""Two replicas and a lease: one works at a time, and the other takes over."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any

import pytest

from kube_objects.refs import KubeObject
from tests.connection import connect
from tests.e2e.faults.accounts import Account, rule
from tests.e2e.faults.shops import Shops, Wish, definition
from tests.e2e.faults.stage import AS_INSTALLED
from tests.e2e.scenarios.controllers import OURS, Controller, Flag, start_controller, version_of
from tests.e2e.scenarios.parts import serve
from tests.e2e.scenarios.world import World
from tools.cluster.parts import ToolError
from tools.cluster.plane import Plane
from tools.cluster.targets import may_be_missing, started_plane

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
EVERYTHING = [rule("*", "*"), {"nonResourceURLs": ["*"], "verbs": ["*"]}]
WRITES = {"create", "patch", "update", "delete", "deletecollection"}
UNCOUNTED = ("coordination.k8s.io", "events.k8s.io")  # groups: leases and events


class Replicas:
    """Replicas on one cluster."""

    def __init__(self, world: World, running: dict[str, Controller], audit: Path) -> None:
        self.world = world
        self.running = list(running.values())
        self._names = {id(each): name for name, each in running.items()}
        self._audit = audit
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

    def written_by(self, replica: Controller) -> list[str]:
        """Return what a replica asked the API server to change, its lease and events apart."""
        name = self._names[id(replica)]
        found = [json.loads(line) for line in self._audit.read_text().splitlines()]
        return [
            f"{each['verb']} {each['requestURI']}"
            for each in found
            if each["user"]["username"].endswith(f":{name}") and counts(each)
        ]

    async def taken_from(self, former: str) -> float:
        """Return how long it takes until another leads."""
        began = time.monotonic()

        async def check() -> None:
            assert (await self.lease()).get("holderIdentity") not in ("", None, former)

        await self.world.until(check, within=DURATION + 2 * RETRY + 2 * SLACK, every=0.05)
        return time.monotonic() - began


def counts(noted: KubeObject) -> bool:
    """Say whether a request counts: one that changes something, but for leases and events."""
    ref = noted.get("objectRef", {})
    is_ours = ref.get("apiGroup", "") not in UNCOUNTED and ref.get("resource") != "events"
    return is_ours and noted["verb"] in WRITES


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    """Give the place where an API server writes down who changed what."""
    return tmp_path / "audit.log"


@pytest.fixture
def plane(audit: Path) -> Iterator[Plane]:
    """Give a cluster whose API server writes that down."""
    with ExitStack() as stack:
        try:
            started = stack.enter_context(started_plane(audit=audit))
        except ToolError as error:
            message = f"nothing was tested on a real API server: {error}"
            if not may_be_missing():
                pytest.fail(message)
            pytest.skip(message)
        yield started


@pytest.fixture
async def replicas(plane: Plane, audit: Path) -> AsyncIterator[Replicas]:
    """Give two replicas, of which one leads; each has an account of its own."""
    async with AsyncExitStack() as stack:
        running = {}
        for name in ("replica-a", "replica-b"):
            account = Account(plane, name)
            await asyncio.to_thread(account.may, EVERYTHING)
            kubeconfig = await asyncio.to_thread(account.kubeconfig, audit.parent)
            flags = {**AS_INSTALLED, **TERMS}
            made = await asyncio.to_thread(start_controller, kubeconfig, OURS, **flags)
            running[name] = stack.enter_context(made)
        opened = await stack.enter_async_context(connect(plane.kubeconfig))
        first = running["replica-a"]
        world = World(opened.client, first, target=OURS, version=version_of(OURS))
        await world.open()
        yield Replicas(world, running, audit)


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
    assert replicas.written_by(leader)
    assert not replicas.written_by(follower)
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
    leader.pause()
    # It sees these first when it goes on.
    await shops.change("shop-1", Wish(colour="blue"))
    await shops.close("shop-2")
    await replicas.taken_from(before["holderIdentity"])
    await shops.as_wanted()
    written = replicas.written_by(leader)
    await shops.change("shop-3", Wish(colour="green"))
    leader.resume()

    async def has_ended() -> None:
        assert not leader.is_running

    await replicas.world.until(has_ended, within=DEADLINE + SLACK)
    assert "the lease is lost" in leader.tail()
    await shops.as_wanted()
    assert replicas.written_by(leader) == written, "two were at work"
