"""
The controller that scenarios run on, as a process: ours, or kro's own to compare with.

`KRO_GITOPS_TARGET` says which: `ours` (default) or `kro`, which `tools/kro/build.sh` builds. Both
take kro's flags, and get those of kro's integration suite unless told otherwise.
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest
import yaml

from kro_gitops.kube.api import WriteOptions
from kube_objects.refs import KubeObject
from tests.connection import connect
from tools.cluster.control_plane import free_ports
from tools.cluster.parts import Guard, Part, ToolError, guard

ROOT = Path(__file__).parents[3]
OURS, KRO = "ours", "kro"
START_LIMIT = 60.0  # seconds until a controller must answer
STOP_LIMIT = 30.0  # seconds from a SIGTERM until it must be gone

Flag = str | int | bool | None

# As kro's integration suite has them; its many workers matter, since scenarios run side by side.
SUITE_FLAGS: Mapping[str, Flag] = {
    "instance_requeue_interval": "5s",
    "rgd_progress_requeue_delay": "1s",
    "resource_graph_definition_concurrent_reconciles": 40,
    "graph_revision_concurrent_reconciles": 10,
    "dynamic_controller_concurrent_reconciles": 40,
    "dynamic_controller_default_resync_period": 0,
    "allow_crd_deletion": True,
    "rgd_max_graph_revisions": 20,
    "feature_gates": "CELOmitFunction=true",
}


# Clusters are shared with tests that write sources by hand: only who is told to follows them.
ALONE: Mapping[str, Mapping[str, Flag]] = {OURS: {"sources": False}}


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where a controller is asked how it is."""

    metrics: str
    health: str


class Controller(Part):
    """A running controller; `log` is the file it writes to."""

    def __init__(self, command: Sequence[str], home: Path, at: Endpoints, watching: Guard) -> None:
        super().__init__("controller", command, home / "controller.log", watching)
        self.at = at
        self._opened = ExitStack()

    def start(self) -> None:
        """Start the process, and return when it answers."""
        super().start()
        deadline = time.monotonic() + START_LIMIT
        while time.monotonic() < deadline and self.is_running:
            if _answers(f"{self.at.health}/readyz"):
                return
            time.sleep(0.05)
        raise ToolError(f"the controller did not become ready\n{self.last_words()}")

    def stop(self) -> int:
        """Ask the process to end, wait for it, and return its exit code."""
        self._signal(signal.SIGTERM)
        assert self._process is not None
        try:
            return self._process.wait(STOP_LIMIT)
        except subprocess.TimeoutExpired:
            raise ToolError(f"the controller did not end\n{self.last_words()}") from None
        finally:
            self.kill()

    def restart(self) -> None:
        """End the process as an upgrade does, start it again, and return when it answers."""
        if self.is_running:
            self.stop()
        self.start()

    def tail(self, lines: int = 40) -> str:
        """Return the end of the log."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def close(self) -> None:
        """Kill the process for certain, and remove what it left."""
        self.kill()
        self._opened.close()

    def owns(self, stack: ExitStack) -> Self:
        """Keep what must last as long as we do."""
        self._opened = stack
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()


def target() -> str:
    """Return which controller scenarios run on."""
    named = os.environ.get("KRO_GITOPS_TARGET", OURS)
    if named not in (OURS, KRO):
        raise ToolError(f"KRO_GITOPS_TARGET is '{named}'; there are '{OURS}' and '{KRO}'")
    return named


def version_of(named: str) -> str:
    """Return the version that a target writes into labels."""
    return _kro("version").read_text().strip() if named == KRO else "devel"


def better(reason: str) -> pytest.MarkDecorator:
    """Mark what ours does and kro does not, for this reason."""
    return pytest.mark.skipif(target() == KRO, reason=f"kro is worse here: {reason}")


def start_controller(kubeconfig: Path, named: str, **flags: Flag) -> Controller:
    """
    Start a controller on a cluster, with the flags of kro's suite and these (`None`: without).

    The process is bound to ours: however we end, it does. Call `close`, or use it as a block.
    """
    with ExitStack() as stack:
        home = Path(tempfile.mkdtemp(prefix="kro-gitops-controller-"))
        watching = stack.enter_context(guard(home))
        metrics, health = (f"127.0.0.1:{port}" for port in free_ports(2))
        given = {
            **SUITE_FLAGS,
            **ALONE.get(named, {}),
            "metrics_bind_address": metrics,
            "health_probe_bind_address": health,
        }
        prepare, command = _KINDS[named]
        prepare(kubeconfig)
        written = [*command(), f"--kubeconfig={kubeconfig}", *_arguments({**given, **flags})]
        endpoints = Endpoints(f"http://{metrics}", f"http://{health}")
        controller = Controller(written, home, endpoints, watching)
        stack.callback(controller.kill)
        controller.start()
        return controller.owns(stack.pop_all())


def install(kubeconfig: Path, objects: Sequence[KubeObject]) -> None:
    """Apply objects to a cluster, from wherever we are called: a loop may be running here."""

    async def apply() -> None:
        async with connect(kubeconfig) as opened:
            for obj in objects:
                await opened.client.apply(obj, WriteOptions(manager="scenarios", force=True))

    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, apply()).result()


def is_kro_built() -> bool:
    """Say whether kro's own controller is there to compare with."""
    return _kro("version").exists()


def _prepare_kro(kubeconfig: Path) -> None:
    if not is_kro_built():
        raise ToolError("kro's controller is not built; run tools/kro/build.sh")
    install(kubeconfig, [yaml.safe_load(f.read_text()) for f in sorted(_kro("crds").iterdir())])


def _prepare_ours(_kubeconfig: Path) -> None:
    """Prepare nothing: ours installs what it needs."""


def _command_of_kro() -> list[str]:
    return [str(_kro("bin") / "kro-controller")]


def _command_of_ours() -> list[str]:
    command = [sys.executable, "-m", "kro_gitops", "run", f"--kro-version={version_of(OURS)}"]
    return [*command, "--log-format=json"]


_KINDS: dict[str, tuple[Callable[[Path], None], Callable[[], list[str]]]] = {
    OURS: (_prepare_ours, _command_of_ours),
    KRO: (_prepare_kro, _command_of_kro),
}


def _kro(name: str) -> Path:
    home = os.environ.get("KRO_HOME") or Path.home() / ".cache" / "kro-gitops" / "kro"
    return Path(home) / name


def _arguments(flags: Mapping[str, Flag]) -> list[str]:
    """Write flags as Go reads them."""
    return [
        f"--{name.replace('_', '-')}={str(value).lower() if isinstance(value, bool) else value}"
        for name, value in flags.items()
        if value is not None
    ]


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:  # not listening yet, or not well yet
        return False
