"""Somebody who is told things over HTTP or HTTPS: remembers all, answers as it is told to."""

import http.server
import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.certificates import Tls


@dataclass(frozen=True, slots=True)
class Received:
    """A message that came."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class Receiver:
    """What came, and what is answered: one status after the other, then 200."""

    scheme: str
    port: int = 0
    received: list[Received] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)

    def address(self, path: str = "/hook") -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}{path}"

    @property
    def events(self) -> list[str]:
        """Return the events of generic messages, in the order in which they came."""
        return [each.json["event"] for each in self.received]


def _handler(receiver: Receiver) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.received.append(Received(self.path, dict(self.headers), body))
            self.send_response(receiver.answers.pop(0) if receiver.answers else 200)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    return Handler


class _Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: callers that hang up are part of the tests."""


@contextmanager
def message_receiver(tls: Tls | None = None) -> Iterator[Receiver]:
    """Listen on a port of 127.0.0.1, with TLS where a certificate is given."""
    receiver = Receiver("https" if tls else "http")
    with _Listener(("127.0.0.1", 0), _handler(receiver)) as listener:
        if tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls.certificate_file, tls.key_file)
            listener.socket = context.wrap_socket(listener.socket, server_side=True)
        receiver.port = listener.server_address[1]
        thread = threading.Thread(target=listener.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            listener.shutdown()
            thread.join()
