"""The sandbox as a process, and what the package exports."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import kube_sandbox
from kube_objects.errors import InvalidError
from kube_sandbox import SandboxServer, ServerOptions, WorkloadSettings, run_process


def test_a_process_serves_until_the_block_ends(tmp_path: Path) -> None:
    with run_process(tmp_path, "--ephemeral", "--context=here") as process:
        content = json.loads(process.kubeconfig.read_text())
        assert content["current-context"] == "here"
        assert process.popen.poll() is None
    assert process.popen.returncode == 0


def test_a_folder_in_use_is_an_error_with_the_code_of_the_process(tmp_path: Path) -> None:
    with run_process(tmp_path), pytest.raises(InvalidError) as raised, run_process(tmp_path):
        pass
    assert raised.value.code == "store-in-use"
    assert raised.value.message.startswith("the sandbox did not start: ")


def test_wrong_flags_are_an_error(tmp_path: Path) -> None:
    expected = pytest.raises(InvalidError, match="unrecognized arguments: --nonsense")
    with expected as raised, run_process(tmp_path, "--nonsense"):
        pass
    assert raised.value.code == "sandbox-ended"


def test_a_guarded_process_without_an_input_ends_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kube_sandbox", str(tmp_path), "--ephemeral", "--guarded"]
    null = subprocess.DEVNULL
    done = subprocess.run(command, stdin=null, capture_output=True, check=False, timeout=30)
    assert (done.returncode, done.stderr) == (0, b"")


async def test_a_server_closes_when_its_block_ends(tmp_path: Path) -> None:
    options = ServerOptions(tmp_path, ephemeral=True, workloads=WorkloadSettings(step=0.0))
    async with SandboxServer(options) as server:
        assert server.url.startswith("https://127.0.0.1:")
        assert json.loads(server.kubeconfig)["current-context"] == "kube-sandbox"


def test_every_exported_name_is_there() -> None:
    assert all(getattr(kube_sandbox, name) is not None for name in kube_sandbox.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        kube_sandbox.nonsense  # noqa: B018


def test_to_import_the_package_imports_no_server() -> None:
    command = [sys.executable, "-c", "import kube_sandbox, sys; print(*sys.modules)"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    assert "kube_sandbox" in done.stdout.split()
    assert "kube_sandbox.server" not in done.stdout.split()
