"""
Connections on a port, and what is sent over them.

Nothing is decided here. A request is read whole and answered whole, in one go; only a watch stays
open, and writes until one side ends it.

A client is not trusted before its token is known, and its memory is bounded then, too: requests are
parsed only as fast as answers are read, a large body is received only from a client that may send
requests, and connections that do nothing are closed. Limits are those of kube-apiserver where it
has them. When there are as many connections as the process can hold, the one that is idle for the
longest makes room for the next.
"""

import asyncio
import errno
import logging
import resource
import socket
import ssl
import time
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus

import orjson

from kube_sandbox import api_errors
from kube_sandbox.api_errors import StatusError
from kube_sandbox.endpoints.interface import HTTPRequest, Service, Stream
from kube_sandbox.endpoints.responses import Response
from kube_sandbox.http.messages import (
    BadMessageError,
    Head,
    ReceivedRequest,
    RequestParser,
    head_of,
)
from kube_sandbox.storage.resource_version import VersionNotReachedError

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 3 * 1024 * 1024
_MAX_UNAUTHENTICATED_BYTES = 64 * 1024  # of a body, before the client's token is looked at
_TEXT = "text/plain; charset=utf-8"
_CLOSING = 1.0  # seconds for clients to close their connections when the server ends
_BACKLOG = 1024  # connections that the kernel keeps until they are accepted
_RESERVED_FILES = 64  # descriptors for everything but connections
_REJECTED_DELAY = 0.5  # seconds; as long as a server in Go waits
_WAIT_FOR_ROOM = 0.01  # seconds, in which a connection that makes room is closed
_ACCEPT_RETRY = 0.1  # seconds, after the system had no descriptor or no memory
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_STATUSES = {each.value: f"{each.value} {each.phrase}" for each in HTTPStatus}


@dataclass(frozen=True, slots=True)
class Limits:
    """How many connections there may be, and how many seconds each may take for what."""

    connections: int = 4096
    head: float = 32.0  # until the head of a request is whole, and for the TLS handshake
    body: float = 60.0  # until the rest of it is
    idle: float = 90.0  # between two requests
    unread: float = 60.0  # while the client reads none of its answers

    @property
    def usable_connections(self) -> int:
        """Return how many of them the process has descriptors for."""
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if files == resource.RLIM_INFINITY:
            return self.connections
        return max(1, min(self.connections, files - _RESERVED_FILES))


