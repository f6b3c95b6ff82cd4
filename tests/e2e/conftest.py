"""
A cluster for tests, one for the whole run: a real control plane, or our own API server.

`KRO_GITOPS_CLUSTER` says which (`tools/cluster/targets.py`). A test that only a real one can pass
is marked `real_only("why")`; it is skipped on the other, and the end of the run says so.

`KUBE_BIN` names a folder of ready binaries, `KUBECONFIG_TEST` a cluster to use instead of one of
our own. Without binaries, tests that need a cluster are skipped and the end of the run says so;
where `CI=true`, they fail.
"""

import gc
import os
import secrets
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from kro_gitops.kube.api import Cluster
from kube_objects.refs import KubeObject, ObjectRef
from tests.connection import Connection, connect
from tests.e2e.following.world import Git
from tests.git_http_server import http_server
from tools.cluster.parts import ToolError
from tools.cluster.plane import Plane
from tools.cluster.targets import REAL, chosen, may_be_missing, started_plane

Record = Callable[[str, object], None]


def pytest_configure(config: pytest.Config) -> None:
    """Make our marker known."""
    config.addinivalue_line("markers", "real_only(why): no other API server can pass this")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a real control plane where there is none, and have the end say so."""
    marker = item.get_closest_marker("real_only")
    if marker is None or chosen() == REAL:
        return
    (why,) = marker.args
    item.user_properties.append(("notice", f"only for a real API server: {item.name}: {why}"))
    pytest.skip(f"only for a real API server: {why}")


@pytest.fixture(scope="session")
def _planes() -> Iterator[Callable[[bool], Plane | ToolError]]:
    """Give a function that starts a control plane when it is first asked for."""
    with ExitStack() as stack:

        @cache
        def plane(controllers: bool) -> Plane | ToolError:
            return _start(stack, controllers=controllers)

        yield plane


@pytest.fixture
def plane(_planes: Callable[[bool], Plane | ToolError], record_property: Record) -> Plane:
    """Give the control plane that tests share: it is read and written, never disturbed."""
    return _available(_planes(False), record_property)


@pytest.fixture
def plane_with_controllers(
    _planes: Callable[[bool], Plane | ToolError], record_property: Record
) -> Plane:
    """Give a shared control plane where namespaces go and garbage is collected."""
    return _available(_planes(True), record_property)


@pytest.fixture
def audit_log() -> Path | None:
    """Give where the API server of a test's own control plane notes who changes what."""
    return None


@pytest.fixture
def own_plane(audit_log: Path | None, record_property: Record) -> Iterator[Plane]:
    """Give a control plane of the test's own, to be disturbed."""
    with ExitStack() as stack:
        started = _start(stack, controllers=False, audit=audit_log)
        yield _available(started, record_property)
    # asyncio forgets to close a socket whose connection was cut during its handshake, and says so
    # when it is collected, which may be in somebody else's test.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(scope="session")
def git(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Git]:
    """Serve repositories over plain HTTP, to anybody."""
    root = tmp_path_factory.mktemp("repositories")
    with http_server(root) as server:
        yield Git(root, server)


@pytest.fixture
def kubeconfig(request: pytest.FixtureRequest) -> Path:
    """Give the kubeconfig of the cluster that tests share."""
    named = os.environ.get("KUBECONFIG_TEST")
    if named:
        return Path(named)
    found: Plane = request.getfixturevalue("plane")
    return found.kubeconfig


@pytest.fixture
async def connection(kubeconfig: Path) -> AsyncIterator[Connection]:
    """Give a connection to the shared cluster."""
    async with connect(kubeconfig) as opened:
        yield opened


@pytest.fixture
def cluster(connection: Connection) -> Cluster:
    """Give a client of the shared cluster."""
    return connection.client


@pytest.fixture
async def namespace(cluster: Cluster) -> AsyncIterator[str]:
    """Give a namespace that nobody else uses."""
    name = f"test-{secrets.token_hex(4)}"
    made: KubeObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await cluster.create(made)
    yield name
    await cluster.delete(ObjectRef.of(made))


def _start(stack: ExitStack, *, controllers: bool, audit: Path | None = None) -> Plane | ToolError:
    try:
        return stack.enter_context(started_plane(controllers=controllers, audit=audit))
    except ToolError as error:
        return error


def _available(found: Plane | ToolError, record_property: Record) -> Plane:
    """Return a control plane, or end the test: loudly, and in CI with a failure."""
    if isinstance(found, Plane):
        return found
    message = f"nothing was tested on a real API server: {found}"
    if not may_be_missing():
        pytest.fail(message)
    record_property("notice", message)
    pytest.skip(message)
