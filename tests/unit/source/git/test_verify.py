"""Real keys, real signatures, the real git; keys are made once for the whole file."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kro_gitops.errors import Unavailable, UserError
from kro_gitops.source.api.types import VerifyMode
from kro_gitops.source.git.revisions import Chosen
from kro_gitops.source.git.verify import Keys, Signature, parse_keys, verify
from kube_objects.errors import RefusedError

pytestmark = pytest.mark.skipif(
    not (shutil.which("gpg") and shutil.which("ssh-keygen")), reason="needs gpg and ssh-keygen"
)

HEAD, TAG, BOTH = VerifyMode.HEAD, VerifyMode.TAG, VerifyMode.TAG_AND_HEAD


@dataclass(frozen=True)
class Keyring:
    """Keys of Alice (PGP and SSH), Eve (PGP and SSH), and old ones of Bob (ended) and Carol."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "GNUPGHOME": str(self.folder / "g"),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "LC_ALL": "C",
        }

    def run(self, *arguments: str, at: str = "", into: Path | None = None) -> str:
        clock = {"GIT_COMMITTER_DATE": at, "GIT_AUTHOR_DATE": at} if at else {}
        done = subprocess.run(
            arguments,
            env={**self.environment, **clock},
            cwd=into or self.folder,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def make_pgp(self, name: str, *, at: str = "", lasts: str = "never") -> None:
        quick = ("--batch", "--passphrase", "", "--quick-gen-key")
        clock = ("--faked-system-time", at) if at else ()
        self.run("gpg", *clock, *quick, f"{name} <{name}@x.example>", "ed25519", "sign", lasts)

    def make_ssh(self, name: str) -> None:
        self.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", name)

    def pgp(self, name: str) -> bytes:
        return self.run("gpg", "--armor", "--export", f"{name}@x.example").encode()

    def ssh(self, name: str) -> bytes:
        return (self.folder / f"{name}.pub").read_bytes()

    def revoked(self, name: str) -> bytes:
        """Export a key with its revocation, made elsewhere: here it stays good."""
        listed = self.run("gpg", "--with-colons", "--list-keys", f"{name}@x.example")
        fingerprint = next(line for line in listed.splitlines() if line.startswith("fpr")).split(
            ":"
        )[9]
        kept = self.folder / "g" / "openpgp-revocs.d" / f"{fingerprint}.rev"
        note = self.folder / f"{name}.rev"
        note.write_text(kept.read_text().replace(":-----BEGIN", "-----BEGIN"))
        other = ("gpg", "--batch", "--homedir", str(self.folder / "r"))
        (self.folder / f"{name}.asc").write_bytes(self.pgp(name))
        self.run(*other, "--import", str(self.folder / f"{name}.asc"))
        self.run(*other, "--import", str(note))
        return self.run(*other, "--armor", "--export", f"{name}@x.example").encode()


@pytest.fixture(scope="module")
def keyring(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyring]:
    folder = tmp_path_factory.mktemp("k")
    (folder / "g").mkdir(mode=0o700)
    (folder / "r").mkdir(mode=0o700)
    ring = Keyring(folder)
    for name in ("alice", "eve"):
        ring.make_pgp(name)
        ring.make_ssh(name)
    ring.make_pgp("bob", at="20200101T000000!", lasts="1d")
    ring.make_pgp("carol", at="20200101T000000!")
    yield ring
    for home in ("g", "r"):
        ring.run("gpgconf", "--homedir", str(folder / home), "--kill", "all")


@dataclass(frozen=True)
class Repository:
    folder: Path
    keyring: Keyring

    def git(self, *arguments: str, at: str = "") -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@x.example")
        return self.keyring.run("git", *who, *arguments, at=at, into=self.folder)

    def signed_with(self, name: str) -> tuple[str, ...]:
        if name.startswith("ssh-"):
            key = self.keyring.folder / f"{name.removeprefix('ssh-')}.pub"
            return ("-c", "gpg.format=ssh", "-c", f"user.signingKey={key}")
        return ("-c", f"user.signingKey={name}@x.example")

    def signs_by(self, command: str) -> None:
        program = self.folder / "signer"
        program.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        program.chmod(0o755)
        self.git("config", "gpg.program", str(program))

    def commit(self, signer: str = "") -> Chosen:
        options = self.signed_with(signer) if signer else ()
        self.git(*options, "commit", "-q", "--allow-empty", "-m", "x", *(("-S",) if signer else ()))
        return Chosen("refs/heads/main", self.git("rev-parse", "HEAD"), name="main")

    def tag(self, name: str, signer: str = "", *, target: str = "HEAD") -> Chosen:
        options = (*self.signed_with(signer), "tag", "-s") if signer else ("tag", "-a")
        self.git(*options, "-m", "x", name, target)
        return self.chosen_tag(name)

    def chosen_tag(self, name: str) -> Chosen:
        object_id, commit = self.git("rev-parse", f"refs/tags/{name}", f"{name}^{{}}").split()
        return Chosen(f"refs/tags/{name}", commit, object_id, name)

    def check(self, chosen: Chosen, mode: VerifyMode, keys: Keys) -> tuple[Signature, ...]:
        return verify(self.folder / ".git", chosen, mode, keys, timeout=20)

    def refusal(self, chosen: Chosen, mode: VerifyMode, keys: Keys) -> RefusedError:
        with pytest.raises(RefusedError) as refused:
            self.check(chosen, mode, keys)
        return refused.value

    def rewritten(self, id: str, old: str, new: str) -> str:
        """Store a changed copy of an object, signature and all."""
        kind = self.git("cat-file", "-t", id)
        text = self.git("cat-file", kind, id).replace(old, new) + "\n"
        (self.folder / "object").write_text(text)
        return self.git("hash-object", "-t", kind, "-w", "--literally", "object")


@pytest.fixture
def repository(tmp_path: Path, keyring: Keyring) -> Repository:
    found = Repository(tmp_path, keyring)
    found.git("init", "-q", "-b", "main", ".")
    return found


@pytest.fixture(scope="module")
def trusted(keyring: Keyring) -> Keys:
    data = {"alice.asc": keyring.pgp("alice"), "alice.sshpub": keyring.ssh("alice"), "note": b"x"}
    return parse_keys(data)


def test_a_commit_signed_by_a_trusted_pgp_key(repository: Repository, trusted: Keys) -> None:
    (signature,) = repository.check(repository.commit("alice"), HEAD, trusted)
    assert (signature.kind, signature.signer) == ("pgp", "alice <alice@x.example>")
    assert len(signature.fingerprint) == 40


def test_a_commit_signed_by_a_trusted_ssh_key(repository: Repository, trusted: Keys) -> None:
    (signature,) = repository.check(repository.commit("ssh-alice"), HEAD, trusted)
    assert (signature.kind, signature.signer) == ("ssh", "alice")
    assert signature.fingerprint.startswith("SHA256:")


def test_a_commit_that_nobody_signed(repository: Repository, trusted: Keys) -> None:
    refused = repository.refusal(repository.commit(), HEAD, trusted)
    assert refused.code == "unsigned"
    assert "git commit -S" in refused.hint


@pytest.mark.parametrize("signer", ["eve", "ssh-eve"])
def test_a_signer_who_is_not_trusted(repository: Repository, trusted: Keys, signer: str) -> None:
    refused = repository.refusal(repository.commit(signer), HEAD, trusted)
    assert refused.code == "unknown-signer"
    assert "verify.secretRef" in refused.hint


@pytest.mark.parametrize("signer", ["alice", "ssh-alice"])
def test_a_kind_of_key_that_is_not_among_the_trusted(
    repository: Repository, keyring: Keyring, signer: str
) -> None:
    other = (
        {"a.sshpub": keyring.ssh("alice")} if signer == "alice" else {"a.asc": keyring.pgp("alice")}
    )
    refused = repository.refusal(repository.commit(signer), HEAD, parse_keys(other))
    assert refused.code == "unknown-signer"


@pytest.mark.parametrize("signer", ["alice", "ssh-alice"])
def test_a_commit_that_was_changed_after_signing(
    repository: Repository, trusted: Keys, signer: str
) -> None:
    chosen = repository.commit(signer)
    changed = repository.rewritten(chosen.commit, "\n\nx", "\n\nrm -rf /")
    refused = repository.refusal(Chosen("", changed), HEAD, trusted)
    assert refused.code == "bad-signature"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("PGP SIGNATURE", "SIGNED MESSAGE"),  # X.509: no key of a source is one
        ("-----BEGIN PGP SIGNATURE-----", "hello"),
        ("-----BEGIN PGP SIGNATURE-----", "-----BEGIN SSH SIGNATURE-----"),
    ],
)
def test_a_signature_that_is_garbage(
    repository: Repository, trusted: Keys, old: str, new: str
) -> None:
    chosen = repository.commit("alice")
    changed = Chosen("", repository.rewritten(chosen.commit, old, new))
    assert repository.refusal(changed, HEAD, trusted).code in ("bad-signature", "unsigned")


