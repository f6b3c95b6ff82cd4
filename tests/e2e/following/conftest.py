"""
A controller that follows repositories, shared by a worker, and a world for each test.
"""

from collections.abc import AsyncIterator, Callable, Generator, Iterator
from pathlib import Path

import pytest

from kro_gitops.kube.api import Cluster
from tests.e2e.following.world import Git, SourceWorld
from tests.e2e.scenarios.conftest import _kubeconfig
from tests.e2e.scenarios.controllers import Controller, start_controller
from tests.git_http_server import http_server
from tools.cluster.control_plane import ControlPlane
from tools.cluster.parts import ToolError

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
def git(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Git]:
    """Serve repositories over plain HTTP, to anybody."""
    root = tmp_path_factory.mktemp("repositories")
    with http_server(root) as server:
        yield Git(root, server)


@pytest.fixture(scope="session")
def following(_planes: Callable[[bool], ControlPlane | ToolError]) -> Iterator[Controller]:
    """Give the controller that these tests share: it is watched, never disturbed."""
    flags = {"allow_private_networks": True, "allow_plain_http": True}
    with start_controller(_kubeconfig(_planes), "ours", **flags) as running:
        yield running


@pytest.fixture
async def world(cluster: Cluster, following: Controller, git: Git) -> AsyncIterator[SourceWorld]:
    """Give a world of the test's own."""
    made = SourceWorld(cluster, following, git)
    await made.open()
    yield made
    await made.close()
