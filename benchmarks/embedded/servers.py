"""
The two servers that are compared, each started afresh: ours, and kube-apiserver with etcd.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.engine.processes import Process
from benchmarks.engine.usage import cpu_seconds, resident_bytes
from benchmarks.peers.processes import NotMeasuredError
from tools.cluster.control_plane import control_plane
from tools.cluster.embedded import embedded_plane
from tools.cluster.parts import Guard, ToolError, guard
from tools.cluster.plane import Plane

OURS, REAL = "embedded", "kube-apiserver + etcd"
_PLANES: dict[str, Callable[..., AbstractContextManager[Plane]]] = {
    OURS: embedded_plane,
    REAL: control_plane,
}
NAMES = tuple(_PLANES)


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers, and how long that took from the start of its first process."""

    plane: Plane
    ready_after: float
    home: Path
    guard: Guard

    @property
    def resident_bytes(self) -> int:
        """Return the memory of all its processes."""
        return sum(resident_bytes(part.pid) for part in self.plane.parts)

    @property
    def cpu_seconds(self) -> float:
        """Return the CPU time of all its processes."""
        return sum(cpu_seconds(part.pid) for part in self.plane.parts)

    def run(self, module: str, *arguments: object, limit: float) -> dict[str, Any]:
        """Run one of the measuring processes against it, and return what it found."""
        name, result = f"benchmarks.embedded.{module}", self.home / f"{module}.json"
        given = [str(self.plane.kubeconfig), str(result), *map(str, arguments)]
        log = self.home / f"{module}.log"
        process = Process(name, [sys.executable, "-m", name, *given], log, self.guard)
        try:
            process.wait(limit)
        finally:
            process.kill()
        found: dict[str, Any] = json.loads(result.read_text())
        return found


@contextmanager
def started(name: str, *, controllers: bool = False) -> Iterator[Server]:
    """Run a server for as long as the block lasts, by itself or with controllers."""
    with ExitStack() as stack:
        home = Path(tempfile.mkdtemp(prefix="kro-gitops-benchmark-"))
        watching = stack.enter_context(guard(home))
        begun = time.monotonic()
        try:
            plane = stack.enter_context(_PLANES[name](controllers=controllers))
        except ToolError as error:
            raise NotMeasuredError(str(error)) from error
        yield Server(plane, time.monotonic() - begun, home, watching)
