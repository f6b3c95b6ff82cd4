"""Two clusters side by side: a real one, and ours; one of each a run."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.kubectl.twins import Kubectl, Twins
from tools.cluster.embedded import EmbeddedPlane, embedded_plane
from tools.cluster.plane import Plane
from tools.cluster.targets import REAL, chosen


@pytest.fixture(scope="session")
def embedded() -> Iterator[EmbeddedPlane]:
    """Give a cluster of ours, where nothing happens that nobody asked for."""
    with embedded_plane() as plane:
        yield plane


@pytest.fixture(scope="session")
def embedded_at_work() -> Iterator[EmbeddedPlane]:
    """Give a cluster of ours with controllers, and workloads that run."""
    with embedded_plane(controllers=True) as plane:
        yield plane


@pytest.fixture
def real_kubeconfig(request: pytest.FixtureRequest) -> Path:
    """Give the kubeconfig of a real cluster without controllers."""
    return _real(request, "plane", "KUBECONFIG_REAL")


@pytest.fixture
def real_kubeconfig_at_work(request: pytest.FixtureRequest) -> Path:
    """Give the kubeconfig of a real cluster with controllers."""
    return _real(request, "plane_with_controllers", "KUBECONFIG_REAL_AT_WORK")


def _real(request: pytest.FixtureRequest, fixture: str, variable: str) -> Path:
    if named := os.environ.get(variable):
        return Path(named)
    if chosen() != REAL:
        pytest.skip("there is no real cluster to compare with")
    plane: Plane = request.getfixturevalue(fixture)
    return plane.kubeconfig


@pytest.fixture
def twins(real_kubeconfig: Path, embedded: EmbeddedPlane, tmp_path: Path) -> Iterator[Twins]:
    """Give kubectl on both clusters, in a namespace of the same name; nothing moves by itself."""
    with _twins(real_kubeconfig, embedded.kubeconfig, tmp_path) as found:
        yield found


@pytest.fixture
def twins_at_work(
    real_kubeconfig_at_work: Path, embedded_at_work: EmbeddedPlane, tmp_path: Path
) -> Iterator[Twins]:
    """Give kubectl on two clusters where controllers are at work."""
    with _twins(real_kubeconfig_at_work, embedded_at_work.kubeconfig, tmp_path) as found:
        yield found


@contextmanager
def _twins(real: Path, ours: Path, home: Path) -> Iterator[Twins]:
    name = f"t-{secrets.token_hex(4)}"
    found = Twins(
        Kubectl(real, home / "cache-real", name), Kubectl(ours, home / "cache-ours", name)
    )
    found("create", "namespace", name)
    yield found
    found.apart("delete", "namespace", name, "--wait=false")


@pytest.fixture
def ours(embedded_at_work: EmbeddedPlane, tmp_path: Path) -> Iterator[Kubectl]:
    """Give kubectl on our cluster, for what a cluster without nodes never does."""
    found = Kubectl(embedded_at_work.kubeconfig, tmp_path / "cache", f"t-{secrets.token_hex(4)}")
    found.run("create", "namespace", found.namespace)
    yield found
    found.run("delete", "namespace", found.namespace, "--wait=false")
