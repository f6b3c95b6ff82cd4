"""
HTTP with the same care as git: to judged addresses, in bounded time, following nothing.

The connection goes to the very addresses that were judged, so a name cannot lead elsewhere the
second time; certificates are verified; a redirect is an answer, not a way. The standard library's
client does for the few requests an hour it is used for: it is blocking, as all that fetches here,
and does nothing on its own.
"""

import base64
import contextlib
import http.client
import socket
import ssl
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kro_gitops.errors import Unavailable, UserError
from kro_gitops.source.api.redaction import redact
from kro_gitops.source.api.url_policy import Address
from kro_gitops.source.git.credentials import ANONYMOUS, Credentials, Proxy
from kro_gitops.source.git.resolve import Pin, pin
from kro_gitops.source.git.types import FetchRules

ANSWER_BYTES = 1 << 20
_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back; the content may hold secrets."""

    status: int
    headers: http.client.HTTPMessage = field(repr=False)
    content: bytes = field(repr=False)

    @property
    def is_redirect(self) -> bool:
        """Say whether the server points elsewhere, where we do not go."""
        return 300 <= self.status < 400


class GuardedHttp:
    """One server: where it is, and how to get there; a connection for each request."""

    def __init__(
        self,
        address: Address,
        rules: FetchRules,
        timeout: float,
        *,
        credentials: Credentials = ANONYMOUS,
        proxy: Proxy | None = None,
    ) -> None:
        """Look the host up and judge it; raise what `pin` raises."""
        self._address = address
        self._pins = pin(address, proxy, rules)
        self._proxy = proxy
        self._context = _tls(credentials) if address.scheme == "https" else None
        self._timeout = timeout

    def ask(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> Reply:
        """Ask once; raise `Unavailable` when there is no answer."""
        sent = {"User-Agent": "kro-gitops", "Connection": "close", **headers}
        with self._connection() as connection:
            connection.request(method, target, body=body, headers=sent)
            with connection.getresponse() as response:
                return Reply(response.status, response.headers, response.read(ANSWER_BYTES))

    @contextlib.contextmanager
    def _connection(self) -> Iterator[http.client.HTTPConnection]:
        """Give a connection that ends with the time it has, whatever the server does."""
        connection = self._new_connection()
        line = _Line(connection)
        clock = threading.Timer(self._timeout, line.hang_up)
        clock.daemon = True
        clock.start()
        try:
            line.open()
            yield connection
            line.check(self._timeout)
        except ssl.SSLCertVerificationError as error:
            raise Unavailable(
                "api-tls-failed",
                f"no trusted connection to '{self._address.host}': {error.verify_message}",
                hint="for a private authority, put its certificate into 'ca.crt' of the Secret",
            ) from None
        except (OSError, http.client.HTTPException) as error:
            said = redact(str(error), limit=_MESSAGE) or type(error).__name__
            host = self._address.host
            raise Unavailable("api-unreachable", f"no answer from '{host}': {said}") from None
        finally:
            clock.cancel()
            connection.close()

    def _new_connection(self) -> http.client.HTTPConnection:
        if self._proxy is None:
            return _Direct(self._address.host, self._pins[0], self._context, self._timeout)
        way, reached = self._pins[0].addresses[0], self._pins[0].port
        connection = (
            http.client.HTTPConnection(way, reached, timeout=self._timeout)
            if self._context is None
            else http.client.HTTPSConnection(
                way, reached, timeout=self._timeout, context=self._context
            )
        )
        headers = _proxy_headers(self._proxy)
        connection.set_tunnel(self._address.host, self._address.port, headers=headers)
        return connection


class _Direct(http.client.HTTPConnection):
    """Connects to addresses that were judged, whatever the name stands for by now."""

    def __init__(
        self, host: str, place: Pin, context: ssl.SSLContext | None, timeout: float
    ) -> None:
        super().__init__(host, place.port, timeout=timeout)
        if context is not None:
            self.default_port = http.client.HTTPS_PORT  # left out of the Host header, as usual
        self._place = place
        self._tls = context
        self._seconds = timeout

    def connect(self) -> None:
        """Try one address after the other."""
        self.sock = self._reach()
        if self._tls is None:
            return
        # Known before it greets, so that it can be ended while it does.
        secured = self._tls.wrap_socket(
            self.sock, server_hostname=self.host, do_handshake_on_connect=False
        )
        self.sock = secured
        secured.do_handshake()

    def _reach(self) -> socket.socket:
        failure = OSError("the name stands for no address")
        for address in self._place.addresses:
            try:
                return socket.create_connection((address, self._place.port), self._seconds)
            except OSError as error:
                failure = error
        raise failure


class _Line:
    """A connection that can be ended from another thread, and knows that it was."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self._connection = connection
        self._socket: socket.socket | None = None
        self._is_late = False

    def open(self) -> None:
        """Connect; http.client lets go of the socket before the answer is read, we do not."""
        self._connection.connect()
        self._socket = self._connection.sock

    def hang_up(self) -> None:
        """End the connection, whatever it waits for."""
        self._is_late = True
        used = self._socket or self._connection.sock
        if used is not None:
            with contextlib.suppress(OSError):  # it is closed already
                used.shutdown(socket.SHUT_RDWR)

    def check(self, seconds: float) -> None:
        """Raise if it was ended: half an answer is none."""
        if self._is_late:
            raise TimeoutError(f"it was not done after {seconds:g} s")


def _proxy_headers(proxy: Proxy) -> dict[str, str]:
    if not proxy.username:
        return {}
    pair = f"{proxy.username}:{proxy.password}".encode()
    return {"Proxy-Authorization": f"Basic {base64.b64encode(pair).decode()}"}


def _tls(credentials: Credentials) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=credentials.ca.decode("ascii") or None)
        if credentials.client_certificate:
            with tempfile.TemporaryDirectory(prefix="kro-gitops-") as name:
                certificate, key = Path(name, "crt"), Path(name, "key")
                certificate.write_bytes(credentials.client_certificate)
                key.write_bytes(credentials.client_key)
                context.load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, ValueError):
        raise UserError(
            "bad-credentials", "'ca.crt', 'tls.crt' or 'tls.key' of the secret cannot be read"
        ) from None
    return context
