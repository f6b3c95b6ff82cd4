"""
URLs, refs, paths and addresses that are rejected, and why.

Lists of what is allowed, never of what is not: git has transports that run commands (`ext::`),
accepts options where names belong, and resolves names its callers did not mean. What passes here
is a plain `https://` or `ssh://` URL, a ref git itself would accept, a full commit id, a path
inside the repository. Callers that connect must also pass each address that the host resolves to
to `refused_address`: `check_url` does not use DNS.
"""

import re
import unicodedata
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Protocol
from urllib.parse import unquote_to_bytes

from kro_gitops.source.api.addresses import refused_address
from kro_gitops.source.api.redaction import redact
from kube_objects.errors import RefusedError

__all__ = (
    "Address",
    "UrlRules",
    "check_commit",
    "check_path",
    "check_ref",
    "check_url",
    "refused_address",
)


class UrlRules(Protocol):
    """What an operator allows beside the ordinary."""

    @property
    def allow_plain_http(self) -> bool:
        """Allow `http://`, where anyone on the way can change what is fetched."""

    @property
    def allowed_hosts(self) -> Collection[str]:
        """The hosts that may be asked, `*.example.com` for all below; empty: any."""

    @property
    def local_urls(self) -> Collection[str]:
        """Folders and `file://` URLs of this machine that the operator named himself."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a repository is; `user` only for ssh, `host` without brackets."""

    scheme: str
    host: str
    port: int
    path: str
    user: str = ""


_PORTS = {"https": 443, "http": 80, "ssh": 22}
_LONGEST_URL = 2048
_LONGEST_REF = 255
_LONGEST_PATH = 4096

