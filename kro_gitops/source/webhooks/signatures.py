"""
Authenticates a webhook call. Each forge has its own way, and all rest on one shared token.

The rules, none of which depends on the content of the body:

- A forge's own proof is required. A GitLab token proves nothing for a call with GitHub's headers,
  so that no choice of headers leads to a weaker check.
- Every other proof in the call must be valid, too.
- SHA-1 proves nothing. GitHub still sends such a signature beside the real one.
- Texts are compared in constant time.
"""

import base64
import binascii
import hmac
from collections.abc import Callable, Mapping
from contextlib import suppress

from kro_gitops.source.api.types import Forge
from kro_gitops.source.webhooks.headers import Headers
from kube_objects.errors import RefusedError

SKEW = 300.0  # seconds that a signed time may differ from ours

_SIGNED_KEY = b"whsec_"  # a GitLab signing token: the key follows in Base64
_WEAK = ("sha1=", "md5=")
_STRONG = {"sha256": "sha256", "sha512": "sha512"}

_BARE = ("x-forgejo-signature", "x-gitea-signature", "x-gogs-signature")
_LABELLED = ("x-hub-signature-256", "x-hub-signature", "x-signature")
_TIMED = "webhook-signature"
_PLAIN_TOKEN = "x-gitlab-token"
_BASIC = "authorization"

# What proves a call; one of these is needed.
_PROOFS: Mapping[Forge, tuple[str, ...]] = {
    Forge.GITEA: _BARE,
    Forge.GITHUB: ("x-hub-signature-256",),
    Forge.GITLAB: (_TIMED, _PLAIN_TOKEN),
    Forge.BITBUCKET: ("x-hub-signature",),
    Forge.BITBUCKET_SERVER: ("x-hub-signature",),
    Forge.AZURE: (_BASIC,),
    Forge.GENERIC: ("x-signature",),
}


def authenticate(headers: Headers, body: bytes, token: bytes, forge: Forge, now: float) -> None:
    """Raise unless the caller has proved that it knows the token."""
    if not token:
        raise RefusedError(
            "hook-without-token",
            "there is no token to check webhooks with",
            hint="give the Secret that `webhook.secretRef` names a `token`",
        )
    # Authorization may be meant for a proxy on the way; only Azure's is meant for us.
    read = (*_LABELLED, *_BARE, _TIMED, _PLAIN_TOKEN, *((_BASIC,) if forge is Forge.AZURE else ()))
    # Forges without a secret send empty headers: nothing was proved, and nothing is wrong.
    given = {name: headers[name] for name in read if headers.get(name, "").strip()}
    strong = {
        name: value
        for name, value in given.items()
        if name not in _LABELLED or not value.strip().lower().startswith(_WEAK)
    }
    # GitLab never sends a signing token, so a call that has it in plain text is not GitLab's.
    is_signing = forge is Forge.GITLAB and token.startswith(_SIGNED_KEY)
    proofs = (_TIMED,) if is_signing else _PROOFS[forge]
    if not any(name in strong for name in proofs):
        if strong != given:
            raise RefusedError(
                "hook-weak-signature",
                "the webhook is signed with SHA-1 only, which is not accepted",
                hint="sign it with SHA-256",
            )
        raise RefusedError(
            "hook-unauthenticated",
            f"a webhook of {forge.value} must prove that it is genuine, and this one does not",
            hint="enter the token as the webhook's secret at the forge",
        )
    # All are checked, so that the time does not show which of them is wrong.
    verdicts = [_CHECKS[name](headers, name, body, token) for name in strong]
    if not all(verdicts):
        raise RefusedError(
            "hook-bad-signature",
            "the webhook was not signed with this source's token",
            hint="enter the same token at the forge and in the Secret, without a line break",
        )
    stamp = headers.get("webhook-timestamp", "")
    is_number = stamp.isascii() and stamp.isdecimal() and len(stamp) <= 12
    signed = float(stamp) if is_number else float("-inf")
    if _TIMED in strong and abs(now - signed) > SKEW:
        raise RefusedError(
            "hook-stale-signature",
            f"the webhook was signed more than {SKEW:.0f} seconds ago, or in the future",
            hint="set the clocks of both sides",
        )


def _labelled(headers: Headers, name: str, body: bytes, token: bytes) -> bool:
    """Check `sha256=<hex>`."""
    algorithm, _, digest = headers[name].strip().partition("=")
    known = _STRONG.get(algorithm.lower())
    return known is not None and _is_digest(digest, body, token, known)


def _bare(headers: Headers, name: str, body: bytes, token: bytes) -> bool:
    """Check a hex text alone."""
    return _is_digest(headers[name].strip(), body, token, "sha256")


def _timed(headers: Headers, name: str, body: bytes, token: bytes) -> bool:
    """Check `v1,<base64>` over id, time and body; of several, during a rotation, one holds."""
    signed = f"{headers.get('webhook-id', '')}.{headers.get('webhook-timestamp', '')}."
    key = token
    if token.startswith(_SIGNED_KEY):
        with suppress(binascii.Error):  # it merely looks like one
            key = base64.b64decode(token.removeprefix(_SIGNED_KEY), validate=True)
    digest = hmac.digest(key, _raw(signed) + body, "sha256")
    expected = b"v1," + base64.b64encode(digest)
    return any(_same(_raw(each), expected) for each in headers[name].split())


def _plain(headers: Headers, name: str, _body: bytes, token: bytes) -> bool:
    return _same(_raw(headers[name]), token)


def _basic(headers: Headers, name: str, _body: bytes, token: bytes) -> bool:
    """Check a password; the user name means nothing."""
    scheme, _, encoded = headers[name].strip().partition(" ")
    try:
        login = base64.b64decode(_raw(encoded.strip()), validate=True)
    except binascii.Error:
        return False
    return scheme.lower() == "basic" and _same(login.partition(b":")[2], token)


_CHECKS: Mapping[str, Callable[[Headers, str, bytes, bytes], bool]] = {
    **dict.fromkeys(_LABELLED, _labelled),
    **dict.fromkeys(_BARE, _bare),
    _TIMED: _timed,
    _PLAIN_TOKEN: _plain,
    _BASIC: _basic,
}


def _is_digest(given: str, body: bytes, token: bytes, algorithm: str) -> bool:
    expected = hmac.digest(token, body, algorithm).hex()
    return _same(_raw(given).lower(), expected.encode())


def _same(given: bytes, expected: bytes) -> bool:
    return hmac.compare_digest(given, expected)


def _raw(text: str) -> bytes:
    """Return the bytes that were sent: servers keep those that are no UTF-8 as surrogates."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")  # no server returns such a text
