"""
What git prints about a signature → who signed, or why it does not count.

`git verify-commit --raw` passes on what gpg prints for programs (lines that begin with
`[GNUPG:]`) or what ssh-keygen prints for people. The exit code alone is not enough: it does not
distinguish an unknown key from an expired one, and users react differently to them. An object
needs exactly one verdict: one with two signatures, a good and a bad one, counts as unsigned.
"""

import base64
import binascii
import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kro_gitops.errors import UserError
from kro_gitops.source.api.redaction import redact
from kube_objects.errors import RefusedError


@dataclass(frozen=True, slots=True)
class Keys:
    """Public keys that are trusted, by their name in the Secret."""

    pgp: Mapping[str, bytes]
    ssh: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Signature:
    """A good signature: its kind (`pgp` or `ssh`), who made it, and with which key."""

    kind: str
    signer: str
    fingerprint: str


_PGP_SUFFIX = ".asc"
_SSH_SUFFIX = ".sshpub"
_SSH_TYPES = frozenset(
    (
        *("ssh-ed25519", "ssh-rsa", "sk-ssh-ed25519@openssh.com"),
        *("ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"),
        "sk-ecdsa-sha2-nistp256@openssh.com",
    )
)
_NAME = re.compile(r"[-._a-zA-Z0-9]+")

_STATUS = "[GNUPG:] "
_SSH_GOOD = re.compile(r'Good "git" signature for (\S+) with \S+ key (SHA256:\S+)')
_SSH_UNKNOWN = re.compile(r'Good "git" signature with \S+ key (SHA256:\S+)')
_NO_KEY = "9"  # gpg's reason why it could not check
_LONGEST_NAME = 200

# gpg's verdicts; of each signature it prints exactly one.
_VERDICTS: Mapping[str, tuple[str, str, str]] = {
    "GOODSIG": ("", "", ""),
    "BADSIG": ("bad-signature", "does not fit: it was changed after it was signed", ""),
    "ERRSIG": ("bad-signature", "cannot be checked", ""),
    "EXPSIG": ("expired-signature", "is expired", "sign it again"),
    "EXPKEYSIG": (
        "expired-key",
        "was made with a key that is expired",
        "prolong the key and update it in the Secret, or sign with another",
    ),
    "REVKEYSIG": ("revoked-key", "was made with a key that is revoked", "sign with another key"),
}
_ADD_KEY = "if you trust it, add its public key to the Secret named in 'verify.secretRef'"


def parse_keys(data: Mapping[str, bytes]) -> Keys:
    """Read the keys of a Secret: `*.asc` and `*.sshpub`."""
    pgp = {name: key for name, key in sorted(data.items()) if name.endswith(_PGP_SUFFIX)}
    ssh = {name: key for name, key in sorted(data.items()) if name.endswith(_SSH_SUFFIX)}
    if not pgp and not ssh:
        raise _bad_keys("the secret holds no '*.asc' (PGP) or '*.sshpub' (SSH) key")
    for name, key in pgp.items():
        if b"PRIVATE KEY" in key:
            raise _bad_keys(f"'{name}' is a private key", "gpg --armor --export KEY")
    for name, key in ssh.items():
        _ = list(_ssh_lines(name, key))
    return Keys(pgp, ssh)


def allowed_signers(keys: Keys) -> str:
    """Write the SSH keys as ssh-keygen reads them; a key's name in the Secret is its owner's."""
    return "".join(line for name, key in keys.ssh.items() for line in _ssh_lines(name, key))


def _ssh_lines(name: str, key: bytes) -> Iterator[str]:
    owner = name.removesuffix(_SSH_SUFFIX)
    # A comma or star in a name would make it a pattern.
    if not _NAME.fullmatch(owner):
        raise _bad_keys(f"'{name}' is no name for a key")
    lines = [line.split() for line in key.decode("ascii", "replace").splitlines()]
    written = [words for words in lines if words and not words[0].startswith("#")]
    for words in written:
        key_bytes = b""
        if len(words) > 1 and words[0] in _SSH_TYPES:
            with contextlib.suppress(binascii.Error):
                key_bytes = base64.b64decode(words[1], validate=True)
        if not key_bytes:
            raise _bad_keys(f"'{name}' is no public SSH key", "give the .pub file of the key")
        yield f'{owner} namespaces="git" {words[0]} {words[1]}\n'
    if not written:
        raise _bad_keys(f"'{name}' is empty", "give the .pub file of the key")


def _bad_keys(message: str, hint: str = "") -> UserError:
    return UserError("bad-keys", message, hint=hint)


def evaluate(what: str, code: int, printed: str) -> Signature:
    """Return the signature of `what` (as people call it), or raise `RefusedError`."""
    status = [
        line.removeprefix(_STATUS) for line in printed.splitlines() if line.startswith(_STATUS)
    ]
    if status:
        signature = _evaluate_pgp(what, [line.split(" ") for line in status])
    else:
        signature = _evaluate_ssh(what, printed)
    if code != 0:
        raise _refused("bad-signature", what, "is not accepted by git")
    return signature


def _evaluate_pgp(what: str, status: list[list[str]]) -> Signature:
    verdicts = [words for words in status if words[0] in _VERDICTS]
    # ERRSIG <key> <algorithm> <hash> <class> <time> <reason> …
    lacks_key = any(words[0] == "ERRSIG" and words[6:7] == [_NO_KEY] for words in verdicts)
    if lacks_key or any(words[0] == "NO_PUBKEY" for words in status):
        keys = [words[1] for words in (*verdicts, *status) if len(words) > 1]
        raise _unknown(what, f"PGP key {keys[0]}" if keys else "an unknown PGP key")
    if len(verdicts) != 1:
        raise _refused("bad-signature", what, "cannot be read, or is more than one")
    code, wrong, hint = _VERDICTS[verdicts[0][0]]
    if code:
        raise _refused(code, what, f"by {_signer(verdicts[0])} {wrong}", hint)
    valid = [words for words in status if words[0] == "VALIDSIG" and len(words) > 1]
    if len(valid) != 1:
        raise _refused("bad-signature", what, "is good, but gpg does not call it valid")
    return Signature("pgp", _signer(verdicts[0]), valid[0][1])


def _signer(verdict: list[str]) -> str:
    name = " ".join(verdict[2:]) or "an unnamed key"
    return redact("".join(each for each in name if each.isprintable()), limit=_LONGEST_NAME)


def _evaluate_ssh(what: str, printed: str) -> Signature:
    good = [found for line in printed.splitlines() if (found := _SSH_GOOD.fullmatch(line))]
    unknown = _SSH_UNKNOWN.search(printed)
    if len(good) == 1 and unknown is None:
        return Signature("ssh", good[0][1], good[0][2])
    if unknown is not None:
        raise _unknown(what, f"SSH key {unknown[1]}")
    said = printed.strip().lower()
    if not said or "no signature found" in said:
        raise RefusedError(
            "unsigned",
            f"{what} is not signed",
            hint="sign it (git commit -S, git tag -s), or leave 'verify' out of the source",
        )
    raise _refused("bad-signature", what, "does not fit, or cannot be read")


def _unknown(what: str, key: str) -> RefusedError:
    return _refused("unknown-signer", what, f"was made with {key}, which is not trusted", _ADD_KEY)


def _refused(code: str, what: str, wrong: str, hint: str = "") -> RefusedError:
    return RefusedError(code, f"the signature of {what} {wrong}", hint=hint)
