"""
A git server over HTTP: the real `git http-backend` behind a small server that can misbehave.

It runs in threads of the test, on a port of 127.0.0.1 that the system chose. What a test asks of
it beyond serving stands in `HttpServer`: to pause, fail, redirect, be slow, go away and come back.
"""

import base64
import http.server
import io
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.certificates import Tls
from tests.child_processes import end
from tests.git_repositories import clean_environment, git_program

_PIECE = 64 << 10


@dataclass(frozen=True, slots=True)
class Request:
    """A request that came, whatever became of it."""

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)


@dataclass(slots=True)
class HttpServer:
    """Switches of a running server, and what it has seen; any thread may turn them."""

    root: Path
    users: Mapping[str, str]
    bearer_tokens: Collection[str]
    _context: ssl.SSLContext | None
    requests: list[Request] = field(default_factory=list)
    port: int = 0
    _status: int = 0
    _body: str = "the server is told to fail\n"
    _location: str = ""
    _rate: int = 0
    _open: threading.Event = field(default_factory=threading.Event)
    _running: "_Listener | None" = None

    @property
    def address(self) -> str:
        """Return `http(s)://127.0.0.1:PORT`."""
        return f"{'https' if self._context else 'http'}://127.0.0.1:{self.port}"

    def url(self, name: str) -> str:
        """Return the URL of a repository below the root."""
        return f"{self.address}/{name}"

    def count(self, part: str = "") -> int:
        """Return how many requests had a path that holds a text: `git-upload-pack`, say."""
        return sum(part in request.path for request in self.requests)

    def pause(self) -> None:
        """Answer nobody until `resume`."""
        self._open.clear()

    def resume(self) -> None:
        """Answer again."""
        self._open.set()

    def fail(self, status: int, body: str = "") -> None:
        """Answer everybody with a status (and a body); 0 ends it."""
        self._status = status
        if body:
            self.error_body(body)

    def error_body(self, text: str) -> None:
        """Say this with a refusal; `{authorization}` becomes the header that was sent."""
        self._body = text

    def redirect_to(self, address: str) -> None:
        """Send everybody to another address (`{authorization}` as below); an empty one ends it."""
        self._location = address

    def slow(self, bytes_per_second: int) -> None:
        """Send no more than this; 0 ends it."""
        self._rate = bytes_per_second

    def go_away(self) -> None:
        """Cut every connection and take no more of them."""
        if self._running:
            self._running.stop()
            self._running = None

    def come_back(self) -> None:
        """Serve at the same port as before."""
        if self._running is None:
            self._running = _Listener(self, self._context)
            self.port = self._running.server_address[1]
            threading.Thread(target=self._running.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, exchange: "_Exchange") -> None:
        """Answer one request as the switches say."""
        path = exchange.path
        request = Request(exchange.command, path, dict(exchange.headers.items()))
        self.requests.append(request)
        self._open.wait()
        if self._location:
            place = self._quoting(exchange, self._location).replace(" ", "-")
            exchange.refuse(HTTPStatus.FOUND, "", {"Location": place + path})
        elif self._status:
            exchange.refuse(self._status, self._quoting(exchange, self._body))
        elif not self._is_welcome(exchange.headers.get("Authorization", "")):
            challenge = {"WWW-Authenticate": 'Basic realm="git"'}
            exchange.refuse(HTTPStatus.UNAUTHORIZED, self._quoting(exchange, self._body), challenge)
        else:
            exchange.serve(self.root, self._rate)

    def _quoting(self, exchange: "_Exchange", text: str) -> str:
        return text.replace("{authorization}", exchange.headers.get("Authorization", ""))

    def _is_welcome(self, authorization: str) -> bool:
        if not self.users and not self.bearer_tokens:
            return True
        kind, _, value = authorization.partition(" ")
        if kind.lower() == "bearer":
            return value in self.bearer_tokens
        known = [f"{name}:{word}".encode() for name, word in self.users.items()]
        return kind.lower() == "basic" and base64.b64decode(value) in known


