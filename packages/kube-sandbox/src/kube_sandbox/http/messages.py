"""
HTTP/1.1, as far as clients of a cluster speak it: bytes → requests, and the heads of answers.

Knows no sockets. Whoever has one feeds what comes in to `RequestParser` and takes whole requests
out. Written for this server rather than borrowed, because a start within a second has no time for a
library that can do everything, and a request in a millisecond little room for it.
"""

from collections.abc import ItemsView, Iterable, Iterator, Mapping
from dataclasses import dataclass

_MAX_HEAD_BYTES = 64 * 1024  # bytes
_MAX_LINE_BYTES = 4 * 1024  # that begins a chunk
_METHOD = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")


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
    """The beginning of a request, and what it says of the rest."""

    method: str
    path: str
    query: str
    headers: Headers
    stays: bool  # the connection, once it is answered
    is_current: bool  # HTTP/1.1, not 1.0
    length: int | None  # of the body; `None`: in chunks

    @property
    def expects(self) -> bool:
        """Return whether the client waits for leave to send its body."""
        return self.is_current and self.headers.get("Expect").lower() == "100-continue"


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A whole request."""

    head: Head
    body: bytes


class RequestParser:
    """Takes bytes, gives requests."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._buffer = bytearray()
        self._head: Head | None = None
        self._chunks = bytearray()
        self._is_asked = False

    def __len__(self) -> int:
        return len(self._buffer)

    def feed(self, data: bytes) -> None:
        """Take what came in."""
        self._buffer += data

    def next(self) -> ReceivedRequest | None:
        """Return the next request if all of it is there; raise if it never will be."""
        if self._head is None:
            buffer = self._buffer
            while buffer.startswith(b"\r\n"):
                del buffer[:2]  # some clients end a body with one too many
            end = buffer.find(b"\r\n\r\n")
            if end < 0 or end > _MAX_HEAD_BYTES:
                if len(buffer) > _MAX_HEAD_BYTES:
                    raise BadMessageError(431, "the head of the request is too long")
                self._head = None
            else:
                next_head = parse_head(bytes(buffer[:end]))
                del buffer[: end + 4]
                if next_head.length is not None and next_head.length > self._largest:
                    raise _too_large(self._largest)
                self._head = next_head
            if self._head is None:
                return None
        head = self._head
        if head.length is None:
            body = self._chunked()
        else:
            length = head.length
            if len(self._buffer) < length:
                body = None
            else:
                body = bytes(self._buffer[:length])
                del self._buffer[:length]
        if body is None:
            return None
        self._head, self._is_asked = None, False
        return ReceivedRequest(head, body)

    def is_asked_to_continue(self) -> bool:
        """Say, once a request, whether the client waits for leave to send a body."""
        if self._head is None or self._is_asked or not self._head.expects:
            return False
        self._is_asked = True
        return True

    def _chunked(self) -> bytes | None:
        buffer = self._buffer
        while (end := buffer.find(b"\r\n")) >= 0:
            digits = bytes(buffer[:end]).partition(b";")[0].strip()
            # `int` would take signs and underscores, too.
            if not digits.isalnum() or len(digits) > 8:
                raise BadMessageError(400, "a chunk does not begin with its size")
            try:
                size = int(digits, 16)
            except ValueError:
                raise BadMessageError(400, "a chunk does not begin with its size") from None
            if not size:
                return self._ended(end + 2)
            if len(self._chunks) + size > self._largest:
                raise _too_large(self._largest)
            begin = end + 2
            if len(buffer) < begin + size + 2:
                return None
            if buffer[begin + size : begin + size + 2] != b"\r\n":
                raise BadMessageError(400, "a chunk is longer than it says")
            self._chunks += buffer[begin : begin + size]
            del buffer[: begin + size + 2]
        if len(buffer) > _MAX_LINE_BYTES:
            raise BadMessageError(400, "a chunk does not begin with its size")
        return None

    def _ended(self, begin: int) -> bytes | None:
        """Return a body whose last chunk has come, with the trailers, which nobody reads."""
        buffer = self._buffer
        if buffer.startswith(b"\r\n", begin):
            del buffer[: begin + 2]
        else:
            end = buffer.find(b"\r\n\r\n", begin)
            if end < 0:
                if len(buffer) > _MAX_HEAD_BYTES:
                    raise BadMessageError(431, "the trailers of the request are too long")
                return None
            del buffer[: end + 4]
        body = bytes(self._chunks)
        self._chunks.clear()
        return body


def _too_large(largest: int) -> BadMessageError:
    return BadMessageError(413, f"limit is {largest}")


def parse_head(data: bytes) -> Head:
    """Read a request line and headers, without the empty line after them."""
    first, *lines = data.decode("latin-1").split("\r\n")
    try:
        method, target, version = first.split(" ")
    except ValueError:
        raise BadMessageError(400, "malformed request line") from None
    if not method or not _METHOD.issuperset(method):
        raise BadMessageError(400, "malformed method")
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        raise BadMessageError(505, "only HTTP/1.1 is spoken here")
    headers = Headers([_header(line) for line in lines])
    # The path and query of a target, which a proxy's client writes with the host.
    if target.startswith("/"):
        origin = target
    else:
        scheme, _, rest = target.partition("://")
        if scheme.lower() not in ("http", "https"):
            raise BadMessageError(400, "malformed target")
        origin = f"/{rest.partition('/')[2]}"
    path, _, query = origin.partition("?")
    is_current = version == "HTTP/1.1"
    connection = headers.get("Connection").lower()
    stays = "close" not in connection if is_current else "keep-alive" in connection
    return Head(method, path, query, headers, stays, is_current, _length(headers))


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not name or not _TOKEN.issuperset(name.lower()):
        raise BadMessageError(400, "malformed header")
    if "\n" in value or "\r" in value or "\0" in value:
        raise BadMessageError(400, "malformed header")
    return name, value.strip(" \t")


def _length(headers: Headers) -> int | None:
    """Return how long a body is; `None` if it comes in chunks."""
    coding, lengths = headers.get("Transfer-Encoding").lower(), set(headers.all("Content-Length"))
    if coding:
        # Both together are how requests are smuggled.
        if coding != "chunked" or lengths:
            raise BadMessageError(400, "unsupported transfer encoding")
        return None
    if not lengths:
        return 0
    (length, *others) = lengths
    if others or not (length.isascii() and length.isdigit()) or len(length) > 15:
        raise BadMessageError(400, "bad Content-Length")
    return int(length)


def head_of(status: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """Return the beginning of an answer."""
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode()
