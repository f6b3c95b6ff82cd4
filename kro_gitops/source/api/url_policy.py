"""
URLs, refs, paths and addresses that are refused, and why.

Lists of what is allowed, never of what is not: git has transports that run commands (`ext::`),
takes options where names belong, and resolves names its callers did not mean. What passes here
is a plain `https://` or `ssh://` URL, a ref git itself would accept, a full commit id, a path
inside the repository. Whoever connects must also ask `refused_address` about each address the
host's name stands for: `check_url` has never heard of DNS.
"""

import re
import unicodedata
from collections.abc import Collection
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
        """Allow `http://`, where anybody on the way can change what is fetched."""

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

# They turn what is read around: `txt.exe` is shown for `exe.txt`.
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

_USE_SECRET = "put the login into a Secret and name it in 'secretRef'"
_USE_URL = "write it as https://HOST/PATH or ssh://git@HOST/PATH"


def check_url(url: str, rules: UrlRules) -> Address:
    """Take a repository's URL apart, or say why it is refused."""
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
    user = _user(url, scheme, found[1])
    host = _host(url, found[2])
    port = _port(url, scheme, found[3])
    _check_url_path(url, path)
    _check_host_is_allowed(host, rules.allowed_hosts)
    return Address(scheme, host, port, path, user)


def check_ref(name: str) -> str:
    """Return a ref's name (full, or of a branch or tag) if git would accept it and we do."""
    wrong = _wrong_with_ref(name)
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
    wrong = _wrong_with_path(path)
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
    found = _URL.fullmatch(url)
    if found is None:
        raise _not_a_url(url)
    scheme, authority, path, query, fragment = found.groups()
    if query is not None or fragment is not None:
        raise _bad_url(url, "holds '?' or '#'", f"leave it out; {_USE_SECRET}")
    return scheme, authority, path


def _not_a_url(url: str) -> RefusedError:
    short = _SCP.fullmatch(url)
    if short is not None:
        user, host, path = short.groups()
        plain = f"ssh://{user or 'git'}@{host}/{path.lstrip('/')}"
        return _bad_url(url, "is written as for scp", f"write {redact(plain)}")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", url):
        return _bad_url(url, "has its scheme in capitals", _USE_URL)
    return _bad_url(url, "is no URL", _USE_URL)


def _user(url: str, scheme: str, user: str | None) -> str:
    if user is None:
        return ""
    if scheme != "ssh" or ":" in user:
        raise RefusedError(
            "url-with-login", f"the URL {_shown(url)} holds a login", hint=f"{_USE_SECRET}"
        )
    if not _USER.fullmatch(user):
        raise _bad_url(url, "has a user whose name is not allowed", "ssh://git@HOST/PATH is usual")
    return user


def _host(url: str, host: str) -> str:
    if host.startswith("["):
        return _ipv6_host(url, host[1:-1])
    if not host:
        raise _bad_url(url, "names no host", _USE_URL)
    if host.endswith("."):
        raise _bad_url(url, "has a host that ends with a dot", "leave the dot out")
    labels = host.split(".")
    if len(host) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise _bad_url(url, "has a host that is no name", _USE_URL)
    # 2130706433, 0x7f.1 and 127.1 are 127.0.0.1 to most resolvers, and to no reader.
    if _NUMBER.fullmatch(labels[-1]) and not _is_ipv4(host):
        raise _bad_url(url, "has a number for a host", "write a name, or four numbers")
    return host.lower()


def _ipv6_host(url: str, text: str) -> str:
    try:
        address = IPv6Address(text)
    except ValueError:
        address = None
    if address is None or address.scope_id:
        raise _bad_url(url, "has no IPv6 address in its brackets", "write it as [2001:db8::1]")
    return str(address)


def _is_ipv4(host: str) -> bool:
    try:
        IPv4Address(host)
    except ValueError:
        return False
    return True


def _port(url: str, scheme: str, port: str | None) -> int:
    if port is None:
        return _PORTS[scheme]
    if not re.fullmatch(r"[1-9][0-9]{0,4}", port) or int(port) > 65535:
        raise _bad_url(url, f"has the port '{port}'", "ports are numbers from 1 to 65535")
    return int(port)


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
    if not allowed or any(_is_host_of(host, pattern.lower()) for pattern in allowed):
        return
    raise RefusedError(
        "host-not-allowed",
        f"the host '{host}' is not among those that may be asked",
        hint=f"allowed are: {', '.join(sorted(allowed))}",
    )


def _is_host_of(host: str, pattern: str) -> bool:
    if pattern.startswith("*."):
        return host.endswith(pattern[1:]) and len(host) >= len(pattern)
    return host == pattern.strip("[]")


def _bad_url(url: str, wrong: str, hint: str) -> RefusedError:
    return RefusedError("bad-url", f"the URL {_shown(url)} {wrong}", hint=hint)


def _shown(text: str) -> str:
    """Quote what somebody wrote: without secrets, on one line, not too long."""
    plain = "".join(
        f"\\u{ord(each):04x}" if _is_control(each) else each for each in redact(text, limit=200)
    )
    return f"'{plain}'"


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs") or character in _TURNING


_REF_CHARACTERS = frozenset(" ~^:?*[\\")


def _wrong_with_ref(name: str) -> str:  # the rules of git-check-ref-format(1), and ours
    if not name or name == "@":
        return "is no name"
    if any(map(_is_control, name)) or _REF_CHARACTERS.intersection(name):
        return "holds a character that git does not allow in names"
    if len(name.encode()) > _LONGEST_REF:
        return f"is longer than {_LONGEST_REF} bytes"
    if ".." in name or "@{" in name or name.endswith("."):
        return "holds '..' or '@{', or ends with a dot"
    parts = name.split("/")
    if "" in parts:
        return "begins or ends with '/', or holds '//'"
    # `git fetch` takes --upload-pack=… for an option, though refs may be called so.
    if any(part.startswith(("-", ".")) or part.endswith(".lock") for part in parts):
        return "has a part that begins with '-' or '.', or ends with '.lock'"
    return ""


def _wrong_with_path(path: str) -> str:
    if path.startswith("/"):
        return "begins with '/'"
    if any(map(_is_control, path)) or "\\" in path:
        return "holds a backslash or a control character"
    if len(path.encode()) > _LONGEST_PATH:
        return f"is longer than {_LONGEST_PATH} bytes"
    if ".." in path.split("/"):
        return "holds '..'"
    return ""