@contextmanager
def http_server(
    root: Path,
    *,
    users: Mapping[str, str] | None = None,
    bearer_tokens: Collection[str] = (),
    tls: Tls | None = None,
    client_ca: Tls | None = None,
) -> Iterator[HttpServer]:
    """Serve the repositories below a folder; nothing of it is left afterwards."""
    server = HttpServer(root, users or {}, bearer_tokens, _tls_context(tls, client_ca))
    server.resume()
    server.come_back()
    try:
        yield server
    finally:
        server.go_away()
        server.resume()


def _tls_context(tls: Tls | None, client_ca: Tls | None) -> ssl.SSLContext | None:
    if tls is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tls.certificate_file, tls.key_file)
    if client_ca:
        context.load_verify_locations(client_ca.certificate_file)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


class _Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, owner: HttpServer, context: ssl.SSLContext | None) -> None:
        self.owner = owner
        self._context = context
        self._sockets: set[socket.socket] = set()
        self._backends: set[int] = set()
        super().__init__(("127.0.0.1", owner.port), _Exchange)

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        if self._context:
            # The handshake happens with the first read, in a thread of its own.
            connection = self._context.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False
            )
        self._sockets.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self._sockets.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: that a client goes away is what many tests want."""

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
        for connection in list(self._sockets):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for pid in list(self._backends):
            end(pid)

    @contextmanager
    def backend(self, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
        """Run `git http-backend` for as long as a block lasts."""
        with subprocess.Popen(
            [git_program(), "http-backend"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        ) as process:
            self._backends.add(process.pid)
            try:
                yield process
            finally:
                if process.poll() is None:
                    end(process.pid)
                self._backends.discard(process.pid)


class _Exchange(http.server.BaseHTTPRequestHandler):
    """One request and its answer; every connection carries one."""

    protocol_version = "HTTP/1.1"
    server: _Listener

    def do_GET(self) -> None:
        self.close_connection = True
        self.server.owner.answer(self)

    do_POST = do_GET  # noqa: N815 - the library's name

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def refuse(self, status: int, body: str, headers: Mapping[str, str] | None = None) -> None:
        """Answer with a status and a text, having taken what the client has to say."""
        for _ in self._body():
            pass
        content = body.encode()
        self.send_response(status)
        lengths = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(content))}
        for name, value in {**lengths, **(headers or {}), "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def serve(self, root: Path, rate: int) -> None:
        """Let git answer."""
        with self.server.backend(self._environment(root)) as backend:
            assert backend.stdin
            assert isinstance(backend.stdout, io.BufferedReader)
            with suppress(BrokenPipeError):  # it may have said all without reading all
                for piece in self._body():
                    backend.stdin.write(piece)
            with suppress(BrokenPipeError):
                backend.stdin.close()
            self._send_head(backend.stdout)
            most = min(_PIECE, max(1, rate // 10)) if rate else _PIECE
            while piece := backend.stdout.read1(most):
                self._send_piece(piece)
                if rate:
                    time.sleep(len(piece) / rate)
            self._send_piece(b"")

    def _send_piece(self, piece: bytes) -> None:
        """Send a chunk: so that a client can tell the end of an answer from a cut line."""
        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))

    def _send_head(self, answer: Any) -> None:
        lines = iter(lambda: answer.readline().decode().strip(), "")
        headers = dict(line.split(": ", 1) for line in lines)
        headers.pop("Content-Length", None)
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        framing = {"Transfer-Encoding": "chunked", "Connection": "close"}
        for name, value in {**headers, **framing}.items():
            self.send_header(name, value)
        self.end_headers()

    def _environment(self, root: Path) -> dict[str, str]:
        target = urlsplit(self.path)
        own = {
            "GIT_PROJECT_ROOT": str(root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": target.path,
            "QUERY_STRING": target.query,
            "REMOTE_ADDR": self.client_address[0],
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        if encoding := self.headers.get("Content-Encoding"):
            own["HTTP_CONTENT_ENCODING"] = encoding
        return {**clean_environment(root), **own}

    def _body(self) -> Iterator[bytes]:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            while size := int(self.rfile.readline().split(b";")[0], 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        elif length := int(self.headers.get("Content-Length") or 0):
            yield self.rfile.read(length)
