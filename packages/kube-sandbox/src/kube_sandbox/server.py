"""
`EmbeddedCluster`: a store, an API over it, and a port where it is served.

It opens the store, begins to listen, and has its controllers at work until it is closed.
"""

import asyncio
import logging
import secrets
import ssl
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from kube_sandbox.authentication.certificates import (
    KeyFiles,
    ensure_keys,
    kubeconfig,
    write_private,
)
from kube_sandbox.controllers.workloads.plan_steps import Settings
from kube_sandbox.endpoints.audit import AuditLog
from kube_sandbox.http.server import HTTPServer
from kube_sandbox.storage.journal import Journal
from kube_sandbox.storage.store import Store
from kube_sandbox.storage.store_file import NAME
from kube_sandbox.wiring import APIServerComponents, new_uid, now

log = logging.getLogger(__name__)

_LOOPBACK_FOR_WILDCARD = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # where it is reached from here


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Where a cluster lives and listens."""

    folder: Path  # keys, and the store unless it is ephemeral
    host: str = "127.0.0.1"
    port: int = 0  # 0: any that is free
    ephemeral: bool = False
    audit: Path | None = None  # where it is written down who asked for what
    collects: bool = True  # garbage, and what is in namespaces that go
    workloads: Settings | None = field(default_factory=Settings)  # how workloads fare; `None`: not
    snapshot: Path | None = None  # what to begin with; the store must have nothing in it yet


class EmbeddedCluster:
    """A cluster in this process; `open` it, and `close` it."""

    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self._journal: Journal | None = None
        self._keys: KeyFiles | None = None
        self._token = ""
        self._wire: HTTPServer | None = None
        self._files = ExitStack()
        self._controllers: asyncio.Task[None] | None = None
        self.store = Store()

    @property
    def url(self) -> str:
        """Return where it is reached."""
        assert self._wire is not None, "it is open"
        host = _LOOPBACK_FOR_WILDCARD.get(self._options.host, self._options.host)
        shown = f"[{host}]" if ":" in host else host
        return f"https://{shown}:{self._wire.port}"

    @property
    def kubeconfig(self) -> str:
        """Return an administrator's kubeconfig."""
        assert self._keys is not None, "it is open"
        return kubeconfig(self.url, self._keys.authority.read_bytes(), self._token)

    async def open(self) -> None:
        """Load the store and begin to listen."""
        options = self._options
        options.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # First: who has the store is alone in the folder, and nobody else makes keys there.
        self._open_store()
        self._keys = ensure_keys(options.folder / "keys", now())
        self._token = _token(options.folder / "token")
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

    def _open_store(self) -> None:
        options, path = self._options, self._options.folder / NAME
        if options.snapshot is not None:
            from kube_sandbox.storage import snapshots  # noqa: PLC0415

            if options.ephemeral:
                self.store = snapshots.read(options.snapshot)
            else:
                snapshots.restore(options.snapshot, path)
        if not options.ephemeral:
            self._journal, self.store = Journal.open(path)
            self._journal.follow(self.store)

    async def close(self) -> None:
        """Stop listening, and let go of the store."""
        if self._controllers is not None:
            self._controllers.cancel()
        if self._wire is not None:
            await self._wire.close()
        if self._journal is not None:
            self._journal.close()
        self._files.close()


def _token(path: Path) -> str:
    """Return the administrator's token; it is made once, and again if nothing is left of it."""
    known = path.read_text().strip() if path.exists() else ""
    if known:
        return known
    token = secrets.token_urlsafe(32)
    write_private(path, token.encode())
    return token


def _log_unexpected_end(controllers: asyncio.Task[None]) -> None:
    """Say it loudly if controllers end by themselves: nothing goes on without them."""
    if not controllers.cancelled() and controllers.exception() is not None:
        log.critical("the controllers have ended", exc_info=controllers.exception())
