"""
HTTP with the same care as git: to checked addresses, in bounded time, without redirects.

The connection goes to the very addresses that were checked, so a name cannot resolve to another
one the second time; certificates are verified; a redirect is returned, not followed. The standard
library's client suffices for a few requests an hour: it blocks, as all fetching here does, and
does nothing on its own.
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
        """Return True if the server redirected; redirects are not followed."""
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
        """Resolve the host and check its addresses; raise what `pin` raises."""
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
        """Yield a connection that is closed at the timeout, whatever the server does."""
        place = self._pins[0]
        if self._proxy is None:
            host, context = self._address.host, self._context
            connection: http.client.HTTPConnection = _Direct(host, place, context, self._timeout)
        else:
            way, port, seconds = place.addresses[0], place.port, self._timeout
            if self._context is None:
                connection = http.client.HTTPConnection(way, port, timeout=seconds)
            else:
                connection = http.client.HTTPSConnection(
                    way, port, timeout=seconds, context=self._context
                )
            headers = {}
            if self._proxy.username:
                pair = f"{self._proxy.username}:{self._proxy.password}".encode()
                headers["Proxy-Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
            connection.set_tunnel(self._address.host, self._address.port, headers=headers)
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


class _Direct(http.client.HTTPConnection):
    """Connects to addresses that were checked, whatever the name resolves to by now."""

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
        failure = OSError("the name stands for no address")
        for address in self._place.addresses:
            try:
                self.sock = socket.create_connection((address, self._place.port), self._seconds)
                break
            except OSError as error:
                failure = error
        else:
            raise failure
        if self._tls is None:
            return
        # Set before the handshake, so that the timer can close it during the handshake.
        secured = self._tls.wrap_socket(
            self.sock, server_hostname=self.host, do_handshake_on_connect=False
        )
        self.sock = secured
        secured.do_handshake()


class _Line:
    """A connection that can be closed from another thread, and knows that it was."""

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
        """Raise if it was closed at the timeout: half an answer is none."""
        if self._is_late:
            raise TimeoutError(f"it was not done after {seconds:g} s")


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
