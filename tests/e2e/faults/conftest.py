"""Time for tests that break things and wait, and a look into the logs when one fails."""

from collections.abc import AsyncIterator, Generator
from pathlib import Path

import pytest

from tests.e2e.faults.audit import Audit
from tests.e2e.faults.shops import Shops, definition
from tests.e2e.faults.stage import FULL, staged
from tests.e2e.scenarios.parts import serve
from tests.e2e.scenarios.world import World
from tools.cluster.plane import Plane

TIMEOUT = 1800.0 if FULL else 300.0  # seconds


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests their time."""
    for item in items:
        if Path(__file__).parent in item.path.parents and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TIMEOUT))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the end of the controller's log with a failure, and what was written of whom."""
    report = yield
    given = getattr(item, "funcargs", {})
    world, shops, audit = given.get("world"), given.get("shops"), given.get("audit")
    if report.failed and isinstance(world, World):
        report.sections.append(("End of the controller's log", world.controller.tail(200)))
        if isinstance(shops, Shops) and isinstance(audit, Audit) and shops.suspects:
            written = audit.about(shops.suspects, world.controller.log)
            report.sections.append((f"Writes of {', '.join(sorted(shops.suspects))}", written))
    return report


@pytest.fixture
def audit(tmp_path: Path) -> Audit:
    """Give the account of an API server."""
    return Audit(tmp_path / "audit.log")


@pytest.fixture
def audit_log(audit: Audit) -> Path:
    """Have it kept."""
    return audit.log


@pytest.fixture
async def world(own_plane: Plane) -> AsyncIterator[World]:
    """Give a world on a cluster of its own, to be disturbed."""
    async with staged(own_plane.kubeconfig) as made:
        yield made


@pytest.fixture
async def shops(world: World) -> Shops:
    """Give shops, of which there are none yet."""
    await serve(world, definition(world))
    return Shops(world)
