"""The embedded API server is killed in the middle of writes: nothing it acknowledged is lost."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from kro_gitops.errors import KroGitopsError
from kro_gitops.kube.api import Cluster, Selection, WriteOptions
from kro_gitops.kube.informer import Informer
from kro_gitops.kube.ratelimit import ClientLimits
from kro_gitops.kube.responses import Invalid
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.connection import connect
from tests.e2e.embedded_server.promises import CONFIG_MAP, CRD, SHOP, Promises, Witness
from tests.e2e.faults.stage import often
from tools.cluster.embedded import EmbeddedPlane, embedded_plane

WRITES = 1000
WRITERS = 16
NAMESPACE = "kills"
SEED = 17
LIMIT = 20.0


@pytest.fixture
def server() -> Iterator[EmbeddedPlane]:
    """Give a server of the test's own, to be killed."""
    with embedded_plane() as plane:
        yield plane


@pytest.mark.timeout(600)
async def test_nothing_acknowledged_is_lost(server: EmbeddedPlane) -> None:
    chance = random.Random(SEED)
    async with (
        connect(server.kubeconfig) as connection,
        connect(server.kubeconfig, ClientLimits(attempts=1)) as impatient,
    ):
        cluster = connection.client
        await _prepare(cluster)
        addresses = await _addresses(cluster)
        promises = Promises(cluster, impatient.client, NAMESPACE, chance)
        async with _witness(cluster, CONFIG_MAP) as maps, _witness(cluster, SHOP) as shops:
            for _ in range(often(20, 3)):
                await _killed_in_the_middle(server, promises, chance)
                await _serves(cluster)
                for ref, promise in promises.known.items():
                    assert promise.kept(await cluster.find(ref)), f"{ref} is not as acknowledged"
                # Each time: who watches a server that dies too often pauses for longer and longer.
                await _has_seen_everything(maps, promises, CONFIG_MAP)
                await _has_seen_everything(shops, promises, SHOP)
        assert await _addresses(cluster) == addresses
        await cluster.create(_service("another"))
        (another,) = set(await _addresses(cluster)) - set(addresses)
        assert another == "another"
        assert len(set((await _addresses(cluster)).values())) == len(addresses) + 1
        with pytest.raises(Invalid, match="may not be more than 9 bytes"):
            await cluster.apply(_wrong_shop(), WriteOptions(manager="tests"))


async def _killed_in_the_middle(
    server: EmbeddedPlane, promises: Promises, chance: random.Random
) -> None:
    """Write a thousand times, and kill the server somewhere on the way."""
    left = iter(range(WRITES))
    done = 0
    fatal = chance.randrange(WRITES // 10, WRITES * 9 // 10)
    killed = asyncio.Event()

    async def work(number: int) -> None:
        nonlocal done
        # Each writer has objects of its own, so that it knows what they should be.
        own = [ref for i, ref in enumerate(promises.known) if i % WRITERS == number]
        for _ in left:
            is_done = await promises.write(own)
            done += is_done
            if done >= fatal:
                killed.set()
            if not is_done:
                await asyncio.sleep(0.05)

    async with asyncio.TaskGroup() as group:
        for number in range(WRITERS):
            group.create_task(work(number))
        await killed.wait()
        await asyncio.sleep(chance.uniform(0, 0.02))
        # In a thread, or the writers would stand still meanwhile.
        await asyncio.to_thread(server.api_server.kill)
        await asyncio.to_thread(server.api_server.start)
        await asyncio.to_thread(server.wait_until_ready)


async def _has_seen_everything(witness: Witness, promises: Promises, kind: Kind) -> None:
    acknowledged = {
        version
        for ref, promise in promises.known.items()
        if ref.kind == kind
        for version in promise.versions
    }
    deadline = time.monotonic() + LIMIT
    while acknowledged - set(witness.versions) and time.monotonic() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    missing = acknowledged - set(witness.versions)
    assert not missing, sorted(missing)
    # In order, and nothing twice, however often the watch had to be resumed.
    assert witness.versions == sorted(set(witness.versions))


async def _serves(cluster: Cluster) -> None:
    """Wait until the client, too, has found the server again."""
    deadline = time.monotonic() + LIMIT
    while True:
        try:
            await cluster.get(ObjectRef.of(CRD))
        except KroGitopsError:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)
        else:
            return


async def _prepare(cluster: Cluster) -> None:
    await cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    await cluster.create(CRD)
    for number in range(5):
        await cluster.create(_service(f"service-{number}"))
    deadline = time.monotonic() + LIMIT
    while True:
        found = await cluster.get(ObjectRef.of(CRD))
        conditions = found.get("status", {}).get("conditions") or ()
        if any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
            return
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


def _service(name: str) -> KubeObject:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"ports": [{"port": 80}]},
    }


async def _addresses(cluster: Cluster) -> dict[str, str]:
    listing = await cluster.list(Selection(Kind("", "v1", "Service"), NAMESPACE))
    return {obj["metadata"]["name"]: obj["spec"]["clusterIP"] for obj in listing.items}


def _wrong_shop() -> KubeObject:
    return {
        "apiVersion": SHOP.api_version,
        "kind": SHOP.kind,
        "metadata": {"name": "wrong", "namespace": NAMESPACE},
        "data": {"count": "1234567890"},
    }


@asynccontextmanager
async def _witness(cluster: Cluster, kind: Kind) -> AsyncIterator[Witness]:
    informer, witness = Informer(cluster, Selection(kind, NAMESPACE)), Witness()
    informer.listen(witness.hear)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(informer.run())
        assert await informer.wait_synced(LIMIT)
        yield witness
        task.cancel()
