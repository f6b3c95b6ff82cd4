"""
URLs as values: `url(…)` and its getters, and the parser behind them.

Which text is a URL is decided as by Go's `net/url` (`ParseRequestURI`: an absolute URI or an
absolute path), with Go's error messages. The parser works on UTF-8 bytes, as in Go: escapes stand
for bytes, which need not be valid UTF-8. Each part of a URL has its own set of characters that need
no escape.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from kube_cel.library.dispatch import global_functions, member_functions
from kube_cel.library.netip import AddressError, parse_address
from kube_cel.values import EvaluationError, Opaque, check_size
from kube_objects.go_text import decode, encode, quote

_MAX_PARAMETERS = 10_000


_PLAIN = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
_PATH = _PLAIN + b"$&+,/:;=@"
_FRAGMENT = _PLAIN + b"!$&()*+,/:;=?@"
_USER = _PLAIN + b"$&+,;="
_HOST = _PLAIN + b"!\"$&'()*+,:;<=>[]"
_TOLERATED = b"!$&'()*+,;=:@[]%"  # accepted in the input; escaped in the output

_CONTROL: Final = re.compile(rb"[\x00-\x1f\x7f]")
_SCHEME: Final = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*:")
_ESCAPE: Final = re.compile(rb"%(?:[0-9A-Fa-f]{2})?")
_HEX_ESCAPE: Final = re.compile(rb"%[0-9A-Fa-f]{2}")
_PORT: Final = re.compile(rb"(?::[0-9]*)?")
_USER_INFO: Final = re.compile(rb"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")


class UrlError(ValueError):
    """A text that is not a URL."""


@dataclass(frozen=True, slots=True)
class ParsedUrl:
    """
    The parts of a URL.

    `path` and `fragment` are unescaped, `raw_path` and `raw_fragment` are what was written.
    `opaque` is all that follows a scheme without a slash (`mailto:x`).
    """

    scheme: bytes = b""
    opaque: bytes = b""
    user: tuple[bytes, ...] | None = None
    host: bytes = b""
    path: bytes = b""
    raw_path: bytes = b""
    has_authority: bool = False
    query: bytes = b""
    has_empty_query: bool = False
    fragment: bytes = b""
    raw_fragment: bytes = b""


def check_request_uri(raw: bytes) -> None:
    """Raise `UrlError` unless the text is an absolute URI or an absolute path."""
    try:
        _parse(raw, is_request=True)
    except UrlError as error:
        raise UrlError(f"parse {quote(decode(raw))}: {error}") from None


def parse_url(raw: bytes) -> ParsedUrl:
    """Parse a URL that `check_request_uri` accepted, with its fragment."""
    shown, _, fragment = raw.partition(b"#")
    try:
        url = _parse(shown, is_request=False)
        shown = raw
        return replace(url, fragment=_unescape(fragment), raw_fragment=fragment)
    except UrlError as error:
        raise UrlError(f"parse {quote(decode(shown))}: {error}") from None


def format_url(url: ParsedUrl) -> bytes:
    """Write a URL, escaped as need be."""
    text = url.scheme + b":" if url.scheme else b""
    if url.opaque:
        text += url.opaque
    else:
        if url.has_authority:
            text += b"//" if url.host or url.path or url.user is not None else b""
            if url.user is not None:
                text += b":".join(_escape(part, _USER) for part in url.user) + b"@"
            text += _escape(url.host, _HOST)
        text += escaped_path(url)
    if url.query or url.has_empty_query:
        text += b"?" + url.query
    if url.fragment:
        text += b"#" + _as_written(url.fragment, url.raw_fragment, _FRAGMENT)
    return text


def escaped_path(url: ParsedUrl) -> bytes:
    """Return the path as it was written if that is valid, else escaped again."""
    if url.path == b"*":
        return b"*"
    return _as_written(url.path, url.raw_path, _PATH)


def split_port(host: bytes) -> tuple[bytes, bytes]:
    """Part `host:port`; brackets around an IPv6 address are taken off."""
    name, colon, port = host.rpartition(b":")
    if not colon or not _PORT.fullmatch(colon + port):
        name, port = host, b""
    if name.startswith(b"[") and name.endswith(b"]"):
        name = name[1:-1]
    return name, port


def parse_query(query: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Walk a query's parameters; those that cannot be read are left out."""
    if query.count(b"&") >= _MAX_PARAMETERS:
        return
    for pair in query.split(b"&"):
        if not pair or b";" in pair:
            continue
        key, _, value = pair.partition(b"=")
        try:
            yield _unescape(key.replace(b"+", b" ")), _unescape(value.replace(b"+", b" "))
        except UrlError:
            continue


def _parse(raw: bytes, *, is_request: bool) -> ParsedUrl:
    if _CONTROL.search(raw):
        raise UrlError("net/url: invalid control character in URL")
    if not raw and is_request:
        raise UrlError("empty url")
    if raw == b"*":
        return ParsedUrl(path=raw, raw_path=raw)
    if raw.startswith(b":"):
        raise UrlError("missing protocol scheme")
    match = _SCHEME.match(raw)
    if match is None:
        scheme, rest = b"", raw
    else:
        scheme, rest = match[0][:-1].lower(), raw[match.end() :]
    has_empty_query = rest.endswith(b"?") and rest.count(b"?") == 1
    rest, _, query = rest.partition(b"?")
    url = ParsedUrl(scheme, query=query, has_empty_query=has_empty_query)
    if rest.startswith(b"//") and (scheme or (not is_request and not rest.startswith(b"///"))):
        authority, slash, path = rest[2:].partition(b"/")
        user, host = _parse_authority(scheme, authority)
        url = replace(url, user=user, host=host, has_authority=True)
        rest = slash + path
    elif not rest.startswith(b"/"):
        if not scheme:
            raise UrlError("invalid URI for request")
        return replace(url, opaque=rest)
    return replace(url, path=_unescape(rest), raw_path=rest)


