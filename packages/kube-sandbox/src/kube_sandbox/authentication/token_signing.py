"""
JSON Web Tokens signed with ES256, by PyJWT.

Imported when the first service account requests a token or presents one: `cryptography` takes a
noticeable part of a start.
"""

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)
from jwt.algorithms import ECAlgorithm

ALGORITHM = "ES256"


class Signer:
    """Signs with a private key on P-256, given in PEM."""

    def __init__(self, pem: bytes) -> None:
        key = load_pem_private_key(pem, None)
        if not isinstance(key, EllipticCurvePrivateKey):
            raise ValueError("tokens are signed with a key on P-256")
        self._key = key
        self._public = key.public_key()
        der = self._public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        # The key's ID as kube-apiserver derives it (pkg/serviceaccount/jwt.go keyIDFromPublicKey).
        self._id = urlsafe_b64encode(hashlib.sha256(der).digest()).rstrip(b"=").decode()

    def sign(self, claims: Mapping[str, Any]) -> str:
        """Return a token; its header has no `typ`, as those of kube-apiserver."""
        headers = {"kid": self._id, "typ": None}
        return jwt.encode(dict(claims), self._key, ALGORITHM, headers)

    def is_own(self, token: str) -> bool:
        """Return whether a token was signed with this key; its claims are not looked at."""
        try:
            jwt.PyJWS().decode(token, self._public, [ALGORITHM])
        except jwt.InvalidTokenError:
            return False
        return True

    def public_key(self) -> Mapping[str, str]:
        """Return the key that clients verify tokens with, as a JWK."""
        found = ECAlgorithm.to_jwk(self._public, as_dict=True)
        return {"use": "sig", "kid": self._id, "alg": ALGORITHM, **found}
