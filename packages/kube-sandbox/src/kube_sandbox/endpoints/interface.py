"""
Requests and responses, as the HTTP server and the handlers exchange them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kube_sandbox.endpoints.responses import Response


@dataclass(frozen=True, slots=True)
class HTTPRequest:
    """A request as it came."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


class Stream(Protocol):
    """A watch: lines to send, as they come."""

    content_type: str
    warnings: Sequence[str]

    async def next(self) -> bytes:
        """Return the next lines as soon as there are any; nothing when it is over."""

    def close(self) -> None:
        """Release the stream when its client is gone."""


class Service(Protocol):
    """What answers requests."""

    def authenticate(self, headers: Mapping[str, str]) -> None:
        """Raise a `StatusError` if the headers have no valid credentials."""

    def answer(self, call: HTTPRequest) -> Response | Stream:
        """Answer a request, or raise a `StatusError`."""

    async def reached(self, version: int) -> None:
        """Return when a version is there, or when it was waited for long enough."""
