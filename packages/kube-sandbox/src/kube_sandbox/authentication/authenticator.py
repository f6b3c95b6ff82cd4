"""
Bearer tokens: from the `Authorization` header of a request to a `UserInfo`.

A token is one of those the server was started with, or a service account's. There are no anonymous
requests.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/endpoints/filters/authentication.go WithAuthentication;
k8s.io/apiserver/pkg/authentication/request/bearertoken/bearertoken.go
Authenticator.AuthenticateRequest.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from kube_sandbox import api_errors
from kube_sandbox.authentication.tokens import TokenError, TokenIssuer
from kube_sandbox.authentication.user_info import UserInfo


@dataclass(frozen=True, slots=True)
class AuthenticationResult:
    """The user and the audiences of a token, or why it is invalid."""

    asker: UserInfo | None = None
    audiences: Sequence[str] = ()
    error: str = ""


class Authenticator:
    """Knows tokens; `known` are those the server was started with."""

    def __init__(self, known: Mapping[str, UserInfo], tokens: TokenIssuer) -> None:
        # By hash, so that the time a look-up takes tells nothing about a token.
        self._known = {_sha256(token): user for token, user in known.items()}
        self._tokens = tokens

    def asker(self, authorization: str, now: datetime) -> UserInfo:
        """Return the user of a header `Authorization`; raise if the token is not known."""
        scheme, _, rest = authorization.partition(" ")
        token = rest.partition(" ")[0]
        found = self.verdict(token, now).asker if scheme.lower() == "bearer" and token else None
        if found is None:
            raise api_errors.unauthorized()
        return found

    def verdict(
        self, token: str, now: datetime, audiences: Sequence[str] = ()
    ) -> AuthenticationResult:
        """Say whose a token is."""
        own = self._tokens.audiences
        known = self._known.get(_sha256(token))
        if known is not None:
            common = [each for each in own if not audiences or each in audiences]
            return (
                AuthenticationResult(known, common)
                if common
                else AuthenticationResult(error="invalid bearer token")
            )
        try:
            found = self._tokens.asker(token, now, audiences)
        except TokenError as error:
            return AuthenticationResult(error=f"[invalid bearer token, {error}]")
        return (
            AuthenticationResult(*found)
            if found is not None
            else AuthenticationResult(error="invalid bearer token")
        )


def _sha256(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
