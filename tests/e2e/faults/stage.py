"""
A cluster to be disturbed, our controller on it, and people who insist on what they want.

`KRO_GITOPS_TESTS=full` disturbs often, otherwise it is a seeded sample.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from kro_gitops.errors import KroGitopsError
from kro_gitops.kube.api import Cluster, WriteOptions
from kube_objects.refs import KubeObject
from tests.connection import connect
from tests.e2e.following.world import Git, SourceWorld
from tests.e2e.scenarios.controllers import OURS, Flag, start_controller, version_of
from tests.e2e.scenarios.world import World
from tests.git_http_server import http_server
from tools.cluster.plane import Plane

T = TypeVar("T")

FULL = bool(os.environ.get("KRO_GITOPS_TESTS"))
LIMIT = 60.0  # seconds until everything must be as wanted once nothing is disturbed
PEOPLE = WriteOptions(manager="people", force=True)

# As charts have them, so that what is waited for is waited for as long as people would.
AS_INSTALLED: dict[str, Flag] = {
    "instance_requeue_interval": None,
    "rgd_progress_requeue_delay": None,
    "allow_crd_deletion": None,
    "rgd_max_graph_revisions": None,
}


def often(in_full: int, in_ci: int) -> int:
    """Return how many times to do something."""
    return in_full if FULL else in_ci


@asynccontextmanager
async def staged(
    kubeconfig: Path, *, through: Path | None = None, named: str = OURS, **flags: Flag
) -> AsyncIterator[World]:
    """Give a world with a controller, which may reach the cluster `through` another kubeconfig."""
    settings = {**AS_INSTALLED, **flags}
    controller = await asyncio.to_thread(start_controller, through or kubeconfig, named, **settings)
    with controller:
        async with connect(kubeconfig) as opened:
            world = World(opened.client, controller, target=named, version=version_of(named))
            await world.open()
            yield world


@asynccontextmanager
async def following(
    plane: Plane, folder: Path, *, through: Path | None = None
) -> AsyncIterator[SourceWorld]:
    """Give a world whose controller keeps what it fetched when it is started again."""
    root = folder / "repositories"
    root.mkdir()
    flags = {
        **AS_INSTALLED,
        "sources": True,
        "allow_private_networks": True,
        "allow_plain_http": True,
    }
    flags["storage_path"] = str(folder / "storage")
    with http_server(root) as server:
        kubeconfig = through or plane.kubeconfig
        controller = await asyncio.to_thread(start_controller, kubeconfig, OURS, **flags)
        with controller:
            async with connect(plane.kubeconfig) as opened:
                world = SourceWorld(opened.client, controller, Git(root, server))
                await world.open()
                yield world


async def insist(action: Callable[[], Awaitable[T]], within: float = LIMIT) -> T:
    """Try until it works: the cluster may be out of reach for a while."""
    deadline = time.monotonic() + within
    while True:
        try:
            return await action()
        except (KroGitopsError, OSError):
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.2)


async def apply(cluster: Cluster, obj: KubeObject) -> KubeObject:
    """Have an object as it is written here, whatever the cluster goes through."""
    return await insist(lambda: cluster.apply(obj, PEOPLE))
