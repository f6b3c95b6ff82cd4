"""
The HTTP server for webhooks of forges.

Anyone on the internet may connect, so each call costs little before it is authenticated. A
connection carries one request and lives for seconds, however slowly the client sends; a body is
read up to a limit, whatever its headers promise; few bodies are read at a time, and half of them at
most for one source.

Slow clients must not keep others out. Headers have a short timeout, one address has half of the
connections at most, and where a limit is reached, the oldest connection that has not named an
existing path is closed for the new one: a forge sends its headers at once.

`source.webhooks.receive` parses a call, `source.webhooks.endpoints` decides its outcome. Nothing of
a body is logged, and of the headers only the forge, the event and the delivery.
"""

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from ipaddress import IPv6Address, IPv6Network, ip_address

from aiohttp import web

from kro_gitops.server.thread import SHUTDOWN_TIMEOUT, ServerThread, listen
from kro_gitops.settings.address import Address
from kro_gitops.source.webhooks.endpoints import Receivers
from kro_gitops.source.webhooks.ratelimit import Outcome
from kro_gitops.source.webhooks.receive import LARGEST_BODY, parse_call
from kube_objects.errors import RefusedError
from kube_objects.refs import ObjectRef

FLAG = "--webhook-bind-address"

_UNKNOWN = "unknown"  # the forge of a call that was not authenticated
_LINGER_SECONDS = 2.0  # seconds in which a rejected client may finish sending, and read the answer
_IPV6_NETWORK = 64  # bits; a client has at least that many addresses

_CODES: Mapping[str, int] = {
    "hook-unauthenticated": 401,
    "hook-without-token": 403,
    "hook-bad-signature": 403,
    "hook-weak-signature": 403,
    "hook-stale-signature": 403,
    "hook-wrong-forge": 403,
    "hook-unsupported-encoding": 415,
    "hook-bad-payload": 400,
    "hook-too-large": 413,
}

_ANSWERS: Mapping[Outcome, tuple[int, str]] = {
    Outcome.POKED: (202, "the repository is looked at"),
    Outcome.COALESCED: (202, "the repository will be looked at anyway"),
    Outcome.IGNORED: (200, "nothing to do"),
    Outcome.REPEATED: (200, "already received"),
    Outcome.LIMITED: (429, "too many calls"),
}

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """What clients may use before they are authenticated."""

    connections: int = 256
    connections_of_peer: int = 128  # of one address; behind a proxy, all calls are the proxy's
    bodies: int = 16  # read at the same time
    bodies_of_source: int = 8
    header_seconds: float = 5.0  # from the connection to the end of the headers
    body_seconds: float = 10.0  # to send a body
    connection_seconds: float = 20.0  # from the connection to the last byte


LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class _Reply:
    """An answer, and what to count it as."""

    code: int
    text: str
    outcome: str
    forge: str = _UNKNOWN
    headers: Mapping[str, str] = field(default_factory=dict)


_NOT_FOUND = _Reply(404, "there is nothing here", "not-found")
_NOT_POST = _Reply(405, "POST only", "bad-method", headers={"Allow": "POST"})
_BUSY = _Reply(503, "too many calls at once", "busy", headers={"Retry-After": "5"})
_TOO_LARGE = _Reply(413, f"at most {LARGEST_BODY:,} bytes are read", "hook-too-large")
_TOO_SLOW = _Reply(408, "the body took too long", "too-slow")
_BROKEN = _Reply(400, "the body could not be read", "broken")
_FAILED = _Reply(500, "that went wrong here; see the log", "failed")


class _Rejection(Exception):  # noqa: N818 - an answer on its way out
    """A call that ends before it is understood."""

    def __init__(self, reply: _Reply) -> None:
        super().__init__(reply.text)
        self.reply = reply


