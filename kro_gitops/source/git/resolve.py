"""
Resolves a host's name, once.

A name may resolve to the metadata service of a cloud, to a database in our network, and to another
address with every lookup. So it is resolved here, each address is checked, and git and ssh get the
addresses to use: they never look the name up. Link-local, multicast and unspecified addresses are
rejected even where private networks are allowed: no git server is there, and metadata services
that are hand out keys.
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
        """Return True if the name is an address itself, and nothing needs to be pinned."""
        return self.addresses == (self.host,)

    def for_curl(self) -> str:
        """Format it for `CURLOPT_RESOLVE`."""
        addresses = (f"[{ip}]" if ip_address(ip).version == 6 else ip for ip in self.addresses)
        return f"{self.host}:{self.port}:{','.join(addresses)}"


def pin(address: Address, proxy: Proxy | None, rules: FetchRules) -> tuple[Pin, ...]:
    """Resolve what we connect to, the proxy first; raise for what the rules do not allow."""
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
    way = _resolve(parts.hostname, port, rules)
    try:
        return way, _resolve(address.host, address.port, rules)
    except Unavailable:
        # An HTTP proxy looks names up itself, and may know more than we do.
        if proxy.address.startswith("socks5:"):
            raise
        return (way,)


def _resolve(host: str, port: int, rules: FetchRules) -> Pin:
    """Look a name up; raise if any of its addresses is not allowed."""
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no valid name"
        raise Unavailable(
            "git-host-unknown",
            f"the host '{host}' cannot be found: {reason}",
            hint="check the URL's host, and the DNS of the machine this runs on",
        ) from error
    found = tuple(dict.fromkeys(str(answer[4][0]) for answer in answers))
    for ip in found:
        reason = refused_address(ip)
        if not reason or (rules.allow_private_networks and not reason.startswith(_NEVER)):
            continue
        shown = f"'{host}'" if host == ip else f"'{host}' ({ip})"
        raise RefusedError(
            "private-network",
            f"the host {shown} is not on the public internet: {reason}",
            hint="use a public host, or let the operator allow private networks",
        )
    return Pin(host, port, found)
