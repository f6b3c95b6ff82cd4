"""The process of the embedded API server: how it ends, and what it refuses to do."""

import asyncio
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kro_gitops.kube.api import Cluster, Selection
from kro_gitops.kube.informer import Informer
from kro_gitops.kube.responses import ServerError
from tests.config_maps import CONFIG_MAP, config_map, create_many, ref
from tests.connection import connect
from tests.e2e.embedded_server.processes import served

UNLIMITED = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
LIMIT = 20.0


def test_two_servers_cannot_share_a_folder(tmp_path: Path) -> None:
    with served(tmp_path / "cluster") as (first, _):
        command = [sys.executable, "-m", "kube_sandbox", str(tmp_path / "cluster")]
        second = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
        assert second.returncode == 1
        assert "is in use by process" in second.stderr
        assert str(first.pid) in second.stderr
        assert "Traceback" not in second.stderr
        assert first.poll() is None


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with served(tmp_path / "one") as (_, kubeconfig):
        port = kubeconfig.read_text().partition("127.0.0.1:")[2].split('"')[0].split()[0]
        command = [sys.executable, "-m", "kube_sandbox", str(tmp_path / "two")]
        second = subprocess.run(
            [*command, f"--port={port}"], capture_output=True, text=True, timeout=20, check=False
        )
        assert second.returncode == 1
        assert f"port {port}" in second.stderr
        assert "Traceback" not in second.stderr


def test_a_kubeconfig_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").mkdir()
    command = [sys.executable, "-m", "kube_sandbox", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("folder-unusable: ")


def test_a_kubeconfig_that_others_could_read_is_private_again(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.touch(mode=0o644)
    with served(tmp_path):
        assert kubeconfig.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_ends_at_once_though_watches_are_open(
    tmp_path: Path, number: signal.Signals
) -> None:
    with served(tmp_path / "cluster") as (process, kubeconfig):
        async with connect(kubeconfig) as connection:
            cluster: Cluster = connection.client
            informers = [Informer(cluster, Selection(CONFIG_MAP)) for _ in range(20)]
            tasks = [asyncio.create_task(each.run()) for each in informers]
            for each in informers:
                assert await each.wait_synced(LIMIT)
            begun = time.monotonic()
            process.send_signal(number)
            assert await asyncio.to_thread(process.wait, LIMIT) == 0
            assert time.monotonic() - begun < 2.0
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_it_ends_with_whoever_holds_its_input(tmp_path: Path) -> None:
    with served(tmp_path / "cluster") as (process, _):
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(LIMIT) == 0


async def test_a_full_disk_refuses_writes_and_loses_none(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    with served(folder) as (process, kubeconfig):
        async with connect(kubeconfig) as connection:
            cluster = connection.client
            await create_many(cluster, "default", 20)
            log = folder / "store.db-wal"
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (log.stat().st_size, UNLIMITED[1]))
            with pytest.raises(ServerError, match="could not be written"):
                await cluster.create(config_map("default", "refused", text="x" * 100_000))
            # Reading goes on, and what was refused is not there.
            assert await cluster.find(ref("default", "refused")) is None
            assert await cluster.find(ref("default", "many-0000")) is not None
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, UNLIMITED)
            await cluster.create(config_map("default", "accepted"))
        process.kill()
    with served(folder) as (_, kubeconfig):
        async with connect(kubeconfig) as connection:
            cluster = connection.client
            assert await cluster.find(ref("default", "refused")) is None
            assert await cluster.find(ref("default", "accepted")) is not None
            assert await cluster.find(ref("default", "many-0019")) is not None
