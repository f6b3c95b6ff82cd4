"""
Where the cluster is, and who we are to it.

Reading kubeconfigs, running credential plugins and asking identity providers is left to the
`kubernetes` package. What comes out is an address, a TLS context, a proxy, and an `Authorization`
header that is asked for before every request, because tokens end; further the namespace that is
meant when none is named, and whom to act as, which the package does not read.
"""

import asyncio
import os
import ssl
import time
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import yaml
from kubernetes.aio.client.configuration import Configuration
from kubernetes.aio.client.rest import RESTClientObject
from kubernetes.aio.config import ConfigException, load_incluster_config, load_kube_config

from kro_gitops.errors import UserError
from kro_gitops.kube.api import Identity

RENEW_INTERVAL = (
    60.0  # seconds after which a token file is read, or a plugin's expiry looked at, again
)
LOAD_TIMEOUT = 60.0  # seconds that a credential plugin or an identity provider may take
_TOKEN = "BearerToken"
_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


class CredentialsError(UserError):
    """A kubeconfig, or a pod's service account, that leads to no cluster."""


class Source(Protocol):
    """Where credentials come from."""

    async def load(self, configuration: Configuration, *, afresh: bool) -> None:
        """Put address and credentials into a configuration; `afresh`: those held are refused."""

    def identity(self) -> Identity | None:
        """Return whom to act as once it is loaded; `None` is whoever the credentials are of."""

    def namespace(self) -> str:
        """Return the namespace that is meant when none is named; empty if nothing says."""


class Credentials:
    """All it takes to reach an API server; made by `from_kubeconfigs` and `in_cluster`."""

    def __init__(self, configuration: Configuration, source: Source) -> None:
        self.server: str = configuration.host.rstrip("/")
        self.tls: ssl.SSLContext | None = _tls(configuration)
        self.server_name: str | None = configuration.tls_server_name
        self.proxy: str | None = configuration.proxy or _proxy_of_environment(self.server)
        self.identity: Identity | None = source.identity()
        self.namespace: str = source.namespace()
        self._configuration = configuration
        self._source = source
        self._certificate = configuration.cert_file
        self._lock = asyncio.Lock()
        self._loaded = time.monotonic()

    def __repr__(self) -> str:
        return f"Access({self.server!r})"  # and nothing secret

    async def authorization(self) -> str | None:
        """Return the header to send, renewed if it is time."""
        if time.monotonic() - self._loaded > RENEW_INTERVAL:
            await self._load(self._loaded, afresh=False)
        token: str | None = self._configuration.api_key.get(_TOKEN)
        return token.strip() if token else None

    async def renew(self) -> None:
        """Get other credentials: the server did not accept those we have."""
        await self._load(self._loaded, afresh=True)

    async def _load(self, seen: float, *, afresh: bool) -> None:
        async with self._lock:
            if self._loaded != seen:
                return  # somebody else did, while we waited
            await _load(self._source, self._configuration, afresh=afresh)
            self._loaded = time.monotonic()
            certificate = self._configuration.cert_file
            if self.tls is not None and certificate and certificate != self._certificate:
                # New connections use it; those that are open were let in already.
                self.tls.load_cert_chain(certificate, self._configuration.key_file)
                self._certificate = certificate


async def from_kubeconfigs(paths: Sequence[Path], context: str | None = None) -> Credentials:
    """Take what kubeconfigs say, merged as kubectl does it, for a context or the current one."""
    missing = [str(path) for path in paths if not path.is_file()]
    if missing or not paths:
        raise CredentialsError("no-kubeconfig", f"there is no kubeconfig at {', '.join(missing)}")
    return await _access(_Kubeconfigs(paths, context))


async def in_cluster() -> Credentials:
    """Take the service account of the pod we run in."""
    return await _access(_Pod())


def kubeconfigs_of_user() -> list[Path]:
    """Return the kubeconfigs that kubectl would read: those of `KUBECONFIG`, or the one at home."""
    named = os.environ.get("KUBECONFIG", "")
    if not named:
        return [path for path in [Path.home() / ".kube" / "config"] if path.is_file()]
    paths = [Path(each).expanduser() for each in named.split(os.pathsep) if each]
    return [path for path in paths if path.is_file()]


