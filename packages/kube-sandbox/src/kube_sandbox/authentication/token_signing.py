"""
Sign what a token claims, and check that nobody else has: JSON Web Signatures with ES256.

Loaded when the first service account asks for a token or shows one, for `cryptography` takes a
noticeable part of a start.
"""

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)

ALGORITHM = "ES256"
_HALF = 32  # bytes of each of the two numbers of a signature


class Signer:
    """Signs with a private key on P-256, given in PEM."""

    def __init__(self, pem: bytes) -> None:
        key = load_pem_private_key(pem, None)
        if not isinstance(key, EllipticCurvePrivateKey):
            raise ValueError("tokens are signed with a key on P-256")
        self._key = key
        public = key.public_key()
        described = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        self._id = encoded(hashlib.sha256(described).digest())

    def sign(self, claims: Mapping[str, Any]) -> str:
        """Return a token."""
        header = orjson.dumps({"alg": ALGORITHM, "kid": self._id})
        content = f"{encoded(header)}.{encoded(orjson.dumps(claims))}"
        numbers = decode_dss_signature(self._key.sign(content.encode(), ECDSA(SHA256())))
        return f"{content}.{encoded(b''.join(each.to_bytes(_HALF) for each in numbers))}"

    def is_own(self, token: str) -> bool:
        """Say whether a token was signed here and is as it was."""
        content, _, signature = token.rpartition(".")
        try:
            numbers = decoded(signature)
            header = orjson.loads(decoded(content.partition(".")[0]))
        except ValueError:
            return False
        is_ours = isinstance(header, dict) and header.get("alg") == ALGORITHM
        if len(numbers) != 2 * _HALF or not is_ours:
            return False
        pair = (int.from_bytes(numbers[:_HALF]), int.from_bytes(numbers[_HALF:]))
        try:
            self._key.public_key().verify(
                encode_dss_signature(*pair), content.encode(), ECDSA(SHA256())
            )
        except InvalidSignature:
            return False
        return True

    def public_key(self) -> Mapping[str, str]:
        """Return what others can check tokens with."""
        numbers = self._key.public_key().public_numbers()
        return {
            "use": "sig",
            "kty": "EC",
            "kid": self._id,
            "crv": "P-256",
            "alg": ALGORITHM,
            "x": encoded(numbers.x.to_bytes(_HALF)),
            "y": encoded(numbers.y.to_bytes(_HALF)),
        }


def encoded(content: bytes) -> str:
    """Write bytes as they stand in a token."""
    return urlsafe_b64encode(content).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    """Read bytes as they stand in a token."""
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
