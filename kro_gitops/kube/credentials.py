"""
The address of a cluster, and the credentials to send there.

Kubeconfigs with certificates, tokens or passwords are read here. Credential plugins, identity
providers and a pod's service account are left to the `kubernetes` package, which `kube.plugins`
wraps: it takes longer to import than most verbs take to run, so it is loaded only where a
kubeconfig needs it.

The result is `Credentials`: a URL, a TLS context, a proxy, and an `Authorization` header that is
asked for before every request because tokens expire; further the default namespace and the user to
impersonate.
"""

import asyncio
import os
import ssl
import time
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any, Protocol
from urllib.parse import urlsplit

from kro_gitops.errors import UserError
from kro_gitops.kube.api import Identity
from kro_gitops.kube.kubeconfig import Context, Kubeconfigs, Pem

RENEW_INTERVAL = (
    60.0  # seconds after which a token file is read, or a plugin's expiry checked, again
)
LOAD_TIMEOUT = 60.0  # seconds that a credential plugin or an identity provider may take


class CredentialsError(UserError):
    """A kubeconfig, or a pod's service account, that cannot be used."""


@dataclass(frozen=True, slots=True)
class Connection:
    """The address of an API server and the credentials that hold at the moment."""

    server: str
    authorization: str | None = None  # the header
    authority: Pem | None = None  # the CA; None: those of the system
    certificate: Pem | None = None  # of the client
    key: Pem | None = None
    verify: bool = True
    server_name: str | None = None  # to expect in the server's certificate, instead of the host
    proxy: str | None = None


class Source(Protocol):
    """Where credentials come from."""

    async def load(self, *, renew: bool) -> Connection:
        """Return address and credentials; `renew`: the server rejected those it returned before."""

    def identity(self) -> Identity | None:
        """Return the user to impersonate, once it is loaded; `None` without impersonation."""

    def namespace(self) -> str:
        """Return the default namespace; empty if none is set."""


class Credentials:
    """All it takes to reach an API server; made by `from_kubeconfigs` and `in_cluster`."""

    def __init__(self, connection: Connection, source: Source) -> None:
        self.server: str = connection.server.rstrip("/")
        self.tls: ssl.SSLContext | None = _tls(connection)
        self.server_name: str | None = connection.server_name
        self.proxy: str | None = connection.proxy
        address = urlsplit(self.server)
        is_bypassed = False
        with suppress(ValueError):
            is_bypassed = bool(urllib.request.proxy_bypass(address.hostname or ""))
        if not self.proxy and not is_bypassed:
            self.proxy = urllib.request.getproxies().get(address.scheme)
        self.identity: Identity | None = source.identity()
        self.namespace: str = source.namespace()
        self._connection = connection
        self._source = source
        self._lock = asyncio.Lock()
        self._loaded = time.monotonic()

    def __repr__(self) -> str:
        return f"Access({self.server!r})"  # and nothing secret

    async def authorization(self) -> str | None:
        """Return the header to send, renewed if it is time."""
        if time.monotonic() - self._loaded > RENEW_INTERVAL:
            await self._load(self._loaded, renew=False)
        return self._connection.authorization

    async def renew(self) -> None:
        """Get other credentials: the server did not accept those we have."""
        await self._load(self._loaded, renew=True)

    async def _load(self, seen: float, *, renew: bool) -> None:
        async with self._lock:
            if self._loaded != seen:
                return  # another request did, while this one waited
            before = self._connection
            self._connection = await _load(self._source, renew=renew)
            self._loaded = time.monotonic()
            if self.tls is not None and self._connection.certificate != before.certificate:
                # New connections use it; those that are open were authenticated already.
                _load_certificate(self.tls, self._connection)


async def from_kubeconfigs(paths: Sequence[Path], context: str | None = None) -> Credentials:
    """Read kubeconfigs, merged as kubectl merges them, for a context or the current one."""
    missing = [str(path) for path in paths if not path.is_file()]
    if missing or not paths:
        raise CredentialsError("no-kubeconfig", f"there is no kubeconfig at {', '.join(missing)}")
    chosen = read_context(paths, context)
    if not chosen.needs_plugin:
        return await _access(_PlainKubeconfig(chosen))
    return await _access(_plugins().KubeconfigWithPlugin(paths, chosen))


def read_context(paths: Sequence[Path], context: str | None = None) -> Context:
    """Return what merged kubeconfigs say about a context, or about the current one."""
    try:
        texts = [(path, path.read_text(encoding="utf-8")) for path in paths]
        return Kubeconfigs(texts).context(context)
    except (ValueError, OSError) as error:
        raise CredentialsError("bad-kubeconfig", f"no way to a cluster: {error}") from None


