"""Connections: what is answered, in which order, and what becomes of those that stay open."""

import asyncio
import os
import resource
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import pytest

from kube_sandbox import api_errors
from kube_sandbox.endpoints.interface import HTTPRequest, Stream
from kube_sandbox.endpoints.responses import Response
from kube_sandbox.http.server import MAX_BODY_BYTES, HTTPServer, Limits
from kube_sandbox.storage.resource_version import VersionNotReachedError

Handle = Callable[[HTTPRequest], Response | Stream]
Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]
GET = b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n"


class Lines:
    """A watch that tells what it is given."""

    content_type = "application/json"
    warnings: Sequence[str] = ("old",)

    def __init__(self) -> None:
        self.queue: asyncio.Queue[bytes] = asyncio.Queue()
        self.is_closed = False

    async def next(self) -> bytes:
        return await self.queue.get()

    def close(self) -> None:
        self.is_closed = True
        self.queue.put_nowait(b"")


class Fake:
    """A service that does as it is told."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self.reached_version = asyncio.Event()

    def authenticate(self, headers: Mapping[str, str]) -> None:
        if headers.get("Authorization") != "Bearer secret":
            raise api_errors.unauthorized()

    def answer(self, call: HTTPRequest) -> Response | Stream:
        return self._handle(call)

    async def reached(self, version: int) -> None:
        await self.reached_version.wait()


@asynccontextmanager
async def _opened(
    service: Fake, limits: Limits | None = None
) -> AsyncIterator[tuple[HTTPServer, Client]]:
    wire = HTTPServer(service, limits)
    await wire.open("127.0.0.1", 0, None)
    reader, writer = await asyncio.open_connection("127.0.0.1", wire.port)
    try:
        yield wire, (reader, writer)
    finally:
        writer.close()
        await wire.close()


async def _answer(client: Client) -> tuple[str, dict[str, str], bytes]:
    head = (await client[0].readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in head[1:] if line)
    body = await client[0].readexactly(int(headers.get("Content-Length", "0")))
    return head[0], headers, body


def _echo(call: HTTPRequest) -> Response:
    return Response(200, call.path.encode() + b"|" + call.body)


async def test_requests_of_a_connection_are_answered_in_order() -> None:
    async with _opened(Fake(_echo)) as (_, client):
        put = b"PUT /c HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi"
        client[1].write(GET % b"/a" + GET % b"/b" + put)
        found = [await _answer(client) for _ in range(3)]
        assert [body for _, _, body in found] == [b"/a|", b"/b|", b"/c|hi"]
        status, headers, _ = found[0]
        assert status == "HTTP/1.1 200 OK"
        assert headers["Cache-Control"] == "no-cache, private"
        assert headers["Date"].endswith(" GMT")


async def test_a_body_is_sent_when_it_is_asked_for() -> None:
    async with _opened(Fake(_echo)) as (_, client):
        client[1].write(b"PUT / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        assert await client[0].readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        client[1].write(b"hi")
        assert (await _answer(client))[2] == b"/|hi"


async def test_a_body_that_is_too_large_is_refused() -> None:
    async with _opened(Fake(_echo)) as (_, client):
        client[1].write(b"PUT / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1))
        status, headers, body = await _answer(client)
        assert status.startswith("HTTP/1.1 413 ")
        assert headers["Connection"] == "close"
        assert b"RequestEntityTooLarge" in body
        assert await client[0].read() == b""


async def test_a_client_that_still_sends_gets_the_answer_to_a_rejected_request() -> None:
    async with _opened(Fake(_echo)) as (_, client):
        client[1].write(b"PUT / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1))
        for _ in range(100):
            client[1].write(b"x" * 100_000)
            await client[1].drain()
        assert (await _answer(client))[0].startswith("HTTP/1.1 413 ")


async def test_nonsense_is_refused_and_the_connection_closed() -> None:
    async with _opened(Fake(_echo)) as (_, client):
        client[1].write(b"nonsense\r\n\r\n")
        assert (await _answer(client))[0] == "HTTP/1.1 400 Bad Request"
        assert await client[0].read() == b""


async def test_a_document_that_is_known_says_nothing_of_what_it_is() -> None:
    async with _opened(Fake(lambda _: Response(304, b"", headers={"ETag": "x"}))) as (_, client):
        client[1].write(GET % b"/api")
        status, headers, _ = await _answer(client)
        assert status == "HTTP/1.1 304 Not Modified"
        assert "Content-Type" not in headers
        assert headers["ETag"] == "x"


async def test_refusals_and_faults_are_told() -> None:
    def handle(call: HTTPRequest) -> Response:
        if call.path == "/fault":
            raise ValueError("a fault of ours")
        raise api_errors.not_found("", "pods", "x")

    async with _opened(Fake(handle)) as (_, client):
        client[1].write(GET % b"/pods" + GET % b"/fault")
        assert b'pods \\"x\\" not found' in (await _answer(client))[2]
        assert (await _answer(client))[0] == "HTTP/1.1 500 Internal Server Error"


async def test_a_request_may_wait_for_a_version_while_the_next_waits_for_it() -> None:
    is_there = False

    def handle(call: HTTPRequest) -> Response:
        if call.path == "/later" and not is_there:
            raise VersionNotReachedError(504, "Timeout", "too early")
        return _echo(call)

    service = Fake(handle)
    async with _opened(service) as (_, client):
        client[1].write(GET % b"/later" + GET % b"/next")
        await asyncio.sleep(0.05)
        is_there = True
        service.reached_version.set()
        assert (await _answer(client))[2] == b"/later|"
        assert (await _answer(client))[2] == b"/next|"
        is_there = False
        client[1].write(GET % b"/later")
        assert (await _answer(client))[0] == "HTTP/1.1 504 Gateway Timeout"


async def test_a_watch_is_told_as_it_comes_and_the_connection_lives_on() -> None:
    lines = Lines()
    service = Fake(lambda call: lines if call.path == "/watch" else _echo(call))
    async with _opened(service) as (_, client):
        client[1].write(GET % b"/watch" + GET % b"/after")
        _, headers, _ = await _answer(client)
        assert headers["Transfer-Encoding"] == "chunked"
        assert headers["Warning"] == '299 - "old"'
        lines.queue.put_nowait(b"one\n")
        assert await client[0].readexactly(9) == b"4\r\none\n\r\n"
        lines.close()
        assert await client[0].readexactly(5) == b"0\r\n\r\n"
        assert (await _answer(client))[2] == b"/after|"


async def test_a_watch_ends_with_its_client() -> None:
    lines = Lines()
    async with _opened(Fake(lambda _: lines)) as (_, client):
        client[1].write(GET % b"/watch")
        await _answer(client)
        client[1].close()
        async with asyncio.timeout(5):
            while not lines.is_closed:  # noqa: ASYNC110 - nobody says when
                await asyncio.sleep(0.01)


async def test_watches_end_with_the_server() -> None:
    lines = Lines()
    async with _opened(Fake(lambda _: lines)) as (wire, client):
        client[1].write(GET % b"/watch")
        await _answer(client)
        async with asyncio.timeout(5):
            await wire.close()
            assert await client[0].read() == b"0\r\n\r\n"
        assert lines.is_closed


async def test_a_client_that_reads_slowly_holds_its_watch_back() -> None:
    lines, size = Lines(), 1_000_000
    async with _opened(Fake(lambda _: lines)) as (_, client):
        client[1].write(GET % b"/watch")
        await _answer(client)
        for _ in range(30):
            lines.queue.put_nowait(b"x" * size)
        await asyncio.sleep(0.2)
        assert lines.queue.qsize() > 10
        read = 0
        while read < 30 * size:
            read += len(await client[0].read(1 << 20))
        assert lines.queue.empty()


async def _is_closed(client: Client) -> bool:
    """Return whether the server closes a connection within some seconds."""
    try:
        async with asyncio.timeout(5):
            await client[0].read()
    except TimeoutError:
        return False
    except ConnectionResetError:
        pass
    return True


async def test_requests_are_not_read_faster_than_their_answers() -> None:
    answered = 0

    def handle(call: HTTPRequest) -> Response:
        nonlocal answered
        answered += 1
        return Response(200, b"x" * 1000)

    async with _opened(Fake(handle)) as (_, client):
        requests = GET % b"/a" * 400_000
        client[1].write(requests)
        previous = -1
        while answered != previous:  # until nothing moves any more
            previous = answered
            await asyncio.sleep(0.2)
        assert answered < 40_000
        # The rest is in the buffers of the client and of the kernel.
        assert client[1].transport.get_write_buffer_size() > 1_000_000
        for _ in range(answered + 1000):
            assert (await _answer(client))[0] == "HTTP/1.1 200 OK"


async def test_a_large_body_is_received_from_known_clients_only() -> None:
    received: list[HTTPRequest] = []

    def handle(call: HTTPRequest) -> Response:
        received.append(call)
        return _echo(call)

    service = Fake(handle)
    for coding in (b"Content-Length: 2000000", b"Transfer-Encoding: chunked"):
        async with _opened(service) as (_, client):
            head = b"PUT / HTTP/1.1\r\n%b\r\n\r\n" % coding
            client[1].write(head + b"186a0\r\n" + b"x" * 100_000)
            status, headers, body = await _answer(client)
            assert status == "HTTP/1.1 401 Unauthorized"
            assert b'"reason":"Unauthorized"' in body
            assert headers["Connection"] == "close"
            assert await _is_closed(client)
    assert received == []
    async with _opened(service) as (_, client):
        authorized = b"PUT / HTTP/1.1\r\nAuthorization: Bearer secret\r\n"
        client[1].write(authorized + b"Content-Length: 2000000\r\n\r\n" + b"x" * 2_000_000)
        assert len((await _answer(client))[2]) == 2_000_002


@pytest.mark.parametrize(
    ("sent", "limits"),
    [
        (b"", Limits(idle=0.2)),
        (GET % b"/a", Limits(idle=0.2)),
        (b"GET / HTTP/1.1\r\nA: ", Limits(head=0.2)),
        (b"PUT / HTTP/1.1\r\nContent-Length: 5\r\n\r\nx", Limits(body=0.2)),
    ],
)
async def test_a_client_that_takes_too_long_loses_its_connection(
    sent: bytes, limits: Limits
) -> None:
    async with _opened(Fake(_echo), limits) as (_, client):
        client[1].write(sent)
        assert await _is_closed(client)


async def test_a_client_that_does_not_read_loses_its_connection() -> None:
    lost = asyncio.Event()
    lines = Lines()

    class Closing(Lines):
        def close(self) -> None:
            lost.set()

    lines = Closing()
    async with _opened(Fake(lambda _: lines), Limits(unread=0.3)) as (_, client):
        client[1].write(GET % b"/watch")
        await _answer(client)
        for _ in range(30):
            lines.queue.put_nowait(b"x" * 1_000_000)
        async with asyncio.timeout(10):
            await lost.wait()


async def test_a_client_that_watches_may_be_silent() -> None:
    lines = Lines()
    limits = Limits(idle=0.1, head=0.1, body=0.1, unread=0.1)
    async with _opened(Fake(lambda _: lines), limits) as (_, client):
        client[1].write(GET % b"/watch")
        await _answer(client)
        await asyncio.sleep(0.5)
        lines.queue.put_nowait(b"one\n")
        assert await client[0].readexactly(9) == b"4\r\none\n\r\n"


async def test_the_longest_idle_connection_makes_room_for_a_new_one() -> None:
    lines = Lines()
    service = Fake(lambda call: lines if call.path == "/watch" else _echo(call))
    async with _opened(service, Limits(connections=3)) as (wire, watching):
        watching[1].write(GET % b"/watch")
        await _answer(watching)
        clients = []
        for number in range(10):
            client = await asyncio.open_connection("127.0.0.1", wire.port)
            client[1].write(GET % b"/%d" % number)
            assert (await _answer(client))[2] == b"/%d|" % number
            clients.append(client)
        assert all([await _is_closed(client) for client in clients[:7]])
        clients[-1][1].write(GET % b"/again")
        assert (await _answer(clients[-1]))[2] == b"/again|"
        lines.queue.put_nowait(b"one\n")
        assert await watching[0].readexactly(9) == b"4\r\none\n\r\n"
        for client in clients:
            client[1].close()


async def test_a_process_without_descriptors_logs_a_line_and_serves_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with _opened(Fake(_echo)) as (_, client):
        descriptors = []
        connecting = []
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, before[1]))
        try:
            for _ in range(20):
                sock = socket.socket()
                sock.setblocking(False)
                connecting.append(sock)
            with suppress(OSError):
                while True:
                    descriptors.append(os.dup(0))
            for sock in connecting:
                sock.connect_ex(client[1].get_extra_info("peername"))
            await asyncio.sleep(0.5)
            assert len(caplog.records) <= 1
        finally:
            for each in descriptors:
                os.close(each)
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        fresh = await asyncio.open_connection(*client[1].get_extra_info("peername"))
        fresh[1].write(GET % b"/a")
        assert (await _answer(fresh))[2] == b"/a|"
        fresh[1].close()
        for sock in connecting:
            sock.close()
