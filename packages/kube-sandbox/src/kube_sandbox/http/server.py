"""
Bytes ⇄ requests: connections on a port, and what is sent over them.

Nothing is decided here. A request is read whole, answered whole, in one go; only a watch stays
open, and writes what it is given until one side has enough.
"""

import asyncio
import logging
import ssl
import time
from collections.abc import Coroutine, Sequence
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

MAX_BODY_BYTES = 3 * 1024 * 1024  # bytes of a body
_TEXT = "text/plain; charset=utf-8"
_CLOSING = 1.0  # seconds for clients to take their leave when the server ends
_MAX_READ_AHEAD = 256 * 1024  # bytes that a client may send while it is being answered
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_STATUSES = {each.value: f"{each.value} {each.phrase}" for each in HTTPStatus}


class HTTPServer:
    """Listens on a port."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._server: asyncio.Server | None = None
        self._connections: set[_Connection] = set()
        self.port = 0

    async def open(self, host: str, port: int, context: ssl.SSLContext | None) -> None:
        """Begin to listen; `port` 0 takes one that is free."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Connection(self._service, self._connections),
            host,
            port,
            ssl=context,
            backlog=1024,
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """End all watches, and stop listening."""
        if self._server is None:
            return
        self._server.close()
        for each in tuple(self._connections):
            each.leave()
        deadline = time.monotonic() + _CLOSING
        while self._connections and time.monotonic() < deadline:  # noqa: ASYNC110 - brief
            await asyncio.sleep(0.01)
        for each in tuple(self._connections):
            each.abort()
        await self._server.wait_closed()


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
        self._is_leaving = False

    # What asyncio tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._everyone.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """End: a watch would be kept for nobody."""
        self._transport = None
        self._everyone.discard(self)
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        """Answer what is whole."""
        self._requests.feed(data)
        if self._task is None:
            self._go_on()
        elif len(self._requests) > _MAX_READ_AHEAD and self._transport is not None:
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        """Hear that the client does not keep up."""
        self._can_write.clear()

    def resume_writing(self) -> None:
        """Hear that the client has caught up."""
        self._can_write.set()
        if self._task is None:
            self._go_on()

    # What the server wants

    def leave(self) -> None:
        """Close as soon as what is under way is answered."""
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
        while self._task is None and self._is_open and self._can_write.is_set():
            try:
                received = self._requests.next()
            except BadMessageError as error:
                self._refuse(error)
                return
            if received is None:
                if self._requests.is_asked_to_continue():
                    self._write(_CONTINUE)
                return
            self._serve(received)

    @property
    def _is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def _serve(self, received: ReceivedRequest) -> None:
        head = received.head
        call = HTTPRequest(head.method, head.path, head.query, head.headers, received.body)
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
                return  # nobody listens any more
            except Exception:
                log.exception("answer failed", extra={"path": head.path})
                self.abort()
            self._task = None
            self._end(head)
            if self._is_open:
                assert self._transport is not None
                self._transport.resume_reading()
                self._go_on()

        self._task = asyncio.get_running_loop().create_task(to_its_end())

    def _end(self, head: Head) -> None:
        if (self._is_leaving or not head.stays) and self._transport is not None:
            self._transport.close()

    def _refuse(self, error: BadMessageError) -> None:
        """Answer what cannot be read, and what comes after it neither."""
        if error.code == 413:
            body = orjson.dumps(api_errors.too_large(str(error)).status())
            answer = Response(413, body)
        else:
            answer = Response(error.code, f"{error}\n".encode(), _TEXT)
        answer.headers["Connection"] = "close"
        self._write(_encoded(answer, is_head=False))
        if self._transport is not None:
            self._transport.close()

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
        # Whoever has the document goes on reading it as what it came as.
        del headers["Content-Type"], headers["Content-Length"]
    status = _STATUSES.get(answer.code) or str(answer.code)
    head = head_of(status, [*headers.items(), *_warnings(answer.warnings)])
    return head if is_head or answer.code == 304 else head + answer.body


def _warnings(texts: Sequence[str]) -> list[tuple[str, str]]:
    return [("Warning", f"299 - {_quoted(text)}") for text in dict.fromkeys(texts)]


def _quoted(text: str) -> str:
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    escaped = printable.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _date() -> str:
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())
