"""
Lists and their pages: which objects, at which version, and how to go on.

A token holds the version of the first page and the name after which to go on, nothing is kept
for it here: the store can tell any state of the past until it forgets it. So pages that nobody
comes back for cost nothing, and a token survives a restart. Its form is the real API server's,
and so are the words about one that is wrong.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/storage/continue.go DecodeContinue, EncodeContinue;
k8s.io/apiserver/pkg/storage/etcd3/store.go store.GetList.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from posixpath import normpath
from typing import Any

import orjson

from kube_objects.refs import KubeObject
from kube_sandbox.api_errors import StatusError, bad_request, expired
from kube_sandbox.endpoints.go_json_errors import go_syntax_error, go_type
from kube_sandbox.storage.resource_version import (
    EXACT,
    VersionOptions,
    parse_list_version,
    require_version,
)
from kube_sandbox.storage.store import Record, Store, key_of

_TOKEN_VERSION = "meta.k8s.io/v1"
# In a token: go on with whatever is there now.
_LATEST = -1
_TOO_OLD = "The resourceVersion for the provided list is too old."
_INCONSISTENT = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue parameter, or use the continue token in this response "
    "to retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class Page:
    """A list, or a page of one; `remaining` is set only where the API server sets it."""

    records: Sequence[Record]
    version: int
    token: str = ""
    remaining: int | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """What is listed; `name` if only one name of one namespace (or none) is asked for."""

    bucket: str
    namespace: str = ""
    name: str = ""


class TokenExpiredError(StatusError):
    """The state of the first page is forgotten; its Status holds a token to go on regardless."""

    def __init__(self, token: str) -> None:
        super().__init__(410, "Expired", _INCONSISTENT)
        self.token = token

    def status(self) -> KubeObject:
        """Return what is sent."""
        return {**super().status(), "metadata": {"continue": self.token}}


def needed_version(asked: VersionOptions) -> int:
    """Return the version that the store must have reached, or raise 400; any will do: 0."""
    if asked.token:
        _, version = decode(asked.token)
        if asked.resource_version not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        return max(version, 0)
    return parse_list_version(asked.resource_version)


def page(
    store: Store,
    scope: Scope,
    asked: VersionOptions,
    matches: Callable[[Record], bool] | None = None,
) -> Page:
    """Return a page; `matches` is left out where no selector is given."""
    require_version(store, needed_version(asked))
    records, version = _listed(store, scope, asked)
    # As an API server that lists from its cache, which it does for version 0.
    limit = 0 if asked.resource_version == "0" else max(asked.limit, 0)
    if matches is None and (not limit or len(records) <= limit):
        return Page(records, version)
    # What matches, up to the limit, and how many were looked at.
    if matches is None:
        chosen, seen = records[:limit], limit
    else:
        found = []
        for index, record in enumerate(records):
            if matches(record):
                found.append(record)
                if len(found) == limit:
                    chosen, seen = found, index + 1
                    break
        else:
            chosen, seen = found, len(records)
    if seen == len(records):
        return Page(chosen, version)
    # There may be more. Whether it matches is seen on the next page, which may be empty.
    last = chosen[-1]
    start = last.name if scope.namespace else key_of(last.namespace, last.name)
    remaining = len(records) - limit if matches is None else None
    return Page(chosen, version, encode(f"/{start}\0", version), remaining)


def _listed(store: Store, scope: Scope, asked: VersionOptions) -> tuple[Sequence[Record], int]:
    if asked.token:
        start, version = decode(asked.token)
        continued_version: int = version
        if continued_version == _LATEST or continued_version < 0:
            continued_version, continued_records = (
                store.version,
                store.list(scope.bucket, scope.namespace),
            )
        else:
            try:
                continued_records = store.at(scope.bucket, continued_version, scope.namespace)
            except StatusError:
                raise TokenExpiredError(encode(start, _LATEST)) from None
        prefix = f"{scope.namespace}/" if scope.namespace else ""
        after_start = prefix + start
        low, high = 0, len(continued_records)
        while low < high:
            middle = (low + high) // 2
            if continued_records[middle].key < after_start:
                low = middle + 1
            else:
                high = middle
        return continued_records[low:], continued_version
    version = parse_list_version(asked.resource_version)
    is_exact = asked.match == EXACT or (not asked.match and asked.limit > 0 and version > 0)
    if is_exact and not (scope.name and asked.match != EXACT):
        try:
            records = store.at(scope.bucket, version, scope.namespace)
        except StatusError:
            raise expired(_TOO_OLD) from None
        return (
            [record for record in records if record.name == scope.name] if scope.name else records
        ), version
    if scope.name:
        found = store.get(scope.bucket, scope.namespace, scope.name)
        return [found] if found else [], store.version
    return store.list(scope.bucket, scope.namespace), store.version


def encode(start: str, version: int) -> str:
    """Return a token."""
    token = orjson.dumps({"v": _TOKEN_VERSION, "rv": version, "start": start})
    return urlsafe_b64encode(token).rstrip(b"=").decode()


def decode(token: str) -> tuple[str, int]:
    """Return where a token goes on and at which version, or raise 400."""
    # Go skips line ends, and counts in bytes of the text as it is.
    text = token.encode()
    plain = bytearray()
    for index, character in enumerate(text):
        if character in b"\r\n":
            continue
        if character not in _ALPHABET:
            raise _invalid_token(f"illegal base64 data at input byte {index}")
        plain.append(character)
    if len(plain) % 4 == 1:
        raise _invalid_token(f"illegal base64 data at input byte {len(text) - 1}")
    text = urlsafe_b64decode(bytes(plain) + b"=" * (-len(plain) % 4))
    if complaint := go_syntax_error(text):
        raise _invalid_token(complaint)
    content = json.loads(text.decode(errors="replace"), parse_int=_integer, parse_float=_Number)
    if content is not None and not isinstance(content, dict):
        message = f"json: cannot unmarshal {_type_of(content)} into Go value of type"
        raise _invalid_token(f"{message} storage.continueToken")
    fields: dict[str, Any] = {"v": "", "rv": 0, "start": ""}
    for given, value in (content or {}).items():
        name = given.lower()  # Go takes either case
        if name in fields and value is not None:
            type_, go_name = _FIELDS[name]
            # Neither a bool nor such a number will do, though Python takes them for int and str.
            if type(value) is type_:
                fields[name] = value
            else:
                number = f" {value}" if isinstance(value, _Number) and type_ is int else ""
                message = f"json: cannot unmarshal {_type_of(value)}{number} into Go struct field"
                raise _invalid_token(f"{message} continueToken.{name} of type {go_name}")
    if fields["v"] != _TOKEN_VERSION:
        raise _invalid_token(f"server does not recognize this encoded version {fields['v']}")
    version, start = fields["rv"], fields["start"]
    if version == 0:
        raise _invalid_token(f"incorrect encoded start resourceVersion (version {_TOKEN_VERSION})")
    if not start:
        raise _invalid_token(f"encoded start key empty (version {_TOKEN_VERSION})")
    key = start if start.startswith("/") else f"/{start}"
    # A path that climbs would list what is not asked for. Two slashes are one to Go.
    if key.startswith("//") or normpath(key) != key:
        raise _invalid_token(start)
    return key[1:], version


_ALPHABET = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


_FIELDS: dict[str, tuple[type, str]] = {
    "v": (str, "string"),
    "rv": (int, "int64"),
    "start": (str, "string"),
}


class _Number(str):
    """A number that is no int64, as it was written."""

    __slots__ = ()


def _integer(text: str) -> int | _Number:
    return int(text) if len(text) < 20 and -(2**63) <= int(text) < 2**63 else _Number(text)


def _type_of(value: Any) -> str:
    return "number" if isinstance(value, _Number) else go_type(value)


def _invalid_token(why: str) -> StatusError:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")
