"""Tokens of service accounts; the words are those of a real API server."""

from base64 import urlsafe_b64decode
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from kube_objects.refs import KubeObject
from kube_sandbox.api_errors import StatusError
from kube_sandbox.authentication.authenticator import Authenticator
from kube_sandbox.authentication.key_generation import signing_key
from kube_sandbox.authentication.tokens import ISSUER, TokenIssuer

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEY = signing_key()
ACCOUNT: KubeObject = {"metadata": {"name": "bot", "namespace": "here", "uid": "u1"}}
POD: KubeObject = {
    "metadata": {"name": "p", "namespace": "here", "uid": "u2"},
    "spec": {"serviceAccountName": "bot", "nodeName": "n"},
}
Objects = dict[tuple[str, str, str], KubeObject]


@pytest.fixture
def objects() -> Objects:
    return {("serviceaccounts", "here", "bot"): ACCOUNT, ("pods", "here", "p"): POD}


@pytest.fixture
def tokens(objects: Objects) -> TokenIssuer:
    return TokenIssuer(KEY, lambda *key: objects.get(key))


def issued(tokens: TokenIssuer, **spec: Any) -> str:
    token: str = tokens.issue({"spec": spec}, ACCOUNT, NOW, "j")["status"]["token"]
    return token


def error_of(tokens: TokenIssuer, token: str, now: datetime = NOW, *audiences: str) -> str:
    return Authenticator({}, tokens).verdict(token, now, audiences).error


def test_a_request_is_answered_with_a_token(tokens: TokenIssuer) -> None:
    found = tokens.issue({"spec": {}}, ACCOUNT, NOW, "j")
    token = found["status"].pop("token")
    assert found == {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": "bot",
            "namespace": "here",
            "uid": "u1",
            "creationTimestamp": "2026-03-01T12:00:00Z",
        },
        "spec": {"audiences": [ISSUER], "expirationSeconds": 3600, "boundObjectRef": None},
        "status": {"expirationTimestamp": "2026-03-01T13:00:00Z"},
    }
    header, claims, _ = (
        urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in token.split(".")
    )
    assert orjson.loads(header) == {"alg": "ES256", "kid": tokens.keys()["keys"][0]["kid"]}
    start = int(NOW.timestamp())
    assert orjson.loads(claims) == {
        "aud": [ISSUER],
        "exp": start + 3600,
        "iat": start,
        "iss": ISSUER,
        "jti": "j",
        "kubernetes.io": {
            "namespace": "here",
            "serviceaccount": {"name": "bot", "uid": "u1"},
        },
        "nbf": start,
        "sub": "system:serviceaccount:here:bot",
    }


def test_a_token_says_who_asks(tokens: TokenIssuer) -> None:
    found = Authenticator({}, tokens).asker(f"Bearer {issued(tokens)}", NOW)
    assert found.user == "system:serviceaccount:here:bot"
    assert found.uid == "u1"
    assert found.groups == (
        "system:serviceaccounts",
        "system:serviceaccounts:here",
        "system:authenticated",
    )
    assert found.extra == {"authentication.kubernetes.io/credential-id": ("JTI=j",)}


def test_a_token_can_be_bound_to_a_pod(tokens: TokenIssuer) -> None:
    token = issued(tokens, boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "p"})
    asker = Authenticator({}, tokens).asker(f"Bearer {token}", NOW)
    prefix = "authentication.kubernetes.io"
    assert asker.extra == {
        f"{prefix}/credential-id": ("JTI=j",),
        f"{prefix}/pod-name": ("p",),
        f"{prefix}/pod-uid": ("u2",),
        f"{prefix}/node-name": ("n",),
    }


def test_a_token_goes_with_its_pod(tokens: TokenIssuer, objects: Objects) -> None:
    token = issued(tokens, boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "p"})
    del objects[("pods", "here", "p")]
    text = "[invalid bearer token, service account token has been invalidated]"
    assert error_of(tokens, token) == text


def test_a_token_goes_with_its_account(tokens: TokenIssuer, objects: Objects) -> None:
    token = issued(tokens)
    objects[("serviceaccounts", "here", "bot")] = {"metadata": {"name": "bot", "uid": "u9"}}
    text = "[invalid bearer token, service account UID (u9) does not match claim (u1)]"
    assert error_of(tokens, token) == text
    del objects[("serviceaccounts", "here", "bot")]
    assert error_of(tokens, token) == '[invalid bearer token, serviceaccounts "bot" not found]'


def test_a_token_ends(tokens: TokenIssuer) -> None:
    token = issued(tokens, expirationSeconds=600)
    assert error_of(tokens, token, NOW + timedelta(seconds=650)) == ""
    text = "[invalid bearer token, service account token has expired]"
    assert error_of(tokens, token, NOW + timedelta(seconds=661)) == text


def test_a_token_is_for_whom_it_was_made(tokens: TokenIssuer) -> None:
    token = issued(tokens, audiences=["x"])
    assert error_of(tokens, token) == (
        '[invalid bearer token, token audiences ["x"] is invalid for the target audiences '
        f'["{ISSUER}"]]'
    )
    verdict = Authenticator({}, tokens).verdict(token, NOW, ["x", "y"])
    assert verdict.audiences == ["x"]


def test_a_forged_token_is_not_believed(tokens: TokenIssuer) -> None:
    text = "[invalid bearer token, go-jose/go-jose: error in cryptographic primitive]"
    assert error_of(tokens, issued(tokens)[:-4] + "AAAA") == text
    other = TokenIssuer(signing_key(), lambda *_: ACCOUNT)
    assert error_of(tokens, issued(other)) == text
    header, claims, signature = issued(tokens).split(".")
    assert error_of(tokens, f"{header}.{claims}.") == text
    assert error_of(tokens, f"{header}.{signature}") == "invalid bearer token"


@pytest.mark.parametrize(
    ("request_", "code", "told"),
    [
        (
            {"spec": {"expirationSeconds": 5}},
            422,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: '
            "Invalid value: 5: may not specify a duration less than 10 minutes",
        ),
        (
            {"spec": {"expirationSeconds": 2**33}},
            422,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: '
            "Invalid value: 8589934592: may not specify a duration larger than 2^32 seconds",
        ),
        (
            {"metadata": {"name": "other"}},
            422,
            'TokenRequest.authentication.k8s.io "bot" is invalid: metadata.name: Invalid value: '
            '"other": must match the service account name if specified',
        ),
        (
            {"metadata": {"uid": "other"}},
            409,
            'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "bot": the UID '
            "in the token request (other) does not match the UID of the service account (u1)",
        ),
        (
            {"spec": {"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "x"}}},
            400,
            "cannot bind token to object of type /v1, Kind=ConfigMap",
        ),
        (
            {"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "x"}}},
            404,
            'secrets "x" not found',
        ),
    ],
)
def test_a_request_that_cannot_be_met_is_refused(
    tokens: TokenIssuer, request_: KubeObject, code: int, told: str
) -> None:
    with pytest.raises(StatusError) as refused:
        tokens.issue(request_, ACCOUNT, NOW, "j")
    assert (refused.value.code, refused.value.message) == (code, told)


def test_others_can_check_tokens(tokens: TokenIssuer) -> None:
    (key,) = tokens.keys()["keys"]
    assert key.keys() == {"use", "kty", "kid", "crv", "alg", "x", "y"}
    found = tokens.configuration("127.0.0.1:1")
    assert found["jwks_uri"] == "https://127.0.0.1:1/openid/v1/jwks"
