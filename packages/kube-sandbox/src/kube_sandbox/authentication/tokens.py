"""
The tokens of service accounts: issued on request, signed, and believed as long as all they name
is there.

A token is a JWT signed with ES256. It says which account it is for, and may be bound to a Pod, a
Secret or a Node; when that is gone, or another of the same name has taken its place, the token is
worth nothing. Whether its signature is right is worked out once.

Follows kubernetes 1.35 pkg/registry/core/serviceaccount/storage/token.go TokenREST.Create;
pkg/serviceaccount/claims.go Claims, validator.Validate.
"""

from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from kube_objects.go_text import quote
from kube_objects.refs import KubeObject
from kube_objects.times import format_time, parse_time
from kube_sandbox import api_errors
from kube_sandbox.authentication.user_info import UserInfo
from kube_sandbox.lazy import lazy_module
from kube_sandbox.registry import field_errors

if TYPE_CHECKING:
    from kube_sandbox.authentication import token_signing
else:
    token_signing = lazy_module("kube_sandbox.authentication.token_signing")

Find = Callable[[str, str, str], KubeObject | None]
Claims = dict[str, Any]

ISSUER = "https://kubernetes.default.svc"
_GROUP, _KIND = "authentication.k8s.io", "TokenRequest"
_EXTRA = "authentication.kubernetes.io/"
_SHORTEST, _LONGEST, _USUAL = 10 * 60, 1 << 32, 60 * 60
# Clocks differ, and what is deleted may have been deleted a moment ago.
_LEEWAY = timedelta(minutes=1)
_CACHE_SIZE = 1024
_BINDABLE = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}
_INVALIDATED = "service account token has been invalidated"


class TokenError(Exception):
    """A token is not believed; the text says why."""


