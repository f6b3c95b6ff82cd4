"""
A real API server, as recorders ask it.

One connection, requests in order, answers as they come: what is kept of an answer is the
recorder's business. What all of them make is here too: a namespace, and a custom kind that is
served.
"""

import json
import re
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from tools.cluster.parts import ToolError
from tools.cluster.plane import START_LIMIT

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_NAME = "recorder"  # of the manager, where a request names none
_LOCAL = ("127.0.0.1", "localhost", "::1")
_WARNING = re.compile(r'299 - "((?:[^"\\]|\\.)*)"', re.DOTALL)

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    code: int
    content: bytes
    headers: Message

    @property
    def text(self) -> str:
        """Return the body as it came."""
        return self.content.decode()

    @property
    def body(self) -> Any:
        """Return the body; where nothing is served, it is plain text, told as a message."""
        try:
            return json.loads(self.content)
        except ValueError:
            return {"message": self.text}

    @property
    def warnings(self) -> list[str]:
        """Return the warnings that came with it."""
        told = self.headers.get_all("Warning") or ()
        found = (each for value in told for each in _WARNING.findall(value))
        return [re.sub(r"\\(.)", r"\1", each) for each in found]


class Client:
    """Asks as the administrator that a kubeconfig of `tools.cluster` names."""

    def __init__(self, kubeconfig: Path) -> None:
        try:
            config = json.loads(kubeconfig.read_text())
            address = urlparse(config["clusters"][0]["cluster"]["server"])
            authority = config["clusters"][0]["cluster"]["certificate-authority"]
            self._token = config["users"][0]["user"]["token"]
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise ToolError(f"{kubeconfig} is not one that tools.cluster writes") from error
        # Cluster-wide objects are made and removed: nobody wants that by mistake elsewhere.
        if address.hostname not in _LOCAL:
            raise ToolError(f"{kubeconfig}: {address.hostname} is not this machine")
        context = ssl.create_default_context(cafile=authority)
        self._connection = HTTPSConnection(
            address.hostname, address.port, context=context, timeout=START_LIMIT
        )

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        form: str = JSON,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request with an object, if there is one."""
        content = None if body is None else json.dumps(body).encode()
        return self.send(method, path, content, form, headers)

    def send(
        self,
        method: str,
        path: str,
        content: bytes | None = None,
        form: str = JSON,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request with a body as it is, if there is one."""
        own = {"Authorization": f"Bearer {self._token}", "Accept": JSON, "User-Agent": _NAME}
        typed = {} if content is None else {"Content-Type": form}
        self._connection.request(method, path, content, {**own, **typed, **(headers or {})})
        answer = self._connection.getresponse()
        return Answer(answer.status, answer.read(), answer.headers)

    def create(self, path: str, obj: Json) -> Json:
        """Create an object that must be accepted."""
        answer = self.ask("POST", path, obj)
        if answer.code != 201:
            raise ToolError(f"{path}: {answer.body['message']}")
        found: Json = answer.body
        return found

    def remove(self, path: str) -> None:
        """Remove an object, also where no controller takes its finalizers away."""
        live = self.ask("GET", path)
        if live.code != 200:
            return
        # Controllers give every namespace an account; without them nobody else finalizes it.
        account = f"{path}/serviceaccounts/default"
        is_ours = live.body["kind"] == "Namespace" and self.ask("GET", account).code != 200
        self.ask("PATCH", path, {"metadata": {"finalizers": None}}, MERGE_PATCH)
        self.ask("DELETE", f"{path}?gracePeriodSeconds=0&propagationPolicy=Background")
        if is_ours:
            unheld = {"metadata": {"name": live.body["metadata"]["name"]}, "spec": {}}
            self.ask("PUT", f"{path}/finalize", unheld)

    @contextmanager
    def namespace(self, name: str) -> Iterator[None]:
        """Have a namespace for as long as the block lasts."""
        code = self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}}).code
        if code not in (201, 409):
            raise ToolError(f"there is no namespace {name}")
        try:
            yield
        finally:
            self.remove(f"/api/v1/namespaces/{name}")

    @contextmanager
    def definition(self, crd: Json, path: str) -> Iterator[None]:
        """Have a custom kind, which is served at a path, for as long as the block lasts."""
        own = f"{CRDS}/{crd['metadata']['name']}"
        self.ask("DELETE", own)  # one of the same name may be about to go, or left behind
        self.wait(own, 404)
        self.create(CRDS, crd)
        try:
            self.wait(f"{path}?limit=1", 200)
            yield
        finally:
            self.ask("DELETE", own)

    def wait(self, path: str, code: int) -> None:
        """Return when a path is answered with a code."""
        deadline = time.monotonic() + START_LIMIT
        while self.ask("GET", path).code != code:
            if time.monotonic() > deadline:
                raise ToolError(f"{path} is never answered with {code}")
            time.sleep(0.05)
