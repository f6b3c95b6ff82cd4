"""Informers against a real API server, and against its failures."""

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kro_gitops.errors import NotServed
from kro_gitops.kube.api import Cluster, MergePatch, Reader, Selection
from kro_gitops.kube.cache import Change
from kro_gitops.kube.informer import Informer
from kro_gitops.kube.ratelimit import ClientLimits
from kube_objects.refs import Kind
from tests.config_maps import CONFIG_MAP, config_map, create_many, ours, ref
from tests.connection import connect
from tools.cluster.plane import Plane

LIMIT = 30.0


@asynccontextmanager
async def informer_of(reader: Reader, selection: Selection) -> AsyncIterator[Informer]:
    informer = Informer(reader, selection)
    async with running(informer):
        assert await informer.wait_synced(LIMIT)
        yield informer


@asynccontextmanager
async def running(informer: Informer) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(informer.run())
        yield
        task.cancel()


async def until(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT):
        while not is_true():  # noqa: ASYNC110 - what is waited for is no event of ours
            await asyncio.sleep(0.01)


def names(informer: Informer) -> set[str]:
    return {obj["metadata"]["name"] for obj in informer.cache}


async def test_the_cache_follows_the_cluster(cluster: Cluster, namespace: str) -> None:
    await cluster.create(config_map(namespace, "one"))
    seen: list[tuple[bool, bool]] = []

    def note(change: Change) -> None:
        seen.append((change.before is not None, change.after is not None))

    async with informer_of(cluster, ours(namespace)) as informer:
        assert names(informer) == {"one"}
        stop = informer.listen(note)
        await cluster.create(config_map(namespace, "two"))
        await cluster.patch(ref(namespace, "one"), MergePatch({"data": {"colour": "blue"}}))
        await cluster.delete(ref(namespace, "two"))
        await until(lambda: len(seen) == 3)
        assert seen == [(False, True), (True, True), (True, False)]
        found = informer.cache.find(namespace, "one")
        assert found is not None
        assert found["data"] == {"colour": "blue"}
        assert "managedFields" not in found["metadata"]
        stop()
        await cluster.delete(ref(namespace, "one"))
        await until(lambda: not informer.cache)
        assert len(seen) == 3


async def test_an_object_that_no_longer_matches_leaves_the_cache(
    cluster: Cluster, namespace: str
) -> None:
    made = config_map(namespace, "one")
    made["metadata"]["labels"] = {"colour": "red"}
    await cluster.create(made)
    selection = Selection(CONFIG_MAP, namespace, labels="colour=red", metadata_only=True)
    async with informer_of(cluster, selection) as informer:
        assert [obj["kind"] for obj in informer.cache] == ["ConfigMap"]
        change = MergePatch({"metadata": {"labels": {"colour": "blue"}}})
        await cluster.patch(ref(namespace, "one"), change)
        await until(lambda: not informer.cache)


async def test_a_watch_that_ends_goes_on_without_a_new_list(
    cluster: Cluster, kubeconfig: Path, namespace: str
) -> None:
    async with connect(kubeconfig, ClientLimits(watch=1)) as brief:
        selection = ours(namespace)
        async with informer_of(brief.client, selection) as informer:
            for number in range(4):
                await cluster.create(config_map(namespace, f"map-{number}"))
                await asyncio.sleep(1.2)  # longer than a watch lasts
            await until(lambda: len(informer.cache) == 4)
        verbs = [sent.request.verb for sent in brief.sent]
        assert verbs.count("list") == 1
        assert verbs.count("watch") >= 3


@pytest.mark.timeout(120)
async def test_a_forgotten_version_leads_to_a_new_list_and_no_lost_change(
    own_plane: Plane,
) -> None:
    async with connect(own_plane.kubeconfig) as connection:
        cluster = connection.client
        for name in ("kept", "changed", "gone"):
            await cluster.create(config_map("default", name))
        seen: list[str] = []
        informer = Informer(cluster, ours("default"))
        async with running(informer):
            assert await informer.wait_synced(LIMIT)
        # Nobody watches now.
        informer.listen(lambda change: seen.append(change.object["metadata"]["name"]))
        await cluster.patch(ref("default", "changed"), MergePatch({"data": {"a": "b"}}))
        await cluster.delete(ref("default", "gone"))
        await cluster.create(config_map("default", "new"))
        await asyncio.to_thread(own_plane.compact)
        await asyncio.to_thread(own_plane.restart_api_server)
        connection.sent.clear()
        async with running(informer):
            await until(lambda: len(seen) == 3)
        assert sorted(seen) == ["changed", "gone", "new"]
        assert "list" in [sent.request.verb for sent in connection.sent]
        assert names(informer) == {"kept", "changed", "new"}


@pytest.mark.timeout(120)
async def test_an_informer_outlives_the_api_server(own_plane: Plane) -> None:
    async with connect(own_plane.kubeconfig) as connection:
        cluster = connection.client
        async with informer_of(cluster, ours("default")) as informer:
            own_plane.api_server.kill()
            await until(lambda: informer.problem is not None)
            own_plane.api_server.start()
            await asyncio.to_thread(own_plane.wait_until_ready)
            await cluster.create(config_map("default", "later"))
            await until(lambda: "later" in names(informer))
            assert informer.problem is None


@pytest.mark.timeout(120)
async def test_a_silent_api_server_is_noticed(own_plane: Plane) -> None:
    impatient = ClientLimits(silence=1.0, timeout=2.0)
    async with connect(own_plane.kubeconfig, impatient) as connection:
        cluster = connection.client
        async with informer_of(cluster, ours("default")) as informer:
            own_plane.api_server.pause()
            await until(lambda: informer.problem is not None)
            own_plane.api_server.resume()
            await until(lambda: informer.problem is None)
            await cluster.create(config_map("default", "later"))
            await until(lambda: "later" in names(informer))


async def test_an_informer_says_why_it_has_nothing(cluster: Cluster) -> None:
    informer = Informer(cluster, Selection(Kind("nowhere.example", "v1", "Thing")))
    async with running(informer):
        assert not await informer.wait_synced(0.5)
        assert isinstance(informer.problem, NotServed)


async def test_two_thousand_objects_take_little_memory(cluster: Cluster, namespace: str) -> None:
    await create_many(cluster, namespace, 2000, text="x" * 100)
    gc.collect()
    tracemalloc.start()
    try:
        async with informer_of(cluster, ours(namespace)) as informer:
            gc.collect()
            held, peak = tracemalloc.get_traced_memory()
            assert len(informer.cache) == 2000
    finally:
        tracemalloc.stop()
    assert held / 2000 < 3 * 1024
    assert peak < 3 * held  # pages are trimmed as they come
