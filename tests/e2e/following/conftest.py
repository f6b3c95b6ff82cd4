"""
A controller that follows repositories, shared by a worker, and a world for each test.
"""

from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kro_gitops.kube.api import Cluster
from tests.e2e.conftest import _start
from tests.e2e.following.world import Git, SourceWorld
from tests.e2e.scenarios.controllers import Controller, start_controller
from tools.cluster.plane import Plane
from tools.cluster.targets import may_be_missing

TIMEOUT = 120.0  # seconds


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give these tests their time."""
    for item in items:
        if Path(__file__).parent in item.path.parents and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TIMEOUT))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the end of the controller's log with a failure."""
    report = yield
    world = getattr(item, "funcargs", {}).get("world")
    if report.failed and isinstance(world, SourceWorld):
        report.sections.append(("End of the controller's log", world.controller.tail(80)))
    return report


@pytest.fixture(scope="session")
def followed_plane() -> Iterator[Plane]:
    """Give the control plane that these tests share: on another's, two controllers would meet."""
    with ExitStack() as stack:
        started = _start(stack, controllers=False)
        if not isinstance(started, Plane):
            (pytest.skip if may_be_missing() else pytest.fail)(str(started))
        yield started


@pytest.fixture(scope="session")
def following(followed_plane: Plane) -> Iterator[Controller]:
    """Give the controller that these tests share: it is watched, never disturbed."""
    flags = {"sources": True, "allow_private_networks": True, "allow_plain_http": True}
    with start_controller(followed_plane.kubeconfig, "ours", **flags) as running:
        yield running


@pytest.fixture
def kubeconfig(followed_plane: Plane) -> Path:
    """Give the kubeconfig of the cluster that these tests share."""
    return followed_plane.kubeconfig


@pytest.fixture
async def world(cluster: Cluster, following: Controller, git: Git) -> AsyncIterator[SourceWorld]:
    """Give a world of the test's own."""
    made = SourceWorld(cluster, following, git)
    await made.open()
    yield made
    await made.close()