_URL = re.compile(r"([a-z][a-z0-9+.-]*)://([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL)
_HELPER = re.compile(r"[A-Za-z0-9+.-]+::")
_SCP = re.compile(r"(?:([\w.][\w.-]*)@)?([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9a-fA-F:.]+\]):(?!//)(\S+)")
_AUTHORITY = re.compile(r"(?:([^@]*)@)?(\[[^\]]*\]|[^:@\[\]]*)(?::([0-9]*))?")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_REF_CHARACTERS = frozenset(" ~^:?*[\\")

# They turn what is read around: `txt.exe` is shown for `exe.txt`.
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

_USE_SECRET = "put the login into a Secret and name it in 'secretRef'"
_USE_URL = "write it as https://HOST/PATH or ssh://git@HOST/PATH"


def check_url(url: str, rules: UrlRules) -> Address:
    """Parse a repository's URL, or raise `RefusedError` with the reason."""
    _check_text(url)
    if url in rules.local_urls:
        return Address("file", "", 0, url.removeprefix("file://"))
    scheme, authority, path = _split(url)
    if scheme == "http" and not rules.allow_plain_http:
        raise _bad_url(url, "is not encrypted", "use https://, or allow plain HTTP by a setting")
    if scheme not in _PORTS:
        raise _bad_url(url, f"uses '{scheme}', which is not allowed", _USE_URL)
    found = _AUTHORITY.fullmatch(authority)
    if found is None:
        raise _bad_url(url, "has no readable host", _USE_URL)
    user, port = found[1] or "", found[3]
    if found[1] is not None:
        if scheme != "ssh" or ":" in user:
            raise RefusedError(
                "url-with-login", f"the URL {_shown(url)} holds a login", hint=_USE_SECRET
            )
        if not _USER.fullmatch(user):
            hint = "ssh://git@HOST/PATH is usual"
            raise _bad_url(url, "has a user whose name is not allowed", hint)
    host = _host(url, found[2])
    if port is not None and (not _PORT.fullmatch(port) or int(port) > 65535):
        raise _bad_url(url, f"has the port '{port}'", "ports are numbers from 1 to 65535")
    _check_url_path(url, path)
    _check_host_is_allowed(host, rules.allowed_hosts)
    return Address(scheme, host, _PORTS[scheme] if port is None else int(port), path, user)


def check_ref(name: str) -> str:
    """Return a ref's name (full, or of a branch or tag) if git would accept it and we do."""
    wrong, parts = "", name.split("/")  # the rules of git-check-ref-format(1), and ours
    if not name or name == "@":
        wrong = "is no name"
    elif any(map(_is_control, name)) or _REF_CHARACTERS.intersection(name):
        wrong = "holds a character that git does not allow in names"
    elif len(name.encode()) > _LONGEST_REF:
        wrong = f"is longer than {_LONGEST_REF} bytes"
    elif ".." in name or "@{" in name or name.endswith("."):
        wrong = "holds '..' or '@{', or ends with a dot"
    elif "" in parts:
        wrong = "begins or ends with '/', or holds '//'"
    # `git fetch` takes --upload-pack=… for an option, though refs may be called so.
    elif any(part.startswith(("-", ".")) or part.endswith(".lock") for part in parts):
        wrong = "has a part that begins with '-' or '.', or ends with '.lock'"
    if wrong:
        raise RefusedError(
            "bad-ref",
            f"the ref {_shown(name)} {wrong}",
            hint="name a branch or tag, or a full ref such as refs/pull/7/head",
        )
    return name


def check_commit(text: str) -> str:
    """Return a commit id if it is a whole one."""
    if _COMMIT.fullmatch(text):
        return text
    raise RefusedError(
        "bad-commit",
        f"{_shown(text)} is no commit id",
        hint="write all 40 (or 64) hexadecimal digits, in lower case: git rev-parse REF",
    )


def check_path(path: str) -> str:
    """Return a path inside a repository in its plain form; empty for the repository itself."""
    wrong = ""
    if path.startswith("/"):
        wrong = "begins with '/'"
    elif any(map(_is_control, path)) or "\\" in path:
        wrong = "holds a backslash or a control character"
    elif len(path.encode()) > _LONGEST_PATH:
        wrong = f"is longer than {_LONGEST_PATH} bytes"
    elif ".." in path.split("/"):
        wrong = "holds '..'"
    if wrong:
        raise RefusedError(
            "bad-path",
            f"the path {_shown(path)} {wrong}",
            hint="name a folder or file by its path from the repository's top, apps/shop say",
        )
    return "/".join(part for part in path.split("/") if part not in ("", "."))


def _check_text(url: str) -> None:
    if not url:
        raise RefusedError("bad-url", "the URL is empty", hint=_USE_URL)
    if len(url) > _LONGEST_URL:
        raise RefusedError(
            "bad-url", f"the URL has {len(url)} characters; at most {_LONGEST_URL} are read"
        )
    if url.startswith("-"):
        raise _bad_url(url, "begins with '-', as options do", _USE_URL)
    if any(_is_control(character) or character.isspace() for character in url):
        raise _bad_url(url, "holds a control character or a blank", "remove it, or write %20")
    if "\\" in url:
        raise _bad_url(url, "holds a backslash", "write /")
    if not url.isascii():
        raise _bad_url(
            url,
            "holds characters beyond ASCII",
            "write the host as xn--…, and such characters of the path as %XX",
        )


def _split(url: str) -> tuple[str, str, str]:
    """Split into scheme, host part and path."""
    if _HELPER.match(url):
        raise _bad_url(url, "names a transport helper, which can run commands", _USE_URL)
    short = _SCP.fullmatch(url)
    found = _URL.fullmatch(url)
    if found is None and short is not None:
        user, host, path = short.groups()
        plain = f"ssh://{user or 'git'}@{host}/{path.lstrip('/')}"
        raise _bad_url(url, "is written as for scp", f"write {redact(plain)}")
    if found is None and re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", url):
        raise _bad_url(url, "has its scheme in capitals", _USE_URL)
    if found is None:
        raise _bad_url(url, "is no URL", _USE_URL)
    scheme, authority, path, query, fragment = found.groups()
    if query is not None or fragment is not None:
        raise _bad_url(url, "holds '?' or '#'", f"leave it out; {_USE_SECRET}")
    return scheme, authority, path


def _host(url: str, host: str) -> str:
    if host.startswith("["):
        address = None
        with suppress(ValueError):
            address = IPv6Address(host[1:-1])
        if address is None or address.scope_id:
            raise _bad_url(url, "has no IPv6 address in its brackets", "write it as [2001:db8::1]")
        return str(address)
    if not host:
        raise _bad_url(url, "names no host", _USE_URL)
    if host.endswith("."):
        raise _bad_url(url, "has a host that ends with a dot", "leave the dot out")
    labels = host.split(".")
    if len(host) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise _bad_url(url, "has a host that is no name", _USE_URL)
    # 2130706433, 0x7f.1 and 127.1 are 127.0.0.1 to most resolvers, and to no reader.
    if _NUMBER.fullmatch(labels[-1]):
        try:
            IPv4Address(host)
        except ValueError:
            hint = "write a name, or four numbers"
            raise _bad_url(url, "has a number for a host", hint) from None
    return host.lower()


def _check_url_path(url: str, path: str) -> None:
    if not path.strip("/"):
        raise _bad_url(url, "names no repository", _USE_URL)
    if _ESCAPE.search(path):
        raise _bad_url(url, "holds a '%' that is no escape", "write %25")
    plain = unquote_to_bytes(path)
    if any(byte < 0x20 or byte == 0x7F for byte in plain) or b"\\" in plain:
        raise _bad_url(url, "holds an escaped control character or backslash", "remove it")
    if any(part in (b".", b"..") for part in plain.split(b"/")):
        raise _bad_url(url, "holds '.' or '..' in its path", "write the path without them")


def _check_host_is_allowed(host: str, allowed: Collection[str]) -> None:
    """Raise unless one of the patterns matches; `*.example.com` is any host below it."""
    if not allowed:
        return
    for pattern in map(str.lower, allowed):
        if pattern.startswith("*."):
            if host.endswith(pattern[1:]) and len(host) >= len(pattern):
                return
        elif host == pattern.strip("[]"):
            return
    raise RefusedError(
        "host-not-allowed",
        f"the host '{host}' is not among those that may be asked",
        hint=f"allowed are: {', '.join(sorted(allowed))}",
    )


def _bad_url(url: str, wrong: str, hint: str) -> RefusedError:
    return RefusedError("bad-url", f"the URL {_shown(url)} {wrong}", hint=hint)


def _shown(text: str) -> str:
    """Quote the user's text: without secrets, on one line, not too long."""
    plain = "".join(
        f"\\u{ord(each):04x}" if _is_control(each) else each for each in redact(text, limit=200)
    )
    return f"'{plain}'"


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs") or character in _TURNING
