"""
A cluster for as long as somebody needs it, whoever serves it.

`Plane` is what tests and tools know of one: where it is reached, and how it is disturbed. A real
control plane (`control_plane.py`) and the API server that comes with kro-gitops (`embedded.py`)
are both one, so whatever runs on one of them runs on the other.
"""

import json
import ssl
import time
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tools.cluster.parts import Part, ToolError

START_LIMIT = 120.0  # seconds until a part must be ready
REQUEST_LIMIT = 30.0  # seconds until a request must be answered


class Plane(ABC):
    """A running cluster; `api_server` and `store` can be disturbed, and may be the same process."""

    api_server: Part
    store: Part

    def __init__(self, url: str, kubeconfig: Path, token: str) -> None:
        self.url = url
        self.kubeconfig = kubeconfig  # an administrator's
        self._token = token

    @property
    @abstractmethod
    def authority(self) -> Path:
        """Return the certificate; those who trust it trust the server."""

    @property
    @abstractmethod
    def parts(self) -> Sequence[Part]:
        """Return all processes, in the order in which they start."""

    @abstractmethod
    def start(self) -> None:
        """Start all parts, and return when they do their work."""

    @abstractmethod
    def compact(self) -> None:
        """Have the store forget every version that anybody has read so far."""

    @abstractmethod
    def cpu_seconds(self) -> float:
        """Return the CPU time that store and API server have used."""

    def kill(self) -> None:
        """End all parts; what they wrote is of no use to anybody."""
        for part in self.parts:
            part.kill()

    def restart_api_server(self) -> None:
        """Kill the API server, start it again, and return when it answers."""
        self.api_server.kill()
        self.api_server.start()
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Return when the API server answers, raise with the end of the logs if it never will."""
        self.wait(lambda: self.get_text("readyz") == "ok")

    def get(self, path: str) -> Any:
        """Return the JSON document at `path`."""
        return json.loads(self.get_text(path))

    def get_text(self, path: str) -> str:
        """Return what is at `path`, as it comes."""
        return self.send("GET", path).decode()

    def send(self, method: str, path: str, body: bytes | None = None, content: str = "") -> bytes:
        """Return the answer to a request."""
        request = urllib.request.Request(
            f"{self.url}/{path}",
            method=method,
            data=body,
            headers={
                "Authorization": f"Bearer {self._token}",
                "Accept": "application/json",
                **({"Content-Type": content} if content else {}),
            },
        )
        context = ssl.create_default_context(cafile=str(self.authority))
        with urllib.request.urlopen(request, timeout=REQUEST_LIMIT, context=context) as answer:
            found: bytes = answer.read()
        return found

    def wait(self, is_ready: Callable[[], bool], every: float = 0.1) -> None:
        """Return when something is so, raise with the end of the logs if it never will be."""
        deadline = time.monotonic() + START_LIMIT
        while time.monotonic() < deadline:
            if not (self.store.is_running and self.api_server.is_running):
                break
            try:
                if is_ready():
                    return
            except OSError:  # not listening yet, no certificate yet, or an HTTP error
                pass
            time.sleep(every)
        words = "\n".join(part.last_words() for part in self.parts)
        raise ToolError(f"the cluster did not become ready\n{words}")


def write_kubeconfig(path: Path, url: str, authority: Path, token: str) -> None:
    """Write an administrator's kubeconfig; JSON is YAML enough for every reader."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "local",
        "contexts": [{"name": "local", "context": {"cluster": "local", "user": "admin"}}],
        "clusters": [
            {"name": "local", "cluster": {"server": url, "certificate-authority": str(authority)}}
        ],
        "users": [{"name": "admin", "user": {"token": token}}],
    }
    path.touch(mode=0o600)
    path.write_text(json.dumps(content, indent=2))
