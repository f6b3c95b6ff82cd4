"""
Verifies that a revision is signed with a trusted key.

Git does the work, because it knows what exactly was signed; it calls gpg or ssh-keygen with a
key ring that holds the source's keys and nothing else, created for this check and removed
afterwards. gpg starts no agent and no network access.

A signed tag is a statement about a name and a commit. So both are compared, too: otherwise an old
signed tag, pushed again under a newer name, would pass for the newer version.
"""

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from kro_gitops.errors import Unavailable, UserError
from kro_gitops.source.api.types import VerifyMode
from kro_gitops.source.api.url_policy import check_commit
from kro_gitops.source.git import commands, process
from kro_gitops.source.git.errors import timed_out
from kro_gitops.source.git.revisions import Chosen
from kro_gitops.source.git.signatures import (
    Keys,
    Signature,
    allowed_signers,
    evaluate,
    parse_keys,
)
from kube_objects.errors import RefusedError

__all__ = ("Keys", "Signature", "parse_keys", "verify")

_TAGS = "refs/tags/"
_HEADER_BYTES = 1 << 16
_PRINTED_BYTES = 1 << 20
_GPG_OPTIONS = (
    *("batch", "no-tty", "no-autostart", "disable-dirmngr", "no-auto-key-locate"),
    *("no-auto-key-retrieve", "no-auto-check-trustdb", "trust-model always", "lock-never"),
)


@dataclass(frozen=True, slots=True)
class _Checker:
    """The working folder, the environment with the key ring, and the timeout of a command."""

    folder: Path  # not the mirror, which may have been evicted
    environment: Mapping[str, str]
    timeout: float


def verify(
    mirror_path: Path, chosen: Chosen, mode: VerifyMode, keys: Keys, *, timeout: float
) -> tuple[Signature, ...]:
    """Return the signatures that the mode requires, the tag's first, or raise `RefusedError`."""
    signatures = []
    with _checker(mirror_path, keys, timeout) as checker:
        if mode in (VerifyMode.TAG, VerifyMode.TAG_AND_HEAD):
            signatures.append(_verify_tag(checker, chosen))
        if mode in (VerifyMode.HEAD, VerifyMode.TAG_AND_HEAD):
            commit = check_commit(chosen.commit)
            _ = _header(checker, commit, "commit")
            signatures.append(_ask(checker, "verify-commit", commit, f"commit {commit[:12]}"))
    return tuple(signatures)


def _verify_tag(checker: _Checker, chosen: Chosen) -> Signature:
    if not chosen.tag_object:
        called = f"'{chosen.name}' is" if chosen.name else "the revision is"
        raise RefusedError(
            "unsigned",
            f"{called} no annotated tag, so there is no tag that could be signed",
            hint="tag with 'git tag -s', or verify the commit: 'verify.mode: HEAD'",
        )
    tag = check_commit(chosen.tag_object)
    header = _header(checker, tag, "tag")
    signature = _ask(checker, "verify-tag", tag, f"tag '{chosen.name}'")
    # The signature covers the tag's own name and commit: compare them with those we asked for.
    name = chosen.ref.removeprefix(_TAGS)
    signed = header.get("tag", "")
    if signed != name:
        shown = "".join(each for each in signed[:100] if each.isprintable())
        raise RefusedError(
            "tag-renamed",
            f"the tag '{name}' was signed under the name '{shown}'",
            hint="it was pushed under another name: create the tag again",
        )
    if header.get("object") != chosen.commit or header.get("type") != "commit":
        raise RefusedError(
            "bad-signature",
            f"the tag '{name}' does not name commit {chosen.commit[:12]} itself",
            hint="make a tag of the commit, not of another tag",
        )
    return signature


def _ask(checker: _Checker, subcommand: str, id: str, what: str) -> Signature:
    code, _, printed = _run(checker, [process.program(), subcommand, "--raw", id])
    return evaluate(what, code, printed[:_PRINTED_BYTES].decode("utf-8", "replace"))


def _header(checker: _Checker, id: str, kind: str) -> Mapping[str, str]:
    """Read the fields at the top of an object, the first of each name."""
    code, content, _ = _run(checker, [process.program(), "cat-file", kind, id])
    if code != 0:
        raise Unavailable("object-missing", f"the mirror does not hold {kind} {id[:12]}")
    top = content[:_HEADER_BYTES].partition(b"\n\n")[0].decode("utf-8", "replace")
    pairs = (line.partition(" ") for line in top.split("\n"))
    found: dict[str, str] = {}
    for key, _, value in pairs:
        found.setdefault(key, value)
    return found


@contextlib.contextmanager
def _checker(mirror: Path, keys: Keys, timeout: float) -> Iterator[_Checker]:
    """Yield a checker whose key ring holds these keys, and remove the key ring afterwards."""
    with tempfile.TemporaryDirectory(prefix="kg-verify-") as name:
        folder = Path(name)
        home, ring, signers = folder / "home", folder / "gnupg", folder / "allowed_signers"
        home.mkdir(0o700)
        ring.mkdir(0o700)
        (ring / "gpg.conf").write_text("".join(f"{option}\n" for option in _GPG_OPTIONS))
        signers.write_text(allowed_signers(keys))
        path, git_dir = process.search_path(), str(mirror.resolve())
        gpg = which("gpg", path=path)
        programs = {
            "gpg.program": gpg or "false",
            "gpg.ssh.program": which("ssh-keygen", path=path) or "false",
            "gpg.x509.program": "false",  # certificates are not among the keys of a source
            "gpg.ssh.allowedSignersFile": str(signers),
        }
        environment = {
            **commands.environment(home=str(home), path=path, git_dir=git_dir),
            **commands.configuration(git_dir=git_dir, more=programs.items()),
            **{"GNUPGHOME": str(ring), "TMPDIR": str(home)},
        }
        checker = _Checker(home, environment, timeout)
        for name, key in keys.pgp.items():
            if gpg is None:
                raise Unavailable(
                    "gpg-not-installed",
                    "there is no 'gpg' program",
                    hint="install gnupg, or use SSH keys",
                )
            file = home / "key.asc"
            file.write_bytes(key)
            arguments = [gpg, "--status-fd", "1", "--import", "--", str(file)]
            _, printed, _ = _run(checker, arguments)
            if b"[GNUPG:] IMPORT_OK " not in printed:
                raise UserError(
                    "bad-keys", f"'{name}' is no public PGP key", hint="gpg --armor --export KEY"
                )
        yield checker


def _run(checker: _Checker, arguments: Sequence[str]) -> tuple[int, bytes, bytes]:
    """Run a program in a session of its own, so that nothing it starts outlives it."""
    with subprocess.Popen(
        arguments,
        env=dict(checker.environment),
        cwd=checker.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as running:
        try:
            output, complaint = running.communicate(timeout=checker.timeout)
        except subprocess.TimeoutExpired:
            raise timed_out(checker.timeout) from None
        finally:
            if running.poll() is None:
                process.kill(running)
    return running.returncode, output, complaint
