"""
HTTP/1.1: bytes → requests, and the heads of answers. Knows no sockets.

`RequestParser` is fed with what a connection receives and returns whole requests. Framing is the
business of llhttp, through httptools: what a request is must not differ from what other programs
take it for. llhttp is stricter than RFC 9112 in most ways; the rest is checked here.

Bytes are parsed in slices, and only while no whole request waits to be answered. So a client that
sends many requests at once and does not read the answers fills its own buffers, not ours.
"""

from collections import deque
from collections.abc import ItemsView, Iterable, Iterator, Mapping
from dataclasses import dataclass

import httptools

_MAX_HEAD_BYTES = 64 * 1024  # of a head, and of anything else between two pieces of a body
_SLICE_BYTES = 16 * 1024  # that are parsed at once


class BadMessageError(Exception):
    """What came in is no request, or none that is taken; nothing after it can be read."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Headers(Mapping[str, str]):
    """The headers of a request; names have no case, and `items` has those that stand twice."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._pairs = pairs
        self._first: dict[str, str] = {}
        for name, value in pairs:
            self._first.setdefault(name.lower(), value)

    def __getitem__(self, name: str) -> str:
        return self._first[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._first)

    def __len__(self) -> int:
        return len(self._first)

    def get(self, name: str, default: str = "") -> str:  # type: ignore[override]
        """Return the first value of a header."""
        return self._first.get(name.lower(), default)

    def all(self, name: str) -> list[str]:
        """Return every value of a header."""
        wanted = name.lower()
        return [value for each, value in self._pairs if each.lower() == wanted]

    def items(self) -> ItemsView[str, str]:
        """Return all headers as they came."""
        return _Pairs(self._pairs)


class _Pairs(ItemsView[str, str]):
    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._pairs = pairs

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a request."""

    method: str
    path: str
    query: str
    headers: Headers
    stays: bool  # the connection, once it is answered
    is_current: bool  # HTTP/1.1, not 1.0


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A whole request."""

    head: Head
    body: bytes


class RequestParser:
    """Takes bytes, gives requests."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._parser = httptools.HttpRequestParser(self)
        self._buffer = bytearray()  # not parsed yet
        self._requests: deque[ReceivedRequest] = deque()
        self._error: BadMessageError | None = None
        self._since_progress = 0  # bytes that were neither a whole head nor part of a body
        self._url = b""
        self._headers: list[tuple[str, str]] = []
        self._body = bytearray()
        self._is_asked = False
        self.head: Head | None = None  # of a request whose body is awaited

    def __len__(self) -> int:
        """Return how many bytes wait to be parsed."""
        return len(self._buffer)

    @property
    def has_begun(self) -> bool:
        """Return whether a part of a request is there."""
        return bool(self._buffer or self._url or self.head is not None or self._since_progress)

    @property
    def body_size(self) -> int:
        """Return how large the awaited body is at least, by what was announced or received."""
        if self.head is None:
            return 0
        return max(len(self._body), int(self.head.headers.get("Content-Length") or 0))

    def feed(self, data: bytes) -> None:
        """Take what came in."""
        self._buffer += data

    def next(self) -> ReceivedRequest | None:
        """Return the next request if all of it is there; raise if it never will be."""
        while not self._requests and self._buffer and self._error is None:
            piece = bytes(self._buffer[:_SLICE_BYTES])
            del self._buffer[:_SLICE_BYTES]
            self._since_progress += len(piece)
            try:
                self._parser.feed_data(piece)
            except httptools.HttpParserUpgrade:
                # No other protocol is spoken; the request is answered, and nothing after it.
                self._error = BadMessageError(400, "no other protocol is spoken here")
            except httptools.HttpParserError as error:
                cause = error.__context__  # a callback's own exception
                known = cause if isinstance(cause, BadMessageError) else None
                self._error = known or BadMessageError(400, str(error) or "malformed request")
            else:
                if self._since_progress > _MAX_HEAD_BYTES and not self._requests:
                    text = "the head or the trailers of the request are too long"
                    self._error = BadMessageError(431, text)
        if self._requests:
            return self._requests.popleft()
        if self._error is not None:
            raise self._error
        return None

    def is_asked_to_continue(self) -> bool:
        """Return, once a request, whether the client waits before it sends the body."""
        head = self.head
        if head is None or self._is_asked or not head.is_current:
            return False
        self._is_asked = head.headers.get("Expect").lower() == "100-continue"
        return self._is_asked

    # What httptools calls

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._url, self._headers, self._is_asked = b"", [], False
        self._body.clear()

    def on_url(self, url: bytes) -> None:
        """Take a piece of the target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; trailers, which come after the body, mean nothing here."""
        if self.head is None:
            text = value.decode("latin-1").rstrip(" \t")
            self._headers.append((name.decode("latin-1"), text))

    def on_headers_complete(self) -> None:
        """Check what llhttp leaves to its users."""
        version = self._parser.get_http_version()
        if version not in ("1.0", "1.1"):
            raise BadMessageError(505, "only HTTP/1.1 is spoken here")
        headers = Headers(self._headers)
        coding = headers.get("Transfer-Encoding")
        if coding and (coding.lower() != "chunked" or version == "1.0"):
            raise BadMessageError(400, "unsupported transfer encoding")
        if int(headers.get("Content-Length") or 0) > self._largest:
            raise _too_large(self._largest)
        method = self._parser.get_method().decode("ascii")
        path, query = _target(self._url.decode("ascii"))
        stays, is_current = self._parser.should_keep_alive(), version == "1.1"
        self.head = Head(method, path, query, headers, stays, is_current)
        self._since_progress = 0

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._since_progress = 0
        self._body += body
        if len(self._body) > self._largest:
            raise _too_large(self._largest)

    def on_message_complete(self) -> None:
        """Take the whole request."""
        assert self.head is not None, "its headers are complete"
        self._requests.append(ReceivedRequest(self.head, bytes(self._body)))
        self.head, self._url = None, b""
        self._body.clear()
        self._since_progress = 0


def _too_large(largest: int) -> BadMessageError:
    return BadMessageError(413, f"limit is {largest}")


def _target(url: str) -> tuple[str, str]:
    """Return the path and query of a target, which a proxy's client writes with the host."""
    if not url.startswith("/"):
        scheme, _, rest = url.partition("://")
        host, slash, rest = rest.partition("/")
        if scheme.lower() not in ("http", "https") or not host or not slash:
            raise BadMessageError(400, "malformed target")
        url = f"/{rest}"
    path, _, query = url.partition("?")
    return path, query


def head_of(status: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """Return the beginning of an answer."""
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode()