async def in_cluster() -> Credentials:
    """Use the service account of the pod this runs in."""
    return await _access(_plugins().Pod())


def kubeconfigs_of_user() -> list[Path]:
    """Return the kubeconfigs that kubectl would read: those of `KUBECONFIG`, or the one at home."""
    named = os.environ.get("KUBECONFIG", "")
    if not named:
        return [path for path in [Path.home() / ".kube" / "config"] if path.is_file()]
    paths = [Path(path).expanduser() for path in named.split(os.pathsep) if path]
    return [path for path in paths if path.is_file()]


class _PlainKubeconfig:
    """A context whose credentials stand in files."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def load(self, *, renew: bool) -> Connection:
        """Return what the context says; a token file is read again each time."""
        del renew
        cluster, user = self._context.cluster, self._context.user
        server = self._context.server
        is_tls = server.startswith("https:")
        return Connection(
            server,
            self._authorization(),
            cluster.pem("certificate-authority") if is_tls else None,
            user.pem("client-certificate") if is_tls else None,
            user.pem("client-key") if is_tls else None,
            verify=not cluster.value.get("insecure-skip-tls-verify"),
            server_name=cluster.text("tls-server-name") or None,
            proxy=cluster.text("proxy-url") or None,
        )

    def _authorization(self) -> str | None:
        """Return the header; a token file wins over a token, as it is renewed outside."""
        user = self._context.user
        token, file = user.text("token").strip(), user.path("tokenFile")
        if file is not None:
            try:
                token = Path(file).read_text(encoding="utf-8").strip() or token
            except OSError:
                if not token:
                    raise
        return f"Bearer {token}" if token else self._context.basic_auth or None

    def identity(self) -> Identity | None:
        """Return whom the user's entry says to impersonate."""
        return parse_impersonation(self._context.user.value)

    def namespace(self) -> str:
        """Return the namespace of the context."""
        return self._context.namespace


def parse_impersonation(user: Mapping[str, Any]) -> Identity | None:
    """Read whom a user's entry in a kubeconfig says to impersonate: `as` and what belongs to it."""
    name, groups, uid = user.get("as"), user.get("as-groups") or (), user.get("as-uid") or ""
    extra = user.get("as-user-extra") or {}
    if not name:
        if groups or uid or extra:
            # kubectl rejects it, too: to go on without impersonation is not what was meant.
            raise ValueError("a user has as-groups, as-uid or as-user-extra, but no 'as'")
        return None
    lists = [groups, *(extra.values() if isinstance(extra, dict) else "?")]
    if not all(isinstance(values, list | tuple) for values in lists):
        raise ValueError("as-groups must be a list, as-user-extra a mapping to lists")
    listed = {str(key): tuple(map(str, values)) for key, values in extra.items()}
    return Identity(str(name), tuple(map(str, groups)), str(uid), listed)


def _plugins() -> Any:
    """Import what needs the `kubernetes` package; see the module's docstring for why so late."""
    return import_module("kro_gitops.kube.plugins")


async def _access(source: Source) -> Credentials:
    connection = await _load(source, renew=False)
    try:
        return Credentials(connection, source)
    except OSError as error:  # ssl.SSLError is one, too
        raise CredentialsError(
            "bad-certificate", f"a certificate cannot be used: {error}"
        ) from None
    except ValueError as error:
        raise CredentialsError("bad-kubeconfig", f"no way to a cluster: {error}") from None


async def _load(source: Source, *, renew: bool) -> Connection:
    try:
        async with asyncio.timeout(LOAD_TIMEOUT):
            return await source.load(renew=renew)
    except (ValueError, OSError) as error:
        # These messages name keys and files, never what is in them.
        raise CredentialsError("bad-kubeconfig", f"no way to a cluster: {error}") from None


def _tls(connection: Connection) -> ssl.SSLContext | None:
    if not connection.server.startswith("https:"):
        return None
    authority = connection.authority
    if isinstance(authority, bytes):
        context = ssl.create_default_context(cadata=authority.decode("ascii", "replace"))
    else:
        context = ssl.create_default_context(cafile=authority)
    if connection.certificate is not None:
        _load_certificate(context, connection)
    if not connection.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _load_certificate(context: ssl.SSLContext, connection: Connection) -> None:
    """Load the client's certificate; OpenSSL reads only files, so data is written to one first."""
    with TemporaryDirectory(prefix="kro-gitops-") as folder:
        files: list[PurePath | None] = []
        for name, pem in (("certificate", connection.certificate), ("key", connection.key)):
            if isinstance(pem, bytes):
                file = Path(folder, name)
                file.touch(mode=0o600)
                file.write_bytes(pem)
                pem = file
            files.append(pem)
        certificate, key = files
        if certificate is not None:
            context.load_cert_chain(certificate, key)
