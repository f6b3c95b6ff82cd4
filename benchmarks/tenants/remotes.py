"""
Remotes that a hostile tenant may name: one that never answers, and one that never ends its answer.
"""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_REFS = 20_000  # that are sent again and again
_ID = b"1" * 40


@contextmanager
def hanging() -> Iterator[str]:
    """Serve an address at which connections are accepted and nothing is answered."""

    def wait_for_end(connection: socket.socket) -> None:
        while connection.recv(4096):
            pass

    with _listening(wait_for_end) as url:
        yield url


@contextmanager
def endless_refs() -> Iterator[str]:
    """Serve a git repository whose list of refs never ends."""
    # Written once: what is measured runs in this process, too.
    names = (_ID + b" refs/heads/branch-%d\n" % number for number in range(_REFS))
    refs = b"".join(map(_packet, names))

    def send(connection: socket.socket) -> None:
        connection.recv(4096)
        head = (
            b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
            b"Content-Type: application/x-git-upload-pack-advertisement\r\n\r\n"
        )
        service = _packet(b"# service=git-upload-pack\n") + b"0000"
        connection.sendall(head + service + _packet(_ID + b" HEAD\0ofs-delta\n"))
        while True:
            connection.sendall(refs)

    with _listening(send) as url:
        yield url


def _packet(content: bytes) -> bytes:
    return b"%04x%s" % (len(content) + 4, content)


@contextmanager
def _listening(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """Call a function for each connection, in a thread of its own."""
    server = socket.create_server(("127.0.0.1", 0), backlog=64)
    opened: list[socket.socket] = []

    def serve(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            answer(connection)

    def accept() -> None:
        with suppress(OSError):  # closed, below
            while True:
                connection, _ = server.accept()
                opened.append(connection)
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
    finally:
        # A thread in `accept` or `recv` does not notice that its socket is closed.
        for each in (server, *opened):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