def _parse_authority(scheme: bytes, authority: bytes) -> tuple[tuple[bytes, ...] | None, bytes]:
    info, at, host = authority.rpartition(b"@")
    bracket = host.rfind(b"[")
    if bracket > 0:
        raise UrlError("invalid IP-literal")
    if bracket == 0:
        end = host.rfind(b"]")
        if end < 0:
            raise UrlError("missing ']' in host")
        port = host[end + 1 :]
        _check_port(port)
        address_text, percent, zone = host[1:end].partition(b"%25")
        literal = _unescape_host(address_text)
        if percent:
            literal += _unescape_strictly(
                percent + zone, lambda byte: byte == ord(" ") or byte in _HOST
            )
        try:
            address = parse_address(decode(literal))
        except AddressError as error:
            raise UrlError(f"invalid host: {error}") from None
        if address.bits == 32:
            raise UrlError("invalid IP-literal")
        parsed = b"[" + literal + b"]" + port
    else:
        # Outside of HTTP, lists of hosts with ports are found in the wild (databases).
        port_at = host.find(b":") if scheme in (b"http", b"https") else host.rfind(b":")
        if port_at >= 0:
            _check_port(host[port_at:])
        parsed = _unescape_host(host)
    if not at:
        return None, parsed
    if not _USER_INFO.fullmatch(info):
        raise UrlError("net/url: invalid userinfo")
    name, colon, password = info.partition(b":")
    parts = (name, password) if colon else (name,)
    return tuple(_unescape(part) for part in parts), parsed


def _check_port(port: bytes) -> None:
    if not _PORT.fullmatch(port):
        raise UrlError(f"invalid port {quote(decode(port))} after host")


def _unescape(text: bytes) -> bytes:
    if b"%" not in text:
        return text
    return _ESCAPE.sub(lambda match: bytes((_escaped_byte(text, match.start()),)), text)


def _escaped_byte(text: bytes, position: int) -> int:
    """Return the byte of the escape at this position."""
    escape = text[position : position + 3]
    if not _HEX_ESCAPE.fullmatch(escape):
        raise _bad_escape(escape)
    return int(escape[1:], 16)


def _bad_escape(escape: bytes) -> UrlError:
    return UrlError(f"invalid URL escape {quote(decode(escape))}")


def _unescape_host(host: bytes) -> bytes:
    """Unescape where only bytes beyond ASCII, and the percent sign, may be escaped."""
    return _unescape_strictly(host, lambda byte: byte >= 0x80)


def _unescape_strictly(text: bytes, may_be_escaped: Callable[[int], bool]) -> bytes:
    result = bytearray()
    position = 0
    while position < len(text):
        byte = text[position]
        if byte == ord("%"):
            byte = _escaped_byte(text, position)
            if byte != ord("%") and not may_be_escaped(byte):
                raise _bad_escape(text[position : position + 3])
            position += 2
        elif byte < 0x80 and byte not in _HOST:
            raise UrlError(f"invalid character {quote(chr(byte))} in host name")
        result.append(byte)
        position += 1
    return bytes(result)


def _escape(text: bytes, allowed: bytes) -> bytes:
    if not text.translate(None, allowed):
        return text
    return b"".join(b"%c" % byte if byte in allowed else b"%%%02X" % byte for byte in text)


def _as_written(text: bytes, written: bytes, allowed: bytes) -> bytes:
    is_proper = not written.translate(None, allowed + _TOLERATED)
    return written if is_proper else _escape(text, allowed)


_MAX_LENGTH = 2**16


@dataclass(frozen=True, slots=True, eq=False)
class URL(Opaque):
    """A URL, equal to those that are printed alike."""

    KIND = "kubernetes.URL"

    parsed: ParsedUrl

    def __eq__(self, other: object) -> bool:
        return isinstance(other, URL) and format_url(self.parsed) == format_url(other.parsed)

    def __hash__(self) -> int:
        return hash(format_url(self.parsed))


def to_url(text: str) -> URL:
    """Read a URL."""
    raw = _encoded(text)
    try:
        # The fragment is no part of a request; it is taken off at the second reading.
        check_request_uri(raw)
        return URL(parse_url(raw))
    except UrlError as error:
        message = f"URL parse error during conversion from string: {error}"
        raise EvaluationError(message) from None


def _encoded(text: str) -> bytes:
    check_size(len(text), _MAX_LENGTH)
    return encode(text)


def is_url(text: str) -> bool:
    """Return whether a text is a URL."""
    try:
        check_request_uri(_encoded(text))
    except UrlError:
        return False
    return True


def query_of(url: URL) -> dict[str, list[str]]:
    """Return the query's parameters, each with all its values; unreadable ones are left out."""
    found: dict[str, list[str]] = {}
    for key, value in parse_query(url.parsed.query):
        found.setdefault(decode(key), []).append(decode(value))
    return found


GLOBALS = global_functions({"url(string)": to_url, "isURL(string)": is_url})

_URL = "(kubernetes.URL)"

MEMBERS = member_functions(
    {
        f"getScheme{_URL}": lambda url: decode(url.parsed.scheme),
        f"getHost{_URL}": lambda url: decode(url.parsed.host),
        f"getHostname{_URL}": lambda url: decode(split_port(url.parsed.host)[0]),
        f"getPort{_URL}": lambda url: decode(split_port(url.parsed.host)[1]),
        f"getEscapedPath{_URL}": lambda url: decode(escaped_path(url.parsed)),
        f"getQuery{_URL}": query_of,
    }
)