class _Kubeconfigs:
    """Files that name clusters, users and contexts."""

    def __init__(self, paths: Sequence[Path], context: str | None) -> None:
        self._paths = os.pathsep.join(map(str, paths))
        self._context = context
        self._loader: Any = None

    async def load(self, configuration: Configuration, *, afresh: bool) -> None:
        """Read the files, run the plugin, ask the provider: whatever the user's entry says."""
        if self._loader is None:
            self._loader = await load_kube_config(  # type: ignore[no-untyped-call]  # as it comes
                self._paths, self._context, configuration, persist_config=False
            )
            self._check_plugin()
            return
        if self._plugin() and not afresh and not hasattr(self._loader, "exec_plugin_expiry"):
            return  # a token without an end is good until it is refused
        if afresh:
            with suppress(AttributeError):
                del self._loader.exec_plugin_expiry
        await self._loader.load_and_set(configuration)

    def identity(self) -> Identity | None:
        """Return whom the user's entry says to act as."""
        user = self._loader._user  # the package has no other way to ask
        return parse_impersonation(user.value) if user else None

    def namespace(self) -> str:
        """Return the namespace of the context."""
        return str(self._loader.current_context["context"].get("namespace") or "")

    def _plugin(self) -> str:
        """Return the command of the user's credential plugin, if there is one."""
        user = self._loader._user  # the package has no other way to ask
        return str(user.value["exec"].get("command")) if user and "exec" in user else ""

    def _check_plugin(self) -> None:
        """Raise if the plugin failed: the package says so in its log and goes on without."""
        plugin = self._plugin()
        given = vars(self._loader)
        if plugin and not given.get("token") and not given.get("cert_file"):
            raise CredentialsError(
                "credential-plugin",
                f"the credential plugin '{plugin}' gave neither a token nor a certificate",
                hint="run it by hand to see why",
            )


class _Pod:
    """The files that Kubernetes puts into every pod with a service account."""

    async def load(self, configuration: Configuration, *, afresh: bool) -> None:
        """Read the token: a new one is put there before the old one ends."""
        del afresh  # it is read anew each time
        load_incluster_config(configuration, try_refresh_token=False)  # type: ignore[no-untyped-call]  # as it comes

    def identity(self) -> Identity | None:
        """Return nobody: a pod acts as its service account."""
        return None

    def namespace(self) -> str:
        """Return the namespace of the pod."""
        with suppress(OSError):
            return _NAMESPACE_FILE.read_text(encoding="utf-8").strip()
        return ""


def parse_impersonation(user: Mapping[str, Any]) -> Identity | None:
    """Read whom a user's entry in a kubeconfig says to act as: `as` and what belongs to it."""
    name, groups, uid = user.get("as"), user.get("as-groups") or (), user.get("as-uid") or ""
    extra = user.get("as-user-extra") or {}
    if not name:
        if groups or uid or extra:
            # kubectl refuses, too: to go on as oneself is what nobody meant.
            raise ValueError("a user has as-groups, as-uid or as-user-extra, but no 'as'")
        return None
    lists = [groups, *(extra.values() if isinstance(extra, dict) else "?")]
    if not all(isinstance(each, list | tuple) for each in lists):
        raise ValueError("as-groups must be a list, as-user-extra a mapping to lists")
    listed = {str(key): tuple(map(str, values)) for key, values in extra.items()}
    return Identity(str(name), tuple(map(str, groups)), str(uid), listed)


async def _access(source: Source) -> Credentials:
    configuration = Configuration()
    await _load(source, configuration, afresh=False)
    try:
        return Credentials(configuration, source)
    except OSError as error:  # ssl.SSLError is one, too
        raise CredentialsError(
            "bad-certificate", f"a certificate cannot be used: {error}"
        ) from None
    except ValueError as error:
        raise CredentialsError("bad-kubeconfig", f"no way to a cluster: {error}") from None


async def _load(source: Source, configuration: Configuration, *, afresh: bool) -> None:
    try:
        async with asyncio.timeout(LOAD_TIMEOUT):
            await source.load(configuration, afresh=afresh)
    except (ConfigException, ValueError, OSError, yaml.YAMLError) as error:
        # The package's messages name keys and files, never what is in them.
        raise CredentialsError("bad-kubeconfig", f"no way to a cluster: {error}") from None


def _tls(configuration: Configuration) -> ssl.SSLContext | None:
    if not configuration.host.startswith("https:"):
        return None
    context: ssl.SSLContext = RESTClientObject(configuration).ssl_context
    return context


def _proxy_of_environment(server: str) -> str | None:
    address = urlsplit(server)
    if urllib.request.proxy_bypass(address.hostname or ""):
        return None
    return urllib.request.getproxies().get(address.scheme)
