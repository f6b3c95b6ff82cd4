"""
Is a revision signed by somebody we trust?

Git does the work, because it knows what exactly was signed; it calls gpg or ssh-keygen with a
key ring that holds the source's keys and nothing else, made for this question and gone
afterwards. No agent, no network: gpg is told to start neither.

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
    judge,
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
class _Bench:
    """Where to look, with which environment, and for how long at most."""

    mirror: Path
    environment: Mapping[str, str]
    timeout: float


def verify(
    mirror_path: Path, chosen: Chosen, mode: VerifyMode, keys: Keys, *, timeout: float
) -> tuple[Signature, ...]:
    """Return who signed what the mode asks for, the tag first, or raise `RefusedError`."""
    signatures = []
    with _bench(mirror_path, keys, timeout) as bench:
        if mode in (VerifyMode.TAG, VerifyMode.TAG_AND_HEAD):
            signatures.append(_verify_tag(bench, chosen))
        if mode in (VerifyMode.HEAD, VerifyMode.TAG_AND_HEAD):
            signatures.append(_verify_commit(bench, chosen))
    return tuple(signatures)


def _verify_commit(bench: _Bench, chosen: Chosen) -> Signature:
    commit = check_commit(chosen.commit)
    _ = _header(bench, commit, "commit")
    return _ask(bench, "verify-commit", commit, f"commit {commit[:12]}")


def _verify_tag(bench: _Bench, chosen: Chosen) -> Signature:
    if not chosen.tag_object:
        called = f"'{chosen.name}' is" if chosen.name else "the revision is"
        raise RefusedError(
            "unsigned",
            f"{called} no annotated tag, so there is no tag that could be signed",
            hint="tag with 'git tag -s', or verify the commit: 'verify.mode: HEAD'",
        )
    tag = check_commit(chosen.tag_object)
    header = _header(bench, tag, "tag")
    signature = _ask(bench, "verify-tag", tag, f"tag '{chosen.name}'")
    _check_statement(header, chosen)
    return signature


def _check_statement(header: Mapping[str, str], chosen: Chosen) -> None:
    """Compare what the tag says about itself with what it was taken for."""
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


def _ask(bench: _Bench, subcommand: str, id: str, what: str) -> Signature:
    code, _, printed = _run(bench, [process.program(), subcommand, "--raw", id])
    return judge(what, code, printed[:_PRINTED_BYTES].decode("utf-8", "replace"))


def _header(bench: _Bench, id: str, kind: str) -> Mapping[str, str]:
    """Read the fields at the top of an object, the first of each name."""
    code, content, _ = _run(bench, [process.program(), "cat-file", kind, id])
    if code != 0:
        raise Unavailable("object-missing", f"the mirror does not hold {kind} {id[:12]}")
    top = content[:_HEADER_BYTES].partition(b"\n\n")[0].decode("utf-8", "replace")
    pairs = (line.partition(" ") for line in top.split("\n"))
    found: dict[str, str] = {}
    for key, _, value in pairs:
        found.setdefault(key, value)
    return found


@contextlib.contextmanager
def _bench(mirror: Path, keys: Keys, timeout: float) -> Iterator[_Bench]:
    """Give a place with the keys, and take it away."""
    with tempfile.TemporaryDirectory(prefix="kg-verify-") as name:
        folder = Path(name)
        home, ring, signers = folder / "home", folder / "gnupg", folder / "allowed_signers"
        home.mkdir(0o700)
        ring.mkdir(0o700)
        (ring / "gpg.conf").write_text("".join(f"{option}\n" for option in _GPG_OPTIONS))
        signers.write_text(allowed_signers(keys))
        bench = _Bench(mirror, _environment(mirror, home, ring, signers), timeout)
        _import(bench, keys, home)
        yield bench


def _environment(mirror: Path, home: Path, ring: Path, signers: Path) -> dict[str, str]:
    found = commands.environment(
        home=str(home), path=process.search_path(), git_dir=str(mirror.resolve())
    )
    programs = {
        "gpg.program": which("gpg", path=found["PATH"]) or "false",
        "gpg.ssh.program": which("ssh-keygen", path=found["PATH"]) or "false",
        "gpg.x509.program": "false",  # certificates are not among the keys of a source
        "gpg.ssh.allowedSignersFile": str(signers),
    }
    settings = commands.configuration(git_dir=str(mirror.resolve()), more=programs.items())
    return {**found, **settings, "GNUPGHOME": str(ring), "TMPDIR": str(home)}


def _import(bench: _Bench, keys: Keys, folder: Path) -> None:
    for name, key in keys.pgp.items():
        program = which("gpg", path=bench.environment["PATH"])
        if program is None:
            raise Unavailable(
                "gpg-not-installed",
                "there is no 'gpg' program",
                hint="install gnupg, or use SSH keys",
            )
        file = folder / "key.asc"
        file.write_bytes(key)
        arguments = [program, "--status-fd", "1", "--import", "--", str(file)]
        _, printed, _ = _run(bench, arguments)
        if b"[GNUPG:] IMPORT_OK " not in printed:
            raise UserError(
                "bad-keys", f"'{name}' is no public PGP key", hint="gpg --armor --export KEY"
            )


def _run(bench: _Bench, arguments: Sequence[str]) -> tuple[int, bytes, bytes]:
    """Run a program in a session of its own, so that nothing it starts outlives it."""
    with subprocess.Popen(
        arguments,
        env=dict(bench.environment),
        cwd=bench.mirror,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as running:
        try:
            output, complaint = running.communicate(timeout=bench.timeout)
        except subprocess.TimeoutExpired:
            raise timed_out(bench.timeout) from None
        finally:
            if running.poll() is None:
                process.kill(running)
    return running.returncode, output, complaint
