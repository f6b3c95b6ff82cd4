"""
URLs as values: `url(…)` and its getters.

What is one is Go's `ParseRequestURI` to say (an absolute URI, or an absolute path), what its
parts are is read by `url_text`.
"""

from dataclasses import dataclass

from kube_cel.library.dispatch import global_functions, member_functions
from kube_cel.library.url_parser import (
    ParsedUrl,
    UrlError,
    check_request_uri,
    escaped_path,
    format_url,
    parse_query,
    parse_url,
    split_port,
)
from kube_cel.values import EvaluationError, Opaque, check_size
from kube_objects.go_text import decode, encode

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
    """Say whether a text is a URL."""
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
