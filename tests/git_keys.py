"""
Keys that sign commits and tags: PGP in a keyring of its own, SSH by ssh-keygen.

Signatures are made by the programs that git itself would call, and put into the object by
`tests/git_repositories.py`: so a signature may be as old as a test wants it.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PgpKey:
    """A key in a keyring; `at` is the moment it believes it is, and `public` is armored."""

    home: Path
    fingerprint: str
    public: bytes
    at: str = ""

    def sign(self, payload: bytes) -> bytes:
        """Return an armored detached signature."""
        words = ("--armor", "--local-user", self.fingerprint, "--detach-sign")
        return _gpg(self.home, *_moment(self.at), *words, stdin=payload)


@dataclass(frozen=True, slots=True)
class SshKey:
    """A key pair on disk; `public` is the line for authorized_keys or an allowed signer."""

    path: Path
    passphrase: str = ""

    @property
    def public(self) -> str:
        return self.path.with_suffix(".pub").read_text(encoding="ascii").strip()

    @property
    def private(self) -> bytes:
        return self.path.read_bytes()

    @property
    def fingerprint(self) -> str:
        """Return `SHA256:…`."""
        return _run("ssh-keygen", "-l", "-f", str(self.path)).decode().split()[1]

    def sign(self, payload: bytes) -> bytes:
        """Return an armored signature in git's namespace; the key must have no passphrase."""
        return _run(
            "ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", str(self.path), stdin=payload
        )


@dataclass(frozen=True, slots=True)
class PgpKeyring:
    """An isolated GNUPGHOME."""

    home: Path

    def make(self, name: str = "Alice", *, expires: str = "never", at: str = "") -> PgpKey:
        """
        Make a signing key for `NAME <name@example.com>`.

        `at` (`20200101T000000`) makes both the key and its signatures in the past; with
        `expires="1d"` it is a key that has expired since.
        """
        before = self._fingerprints()
        who = f"{name} <{name.lower()}@example.com>"
        words = ("--quick-generate-key", who, "ed25519", "sign", expires)
        _gpg(self.home, *_moment(at), *words)
        (fingerprint,) = self._fingerprints() - before
        public = _gpg(self.home, "--armor", "--export", fingerprint)
        return PgpKey(self.home, fingerprint, public, at)

    def _fingerprints(self) -> set[str]:
        listed = _gpg(self.home, "--with-colons", "--list-secret-keys").decode()
        return {line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr:")}


@contextmanager
def pgp_keyring() -> Iterator[PgpKeyring]:
    """Give an empty keyring; its agent is gone at the end."""
    # Not below a test's folder: the agent's socket allows a path of 107 bytes.
    home = Path(tempfile.mkdtemp(prefix="gpg-"))
    try:
        yield PgpKeyring(home)
    finally:
        environment = {**os.environ, "GNUPGHOME": str(home)}
        subprocess.run(["gpgconf", "--kill", "all"], env=environment, check=False)
        shutil.rmtree(home, ignore_errors=True)


def ssh_key(
    folder: Path, name: str = "id", *, passphrase: str = "", kind: str = "ed25519"
) -> SshKey:
    """Make a key pair below a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    words = ("-q", "-t", kind, "-N", passphrase, "-C", f"{name}@example.com", "-f", str(path))
    _run("ssh-keygen", *words)
    return SshKey(path, passphrase)


def _moment(at: str) -> Sequence[str]:
    return ("--faked-system-time", f"{at}!") if at else ()


def _gpg(home: Path, *words: str, stdin: bytes = b"") -> bytes:
    quiet = ("--homedir", str(home), "--batch", "--quiet", "--no-tty")
    unprotected = ("--pinentry-mode", "loopback", "--passphrase", "")
    return _run("gpg", *quiet, *unprotected, *words, stdin=stdin)


def _run(program: str, *words: str, stdin: bytes = b"") -> bytes:
    done = subprocess.run([program, *words], input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, f"{program} {' '.join(words)}: {done.stderr.decode()}"
    return done.stdout
