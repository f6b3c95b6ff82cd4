"""
Tests of controllers in process: a cluster and an engine in one event loop with a virtual clock.

A test is a coroutine function that takes a `Scene`; it runs in a loop of its own.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests import virtual_time
from tests.integration.cluster import Controllers, InProcessCluster
from tests.integration.sources import SourceScene

Scene = Callable[[InProcessCluster, Controllers], Awaitable[None]]


@pytest.fixture(scope="session")
def key_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder for keys, which are made once."""
    return tmp_path_factory.mktemp("keys")


@pytest.fixture
def play(key_folder: Path) -> Callable[[Scene], None]:
    """Give a function that plays a scene in virtual time."""

    async def played(scene: Scene) -> None:
        cluster = InProcessCluster(key_folder)
        controllers = Controllers(cluster)
        try:
            await cluster.install()
            await controllers.start()
            await asyncio.wait_for(scene(cluster, controllers), timeout=86_400)
        finally:
            await controllers.kill()
            await cluster.close()

    return lambda scene: virtual_time.run(played(scene))


@pytest.fixture
async def sources(tmp_path: Path, key_folder: Path) -> AsyncIterator[SourceScene]:
    """Give a source controller at work, in real time."""
    scene = await SourceScene.open(tmp_path, key_folder)
    yield scene
    await scene.close()
