"""
Credentials that the `kubernetes` package gets: from credential plugins, identity providers, and the
service account of a pod.

This is the only module that imports the package, which takes 0.3 s of CPU time; `kube.credentials`
loads it where a kubeconfig names such a plugin.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from kubernetes.aio.client.configuration import Configuration
from kubernetes.aio.config import ConfigException, load_incluster_config, load_kube_config

from kro_gitops.kube.api import Identity
from kro_gitops.kube.credentials import Connection, CredentialsError, parse_impersonation
from kro_gitops.kube.kubeconfig import Context

_TOKEN = "BearerToken"
_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


class KubeconfigWithPlugin:
    """A context whose user has a credential plugin (`exec`) or an `auth-provider`."""

    def __init__(self, paths: Sequence[Path], context: Context) -> None:
        self._paths = os.pathsep.join(map(str, paths))
        self._context = context
        self._configuration = Configuration()
        self._loader: Any = None

    async def load(self, *, renew: bool) -> Connection:
        """Run the plugin or ask the provider, unless what it gave is still valid."""
        try:
            if self._loader is None:
                self._loader = await load_kube_config(  # type: ignore[no-untyped-call]  # as it comes
                    self._paths, self._context.name, self._configuration, persist_config=False
                )
                # The package logs a plugin that failed, and continues without credentials.
                plugin, given = self._plugin(), vars(self._loader)
                if plugin and not given.get("token") and not given.get("cert_file"):
                    raise CredentialsError(
                        "credential-plugin",
                        f"the credential plugin '{plugin}' gave neither a token nor a certificate",
                        hint="run it by hand to see why",
                    )
            elif renew or not self._plugin() or hasattr(self._loader, "exec_plugin_expiry"):
                # A token without an expiry is valid until the server rejects it.
                if renew:
                    with suppress(AttributeError):
                        del self._loader.exec_plugin_expiry
                await self._loader.load_and_set(self._configuration)
        except ConfigException as error:
            raise ValueError(str(error)) from None
        return _connection(self._configuration)

    def identity(self) -> Identity | None:
        """Return whom the user's entry says to impersonate; the package does not read that."""
        return parse_impersonation(self._context.user.value)

    def namespace(self) -> str:
        """Return the namespace of the context."""
        return self._context.namespace

    def _plugin(self) -> str:
        """Return the command of the user's credential plugin; empty for an auth-provider."""
        return str((self._context.user.value.get("exec") or {}).get("command") or "")


class Pod:
    """The files that Kubernetes mounts into every pod with a service account."""

    async def load(self, *, renew: bool) -> Connection:
        """Read the token again: the kubelet replaces it before it expires."""
        del renew
        configuration = Configuration()
        try:
            load_incluster_config(configuration, try_refresh_token=False)  # type: ignore[no-untyped-call]  # as it comes
        except ConfigException as error:
            raise ValueError(str(error)) from None
        return _connection(configuration)

    def identity(self) -> Identity | None:
        """Return None: a pod acts as its service account."""
        return None

    def namespace(self) -> str:
        """Return the namespace of the pod."""
        with suppress(OSError):
            return _NAMESPACE_FILE.read_text(encoding="utf-8").strip()
        return ""


def _connection(configuration: Configuration) -> Connection:
    def path(name: str | None) -> Path | None:
        return Path(name) if name else None

    token: str | None = configuration.api_key.get(_TOKEN)
    return Connection(
        configuration.host,
        token.strip() if token else None,
        path(configuration.ssl_ca_cert),
        path(configuration.cert_file),
        path(configuration.key_file),
        verify=configuration.verify_ssl,
        server_name=configuration.tls_server_name,
        proxy=configuration.proxy,
    )
