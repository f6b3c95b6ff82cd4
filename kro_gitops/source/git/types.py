"""
What fetching is about, as values: a remote, what is allowed, and what git had to say.

A mirror belongs to a URL *and* to who logs in there: somebody with a wrong password must not be
served from what somebody else was allowed to fetch. So the secret takes part in `identity`,
as a hash. An app is told by its key, because the tokens made from it change by the hour.
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

    @property
    def identity(self) -> str:
        """Name the mirror of this remote: a hash of the URL and of who logs in."""
        text = json.dumps([self.url, self.filters_blobs, *_login(self.credentials)])
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]


@dataclass(frozen=True, slots=True)
class FetchRules:
    """What an operator allows, and how much."""

    allow_private_networks: bool = False
    allow_plain_http: bool = False
    allowed_hosts: Collection[str] = ()
    local_urls: Collection[str] = frozenset()  # folders and file:// URLs named by the operator
    pack_bytes: int = 256 << 20  # in one fetch
    tree_entries: int = 100_000
    file_bytes: int = 1 << 20
    read_bytes: int = 128 << 20  # of files at once, unpacked


@dataclass(frozen=True, slots=True)
class Commit:
    """Who changed what, when (RFC 3339, UTC) and why."""

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
    """A file left out because of its name; `shown` is the name made printable."""

    shown: str
    reason: str  # a sentence


Found = Entry | RefusedPath


@dataclass(frozen=True, slots=True)
class Listing:
    """All files of a commit: those that can be read, and those whose names are refused."""

    entries: tuple[Entry, ...] = ()
    refused: tuple[RefusedPath, ...] = ()


def _login(credentials: Credentials) -> list[str]:
    app, ssh = credentials.app, credentials.ssh
    if app is not None:
        place = (app.base_url, app.app_id, app.installation_id, app.installation_owner)
        return ["app", *place, app.private_key.hex()]
    if ssh is not None:
        return ["ssh", ssh.identity.hex(), ssh.known_hosts.hex(), ssh.passphrase]
    return [
        *("http", credentials.username, credentials.password, credentials.bearer),
        *(credentials.ca.hex(), credentials.client_certificate.hex(), credentials.client_key.hex()),
    ]
