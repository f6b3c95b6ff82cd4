"""
`SandboxServer`: a store, the API over it, the controllers, and the port where it is served.
"""

import asyncio
import logging
import secrets
import ssl
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from kube_sandbox.authentication.certificates import KeyFiles, ensure_keys, kubeconfig
from kube_sandbox.authentication.private_files import (
    check_private,
    ensure_private_folder,
    write_private,
)
from kube_sandbox.controllers.workloads.plan_steps import Settings
from kube_sandbox.endpoints.audit import AuditLog
from kube_sandbox.http.server import HTTPServer
from kube_sandbox.lazy import lazy_module
from kube_sandbox.storage.journal import Journal
from kube_sandbox.storage.store import Store
from kube_sandbox.storage.store_file import NAME
from kube_sandbox.wiring import APIServerComponents, new_uid, now

if TYPE_CHECKING:
    from kube_sandbox.storage import snapshots
else:
    snapshots = lazy_module("kube_sandbox.storage.snapshots")

log = logging.getLogger(__name__)

# Where clients on this machine reach a server that listens on all addresses.
_LOOPBACK_FOR_WILDCARD = {"0.0.0.0": "127.0.0.1", "::": "::1"}


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Where a server keeps its data, where it listens, and which controllers run."""

    folder: Path  # keys and token, and the store unless `ephemeral`
    host: str = "127.0.0.1"
    port: int = 0  # 0: any free port
    ephemeral: bool = False
    audit: Path | None = None  # gets a line for each request
    collects: bool = True  # run controllers: garbage collection, namespace deletion
    workloads: Settings | None = field(default_factory=Settings)  # None: not simulated
    snapshot: Path | None = None  # initial objects; the store must be empty
    context: str = "kube-sandbox"  # name of the context in the kubeconfig


class SandboxServer:
    """A cluster in this process; `open` and `close` it, or use it in `async with`."""

    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self._journal: Journal | None = None
        self._keys: KeyFiles | None = None
        self._token = ""
        self._wire: HTTPServer | None = None
        self._files = ExitStack()
        self._controllers: asyncio.Task[None] | None = None
        self.store = Store()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def url(self) -> str:
        """Return the URL clients use; only while it is open."""
        assert self._wire is not None, "it is open"
        host = _LOOPBACK_FOR_WILDCARD.get(self._options.host, self._options.host)
        shown = f"[{host}]" if ":" in host else host
        return f"https://{shown}:{self._wire.port}"

    @property
    def kubeconfig(self) -> str:
        """Return an administrator's kubeconfig; only while it is open."""
        assert self._keys is not None, "it is open"
        authority = self._keys.authority.read_bytes()
        return kubeconfig(self.url, authority, self._token, self._options.context)

    async def open(self) -> None:
        """Load the store, listen, and start the controllers."""
        options = self._options
        ensure_private_folder(options.folder)
        path, token, keys = (options.folder / name for name in (NAME, "token", "keys"))
        check_private(token)
        # First: the store locks the folder, so that no other process creates keys there.
        if options.snapshot is not None:
            if options.ephemeral:
                self.store = snapshots.read(options.snapshot)
            else:
                snapshots.restore(options.snapshot, path)
        if not options.ephemeral:
            check_private(path, readable=True)  # it is made private when it is opened
            # A file that lost its content must not become an empty cluster. Keys alone mean
            # nothing: an ephemeral cluster leaves them behind, too.
            may_be_empty = not (path.exists() and (token.exists() or keys.exists()))
            self._journal, self.store = Journal.open(path, may_be_empty=may_be_empty)
            self._journal.follow(self.store)
        self._keys = ensure_keys(keys, now())
        self._token = _token(token)
        has_accounts = options.collects and options.workloads is not None
        parts = APIServerComponents(self.store, self._keys, self._token, accounts=has_accounts)
        self._wire = HTTPServer(parts)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._keys.certificate, self._keys.key)
        await self._wire.open(options.host, options.port, context)
        if options.audit is not None:
            log = self._files.enter_context(options.audit.open("ab", buffering=0))
            parts.note = AuditLog(log.write, now, new_uid).note
        parts.open(self.url.removeprefix("https://"))
        with self._journal.together() if self._journal else nullcontext():
            parts.create_bootstrap_objects(self._wire.port)
        if options.collects:
            background = parts.background(options.workloads, self._keys.authority.read_text())
            background.start()
            self._controllers = asyncio.create_task(background.serve(now), name="controllers")
            self._controllers.add_done_callback(_log_unexpected_end)

    async def close(self) -> None:
        """Stop the controllers and listening, and release the store."""
        if self._controllers is not None:
            self._controllers.cancel()
        if self._wire is not None:
            await self._wire.close()
        if self._journal is not None:
            self._journal.close()
        self._files.close()


def _token(path: Path) -> str:
    """Return the administrator's token; create it unless the file holds one."""
    known = path.read_text().strip() if path.exists() else ""
    if known:
        return known
    token = secrets.token_urlsafe(32)
    write_private(path, token.encode())
    return token


def _log_unexpected_end(controllers: asyncio.Task[None]) -> None:
    """Log if the controllers fail: without them the cluster stands still."""
    if not controllers.cancelled() and controllers.exception() is not None:
        log.critical("the controllers have ended", exc_info=controllers.exception())