class WebhookServer:
    """
    Serves webhooks at one address, or not at all.

    `poke` and `observe` are called from the server's own thread: the first with a source to poll,
    the second with the forge and the outcome of every call.
    """

    def __init__(
        self,
        address: Address | None,
        receivers: Receivers,
        poke: Callable[[ObjectRef], None],
        observe: Callable[[str, str], None] | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        self._address = address
        self._receivers = receivers
        self._poke = poke
        self._observe = observe
        self._limits = limits
        self._thread = ServerThread("webhooks")
        self._port: int | None = None
        self._bodies: Counter[ObjectRef] = Counter()  # that are being read
        self._connections: _ConnectionLimiter | None = None

    @property
    def port(self) -> int | None:
        """Return the port at which the server listens."""
        return self._port

    def start(self) -> None:
        """Listen, and serve until stopped; raise if the address cannot be bound."""
        if self._address is None:
            return
        bound = listen(FLAG, self._address)
        self._port = bound.getsockname()[1]

        async def opening(closing: AsyncExitStack) -> None:
            server = _ConnectionLimiter(self._answer, self._limits, self._observe)
            self._connections = server
            runner = web.ServerRunner(server, shutdown_timeout=SHUTDOWN_TIMEOUT)
            await runner.setup()
            closing.push_async_callback(runner.cleanup)
            await web.SockSite(runner, bound).start()

        self._thread.start(opening)

    def stop(self) -> None:
        """Stop serving; what was never started is stopped already."""
        self._thread.stop()
        self._port = None

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        assert self._connections is not None
        self._connections.received_headers(request.protocol)
        try:
            reply = await self._process(request)
        except _Rejection as refusal:
            reply = refusal.reply
        except Exception as error:
            # Without its text and traceback, which may hold what was sent.
            log.error("webhook failed", extra={"error": type(error).__name__})
            reply = _FAILED
        if self._observe is not None:
            self._observe(reply.forge, reply.outcome)
        key = "result" if reply.code < 400 else "error"
        answer = {key: reply.outcome, "message": reply.text}
        response = web.json_response(answer, status=reply.code, headers=reply.headers)
        response.force_close()  # one request a connection: its deadline is the request's
        return response

    async def _process(self, request: web.BaseRequest) -> _Reply:
        if request.method != "POST":
            return _NOT_POST
        receiver = self._receivers.find(request.rel_url.raw_path)
        if receiver is None:
            return _NOT_FOUND
        assert self._connections is not None
        with self._connections.protected(request.protocol):
            body = await self._body(request, receiver.key)
        try:
            call = parse_call(request.headers, body, receiver.token, receiver.forge, time.time())
        except RefusedError as error:
            log.info("webhook rejected", extra={"source": receiver.key, "code": error.code})
            headers = {"WWW-Authenticate": 'Basic realm="webhook"'}
            code = _CODES[error.code]
            text = f"{error.message}; {error.hint}"
            return _Reply(code, text, error.code, headers=headers if code == 401 else {})
        admission = self._receivers.admit(receiver, call, time.monotonic())
        fields = {
            "source": receiver.key,
            "forge": call.forge.value,
            "event": call.event,
            "delivery": call.delivery,
            "outcome": admission.outcome.value,
        }
        log.info("webhook received", extra=fields)
        if admission.outcome is Outcome.POKED and admission.wait > 0:
            loop = asyncio.get_running_loop()
            loop.call_later(admission.wait, self._notify_later, receiver.key)
        elif admission.outcome is Outcome.POKED:
            self._poke(receiver.key)
        code, text = _ANSWERS[admission.outcome]
        again = {"Retry-After": str(max(1, math.ceil(admission.wait)))}
        headers = again if admission.outcome is Outcome.LIMITED else {}
        return _Reply(code, text, admission.outcome.value, call.forge.value, headers)

    async def _body(self, request: web.BaseRequest, source: ObjectRef) -> bytes:
        """Read a body, within all limits; its length in the headers is only a hint."""
        if (request.content_length or 0) > LARGEST_BODY:
            raise _Rejection(_TOO_LARGE)
        bodies, limits = self._bodies, self._limits
        if bodies.total() >= limits.bodies or bodies[source] >= limits.bodies_of_source:
            raise _Rejection(_BUSY)
        bodies[source] += 1
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                body = bytearray()
                async for chunk in request.content.iter_any():
                    body += chunk
                    if len(body) > LARGEST_BODY:
                        raise _Rejection(_TOO_LARGE)
                return bytes(body)
        except TimeoutError:
            raise _Rejection(_TOO_SLOW) from None
        except (web.RequestPayloadError, ConnectionError):  # wrong chunks, or hung up
            raise _Rejection(_BROKEN) from None
        finally:
            bodies[source] -= 1
            if not bodies[source]:
                del bodies[source]

    def _notify_later(self, key: ObjectRef) -> None:
        try:
            self._poke(key)
        except Exception as error:  # no client waits for an answer any more
            log.error("webhook failed", extra={"error": type(error).__name__, "source": key})


@dataclass(slots=True, eq=False)
class _Connection:
    transport: asyncio.Transport
    peer: str
    began: float
    deadline: asyncio.TimerHandle
    is_protected: bool = False


class _ConnectionLimiter(web.Server):
    """Bounds the number and the time of connections; aiohttp alone waits forever for headers."""

    def __init__(
        self,
        handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        limits: Limits,
        observe: Callable[[str, str], None] | None,
    ) -> None:
        super().__init__(
            handler,
            access_log=None,
            logger=logging.Logger("webhooks", logging.CRITICAL + 1),
            auto_decompress=False,  # signed as it was sent, and small as it was sent
            lingering_time=_LINGER_SECONDS,
        )
        self._limits = limits
        self._observe = observe
        self._open: dict[web.RequestHandler, _Connection] = {}  # the oldest first

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        loop, peer = asyncio.get_running_loop(), _peer_of(transport)
        same = [key for key, each in self._open.items() if each.peer == peer]
        rivals = same if len(same) >= self._limits.connections_of_peer else list(self._open)
        if rivals is same or len(self._open) >= self._limits.connections:
            oldest = next((key for key in rivals if not self._open[key].is_protected), None)
            if oldest is None:
                loop.call_soon(transport.abort)  # aiohttp must have begun before it can end
                self._count("dropped")
                return
            self._close(oldest, "dropped")
        deadline = loop.call_later(
            self._limits.header_seconds, self._close, handler, "slow-headers"
        )
        self._open[handler] = _Connection(transport, peer, loop.time(), deadline)

    def connection_lost(
        self, handler: web.RequestHandler, exc: BaseException | None = None
    ) -> None:
        super().connection_lost(handler, exc)
        lost = self._open.pop(handler, None)
        if lost is not None:
            lost.deadline.cancel()

    def received_headers(self, handler: web.RequestHandler) -> None:
        """Give a connection the rest of its time."""
        connection = self._open.get(handler)
        if connection is not None:
            connection.deadline.cancel()
            end = connection.began + self._limits.connection_seconds
            loop = asyncio.get_running_loop()
            connection.deadline = loop.call_at(end, self._close, handler, "slow")

    @contextmanager
    def protected(self, handler: web.RequestHandler) -> Iterator[None]:
        """Keep a connection that has named an existing path, whatever limit is reached."""
        connection = self._open.get(handler)
        if connection is None:
            yield
            return
        connection.is_protected = True
        try:
            yield
        finally:
            connection.is_protected = False

    def _close(self, handler: web.RequestHandler, outcome: str) -> None:
        connection = self._open.pop(handler)
        connection.deadline.cancel()
        connection.transport.abort()
        self._count(outcome)

    def _count(self, outcome: str) -> None:
        if self._observe is not None:
            self._observe(_UNKNOWN, outcome)


def _peer_of(transport: asyncio.Transport) -> str:
    """Return the address of a client, or its network: a client has more than one IPv6 address."""
    address = ip_address(transport.get_extra_info("peername", ("0.0.0.0",))[0].partition("%")[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return str(IPv6Network((address, _IPV6_NETWORK), strict=False))
    return str(address)
