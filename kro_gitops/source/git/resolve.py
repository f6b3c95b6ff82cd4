"""
Where a host's name leads, decided once.

A name may stand for the metadata service of a cloud, for a database beside us, and for another
address at every question. So it is resolved here, each address is judged, and git and ssh are
told which to use: they never ask again. Link-local, multicast and unspecified addresses are
refused in private networks, too: no git server lives there, and what does gives away keys.
"""

import socket
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from kro_gitops.errors import Unavailable
from kro_gitops.source.api.addresses import refused_address
from kro_gitops.source.api.url_policy import Address
from kro_gitops.source.git.credentials import Proxy
from kro_gitops.source.git.types import FetchRules
from kube_objects.errors import RefusedError

_NEVER = ("link-local", "multicast", "unspecified", "not an IP address")
_PROXY_PORTS = {"http": 80, "https": 443, "socks5": 1080}


@dataclass(frozen=True, slots=True)
class Pin:
    """A name, and the addresses it stands for as long as a command runs."""

    host: str
    port: int
    addresses: tuple[str, ...]

    @property
    def is_literal(self) -> bool:
        """Say whether the name is an address itself, and nothing needs to be pinned."""
        return self.addresses == (self.host,)

    def for_curl(self) -> str:
        """Write it as `CURLOPT_RESOLVE` wants it."""
        return f"{self.host}:{self.port}:{','.join(map(_bracketed, self.addresses))}"


def pin(address: Address, proxy: Proxy | None, rules: FetchRules) -> tuple[Pin, ...]:
    """Resolve whom we connect to, the proxy first; refuse what the rules do not allow."""
    if address.scheme == "file":
        return ()
    if proxy is None:
        return (_resolve(address.host, address.port, rules),)
    if address.scheme == "ssh":
        raise RefusedError(
            "proxy-not-for-ssh",
            "a proxy is named, but ssh goes without one",
            hint="use the repository's https:// URL, or leave 'proxySecretRef' out",
        )
    return (_proxy(proxy, rules), *_behind_proxy(address, proxy, rules))


def _proxy(proxy: Proxy, rules: FetchRules) -> Pin:
    parts = urlsplit(proxy.address)
    try:
        port = parts.port or _PROXY_PORTS[parts.scheme]
    except (KeyError, ValueError):
        port = 0
    if not port or not parts.hostname or parts.username or parts.path.strip("/"):
        raise RefusedError(
            "bad-proxy",
            "the proxy's address is not http://HOST:PORT, https://… or socks5://…",
            hint="the login belongs in 'username' and 'password' of the Secret",
        )
    return _resolve(parts.hostname, port, rules)


def _behind_proxy(address: Address, proxy: Proxy, rules: FetchRules) -> tuple[Pin, ...]:
    """Judge the server; an HTTP proxy looks names up itself, and may know more than we do."""
    try:
        return (_resolve(address.host, address.port, rules),)
    except Unavailable:
        if proxy.address.startswith("socks5:"):
            raise
        return ()


def _resolve(host: str, port: int, rules: FetchRules) -> Pin:
    found = _lookup(host, port)
    for each in found:
        _check(host, each, rules)
    return Pin(host, port, found)


def _lookup(host: str, port: int) -> tuple[str, ...]:
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no valid name"
        raise Unavailable(
            "git-host-unknown",
            f"the host '{host}' cannot be found: {reason}",
            hint="check the URL's host, and the DNS of the machine this runs on",
        ) from error
    return tuple(dict.fromkeys(str(answer[4][0]) for answer in answers))


def _check(host: str, ip: str, rules: FetchRules) -> None:
    reason = refused_address(ip)
    if not reason or (rules.allow_private_networks and not reason.startswith(_NEVER)):
        return
    shown = f"'{host}'" if host == ip else f"'{host}' ({ip})"
    raise RefusedError(
        "private-network",
        f"the host {shown} is not on the public internet: {reason}",
        hint="use a public host, or let the operator allow private networks",
    )


def _bracketed(ip: str) -> str:
    return f"[{ip}]" if ip_address(ip).version == 6 else ip
