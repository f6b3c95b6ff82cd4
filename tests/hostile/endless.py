"""A server that answers for ever: with refs, with remarks, or with a header."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_FLUSH = b"0000"
_ABILITIES = (b"version 2", b"agent=git/2.39", b"ls-refs", b"fetch=shallow", b"object-format=sha1")
_MAIN = b"1" * 40 + b" refs/heads/main\n"


def _line(text: bytes) -> bytes:
    return b"%04x%s" % (len(text) + 4, text)


class _Exchange(http.server.BaseHTTPRequestHandler):
    server: "_Listener"

    def do_GET(self) -> None:
        service = _line(b"# service=git-upload-pack\n") + _FLUSH
        abilities = b"".join(_line(each + b"\n") for each in _ABILITIES)
        self._head("application/x-git-upload-pack-advertisement")
        with suppress(OSError):
            if self.server.how == "abilities":
                self._for_ever(_line(b"x" * 60_000 + b"\n"), service)
            self.wfile.write(service + abilities + _FLUSH)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._head("application/x-git-upload-pack-result")
        with suppress(OSError):
            if b"command=ls-refs" not in body:
                remark = _line(b"\2" + b"remark " * 8_000 + b"\n")
                self._for_ever(remark, _line(b"packfile\n"))
            elif self.server.how == "refs":
                self._for_ever(b"".join(map(_ref, range(1_000))), b"")
            else:
                self.wfile.write(_line(_MAIN) + _FLUSH)

    def _head(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()

    def _for_ever(self, piece: bytes, first: bytes) -> None:
        self.wfile.write(first)
        while not self.server.over.is_set():
            self.wfile.write(piece)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


def _ref(number: int) -> bytes:
    return _line(b"1" * 40 + b" refs/heads/main%s%d\n" % (b"x" * 150, number))


class _Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, how: str) -> None:
        self.how = how
        self.over = threading.Event()
        super().__init__(("127.0.0.1", 0), _Exchange)


@contextmanager
def endless_server(how: str) -> Iterator[str]:
    """Give the URL of a repository whose server never ends its `abilities`, `refs` or `remarks`."""
    with _Listener(how) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/app.git"
        finally:
            server.over.set()
            server.shutdown()
