"""Two API servers to compare: a real one, and the embedded one in a process of its own."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.apiserver.sides import Side
from tests.conformance.apiserver.subjects import definitions
from tests.e2e.conftest import _planes, plane  # noqa: F401 - fixtures
from tools.cluster.control_plane import ControlPlane

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_LIMIT = 30.0  # seconds until custom kinds are served


@pytest.fixture
def sides(plane: ControlPlane) -> Iterator[tuple[Side, Side]]:  # noqa: F811
    """Give the real API server and the embedded one, both with the custom kinds of the tests."""
    with tempfile.TemporaryDirectory(prefix="kro-gitops-conformance-") as folder:
        command = [sys.executable, "-m", "tests.conformance.apiserver.serving", folder]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            kubeconfig = Path(server.stdout.readline().strip())
            both = (Side("real", plane.kubeconfig), Side("ours", kubeconfig))
            for side in both:
                _define(side)
            yield both
            for side in both:
                side.close()
            server.stdin.close()


def _define(side: Side) -> None:
    """Define the custom kinds, and wait until they are served."""
    for definition in definitions():
        body = json.dumps(definition).encode()
        made = side.send("POST", _DEFINITIONS, body, {"Content-Type": "application/json"})
        assert made.code in (201, 409), made
    deadline = time.monotonic() + _LIMIT
    while not all(map(side.serves, definitions())):
        assert time.monotonic() < deadline, "the custom kinds of the tests are not served"
        time.sleep(0.1)