class TokenIssuer:
    """Issues and reads tokens; `key` is a private key on P-256 in PEM."""

    def __init__(self, key: bytes, find: Find, issuer: str = ISSUER) -> None:
        self._key = key
        self._find = find
        self._issuer = issuer
        self._read: dict[str, Claims] = {}

    @property
    def audiences(self) -> tuple[str, ...]:
        """Return for whom a token is if nothing is said: the API server."""
        return (self._issuer,)

    def issue(
        self, request: KubeObject, account: KubeObject, now: datetime, identity: str
    ) -> KubeObject:
        """Answer a TokenRequest; `identity` is what the token shall be known by."""
        home = account["metadata"]
        metadata = request.get("metadata") or {}
        _check_names(metadata, home)
        spec = request.get("spec") or {}
        seconds = spec.get("expirationSeconds")
        seconds = _USUAL if seconds is None else seconds
        text = ""
        if seconds < _SHORTEST:
            text = "may not specify a duration less than 10 minutes"
        elif seconds > _LONGEST:
            text = "may not specify a duration larger than 2^32 seconds"
        if text:
            error = field_errors.invalid("spec.expirationSeconds", seconds, text)
            raise api_errors.invalid(_GROUP, _KIND, "", [error])
        bound = self._bound(spec.get("boundObjectRef"), home)
        audiences = spec.get("audiences") or list(self.audiences)
        claims = self._claims(home, audiences, now, now + timedelta(seconds=seconds))
        claims["jti"] = identity
        claims["kubernetes.io"] |= bound
        own = {"name": home["name"], "namespace": home["namespace"], "uid": home["uid"]}
        return {
            "kind": _KIND,
            "apiVersion": f"{_GROUP}/v1",
            "metadata": {**own, "creationTimestamp": format_time(now)}
            | {key: value for key, value in metadata.items() if key not in own},
            "spec": {
                "audiences": audiences,
                "expirationSeconds": seconds,
                "boundObjectRef": spec.get("boundObjectRef"),
            },
            "status": {
                "token": self._signer.sign(claims),
                "expirationTimestamp": format_time(now + timedelta(seconds=seconds)),
            },
        }

    def issue_for(
        self, account: KubeObject, secret: KubeObject, now: datetime, identity: str
    ) -> str:
        """Return the token of an account that is good as long as a Secret is there."""
        name = secret["metadata"]["name"]
        bound = {"apiVersion": "v1", "kind": "Secret", "name": name}
        spec = {"expirationSeconds": _LONGEST, "boundObjectRef": bound}
        token: str = self.issue({"spec": spec}, account, now, identity)["status"]["token"]
        return token

    def asker(
        self, token: str, now: datetime, audiences: Iterable[str] = ()
    ) -> tuple[UserInfo, list[str]] | None:
        """Return whose a token is and for which of the audiences, `None` if it is none of ours."""
        # What a token says, `None` if it is none of ours.
        known = self._read.get(token)
        if known is not None:
            claims: Claims | None = known
        else:
            # The claims of a token, whose signature is not verified here.
            match token.split("."):
                case [_, content, _]:
                    try:
                        found = orjson.loads(urlsafe_b64decode(content + "=" * (-len(content) % 4)))
                    except ValueError:
                        claims = None
                    else:
                        claims = found if isinstance(found, dict) else None
                case _:
                    claims = None
            if claims is None or claims.get("iss") != self._issuer:
                claims = None
            else:
                if not self._signer.is_own(token):
                    raise TokenError("go-jose/go-jose: error in cryptographic primitive")
                if len(self._read) >= _CACHE_SIZE:
                    self._read.clear()
                self._read[token] = claims
        if claims is None:
            return None
        wanted = tuple(audiences) or self.audiences
        common = [each for each in claims.get("aud", ()) if each in wanted]
        if not common:
            message = f"{_listed(claims.get('aud', ()))} is invalid for the target audiences"
            raise TokenError(f"token audiences {message} {_listed(wanted)}")
        self._check(claims, now)
        about = claims["kubernetes.io"]
        namespace = about["namespace"]
        extra = {f"{_EXTRA}credential-id": (f"JTI={claims['jti']}",)} if claims.get("jti") else {}
        for part in ("pod", "node"):
            for key, value in about.get(part, {}).items():
                extra[f"{_EXTRA}{part}-{key}"] = (value,)
        groups = (*account_groups(namespace), "system:authenticated")
        return UserInfo(claims["sub"], groups, about["serviceaccount"]["uid"], extra), common

    def keys(self) -> Mapping[str, Any]:
        """Return the public key as served at /openid/v1/jwks."""
        return {"keys": [self._signer.public_key()]}

    def configuration(self, address: str) -> Mapping[str, Any]:
        """Return the document served at /.well-known/openid-configuration."""
        return {
            "issuer": self._issuer,
            "jwks_uri": f"https://{address}/openid/v1/jwks",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        }

    @cached_property
    def _signer(self) -> "token_signing.Signer":
        return token_signing.Signer(self._key)

    def _claims(
        self, home: Mapping[str, str], audiences: Sequence[str], now: datetime, end: datetime
    ) -> Claims:
        start = int(now.timestamp())
        account = {"name": home["name"], "uid": home["uid"]}
        return {
            "aud": list(audiences),
            "exp": int(end.timestamp()),
            "iat": start,
            "iss": self._issuer,
            "kubernetes.io": {"namespace": home["namespace"], "serviceaccount": account},
            "nbf": start,
            "sub": f"system:serviceaccount:{home['namespace']}:{home['name']}",
        }

    def _check(self, claims: Claims, now: datetime) -> None:
        """Reject a token whose time is over or whose account or object is gone."""
        if now > datetime.fromtimestamp(claims["exp"], UTC) + _LEEWAY:
            raise TokenError("service account token has expired")
        if now + _LEEWAY < datetime.fromtimestamp(claims["nbf"], UTC):
            raise TokenError("service account token is not valid yet")
        about = claims["kubernetes.io"]
        namespace, account = about["namespace"], about["serviceaccount"]
        found = self._find("serviceaccounts", namespace, account["name"])
        if found is None:
            raise TokenError(f"serviceaccounts {quote(account['name'])} not found")
        uid = found["metadata"].get("uid")
        if uid != account["uid"]:
            text = f"({uid}) does not match claim ({account['uid']})"
            raise TokenError(f"service account UID {text}")
        if _is_past_deletion(found, now):
            raise TokenError(f"service account {namespace}/{account['name']} has been deleted")
        for part, plural in (("secret", "secrets"), ("pod", "pods"), ("node", "nodes")):
            ref = about.get(part)
            if ref is None or (part == "node" and "pod" in about):
                continue
            namespace = "" if part == "node" else about["namespace"]
            found = self._find(plural, namespace, ref["name"])
            if found is None or _is_past_deletion(found, now):
                raise TokenError(_INVALIDATED)
            uid = found["metadata"].get("uid")
            if uid != ref["uid"]:
                text = f"({uid}) does not match service account {part} ref claim ({ref['uid']})"
                raise TokenError(f"{part} UID {text}")

    def _bound(self, ref: Mapping[str, str] | None, home: Mapping[str, str]) -> Claims:
        """Return the claim that a token is bound to an object."""
        if ref is None:
            return {}
        group, _, version = ref.get("apiVersion", "").rpartition("/")
        kind, name = ref.get("kind", ""), ref.get("name", "")
        plural = _BINDABLE.get(kind)
        if plural is None or group:
            text = f"cannot bind token to object of type {group}/{version}, Kind={kind}"
            raise api_errors.bad_request(text)
        found = self._find(plural, "" if kind == "Node" else home["namespace"], name)
        if found is None:
            raise api_errors.not_found("", plural, name)
        account = (found.get("spec") or {}).get("serviceAccountName", "")
        if kind == "Pod" and account != home["name"]:
            text = f"cannot bind token for serviceaccount {quote(home['name'])}"
            raise api_errors.bad_request(
                f"{text} to pod running with different serviceaccount name."
            )
        uid = found["metadata"]["uid"]
        if ref.get("uid") not in ("", None, uid):
            why = (
                f"the UID in the bound object reference ({ref['uid']}) does not match the UID in "
                "record. The object might have been deleted and then recreated"
            )
            raise api_errors.conflict("", kind, name, why)
        claim: Claims = {kind.lower(): {"name": name, "uid": uid}}
        node_name = found["spec"].get("nodeName") if kind == "Pod" else None
        if node_name:
            node = self._find("nodes", "", node_name)
            node_uid = {"uid": node["metadata"]["uid"]} if node is not None else {}
            claim["node"] = {"name": node_name, **node_uid}
        return claim


def _check_names(said: Mapping[str, Any], home: Mapping[str, str]) -> None:
    for key in ("name", "namespace"):
        if said.get(key) and said[key] != home[key]:
            text = f"must match the service account {key} if specified"
            error = field_errors.invalid(f"metadata.{key}", said[key], text)
            raise api_errors.invalid(_GROUP, _KIND, home["name"], [error])
    uid = said.get("uid")
    if uid and uid != home["uid"]:
        text = f"the UID in the token request ({uid}) does not match"
        why = f"{text} the UID of the service account ({home['uid']})"
        raise api_errors.conflict(_GROUP, _KIND, home["name"], why)


def account_groups(namespace: str) -> tuple[str, str]:
    """Return the groups of every service account of a namespace."""
    return "system:serviceaccounts", f"system:serviceaccounts:{namespace}"


def _is_past_deletion(obj: KubeObject, now: datetime) -> bool:
    deleted = parse_time(obj["metadata"].get("deletionTimestamp"))
    return deleted is not None and deleted < now - _LEEWAY


def _listed(texts: Iterable[str]) -> str:
    return f"[{' '.join(map(quote, texts))}]"
