"""The control plane that tests run on: it comes, it can be disturbed, and it goes for certain."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kro_gitops.kube.api import Selection
from kube_objects.refs import Kind
from tests.connection import connect
from tools.cluster.plane import Plane

ROOT = Path(__file__).parents[2]
LIMIT = 30.0


def command_lines(part: str) -> list[str]:
    """Give the command lines of all processes that mention a text."""
    command = ["ps", "-A", "-ww", "-o", "args="]  # lines as long as they are
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if part in line]


def test_it_is_of_the_version_that_is_built(plane: Plane) -> None:
    required = (ROOT / "tools" / "kube" / "go.mod").read_text()
    assert f"k8s.io/kubernetes {plane.get('version')['gitVersion']}\n" in required


async def test_controllers_do_their_work(plane_with_controllers: Plane) -> None:
    async with connect(plane_with_controllers.kubeconfig) as connection:
        accounts = Selection(Kind("", "v1", "ServiceAccount"), "default")
        assert (await connection.client.list(accounts)).items


@pytest.mark.timeout(120)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_however_its_owner_ends(plane: Plane, number: signal.Signals) -> None:
    del plane  # it was asked for so that a machine without binaries skips
    owner = subprocess.Popen(
        [sys.executable, "-m", "tools.cluster", "--no-controllers"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        process_group=0,
    )
    with owner:
        assert owner.stdout is not None
        home = Path(owner.stdout.readline().strip()).parent
        assert command_lines(str(home))
        os.kill(owner.pid, number)
    deadline = time.monotonic() + LIMIT
    while command_lines(str(home)) or home.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