def test_an_expired_key(repository: Repository, keyring: Keyring) -> None:
    repository.signs_by("gpg --faked-system-time 20200101T120000!")
    chosen = repository.commit("bob")
    keys = parse_keys({"bob.asc": keyring.pgp("bob")})
    refused = repository.refusal(chosen, HEAD, keys)
    assert refused.code == "expired-key"
    assert "bob <bob@x.example>" in refused.message


def test_an_expired_signature(repository: Repository, keyring: Keyring) -> None:
    repository.signs_by("gpg --faked-system-time 20200101T120000! --default-sig-expire 1d")
    chosen = repository.commit("carol")
    keys = parse_keys({"carol.asc": keyring.pgp("carol")})
    assert repository.refusal(chosen, HEAD, keys).code == "expired-signature"


def test_a_revoked_key(repository: Repository, keyring: Keyring) -> None:
    keys = parse_keys({"alice.asc": keyring.revoked("alice")})
    assert repository.refusal(repository.commit("alice"), HEAD, keys).code == "revoked-key"


@pytest.mark.parametrize("signer", ["alice", "ssh-alice"])
def test_tags_and_commits_are_asked_as_the_mode_says(
    repository: Repository, trusted: Keys, signer: str
) -> None:
    repository.commit()
    on_unsigned = repository.tag("v1", signer)
    assert len(repository.check(on_unsigned, TAG, trusted)) == 1
    assert repository.refusal(on_unsigned, BOTH, trusted).code == "unsigned"
    repository.commit(signer)
    on_signed = repository.tag("v2", signer)
    assert len(repository.check(on_signed, BOTH, trusted)) == 2
    unsigned_tag = repository.tag("v3")
    assert repository.refusal(unsigned_tag, BOTH, trusted).code == "unsigned"
    assert len(repository.check(unsigned_tag, HEAD, trusted)) == 1


