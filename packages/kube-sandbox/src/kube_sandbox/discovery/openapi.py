"""
The OpenAPI v3 documents, and the index of them.

Those of built-in kinds are data read from a real API server: all of them packed together, since
most of each stands in the others, too, and unpacked when the first is asked for. Those of custom
kinds are made from what is served, again and again: only their hashes are kept.

A hash in the address says which content is meant, so an answer to it never grows old.

Follows kube-openapi 589584f1c912 pkg/handler3/handler.go OpenAPIService.HandleDiscovery,
OpenAPIService.HandleGroupVersion.
"""

import hashlib
import json
import lzma
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import orjson

from kube_sandbox.discovery.custom_openapi import SharedDefinitions, document
from kube_sandbox.discovery.resources import Document
from kube_sandbox.registry.kinds import Registry, Served

Json = dict[str, Any]

_COMMON = "custom"  # the name of what documents of custom kinds share
_JSON = "application/json"
_WANTED = frozenset((_JSON, "application/*", "*/*", ""))


class OpenAPIDocuments:
    """What is at /openapi/v3; `selectable` gives the fields a custom kind can be selected by."""

    def __init__(
        self,
        registry: Registry,
        selectable: Callable[[Served], Iterable[str]] = lambda _: (),
    ) -> None:
        self._registry = registry
        self._selectable = selectable
        self._hashes: dict[str, tuple[tuple[Served, ...], str]] = {}

    def index(self) -> Document:
        """Return which documents there are and where."""
        hashes = {path: each["hash"] for path, each in _index().items() if path != _COMMON}
        hashes |= {path: self._hash(path, kinds) for path, kinds in self._custom().items()}
        paths = {path: {"serverRelativeURL": _url(path, hashes[path])} for path in sorted(hashes)}
        headers = {"Content-Type": "text/plain; charset=utf-8", "Cache-Control": _UNCACHED}
        return Document(orjson.dumps({"paths": paths}), headers=headers)

    def find(
        self, path: str, now: datetime, *, wanted: str = "", accept: str = "", etag: str = ""
    ) -> Document | None:
        """Return the document of a path such as `apis/apps/v1`, or `None`.

        `wanted` is the hash in the address, `etag` the version that the asker already has.
        """
        kinds = self._custom().get(path)
        if path == _COMMON or (kinds is None and path not in _index()):
            return None
        if not any(clause.partition(";")[0].strip() in _WANTED for clause in accept.split(",")):
            return Document(code=406, headers={"Cache-Control": _UNCACHED, "Vary": "Accept"})
        found = _index()[path]["hash"] if kinds is None else self._hash(path, kinds)
        headers = {"ETag": f'"{found}"', "Vary": "Accept", "Cache-Control": _UNCACHED}
        if wanted and wanted != found:
            place = {"Location": _url(path, found), "Content-Type": _JSON}
            return Document(code=301, headers=headers | place)
        if wanted:
            day = now.replace(year=now.year + 1) if (now.month, now.day) != (2, 29) else now
            headers |= {
                "Cache-Control": "public, immutable",
                "Expires": day.strftime("%a, %d %b %Y %H:%M:%S UTC"),
            }
        if etag == headers["ETag"]:
            return Document(code=304, headers=headers)
        text = _builtin(path) if kinds is None else self._text(kinds)
        return Document(text, headers=headers | {"Content-Type": _JSON})

    def _custom(self) -> dict[str, tuple[Served, ...]]:
        """Return the custom kinds by the path of their document."""
        found: dict[str, list[Served]] = {}
        for each in self._registry:
            path = f"apis/{each.kind.api_version}"
            if each.is_custom and path not in _index():
                found.setdefault(path, []).append(each)
        return {
            path: tuple(sorted(kinds, key=lambda each: each.plural))
            for path, kinds in found.items()
        }

    def _hash(self, path: str, kinds: tuple[Served, ...]) -> str:
        known = self._hashes.get(path)
        if known is None or known[0] != kinds:
            digest = hashlib.sha512(self._text(kinds)).hexdigest().upper()
            known = self._hashes[path] = (kinds, digest)
        return known[1]

    def _text(self, kinds: tuple[Served, ...]) -> bytes:
        selectable = {each: tuple(self._selectable(each)) for each in kinds}
        return orjson.dumps(document(kinds, self._common, selectable))

    @cached_property
    def _common(self) -> SharedDefinitions:
        return SharedDefinitions(**orjson.loads(_builtin(_COMMON)))


_UNCACHED = "no-cache, private"


@cache
def _index() -> dict[str, Json]:
    """Return where each document is in the pack, and its hash."""
    index: dict[str, Json] = json.loads(_file("openapi.json"))["documents"]
    return index


@cache
def _pack() -> bytes:
    return lzma.decompress(_file("openapi.xz"))


def _builtin(path: str) -> bytes:
    entry = _index()[path]
    return _pack()[entry["start"] : entry["start"] + entry["length"]]


def _file(name: str) -> bytes:
    return (files("kube_sandbox") / "documents" / name).read_bytes()


def _url(path: str, digest: str) -> str:
    return f"/openapi/v3/{path}?hash={digest}"
