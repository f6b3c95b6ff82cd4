"""
A real control plane for as long as a block lasts.

etcd, kube-apiserver and, if wanted, kube-controller-manager, built by `tools/kube/build.sh`, on
loopback ports of their own, with everything they write in a temporary directory. Nothing of it
is left when the block is, however it is left.
"""

import json
import secrets
import signal
import socket
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from tools.cluster import commands
from tools.cluster.commands import Layout
from tools.cluster.parts import Guard, Part, guard
from tools.cluster.plane import REQUEST_LIMIT, Plane, write_kubeconfig


class ControlPlane(Plane):
    """A real one; beside the API server, `etcd` and `controller_manager` can be disturbed."""

    def __init__(
        self,
        layout: Layout,
        token: str,
        guard: Guard,
        *,
        controllers: bool,
        api_server_flags: Sequence[str] = (),
    ) -> None:
        super().__init__(layout.api_url, layout.kubeconfig, token)
        self._layout = layout
        self.etcd = self.store = self._part("etcd", commands.etcd(layout), guard)
        command = commands.api_server(layout, with_service_accounts=controllers)
        self.api_server = self._part("kube-apiserver", [*command, *api_server_flags], guard)
        self.controller_manager: Part | None = None
        if controllers:
            command = commands.controller_manager(layout)
            self.controller_manager = self._part("kube-controller-manager", command, guard)

    @property
    def authority(self) -> Path:
        """Return the certificate; those who trust it trust the server."""
        return self._layout.certificate

    @property
    def parts(self) -> Sequence[Part]:
        """Return all processes, in the order in which they start."""
        parts = (self.etcd, self.api_server, self.controller_manager)
        return [part for part in parts if part is not None]

    def start(self) -> None:
        """Start all parts, and return when they do their work."""
        self.etcd.start()
        self.api_server.start()
        self.wait_until_ready()
        if self.controller_manager is not None:
            self.controller_manager.start()
            self.wait(self._has_controllers)

    def compact(self) -> None:
        """Have etcd forget every version that anybody has read so far."""
        # Any write will do: it makes a version that nobody can have read.
        answer = self._post_to_etcd("v3/kv/put", {"key": "Y29tcGFjdA==", "value": "MQ=="})
        revision = answer["header"]["revision"]
        self._post_to_etcd("v3/kv/compaction", {"revision": revision, "physical": True})

    def cpu_seconds(self) -> float:
        """Return the CPU time that etcd and the API server have used, as they count it."""
        with urllib.request.urlopen(
            f"{self._layout.etcd_url}/metrics", timeout=REQUEST_LIMIT
        ) as answer:
            pages = (answer.read().decode(), self.get_text("metrics"))
        lines = (line for page in pages for line in page.splitlines())
        name = "process_cpu_seconds_total "
        return sum(float(line.removeprefix(name)) for line in lines if line.startswith(name))

    def _part(self, name: str, command: list[str], guard: Guard) -> Part:
        return Part(name, command, self._layout.home / f"{name}.log", guard)

    def _has_controllers(self) -> bool:
        """Say whether a controller has done its work: it made a service account."""
        return bool(self.get("api/v1/namespaces/default/serviceaccounts/default"))

    def _post_to_etcd(self, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(
            f"{self._layout.etcd_url}/{path}", data=json.dumps(body).encode(), method="POST"
        )
        with urllib.request.urlopen(request, timeout=REQUEST_LIMIT) as answer:
            return json.load(answer)


@contextmanager
def control_plane(
    *, controllers: bool = False, api_server_flags: Sequence[str] = ()
) -> Iterator[ControlPlane]:
    """Run a control plane for as long as the block lasts, with controllers if wanted."""
    with ExitStack() as stack:
        home = Path(tempfile.mkdtemp(prefix="kro-gitops-kube-"))
        watching = stack.enter_context(guard(home))
        layout = Layout(home, *free_ports(4))
        token = secrets.token_hex(16)
        layout.tokens.write_text(f"{token},admin,admin,system:masters\n")
        write_kubeconfig(layout.kubeconfig, layout.api_url, layout.certificate, token)
        commands.make_service_account_key(layout.key)
        plane = ControlPlane(
            layout, token, watching, controllers=controllers, api_server_flags=api_server_flags
        )
        stack.callback(plane.kill)
        plane.start()
        yield plane


def free_ports(count: int) -> list[int]:
    """Return ports nobody listens on; all are held until all are found."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for held in sockets:
            held.bind(("127.0.0.1", 0))
        return [held.getsockname()[1] for held in sockets]


def leave_on_signals() -> None:
    """Turn SIGTERM and SIGHUP into an exit that runs the context managers, as Ctrl-C does."""

    def leave(number: int, _frame: FrameType | None) -> None:
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)
