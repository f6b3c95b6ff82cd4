"""
The values of fetching: a remote, the operator's rules, and what was read.

A mirror belongs to a URL *and* to a login: a source with a wrong password must not be served from
what another source was allowed to fetch. So the secret is part of `identity`, as a hash. For an
app its key is used, because its tokens change every hour.
"""

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass

from kro_gitops.source.git.credentials import ANONYMOUS, Credentials, Proxy

SUBMODULE = "160000"
SYMLINK = "120000"


@dataclass(frozen=True, slots=True)
class Remote:
    """A repository somewhere, and how to get there."""

    url: str
    credentials: Credentials = ANONYMOUS
    proxy: Proxy | None = None
    timeout: float = 60.0
    filters_blobs: bool = False
    namespace: str = ""  # of the source; not part of the identity

    @property
    def identity(self) -> str:
        """Name the mirror of this remote: a hash of the URL and of the login."""
        credentials = self.credentials
        app, ssh = credentials.app, credentials.ssh
        if app is not None:
            place = (app.base_url, app.app_id, app.installation_id, app.installation_owner)
            login = ["app", *place, app.private_key.hex()]
        elif ssh is not None:
            login = ["ssh", ssh.identity.hex(), ssh.known_hosts.hex(), ssh.passphrase]
        else:
            files = (credentials.ca, credentials.client_certificate, credentials.client_key)
            words = (credentials.username, credentials.password, credentials.bearer)
            login = ["http", *words, *(content.hex() for content in files)]
        text = json.dumps([self.url, self.filters_blobs, *login])
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]


@dataclass(frozen=True, slots=True)
class FetchRules:
    """What an operator allows, and how much."""

    allow_private_networks: bool = False
    allow_plain_http: bool = False
    allowed_hosts: Collection[str] = ()
    local_urls: Collection[str] = frozenset()  # folders and file:// URLs named by the operator
    refs: int = 100_000  # that a remote may list
    refs_bytes: int = 16 << 20
    pack_bytes: int = 256 << 20  # in one fetch
    tree_entries: int = 100_000
    file_bytes: int = 1 << 20
    read_bytes: int = 128 << 20  # of files at once, unpacked
    storage_bytes: int = 0  # of all mirrors; 0: no limit
    namespace_storage_bytes: int = 0  # of those that one namespace alone uses; 0: no limit


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit; times are RFC 3339 in UTC."""

    id: str
    tree: str
    author: str
    author_email: str
    authored: str
    committer: str
    committed: str
    subject: str
    body: str
    parents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, link or submodule; its size is -1 where it is not known without its content."""

    path: str
    mode: str
    id: str
    size: int


@dataclass(frozen=True, slots=True)
class RefusedPath:
    """A file left out because of its name; `shown` is its printable form."""

    shown: str
    reason: str  # a sentence


Found = Entry | RefusedPath


@dataclass(frozen=True, slots=True)
class Listing:
    """All files of a commit: those that can be read, and those whose names are rejected."""

    entries: tuple[Entry, ...] = ()
    refused: tuple[RefusedPath, ...] = ()
