"""
A real API server for as long as a block lasts.

etcd and kube-apiserver, built by `tools/kube/build.sh`, on loopback ports of their own, with
everything they write in a temporary directory. They trust one random token and are gone when
the block is left, however it is left.
"""

import json
import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

START_LIMIT = 120.0  # seconds until the server must be ready
STOP_LIMIT = 10.0  # seconds from SIGTERM to SIGKILL


class ToolError(Exception):
    """Something the person at the keyboard must see to."""


def leave_on_signals() -> None:
    """Turn SIGTERM and SIGHUP into an exit that runs the context managers, as Ctrl-C does."""

    def leave(number: int, _frame: FrameType | None) -> None:
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)


@dataclass(frozen=True, slots=True)
class Server:
    """A running API server."""

    url: str
    token: str
    certificate: Path

    def get(self, path: str) -> Any:
        """Return the JSON document at `path`."""
        return json.loads(self.get_text(path))

    def get_text(self, path: str) -> str:
        """Return what is at `path`, as it comes."""
        request = urllib.request.Request(
            f"{self.url}/{path}",
            headers={"Authorization": f"Bearer {self.token}", "Accept": "application/json"},
        )
        context = ssl.create_default_context(cafile=str(self.certificate))
        with urllib.request.urlopen(request, timeout=30, context=context) as answer:
            body: bytes = answer.read()
        return body.decode()


@contextmanager
def api_server() -> Iterator[Server]:
    """Run etcd and kube-apiserver for as long as the block lasts."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kro-gitops-kube-")))
        client_port, peer_port, api_port = free_ports(3)
        etcd_url = f"http://127.0.0.1:{client_port}"
        token = secrets.token_hex(16)
        (home / "tokens.csv").write_text(f"{token},tools,tools,system:masters\n")
        commands = {
            "etcd": etcd_command(home, etcd_url, f"http://127.0.0.1:{peer_port}"),
            "kube-apiserver": apiserver_command(home, etcd_url, api_port),
        }
        running = [
            stack.enter_context(process(command, home / f"{name}.log"))
            for name, command in commands.items()
        ]
        certificate = home / "certificates" / "apiserver.crt"
        server = Server(f"https://127.0.0.1:{api_port}", token, certificate)
        wait_until_ready(server, running, home)
        yield server


def etcd_command(home: Path, client_url: str, peer_url: str) -> list[str]:
    """Return the command line of an etcd that may forget everything at a crash."""
    return [
        find_binary("etcd"),
        f"--data-dir={home / 'etcd'}",
        f"--listen-client-urls={client_url}",
        f"--advertise-client-urls={client_url}",
        f"--listen-peer-urls={peer_url}",
        f"--initial-advertise-peer-urls={peer_url}",
        f"--initial-cluster=default={peer_url}",
        "--unsafe-no-fsync",
    ]


def apiserver_command(home: Path, etcd_url: str, port: int) -> list[str]:
    """Return the command line of an API server as it comes, on loopback."""
    key = service_account_key(home)
    return [
        find_binary("kube-apiserver"),
        f"--etcd-servers={etcd_url}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={home / 'certificates'}",  # it signs its own certificate there
        f"--token-auth-file={home / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--service-cluster-ip-range=10.0.0.0/24",
    ]


def find_binary(name: str) -> str:
    """Return the path of a binary built by `tools/kube/build.sh`."""
    default = Path.home() / ".cache" / "kro-gitops" / "kube" / "bin"
    found = Path(os.environ.get("KUBE_BIN") or default) / name
    if not found.exists():
        raise ToolError(f"{found} does not exist; run tools/kube/build.sh {name} first")
    return str(found)


def free_ports(count: int) -> list[int]:
    """Return ports nobody listens on; all are held until all are found."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for held in sockets:
            held.bind(("127.0.0.1", 0))
        return [held.getsockname()[1] for held in sockets]


def service_account_key(home: Path) -> Path:
    """Make the key the API server insists on signing service account tokens with."""
    openssl = shutil.which("openssl")
    if openssl is None:
        raise ToolError("openssl is not installed; it makes the service account key")
    key = home / "service-account.key"
    subprocess.run([openssl, "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
    return key


@contextmanager
def process(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command for as long as the block lasts, and see it end."""
    with log.open("wb") as output:
        started = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C reaches us alone, we stop them in order
        )
    try:
        yield started
    finally:
        started.terminate()
        try:
            started.wait(STOP_LIMIT)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()


def wait_until_ready(server: Server, running: list[subprocess.Popen[bytes]], home: Path) -> None:
    """Return when the server answers, raise with the end of its log if it never will."""
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline:
        if any(one.poll() is not None for one in running):
            break
        try:
            if server.get_text("readyz") == "ok":
                return
        except OSError:  # not listening yet, no certificate yet, or not ready (HTTP 500)
            pass
        time.sleep(0.3)
    logs = "\n".join(
        f"{log.name}:\n{''.join(log.read_text().splitlines(keepends=True)[-15:])}"
        for log in sorted(home.glob("*.log"))
    )
    raise ToolError(f"the API server did not become ready\n{logs}")