def test_a_lightweight_tag_or_a_branch_cannot_be_signed(
    repository: Repository, trusted: Keys
) -> None:
    chosen = repository.commit("alice")
    light = Chosen("refs/tags/v1", chosen.commit, name="v1")
    for each in (light, chosen, Chosen("", chosen.commit)):
        refused = repository.refusal(each, TAG, trusted)
        assert refused.code == "unsigned"
        assert "git tag -s" in refused.hint


def test_an_old_signed_tag_under_a_new_name_is_refused(
    repository: Repository, trusted: Keys
) -> None:
    repository.commit()
    old = repository.tag("v1.0.0", "alice")
    repository.git("update-ref", "refs/tags/v2.0.0", old.tag_object)
    refused = repository.refusal(repository.chosen_tag("v2.0.0"), TAG, trusted)
    assert refused.code == "tag-renamed"
    assert "'v1.0.0'" in refused.message


def test_a_tag_that_names_another_commit_is_refused(repository: Repository, trusted: Keys) -> None:
    repository.commit()
    tag = repository.tag("v1", "alice")
    other = repository.commit()
    lying = Chosen(tag.ref, other.commit, tag.tag_object, tag.name)
    assert repository.refusal(lying, TAG, trusted).code == "bad-signature"


def test_a_commit_that_is_not_there_is_no_matter_of_signatures(
    repository: Repository, trusted: Keys
) -> None:
    with pytest.raises(Unavailable):
        repository.check(Chosen("", "a" * 40), HEAD, trusted)


def test_a_repository_that_vanished_is_no_matter_of_signatures(
    tmp_path: Path, trusted: Keys
) -> None:
    with pytest.raises(Unavailable):
        verify(tmp_path / "gone", Chosen("", "1" * 40), HEAD, trusted, timeout=30)


def test_the_repositorys_own_configuration_is_not_asked(
    repository: Repository, trusted: Keys
) -> None:
    marker = repository.folder / "ran"
    program = repository.folder / "evil"
    program.write_text(f"#!/bin/sh\ntouch {marker}\necho '[GNUPG:] GOODSIG A alice'\n")
    program.chmod(0o755)
    chosen = repository.commit("eve")
    repository.git("config", "gpg.program", str(program))
    assert repository.refusal(chosen, HEAD, trusted).code == "unknown-signer"
    assert not marker.exists()


def test_nothing_is_left_behind(
    repository: Repository, trusted: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = repository.commit("alice")
    scratch = repository.folder / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    repository.check(chosen, HEAD, trusted)
    assert list(scratch.iterdir()) == []
    commands = Path("/proc").glob("[0-9]*/cmdline")
    assert not any(str(scratch).encode() in read(command) for command in commands)


def read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, "no '*.asc' (PGP) or '*.sshpub' (SSH) key"),
        ({"a.asc": b"-----BEGIN PGP PRIVATE KEY BLOCK-----"}, "'a.asc' is a private key"),
        ({"a.sshpub": b""}, "'a.sshpub' is empty"),
        ({"a.sshpub": b"-----BEGIN OPENSSH PRIVATE KEY-----\nxx"}, "no public SSH key"),
        ({"a.sshpub": b"ssh-ed25519 !!!"}, "no public SSH key"),
        ({"*.sshpub": b"ssh-ed25519 AAAA"}, "no name for a key"),
    ],
)
def test_keys_that_are_none_are_named(data: dict[str, bytes], said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)) as failed:
        parse_keys(data)
    assert failed.value.code == "bad-keys"


def test_a_pgp_key_that_is_none_is_named(repository: Repository) -> None:
    with pytest.raises(UserError, match=r"'a\.asc' is no public PGP key"):
        repository.check(repository.commit(), HEAD, parse_keys({"a.asc": b"hello"}))
