"""
The keys of a server on loopback: an authority of its own, its certificate, and what signs tokens.

Clients send tokens only over TLS, so even a server on loopback has a certificate. All
of it is kept in a folder that only its owner can read. The authority outlives many certificates:
a kubeconfig stays good while the server's certificate is renewed. Until when everything is good
stands beside it, so that a start need not read certificates.
"""

import hashlib
import json
from base64 import b64encode
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kube_objects.times import format_time, parse_time
from kube_sandbox.authentication.private_files import (
    check_private,
    ensure_private_folder,
    write_private,
)
from kube_sandbox.lazy import lazy_module

if TYPE_CHECKING:
    from kube_sandbox.authentication import key_generation
else:
    key_generation = lazy_module("kube_sandbox.authentication.key_generation")

_AUTHORITY_LIFE, _LIFE = timedelta(days=3650), timedelta(days=365)
_RENEW_BEFORE = timedelta(days=30)  # before the end, when a new one is made
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class KeyFiles:
    """Where everything is."""

    folder: Path

    @property
    def authority(self) -> Path:
        """Return the authority's certificate, for clients."""
        return self.folder / "ca.crt"

    @property
    def authority_key(self) -> Path:
        """Return what certificates are signed with."""
        return self.folder / "ca.key"

    @property
    def certificate(self) -> Path:
        """Return the server's certificate."""
        return self.folder / "server.crt"

    @property
    def key(self) -> Path:
        """Return the server's key."""
        return self.folder / "server.key"

    @property
    def token_key(self) -> Path:
        """Return what tokens of service accounts are signed with."""
        return self.folder / "service-account.key"

    @property
    def seal(self) -> Path:
        """Return what says which files belong together, and until when they are good."""
        return self.folder / "keys.json"

    def pairs(self) -> tuple[tuple[Path, Path], tuple[Path, Path]]:
        """Return certificates with their keys: the authority's, the server's."""
        return (self.authority, self.authority_key), (self.certificate, self.key)


def ensure_keys(folder: Path, now: datetime) -> KeyFiles:
    """Create what is missing in a folder, renew what ends soon, and say where it is."""
    keys = KeyFiles(folder)
    ensure_private_folder(folder)
    for file in (*keys.pairs()[0], *keys.pairs()[1], keys.token_key, keys.seal):
        check_private(file)
    # Until when each pair is good, by what tells it from others.
    try:
        found = json.loads(keys.seal.read_bytes())
    except (OSError, ValueError):
        sealed: dict[str, str] = {}
    else:
        sealed = found if isinstance(found, dict) else {}
    has_authority = _is_valid(sealed, keys.pairs()[0], now, _LIFE + _RENEW_BEFORE)
    has_certificate = _is_valid(sealed, keys.pairs()[1], now, _RENEW_BEFORE)
    if has_authority and has_certificate and keys.token_key.exists():
        return keys
    authority, server = keys.pairs()
    ends: dict[str, str] = {}
    if has_authority:
        ends[_fingerprint(*authority)] = sealed[_fingerprint(*authority)]
    else:
        end = now + _AUTHORITY_LIFE
        certificate, key = key_generation.authority(now, end)
        write_private(keys.authority_key, key)
        write_private(keys.authority, certificate)
        ends[_fingerprint(*authority)] = format_time(end)
    end = now + _LIFE
    signer = (keys.authority.read_bytes(), keys.authority_key.read_bytes())
    certificate, key = key_generation.server_certificate(signer, now, end)
    write_private(keys.key, key)
    write_private(keys.certificate, certificate)
    ends[_fingerprint(*server)] = format_time(end)
    if not keys.token_key.exists():
        write_private(keys.token_key, key_generation.signing_key())
    write_private(keys.seal, json.dumps(ends, indent=1).encode())
    return keys


def kubeconfig(url: str, authority: bytes, token: str, context: str) -> str:
    """Return a kubeconfig that refers to no other files; it is JSON, which is YAML."""
    trusted = {"server": url, "certificate-authority-data": b64encode(authority).decode()}
    if urlsplit(url).hostname not in _LOOPBACK:
        trusted["tls-server-name"] = _LOOPBACK[0]  # all that the certificate is for
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": context,
        "contexts": [{"name": context, "context": {"cluster": context, "user": "admin"}}],
        "clusters": [{"name": context, "cluster": trusted}],
        "users": [{"name": "admin", "user": {"token": token}}],
    }
    return json.dumps(content, indent=2) + "\n"


def _is_valid(
    sealed: dict[str, str], pair: tuple[Path, Path], now: datetime, spare: timedelta
) -> bool:
    end = parse_time(sealed.get(_fingerprint(*pair)))
    return end is not None and now < end - spare


def _fingerprint(*files: Path) -> str:
    """Return what tells the content of files from any other."""
    try:
        return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    except OSError:
        return ""
