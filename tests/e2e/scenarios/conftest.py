"""
A controller for scenarios, and a world for each.

The controller is started once for each worker, on the control plane that tests share there. When
a scenario fails, the end of the controller's log is shown with it.
"""

import os
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from pathlib import Path

import pytest

from kro_gitops.kube.api import Cluster
from tests.e2e.scenarios import crds
from tests.e2e.scenarios.controllers import (
    Controller,
    install,
    start_controller,
    target,
    version_of,
)
from tests.e2e.scenarios.world import World
from tools.cluster.parts import ToolError
from tools.cluster.plane import Plane
from tools.cluster.targets import may_be_missing

TIMEOUT = 180.0  # seconds: scenarios wait for what others do


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give scenarios their time."""
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
    if report.failed and isinstance(world, World):
        report.sections.append(("End of the controller's log", world.controller.tail()))
    return report


@pytest.fixture(scope="session")
def controller(_planes: Callable[[bool], Plane | ToolError]) -> Iterator[Controller]:
    """Give the controller that scenarios share: it is watched, never disturbed."""
    kubeconfig = _kubeconfig(_planes)
    install(kubeconfig, crds.definitions())
    with start_controller(kubeconfig, target()) as running:
        yield running


@pytest.fixture
async def world(cluster: Cluster, controller: Controller) -> AsyncIterator[World]:
    """Give a world of the scenario's own."""
    named = target()
    made = World(cluster, controller, target=named, version=version_of(named))
    await made.open()
    yield made
    await made.close()


def _kubeconfig(planes: Callable[[bool], Plane | ToolError]) -> Path:
    """Return the kubeconfig of the cluster that tests share, or end the test."""
    named = os.environ.get("KUBECONFIG_TEST")
    if named:
        return Path(named)
    plane = planes(False)
    if isinstance(plane, Plane):
        return plane.kubeconfig
    message = f"no scenario ran on a real API server: {plane}"
    if not may_be_missing():
        pytest.fail(message)
    pytest.skip(message)
