"""
A cluster for tests: a real control plane, one for the whole run.

`KUBE_BIN` names a folder of ready binaries, `KUBECONFIG_TEST` a cluster to use instead of one of
our own. Without binaries, tests that need a cluster are skipped and the end of the run says so;
where `CI=true`, they fail.
"""

import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from kro_gitops.kube.api import Cluster
from kro_gitops.objects.refs import KubeObject, ObjectRef
from tests.connection import Connection, connect
from tools.cluster.control_plane import ControlPlane, control_plane
from tools.cluster.parts import ToolError

Record = Callable[[str, object], None]


@pytest.fixture(scope="session")
def _planes() -> Iterator[Callable[[bool], ControlPlane | ToolError]]:
    """Give a function that starts a control plane when it is first asked for."""
    with ExitStack() as stack:

        @cache
        def plane(controllers: bool) -> ControlPlane | ToolError:
            return _start(stack, controllers=controllers)

        yield plane


@pytest.fixture
def plane(
    _planes: Callable[[bool], ControlPlane | ToolError], record_property: Record
) -> ControlPlane:
    """Give the control plane that tests share: it is read and written, never disturbed."""
    return _available(_planes(False), record_property)


@pytest.fixture
def plane_with_controllers(
    _planes: Callable[[bool], ControlPlane | ToolError], record_property: Record
) -> ControlPlane:
    """Give a shared control plane where namespaces go and garbage is collected."""
    return _available(_planes(True), record_property)


@pytest.fixture
def api_server_flags() -> Sequence[str]:
    """Give what the API server of a test's own control plane is told besides."""
    return ()


@pytest.fixture
def own_plane(api_server_flags: Sequence[str], record_property: Record) -> Iterator[ControlPlane]:
    """Give a control plane of the test's own, to be disturbed."""
    with ExitStack() as stack:
        started = _start(stack, controllers=False, api_server_flags=api_server_flags)
        yield _available(started, record_property)


@pytest.fixture
def kubeconfig(request: pytest.FixtureRequest) -> Path:
    """Give the kubeconfig of the cluster that tests share."""
    named = os.environ.get("KUBECONFIG_TEST")
    if named:
        return Path(named)
    found: ControlPlane = request.getfixturevalue("plane")
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


def _start(
    stack: ExitStack, *, controllers: bool, api_server_flags: Sequence[str] = ()
) -> ControlPlane | ToolError:
    plane = control_plane(controllers=controllers, api_server_flags=api_server_flags)
    try:
        return stack.enter_context(plane)
    except ToolError as error:
        return error


def _available(found: ControlPlane | ToolError, record_property: Record) -> ControlPlane:
    """Return a control plane, or end the test: loudly, and in CI with a failure."""
    if isinstance(found, ControlPlane):
        return found
    message = f"nothing was tested on a real API server: {found}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    record_property("notice", message)
    pytest.skip(message)
