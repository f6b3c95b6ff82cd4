"""
The door for forges: what they call, and who is woken by it.

Anybody on the internet may knock here, so each call is kept small before it is known to be
genuine. A connection carries one request and lives for seconds, however slowly it is spoken on; a
body is read up to a limit, whatever its headers promise; few bodies are read at a time. What a
call means is decided in `source.webhook`, what becomes of it in `source.receivers`.

Nothing of a body is logged, and of the headers only the forge, the event and the delivery.
"""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from aiohttp import web

from kro_gitops.server.thread import SHUTDOWN_TIMEOUT, ServerThread, listen
from kro_gitops.settings.address import Address
from kro_gitops.source.webhooks.endpoints import Receivers
from kro_gitops.source.webhooks.ratelimit import Outcome
from kro_gitops.source.webhooks.receive import LARGEST_BODY, hear
from kube_objects.errors import RefusedError
from kube_objects.refs import ObjectRef

FLAG = "--webhook-bind-address"

_UNKNOWN = "unknown"  # the forge of a call that was not understood
_LINGER_SECONDS = 2.0  # seconds in which who is refused may finish speaking, and read the answer

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
    """What strangers may take of us."""

    connections: int = 256
    bodies: int = 16  # read at the same time
    body_seconds: float = 10.0  # to send a body
    connection_seconds: float = 20.0  # from the first byte to the last


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
    Hears forges at one address, or not at all.

    `poke` and `observe` are called from the server's own thread: the first with a source that
    shall be looked at, the second with the forge and the outcome of every call.
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
        self._bodies = 0

    @property
    def port(self) -> int | None:
        """Return the port at which forges are heard."""
        return self._port

    def start(self) -> None:
        """Listen, and serve until stopped; raise if the address cannot be had."""
        if self._address is None:
            return
        bound = listen(FLAG, self._address)
        self._port = bound.getsockname()[1]

        async def opening(closing: AsyncExitStack) -> None:
            runner = web.ServerRunner(
                _ConnectionLimiter(self._answer, self._limits), shutdown_timeout=SHUTDOWN_TIMEOUT
            )
            await runner.setup()
            closing.push_async_callback(runner.cleanup)
            await web.SockSite(runner, bound).start()

        self._thread.start(opening)

    def stop(self) -> None:
        """Stop serving; what was never started is stopped already."""
        self._thread.stop()
        self._port = None

    async def _answer(self, request: web.BaseRequest) -> web.Response:
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
        body = await self._body(request)
        try:
            heard = hear(request.headers, body, receiver.token, receiver.forge, time.time())
        except RefusedError as error:
            log.info("webhook rejected", extra={"source": receiver.key, "code": error.code})
            headers = {"WWW-Authenticate": 'Basic realm="webhook"'}
            code = _CODES[error.code]
            text = f"{error.message}; {error.hint}"
            return _Reply(code, text, error.code, headers=headers if code == 401 else {})
        admission = self._receivers.admit(receiver, heard, time.monotonic())
        fields = {
            "source": receiver.key,
            "forge": heard.forge.value,
            "event": heard.event,
            "delivery": heard.delivery,
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
        return _Reply(code, text, admission.outcome.value, heard.forge.value, headers)

    async def _body(self, request: web.BaseRequest) -> bytes:
        """Read a body, within all limits; what headers say of its length is only a hint."""
        if (request.content_length or 0) > LARGEST_BODY:
            raise _Rejection(_TOO_LARGE)
        if self._bodies >= self._limits.bodies:
            raise _Rejection(_BUSY)
        self._bodies += 1
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
            self._bodies -= 1

    def _notify_later(self, key: ObjectRef) -> None:
        try:
            self._poke(key)
        except Exception as error:  # nobody waits for an answer any more
            log.error("webhook failed", extra={"error": type(error).__name__, "source": key})


class _ConnectionLimiter(web.Server):
    """Lets in so many connections, each for so long; aiohttp alone waits forever for headers."""

    def __init__(
        self, handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]], limits: Limits
    ) -> None:
        super().__init__(
            handler,
            access_log=None,
            logger=logging.Logger("webhooks", logging.CRITICAL + 1),
            auto_decompress=False,  # signed as it was sent, and small as it was sent
            lingering_time=_LINGER_SECONDS,
        )
        self._limits = limits
        self._deadlines: dict[web.RequestHandler, asyncio.TimerHandle] = {}

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        loop = asyncio.get_running_loop()
        if len(self._deadlines) >= self._limits.connections:
            loop.call_soon(transport.abort)  # aiohttp must have begun before it can end
            return
        seconds = self._limits.connection_seconds
        self._deadlines[handler] = loop.call_later(seconds, transport.abort)

    def connection_lost(
        self, handler: web.RequestHandler, exc: BaseException | None = None
    ) -> None:
        super().connection_lost(handler, exc)
        deadline = self._deadlines.pop(handler, None)
        if deadline is not None:
            deadline.cancel()
