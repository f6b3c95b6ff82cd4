"""One of two API servers that are compared: send it a request, read its answer."""

import base64
import http.client
import json
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

_LIMIT = 30.0  # seconds for an answer
_WARNING = re.compile(r'299 - "((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: JSON where it is any, else text."""

    code: int
    content_type: str
    body: Any
    warnings: tuple[str, ...] = ()

    @property
    def is_done(self) -> bool:
        """Say whether the request was carried out."""
        return self.code < 300


class Side:
    """A connection to one API server."""

    def __init__(self, name: str, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.name = name
        self._host = urlsplit(cluster["server"]).netloc
        self._token = user["token"]
        self._context = _context(cluster)
        self._connection: http.client.HTTPSConnection | None = None

    def send(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] = {}
    ) -> Reply:
        """Send a request and read the whole answer."""
        try:
            return self._send(method, path, body, headers)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            self.close()  # it was idle for too long
            return self._send(method, path, body, headers)

    def serves(self, definition: Any) -> bool:
        """Say whether a custom kind is served."""
        spec = definition["spec"]
        version, plural = spec["versions"][0]["name"], spec["names"]["plural"]
        return self.send("GET", f"/apis/{spec['group']}/{version}/{plural}").is_done

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def fresh(self) -> "Side":
        """Return the same side with a connection of its own."""
        other = object.__new__(Side)
        other.name, other._host, other._token = self.name, self._host, self._token
        other._context, other._connection = self._context, None
        return other

    def _send(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Reply:
        if self._connection is None:
            self._connection = http.client.HTTPSConnection(
                self._host, context=self._context, timeout=_LIMIT
            )
        own = {"Authorization": f"Bearer {self._token}", "User-Agent": "conformance/1.0"}
        self._connection.request(method, path, body, {**own, **headers})
        answer = self._connection.getresponse()
        data = answer.read()
        warnings = _WARNING.findall(", ".join(answer.headers.get_all("Warning") or ()))
        content_type = answer.headers.get("Content-Type", "")
        return Reply(answer.status, content_type, _read(data), tuple(warnings))


def _context(cluster: Mapping[str, str]) -> ssl.SSLContext:
    if "certificate-authority" in cluster:
        return ssl.create_default_context(cafile=cluster["certificate-authority"])
    data = base64.b64decode(cluster["certificate-authority-data"])
    return ssl.create_default_context(cadata=data.decode())


def _read(data: bytes) -> Any:
    """Read JSON; a watch is many lines of it."""
    try:
        return json.loads(data) if data else ""
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in data.splitlines()]
    except ValueError:
        return data.decode(errors="replace")
