"""
Sends requests over HTTP, and repeats them where that does no harm.

Knows nothing of kinds or objects: a `Request` is sent, JSON is returned, or lines of JSON for as
long as a watch lasts. Connections are kept and shared. The number of requests in flight and per
second is limited here, because the API server is shared with other clients.
"""

import asyncio
import logging
import random
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

import aiohttp
import orjson

from kro_gitops.errors import ClusterUnavailable, ConnectionLost, Unavailable
from kro_gitops.kube.api import Identity
from kro_gitops.kube.ratelimit import ClientLimits, TokenBucket, retry_delay
from kro_gitops.kube.requests import Request, impersonation
from kro_gitops.kube.responses import Unauthorized, error_of

log = logging.getLogger(__name__)

_RANDOM = random.Random()  # not the generator of the module `random`

_FAILURES = (aiohttp.ClientError, TimeoutError, OSError)
# The server closed a connection that was kept, or none could be opened.
_LOST = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError)


class Access(Protocol):
    """All it takes to reach an API server."""

    server: str
    tls: ssl.SSLContext | None
    server_name: str | None
    proxy: str | None
    identity: Identity | None  # whom a kubeconfig says to act as

    async def authorization(self) -> str | None:
        """Return the header to send."""

    async def renew(self) -> None:
        """Get other credentials: the server did not accept those we have."""


@dataclass(frozen=True, slots=True)
class RequestReport:
    """A request and how it went, for metrics."""

    request: Request
    http_code: int  # 0: no answer
    seconds: float  # until the answer began
    bytes_out: int = 0
    bytes_in: int | None = None  # unknown of answers that have no end yet
    repetition: int = 0  # how often it was sent before
    held_back: float = 0.0  # seconds, so as not to send too many


Observe = Callable[[RequestReport], None]


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A request about to be sent."""

    request: Request
    timeout: aiohttp.ClientTimeout
    repetition: int = 0
    held_back: float = 0.0


class Transport:
    """Connections to one API server; open for as long as the block lasts."""

    def __init__(
        self,
        access: Access,
        limits: ClientLimits | None = None,
        observe: Observe | None = None,
        *,
        user_agent: str = "kro-gitops",
    ) -> None:
        self._access = access
        self.limits = limits or ClientLimits()
        self._observe = observe
        self._user_agent = user_agent
        self._slots = asyncio.Semaphore(self.limits.in_flight)
        self._timeout = aiohttp.ClientTimeout(total=self.limits.timeout)
        self._bucket = (
            TokenBucket(self.limits.per_second, self.limits.burst)
            if self.limits.per_second
            else None
        )
        self._session: aiohttp.ClientSession | None = None
        # Checked before every write: a replica that lost the lease must not write any more.
        self.may_write: Callable[[], bool] | None = None

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(limit=0, ssl=self._access.tls or True)
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers={"User-Agent": self._user_agent},
            timeout=self._timeout,
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def send(self, request: Request) -> Any:
        """Send a request, with retries where they do no harm; return the JSON of the response."""
        attempt = 0
        while True:
            try:
                return await self.send_once(request, attempt)
            except ClusterUnavailable as error:
                wait = retry_delay(request, error, attempt, self.limits, _RANDOM.random())
                if wait is None:
                    raise
            attempt += 1
            log.debug(
                "request to be repeated",
                extra={"verb": request.verb, "subject": request.subject, "wait": wait},
            )
            await asyncio.sleep(wait)

    async def send_once(self, request: Request, repetition: int) -> Any:
        """Send a request without retries; a transport without connections replaces this."""
        held_back = 0.0
        if self._bucket is not None:
            held_back = self._bucket.reserve(time.monotonic())
            await asyncio.sleep(held_back)
        attempt = _Attempt(request, self._timeout, repetition, held_back)
        async with self._slots, await self._open(attempt) as response:
            body = await _body(request, response)
        return decode_json(request, body)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a stream of lines that lasts until the server or the caller closes it."""
        timeout = aiohttp.ClientTimeout(
            total=None, connect=self.limits.timeout, sock_read=self.limits.silence
        )
        async with await self._open(_Attempt(request, timeout)) as response:
            yield _lines(request, response)

    async def _open(self, trying: _Attempt) -> aiohttp.ClientResponse:
        """Send a request and return the answer, if it is a good one."""
        try:
            return await self._open_once(trying)
        except Unauthorized:
            await self._access.renew()
        return await self._open_once(trying)

    async def _open_once(self, trying: _Attempt) -> aiohttp.ClientResponse:
        request, response = trying.request, None
        if request.method != "GET" and self.may_write is not None and not self.may_write():
            raise Unavailable("not-leading", "the lease expired: no more writes are sent")
        text = b"" if request.body is None else orjson.dumps(request.body)
        begun = time.monotonic()
        try:
            if self._session is None:
                raise RuntimeError("the transport is not open")
            authorization = await self._access.authorization()
            credentials = [("Authorization", authorization)] if authorization else []
            if self._access.identity is not None and not request.is_impersonating:
                credentials += impersonation(self._access.identity)
            response = await self._session.request(
                request.method,
                self._access.server + request.path,
                params=request.query,
                headers=[*request.headers, *credentials],
                data=text or None,
                timeout=trying.timeout,
                server_hostname=self._access.server_name,
                proxy=self._access.proxy,
                allow_redirects=False,
            )
        except _FAILURES as error:
            raise _no_answer(request, error, is_lost=isinstance(error, _LOST)) from error
        finally:
            if self._observe is not None:
                code, size = 0, None
                if response is not None:
                    code, size = response.status, response.content_length
                seconds = time.monotonic() - begun
                self._observe(
                    RequestReport(
                        request, code, seconds, len(text), size, trying.repetition, trying.held_back
                    )
                )
        if response.status < 300:
            return response
        async with response:
            body = await _body(request, response)
        raise error_of(response.status, body, response.headers.get("Retry-After"))


async def _body(request: Request, response: aiohttp.ClientResponse) -> bytes:
    try:
        return await response.read()
    except _FAILURES as error:
        raise _no_answer(request, error) from error


async def _lines(request: Request, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Cut a stream into lines of any length; a line that is cut off itself is dropped."""
    begun: list[bytes] = []  # pieces of a line whose end has not come
    try:
        async for piece in response.content.iter_any():
            *ended, rest = piece.split(b"\n")
            for line in ended:
                yield b"".join([*begun, line])
                begun.clear()
            if rest:
                begun.append(rest)
    except TimeoutError:
        return  # silence need not be a failure: the next watch will show
    except _FAILURES as error:
        raise _no_answer(request, error) from error


def decode_json(request: Request, text: bytes) -> Any:
    """Read JSON; what is none comes from something between us and the API server."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _no_answer(request, error) from error


def _no_answer(
    request: Request, error: BaseException, *, is_lost: bool = False
) -> ClusterUnavailable:
    """Return which request got no answer; the error's own text knows addresses, but no secrets."""
    reason = str(error) or type(error).__name__
    text = f"no response to {request.verb} {request.subject}: {reason}"
    if is_lost:
        return ConnectionLost("cluster-unavailable", text)
    return ClusterUnavailable("cluster-unavailable", text)
