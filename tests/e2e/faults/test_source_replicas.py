"""
Two replicas follow a repository: one works, both hear forges, and the other takes over.
"""

import asyncio
import json
import random
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from kube_objects.refs import Kind, ObjectRef
from tests.connection import connect
from tests.e2e.faults.accounts import Account
from tests.e2e.faults.growing import Growing, SourceBystanders
from tests.e2e.faults.stage import AS_INSTALLED, often
from tests.e2e.faults.test_replicas import EVERYTHING, TERMS, audit, counts, plane
from tests.e2e.following.world import Git, SourceWorld, config_map
from tests.e2e.scenarios.controllers import OURS, Controller, Flag, start_controller
from tests.git_http_server import http_server
from tools.cluster.control_plane import free_ports
from tools.cluster.plane import Plane

__all__ = ["audit", "plane"]  # fixtures of another file

HEARD_WITHIN = 3.0  # seconds from a call to the cluster
TOKEN = "a token that forges know"
LEASE = ObjectRef(Kind.of("coordination.k8s.io/v1", "Lease"), "default", "controller.kro.run")


@dataclass(frozen=True, slots=True)
class Replica:
    """A process, as whom it acts, and where forges call it."""

    name: str
    controller: Controller
    webhooks: str


class Pair:
    """Two replicas that follow what a world has."""

    def __init__(self, world: SourceWorld, replicas: list[Replica], audit: Path) -> None:
        self.world = world
        self.replicas = replicas
        self._audit = audit

    async def leader(self) -> Replica:
        """Return the replica that leads."""
        holder = (await self.world.get(LEASE))["spec"]["holderIdentity"]
        (found,) = [each for each in self.replicas if holder in each.controller.log.read_text()]
        return found

    async def standby(self) -> Replica:
        """Return the other one."""
        leader = await self.leader()
        (found,) = [each for each in self.replicas if each is not leader]
        return found

    def written(self, replica: Replica) -> list[tuple[str, str, str]]:
        """Return what a replica asked the API server to change: when, how, and what."""
        found = map(json.loads, self._audit.read_text().splitlines())
        return [
            (each["requestReceivedTimestamp"], each["verb"], each["requestURI"])
            for each in found
            if each["user"]["username"].endswith(f":{replica.name}") and counts(each)
        ]


@pytest.fixture
async def pair(plane: Plane, audit: Path, tmp_path: Path) -> AsyncIterator[Pair]:
    """Give two replicas, each with an account and a storage of its own."""
    async with AsyncExitStack() as stack:
        root = tmp_path / "repositories"
        root.mkdir()
        server = stack.enter_context(http_server(root))
        replicas = []
        for name in ("replica-a", "replica-b"):
            account = Account(plane, name)
            await asyncio.to_thread(account.may, EVERYTHING)
            kubeconfig = await asyncio.to_thread(account.kubeconfig, tmp_path)
            webhooks = f"127.0.0.1:{free_ports(1)[0]}"
            flags: dict[str, Flag] = {
                **AS_INSTALLED,
                **TERMS,
                "sources": True,
                "allow_private_networks": True,
                "allow_plain_http": True,
                "storage_path": str(tmp_path / name),
                "webhook_bind_address": webhooks,
            }
            made = await asyncio.to_thread(start_controller, kubeconfig, OURS, **flags)
            replicas.append(Replica(name, stack.enter_context(made), f"http://{webhooks}"))
        opened = await stack.enter_async_context(connect(plane.kubeconfig))
        world = SourceWorld(opened.client, replicas[0].controller, Git(root, server))
        await world.open()
        yield Pair(world, replicas, audit)


