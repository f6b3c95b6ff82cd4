"""
The OpenAPI v3 documents, and the index of them.

Those of built-in kinds are data read from a real API server, packed together, and unpacked when the
first is requested. Their schemas are those of `kube_objects`' catalogue of built-in kinds; the pack
has only what the catalogue leaves out, such as descriptions. Documents of custom kinds are built
from what is served at each request; only their hashes are kept.

The hash in the address names one content, so a response to it never expires.

Follows kube-openapi 589584f1c912 pkg/handler3/handler.go OpenAPIService.HandleDiscovery,
OpenAPIService.HandleGroupVersion.
"""

import hashlib
import json
import lzma
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any

import orjson

from kube_objects.builtins.catalog import catalog
from kube_objects.schemas import Schema
from kube_sandbox.discovery.custom_openapi import SharedDefinitions, document
from kube_sandbox.discovery.resources import Document
from kube_sandbox.registry.kinds import Registry, Served

Json = dict[str, Any]

_COMMON = "custom"  # the name of what documents of custom kinds share
_JSON = "application/json"
_WANTED = frozenset((_JSON, "application/*", "*/*", ""))
_SCHEMAS = "schemas"  # the name of what the catalogue leaves out of schemas
_PARTS = (_COMMON, _SCHEMAS)
# In which order a real API server writes the keys of a schema; extensions follow, sorted.
_KEY_ORDER = (
    *("$ref", "description", "type", "format", "default", "enum", "required", "items"),
    *("allOf", "oneOf", "properties", "additionalProperties"),
)
# Go escapes these in JSON, so that it can stand in HTML.
_ESCAPED = ((b"<", b"\\u003c"), (b">", b"\\u003e"), (b"&", b"\\u0026"))


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
        hashes = {path: each["hash"] for path, each in _index().items() if path not in _PARTS}
        hashes |= {path: self._hash(path, kinds) for path, kinds in self._custom().items()}
        paths = {path: {"serverRelativeURL": _url(path, hashes[path])} for path in sorted(hashes)}
        headers = {"Content-Type": "text/plain; charset=utf-8", "Cache-Control": _UNCACHED}
        return Document(orjson.dumps({"paths": paths}), headers=headers)

    def find(
        self, path: str, now: datetime, *, wanted: str = "", accept: str = "", etag: str = ""
    ) -> Document | None:
        """Return the document of a path such as `apis/apps/v1`, or `None`.

        `wanted` is the hash in the path, `etag` the version that the client already has.
        """
        kinds = self._custom().get(path)
        if path in _PARTS or (kinds is None and path not in _index()):
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
        text = builtin_text(path) if kinds is None else self._text(kinds)
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
        """Return the hash in the URL of a document; computed again only if its kinds changed."""
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
        content = orjson.loads(_packed(_COMMON))
        with_schemas(content, _COMMON, _rests())
        return SharedDefinitions(**content)


_UNCACHED = "no-cache, private"


@cache
def _index() -> dict[str, Json]:
    """Return where each document is in the pack, and its hash."""
    index: dict[str, Json] = json.loads(_file("openapi.json"))["documents"]
    return index


@cache
def _pack() -> bytes:
    return lzma.decompress(_file("openapi.xz"))


def _packed(name: str) -> bytes:
    entry = _index()[name]
    return _pack()[entry["start"] : entry["start"] + entry["length"]]


@cache
def _rests() -> Json:
    rests: Json = orjson.loads(_packed(_SCHEMAS))
    return rests


@lru_cache(maxsize=8)  # documents; the largest has 1.5 MB and takes 50 ms
def builtin_text(path: str) -> bytes:
    """Return the document of built-in kinds at a path, byte by byte as a real API server sends."""
    content: Json = orjson.loads(_packed(path))
    with_schemas(content["components"], path, _rests())
    text = orjson.dumps(content)
    for character, escaped in _ESCAPED:
        text = text.replace(character, escaped)
    return text


def with_schemas(holder: Json, path: str, rests: Json) -> None:
    """
    Put schemas where `holder` has only their names.

    `rests` has what the catalogue leaves out of each. A schema that differs from that of the same
    name in other documents is in `holder` itself.
    """
    key = "components" if path == _COMMON else "schemas"
    if key in holder:
        known = catalog.components(path.partition("/")[2])
        holder[key] = {
            name: schema or _restored(known.get(name, {}), rests[name])
            for name, schema in holder[key].items()
        }


def _restored(known: Schema, rest: Schema) -> Schema:
    """Return a schema of which the catalogue knows a part; `rest` is what it leaves out."""
    found = {**known, **rest}
    if "$ref" in known and len(found) > 1:
        found["allOf"] = [{"$ref": found.pop("$ref")}]
    for key in ("items", "additionalProperties"):
        if isinstance(found.get(key), dict):
            found[key] = _restored(known.get(key, {}), rest.get(key, {}))
    if "properties" in found:
        here, there = known.get("properties", {}), rest.get("properties", {})
        found["properties"] = {
            name: _restored(here.get(name, {}), there.get(name, {}))
            for name in sorted(here | there)
        }
    others = sorted(found.keys() - set(_KEY_ORDER))
    return {key: found[key] for key in (*_KEY_ORDER, *others) if key in found}


def _file(name: str) -> bytes:
    return (files("kube_sandbox") / "documents" / name).read_bytes()


def _url(path: str, digest: str) -> str:
    return f"/openapi/v3/{path}?hash={digest}"