class HTTPServer:
    """Listens on a port."""

    def __init__(self, service: Service, limits: Limits | None = None) -> None:
        self._service = service
        self._limits = limits or Limits()
        self._listener: socket.socket | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections: set[_Connection] = set()
        self._greeted = 0  # accepted, and not yet a connection: TLS handshakes
        self.port = 0

    async def open(self, host: str, port: int, context: ssl.SSLContext | None) -> None:
        """Begin to listen; `port` 0 takes one that is free."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
        listener.setblocking(False)
        self._listener = listener
        self.port = listener.getsockname()[1]
        self._start(self._accept(listener, context))
        self._start(self._close_overdue())

    async def close(self) -> None:
        """End all watches, and stop listening."""
        if self._listener is None:
            return
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._listener.close()
        for each in tuple(self._connections):
            each.leave()
        deadline = time.monotonic() + _CLOSING
        while self._connections and time.monotonic() < deadline:  # noqa: ASYNC110 - brief
            await asyncio.sleep(0.01)
        for each in tuple(self._connections):
            each.abort()
        await asyncio.sleep(0)

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, listener: socket.socket, context: ssl.SSLContext | None) -> None:
        """Accept connections for as long as there is room; the kernel keeps the others."""
        loop = asyncio.get_running_loop()
        most = self._limits.usable_connections
        warned = -60.0
        while True:
            if len(self._connections) + self._greeted >= most:
                self._make_room()
                await asyncio.sleep(_WAIT_FOR_ROOM)
                continue
            try:
                client, _ = await loop.sock_accept(listener)
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    continue  # the client has gone again
                if loop.time() - warned >= 60:  # seconds; one line a minute
                    warned = loop.time()
                    log.error("cannot accept connections", extra={"error": str(error)})
                self._make_room()
                await asyncio.sleep(_ACCEPT_RETRY)
                continue
            self._greeted += 1
            self._start(self._greet(client, context))
            await asyncio.sleep(0)  # those that were accepted before come first

    async def _greet(self, client: socket.socket, context: ssl.SSLContext | None) -> None:
        """Make a connection of an accepted socket; a client that speaks no TLS is dropped."""
        loop = asyncio.get_running_loop()
        timeout = self._limits.head if context is not None else None
        try:
            client.setblocking(False)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with suppress(OSError, TimeoutError):
                await loop.connect_accepted_socket(
                    lambda: _Connection(self._service, self._connections),
                    client,
                    ssl=context,
                    ssl_handshake_timeout=timeout,
                )
        finally:
            self._greeted -= 1

    def _make_room(self) -> None:
        """Close the connection that is idle for the longest, if any is idle."""
        idle = [each for each in self._connections if each.is_idle]
        if idle:
            min(idle, key=lambda each: each.since).abort()

    async def _close_overdue(self) -> None:
        """Close connections that take too long, about four times in the shortest limit."""
        limits = self._limits
        shortest = min(limits.head, limits.body, limits.idle, limits.unread)
        while True:
            await asyncio.sleep(min(5.0, shortest / 4))
            now = time.monotonic()
            for each in tuple(self._connections):
                if each.is_overdue(now, limits):
                    each.expire()


class _Connection(asyncio.Protocol):
    """One client: its requests are answered one after the other."""

    def __init__(self, service: Service, everyone: "set[_Connection]") -> None:
        self._service = service
        self._everyone = everyone
        self._requests = RequestParser(MAX_BODY_BYTES)
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None  # a watch, or a request that has to wait
        self._stream: Stream | None = None
        self._can_write = asyncio.Event()
        self._can_write.set()
        self._is_authenticated = False  # for the body that is awaited
        self._is_leaving = False
        self._is_rejected = False  # what else comes is thrown away
        self._is_paused = False  # reading
        self._unread_bytes = 0  # of answers, when they were last looked at
        self._state = ""
        self.since = time.monotonic()  # when this state began

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._everyone.add(self)
        self._note_state()

    def connection_lost(self, exc: Exception | None) -> None:
        """End, and end a watch that has no client any more."""
        self._transport = None
        self._everyone.discard(self)
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        """Answer what is whole; receive no more before all of this is parsed."""
        if not self._is_rejected:
            self._requests.feed(data)
            self._go_on()

    def pause_writing(self) -> None:
        """Note that the client does not read its answers fast enough."""
        self._can_write.clear()
        self._note_state()

    def resume_writing(self) -> None:
        """Go on when the client has read them."""
        self._can_write.set()
        self._go_on()

    # What the server calls

    @property
    def is_idle(self) -> bool:
        """Return whether no request is being answered."""
        return self._task is None

    def is_overdue(self, now: float, limits: Limits) -> bool:
        """Return whether the client took too long for what it is at."""
        if self._state == "unread" and self._transport is not None:
            size = self._transport.get_write_buffer_size()
            if size < self._unread_bytes:
                self.since = now  # it reads, if slowly
            self._unread_bytes = size
        allowed = {
            "idle": limits.idle,
            "head": limits.head,
            "body": limits.body,
            "unread": limits.unread,
        }.get(self._state)
        return allowed is not None and now - self.since > allowed

    def expire(self) -> None:
        """Close an idle connection, or end one whose client did not react to that."""
        if self._state == "idle" and self._transport and not self._transport.is_closing():
            self._transport.close()
        else:
            self.abort()

    def leave(self) -> None:
        """Close as soon as the current request is answered."""
        self._is_leaving = True
        if self._stream is not None:
            self._stream.close()
        if self._task is None and self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    # Requests

    def _go_on(self) -> None:
        try:
            while self._task is None and self._is_ready:
                received = self._requests.next()
                if received is None:
                    self._check_awaited()
                    break
                self._is_authenticated = False
                self._serve(received)
        except BadMessageError as error:
            if error.code == 413:
                body = orjson.dumps(api_errors.too_large(str(error)).status())
                self._reject(Response(413, body))
            else:
                self._reject(Response(error.code, f"{error}\n".encode(), _TEXT))
        except StatusError as error:
            self._reject(refused(error))
        # Receive only while everything that was received is parsed.
        transport, pauses = self._transport, len(self._requests) > 0 and not self._is_rejected
        if transport is not None and not transport.is_closing() and pauses != self._is_paused:
            self._is_paused = pauses
            if pauses:
                transport.pause_reading()
            else:
                transport.resume_reading()
        self._note_state()

    def _check_awaited(self) -> None:
        """Request the body with 100 Continue, or reject it."""
        head = self._requests.head
        if head is None:
            return
        if self._requests.body_size > _MAX_UNAUTHENTICATED_BYTES and not self._is_authenticated:
            self._service.authenticate(head.headers)
            self._is_authenticated = True
        if self._requests.is_asked_to_continue():
            self._write(_CONTINUE)

    def _note_state(self) -> None:
        if not self._can_write.is_set():
            state = "unread"
        elif self._task is not None:
            state = "busy"
        elif self._requests.head is not None:
            state = "body"
        else:
            state = "head" if self._requests.has_begun else "idle"
        if state != self._state or state == "busy":
            self._state, self.since = state, time.monotonic()

    @property
    def _is_ready(self) -> bool:
        """Return whether the next request can be answered."""
        is_open = self._transport is not None and not self._transport.is_closing()
        return is_open and self._can_write.is_set() and not self._is_rejected

    def _serve(self, received: ReceivedRequest) -> None:
        head = received.head
        call = HTTPRequest(head.method, head.path, head.query, head.headers, received.body)
        self._state = "busy"  # so that the time of the next state begins when this is answered
        try:
            found = _answered(self._service, call)
        except VersionNotReachedError as error:
            self._run(self._serve_later(call, head, error.version), head)
            return
        if isinstance(found, Response):
            self._send(found, head)
            self._end(head)
        else:
            self._run(self._send_stream(found, head), head)

    async def _serve_later(self, call: HTTPRequest, head: Head, version: int) -> None:
        await self._service.reached(version)
        try:
            found = _answered(self._service, call)
        except VersionNotReachedError as error:
            found = refused(error)
        if isinstance(found, Response):
            self._send(found, head)
        else:
            await self._send_stream(found, head)

    def _run(self, work: Coroutine[None, None, None], head: Head) -> None:
        """Do something that takes its time; other requests of this client wait meanwhile."""

        async def to_its_end() -> None:
            try:
                await work
            except asyncio.CancelledError:
                return  # the client has gone
            except Exception:
                log.exception("answer failed", extra={"path": head.path})
                self.abort()
            self._task = None
            self._end(head)
            self._go_on()

        self._task = asyncio.get_running_loop().create_task(to_its_end())

    def _end(self, head: Head) -> None:
        if self._is_leaving or not head.stays:
            self._close()

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _reject(self, answer: Response) -> None:
        """
        Answer a request that is not read to its end, and close.

        Not at once: a client that still sends would lose the answer with the connection.
        """
        self._is_rejected = True
        answer.headers = {**answer.headers, "Connection": "close"}
        self._write(_encoded(answer, is_head=False))
        asyncio.get_running_loop().call_later(_REJECTED_DELAY, self._close)

    # Answers

    def _write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def _send(self, answer: Response, head: Head) -> None:
        self._write(_encoded(answer, is_head=head.method == "HEAD"))

    async def _send_stream(self, stream: Stream, head: Head) -> None:
        headers = [("Content-Type", stream.content_type), ("Date", _date())]
        headers += _warnings(stream.warnings)
        headers.append(("Transfer-Encoding", "chunked") if head.is_current else _CLOSE)
        self._stream = stream
        try:
            if self._is_leaving:
                stream.close()
            self._write(head_of(_STATUSES[200], headers))
            while lines := await stream.next():
                self._write(b"%x\r\n%b\r\n" % (len(lines), lines) if head.is_current else lines)
                await self._can_write.wait()
            if head.is_current:
                self._write(b"0\r\n\r\n")
        finally:
            self._stream = None
            stream.close()


_CLOSE = ("Connection", "close")


def _answered(service: Service, call: HTTPRequest) -> Response | Stream:
    try:
        return service.answer(call)
    except VersionNotReachedError:
        raise
    except StatusError as error:
        return refused(error)
    except Exception:
        log.exception("request failed", extra={"path": call.path})
        return refused(api_errors.internal_error("see the server's log"))


def refused(error: StatusError) -> Response:
    """Return the answer to a request that is rejected."""
    if error.code == 404 and not error.reason:
        return Response(404, f"{error.message}\n".encode(), _TEXT, headers=error.headers)
    body = orjson.dumps(error.status())
    return Response(error.code, body, warnings=error.warnings, headers=error.headers)


def _encoded(answer: Response, *, is_head: bool) -> bytes:
    headers = {"Content-Type": answer.content_type, "Cache-Control": "no-cache, private"}
    headers |= answer.headers
    headers["Content-Length"] = str(len(answer.body))
    headers["Date"] = _date()
    if answer.code == 304:
        # The client uses the headers of its cached document.
        del headers["Content-Type"], headers["Content-Length"]
    status = _STATUSES.get(answer.code) or str(answer.code)
    head = head_of(status, [*headers.items(), *_warnings(answer.warnings)])
    return head if is_head or answer.code == 304 else head + answer.body


def _warnings(texts: Sequence[str]) -> list[tuple[str, str]]:
    found = []
    for text in dict.fromkeys(texts):
        printable = "".join(letter if letter.isprintable() else " " for letter in text)
        escaped = printable.replace("\\", "\\\\").replace('"', '\\"')
        found.append(("Warning", f'299 - "{escaped}"'))
    return found


def _date() -> str:
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())