async def test_a_call_to_either_replica_makes_the_leader_look(pair: Pair) -> None:
    world = pair.world
    world.commit({"a.yaml": config_map("a", n0="0")})
    await world.secret("hook", token=TOKEN)
    # Nobody polls while this runs: what is heard is heard from the forge.
    await world.follow(interval="1h", webhook={"secretRef": {"name": "hook"}})
    path = (await world.ready())["status"]["webhookPath"]
    standby, leader = await pair.standby(), await pair.leader()
    for number, replica in enumerate((standby, leader, standby), 1):
        await _answers(world, replica, path)
        commit = world.commit({"a.yaml": config_map("a", n0=str(number))})
        began = time.monotonic()
        url = replica.webhooks + path
        assert await asyncio.to_thread(_call, url, world.url(), str(number)) == 202
        await world.ready(commit)
        took = time.monotonic() - began
        assert took < HEARD_WITHIN, f"{replica.name} was called, and it took {took:.1f} s"
        # Calls in quick succession are one look: the next must not be held back.
        await asyncio.sleep(5.0)
    wishes = pair.written(standby)
    assert wishes, "the standby passed nothing on"
    own = f"/namespaces/{world.namespace}/gitsources/repo"
    assert {uri.partition("?")[0].partition("/v1alpha1")[2] for _, _, uri in wishes} == {own}


async def test_a_token_that_changes_is_known_to_both(pair: Pair) -> None:
    world = pair.world
    world.commit({"a.yaml": config_map("a", b="c")})
    await world.secret("hook", token=TOKEN)
    await world.follow(webhook={"secretRef": {"name": "hook"}})
    former = (await world.ready())["status"]["webhookPath"]
    secret = world.ref("v1", "Secret", "hook")
    await world.merge(secret, {"stringData": {"token": "another token"}})

    async def changed() -> str:
        path: str = (await world.get(world.source_ref()))["status"]["webhookPath"]
        assert path != former
        return path

    path = await world.until(changed)
    for replica in pair.replicas:
        await _answers(world, replica, path)
        assert await asyncio.to_thread(_knock, replica.webhooks + former) == 404
    await world.respec(webhook=None)
    for replica in pair.replicas:
        await _answers(world, replica, path, 404)


@pytest.mark.parametrize("seed", range(often(5, 1)))
async def test_another_goes_on_with_a_sync_when_the_leader_is_killed(pair: Pair, seed: int) -> None:
    world = pair.world
    growing, bystanders = Growing(world, random.Random(seed)), SourceBystanders(world)
    await bystanders.settle()
    growing.begin()
    await world.follow(maxPrune={"percent": 100, "count": 100})
    await growing.as_wanted()
    leader, standby = await pair.leader(), await pair.standby()
    before = pair.written(standby)
    growing.change(most=8)
    await world.poke()
    await asyncio.sleep(growing.chance.uniform(0.1, 0.6))
    leader.controller.kill()
    growing.change()
    await growing.as_wanted()
    await bystanders.are_untouched()
    assert not before, "a standby wrote something"
    _wrote_one_after_the_other(pair, leader, standby)


def _wrote_one_after_the_other(pair: Pair, first: Replica, second: Replica) -> None:
    ours = [when for when, _, _ in pair.written(first)]
    theirs = [when for when, _, _ in pair.written(second)]
    assert ours, "the first did nothing"
    assert theirs, "the second did nothing"
    assert max(ours) < min(theirs), "two were at work"


async def _answers(world: SourceWorld, replica: Replica, path: str, code: int = 401) -> None:
    """Return when a replica knows a path; without a token it refuses who calls there."""

    async def check() -> None:
        assert await asyncio.to_thread(_knock, replica.webhooks + path) == code

    await world.until(check, 10.0)


def _knock(url: str) -> int:
    return _send(urllib.request.Request(url, b"{}", {"X-Gitlab-Token": "wrong"}))


def _call(url: str, repository: str, delivery: str) -> int:
    headers = {
        "Content-Type": "application/json",
        "X-Gitlab-Event": "Push Hook",
        "X-Gitlab-Event-UUID": delivery,
        "X-Gitlab-Token": TOKEN,
    }
    said = {"project": {"git_http_url": repository}, "ref": "refs/heads/main"}
    body = json.dumps(said).encode()
    return _send(urllib.request.Request(url, body, headers))


def _send(request: urllib.request.Request) -> int:
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
