"""A proxy for tests: it knows CONNECT and a password, and counts who came."""

import base64
import socket
import socketserver
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_END_OF_HEAD = b"\r\n\r\n"


@dataclass(slots=True)
class ConnectProxy:
    """A running proxy, and the targets it was asked for; refused ones are counted apart."""

    users: Mapping[str, str]
    port: int = 0
    targets: list[str] = field(default_factory=list)
    refused: int = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def carry(self, client: socket.socket) -> None:
        """Read one CONNECT and carry bytes both ways until somebody ends it."""
        head = _read_head(client)
        target = head.split(b" ", 2)[1].decode()
        if not self._is_welcome(head):
            self.refused += 1
            client.sendall(
                b"HTTP/1.1 407 Proxy Authentication Required\r\nConnection: close\r\n"
                b'Proxy-Authenticate: Basic realm="proxy"\r\nContent-Length: 0\r\n\r\n'
            )
            return
        self.targets.append(target)
        host, _, port = target.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=10) as server:
            server.settimeout(None)
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_copy, args=(server, client), daemon=True)
            back.start()
            _copy(client, server)
            back.join()

    def _is_welcome(self, head: bytes) -> bool:
        if not self.users:
            return True
        sent = [line for line in head.split(b"\r\n") if line.lower().startswith(b"proxy-auth")]
        known = {b64(f"{name}:{word}") for name, word in self.users.items()}
        return any(line.split()[-1] in known for line in sent)


def b64(text: str) -> bytes:
    return base64.b64encode(text.encode())


class _Listener(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, owner: ConnectProxy) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _Connection)


class _Connection(socketserver.BaseRequestHandler):
    server: _Listener

    def handle(self) -> None:
        with suppress(OSError):
            self.server.owner.carry(self.request)


@contextmanager
def connect_proxy(users: Mapping[str, str] | None = None) -> Iterator[ConnectProxy]:
    """Run a proxy; without users anybody may pass."""
    proxy = ConnectProxy(users or {})
    with _Listener(proxy) as listener:
        proxy.port = listener.server_address[1]
        threading.Thread(target=listener.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield proxy
        finally:
            listener.shutdown()


def _read_head(client: socket.socket) -> bytes:
    head = b""
    while _END_OF_HEAD not in head:
        piece = client.recv(4096)
        if not piece:
            raise ConnectionError("the client went away")
        head += piece
    return head


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(64 << 10):
            sink.sendall(piece)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
