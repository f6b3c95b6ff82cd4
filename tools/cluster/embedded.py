"""
The API server that comes with kro-gitops, as a cluster for as long as a block lasts.

One process serves it and keeps its store, so disturbing one of the two disturbs both. It is ended
and its folder removed as those of a real control plane are, however the block is left.
"""

import json
import os
import signal
import sys
import tempfile
import urllib.error
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tools.cluster.control_plane import free_ports
from tools.cluster.parts import Guard, Part, guard
from tools.cluster.plane import Plane, write_kubeconfig

_MARKED = "api/v1/namespaces/kube-system"
_MERGE_PATCH = "application/merge-patch+json"


class EmbeddedPlane(Plane):
    """A cluster of one process."""

    def __init__(self, home: Path, port: int, guard: Guard, flags: Sequence[str] = ()) -> None:
        super().__init__(f"https://127.0.0.1:{port}", home / "kubeconfig", "")
        self._folder = home / "cluster"
        self._compactions = 0
        command = [
            *(sys.executable, "-m", "kube_sandbox", str(self._folder)),
            *(f"--port={port}", *flags),
        ]
        self.api_server = self.store = Part("apiserver", command, home / "apiserver.log", guard)

    @property
    def authority(self) -> Path:
        """Return the certificate; those who trust it trust the server."""
        return self._folder / "keys" / "ca.crt"

    @property
    def parts(self) -> Sequence[Part]:
        """Return the only process."""
        return [self.api_server]

    def start(self) -> None:
        """Start the process, and return when it answers."""
        self.api_server.start()
        self.wait((self._folder / "kubeconfig").exists, every=0.02)
        self._token = (self._folder / "token").read_text().strip()
        write_kubeconfig(self.kubeconfig, self.url, self.authority, self._token)
        self.wait_until_ready()

    def compact(self) -> None:
        """Have the store forget every version that anybody has read so far."""
        # Any write will do: it makes a version that nobody can have read.
        version = self.get(_MARKED)["metadata"]["resourceVersion"]
        self._compactions += 1
        mark = {"metadata": {"annotations": {"compacted": f"{self._compactions}"}}}
        self.send("PATCH", _MARKED, json.dumps(mark).encode(), _MERGE_PATCH)
        os.kill(self.api_server.pid, signal.SIGUSR1)
        self.wait(lambda: self._has_forgotten(version), every=0.02)

    def cpu_seconds(self) -> float:
        """Return the CPU time that the process has used."""
        times = Path(f"/proc/{self.api_server.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")

    def _has_forgotten(self, version: str) -> bool:
        try:
            self.get(f"api/v1/namespaces?resourceVersion={version}&resourceVersionMatch=Exact")
        except urllib.error.HTTPError as error:
            return error.code == 410
        return False


@contextmanager
def embedded_plane(
    *, controllers: bool = False, audit: Path | None = None
) -> Iterator[EmbeddedPlane]:
    """Run a cluster for as long as the block lasts, with controllers if wanted."""
    with ExitStack() as stack:
        home = Path(tempfile.mkdtemp(prefix="kro-gitops-kube-"))
        watching = stack.enter_context(guard(home))
        (port,) = free_ports(1)
        flags = [] if controllers else ["--no-controllers"]
        if audit is not None:
            flags.append(f"--audit-log={audit}")
        plane = EmbeddedPlane(home, port, watching, flags)
        stack.callback(plane.kill)
        plane.start()
        yield plane
