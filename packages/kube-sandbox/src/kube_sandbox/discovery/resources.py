"""
The discovery documents: /api, /apis and what is below them, up to a group's version.

Everything comes from the registry; only the order of built-in groups is data. Each document is
built at its first request and cached until the registry changes. There are two forms of the same
content: a document for each group and version, and everything in one (aggregated discovery), which
kubectl requests.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/endpoints/discovery/aggregated/handler.go
resourceDiscoveryManager.ServeHTTP; k8s.io/apiserver/pkg/endpoints/discovery/group.go
NewAPIGroupHandler; k8s.io/apiserver/pkg/endpoints/discovery/version.go NewAPIVersionHandler;
k8s.io/apiserver/pkg/endpoints/handlers/negotiation/errors.go NewNotAcceptableError.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from kube_objects.refs import Kind
from kube_sandbox.api_errors import StatusError
from kube_sandbox.registry.builtin_resources import builtin_groups, storage_hash
from kube_sandbox.registry.kinds import Registry, Served

Json = dict[str, Any]

JSON = "application/json"
AGGREGATED = f"{JSON};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_ACCEPTED = (JSON, "application/yaml", "application/vnd.kubernetes.protobuf")
# The order of the verbs of a custom kind.
_CUSTOM_VERBS = (
    *("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"),
)
_VERSION = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")
_STAGES = {None: 2, "beta": 1, "alpha": 0}


@dataclass(frozen=True, slots=True)
class Document:
    """What is sent for a document."""

    body: bytes = b""
    code: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


def version_priority(version: str) -> tuple[Any, ...]:
    """Return what sorts versions, the one to prefer first: v10, v2, v11beta1, v3alpha2, bar."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (1, version)
    major, stage, minor = match.groups()
    return (0, -_STAGES[stage], -int(major), -int(minor or 0))


class Discovery:
    """The documents; `address` is where the server is reached: `127.0.0.1:6443`."""

    def __init__(self, registry: Registry, address: str) -> None:
        self._registry = registry
        self._address = address
        self._generation = -1
        self._made: dict[tuple[str, bool], Document] = {}

    def find(self, path: str, accept: str = "", etag: str = "") -> Document | None:
        """Return the document at a path in the form that is accepted, or `None`.

        `etag` is the version that the asker already has, as If-None-Match says it.
        """
        path = path.rstrip("/")
        known = self._document(path, aggregated=False)
        if known is None:
            return None
        aggregated = _is_aggregated_wanted(accept, path)
        if not aggregated:
            return known
        document = self._document(path, aggregated=True)
        if document is not None and document.headers["ETag"] == etag:
            kept = {key: document.headers[key] for key in document.headers if key != "Content-Type"}
            return Document(b"", 304, kept)
        return document

    def _document(self, path: str, *, aggregated: bool) -> Document | None:
        if self._generation != self._registry.generation:
            self._made.clear()
            self._generation = self._registry.generation
        key = (path, aggregated)
        if key not in self._made:
            if aggregated:
                named = self._groups() if path == "/apis" else [("", ["v1"])]
                items = [
                    {
                        "metadata": {"name": group} if group else {},
                        "versions": [self._aggregated_version(group, each) for each in versions],
                    }
                    for group, versions in named
                ]
                listed: Json = {"metadata": {}, "items": items}
                etag = hashlib.sha512(orjson.dumps(listed)).hexdigest().upper()
                head = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2"}
                headers = {
                    "Content-Type": AGGREGATED,
                    "Cache-Control": "public",
                    "ETag": f'"{etag}"',
                    "Vary": "Accept",
                }
                self._made[key] = Document(orjson.dumps(head | listed) + b"\n", headers=headers)
            else:
                content = self._content(path)
                if content is None:
                    return None
                headers = {"Content-Type": JSON, "Cache-Control": "no-cache, private"}
                self._made[key] = Document(orjson.dumps(content) + b"\n", headers=headers)
        return self._made[key]

    def _content(self, path: str) -> Json | None:
        match path.split("/")[1:]:
            case ["api"]:
                clients = [{"clientCIDR": "0.0.0.0/0", "serverAddress": self._address}]
                return {
                    "kind": "APIVersions",
                    "versions": ["v1"],
                    "serverAddressByClientCIDRs": clients,
                }
            case ["apis"]:
                groups = [_group(*each) for each in self._groups(in_list=True)]
                return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
            case ["apis", group] if group in (found := dict(self._groups())):
                return {"kind": "APIGroup", "apiVersion": "v1"} | _group(group, found[group])
            case ["api", version]:
                return _resource_list(self._of_version("", version))
            case ["apis", group, version] if group:
                return _resource_list(self._of_version(group, version))
        return None

    def _aggregated_version(self, group: str, version: str) -> Json:
        resources: list[Json] = []
        for each in self._of_version(group, version):
            entry: Json = {
                "resource": each.plural,
                "responseKind": _response_kind(each, each.kind),
                "scope": "Namespaced" if each.namespaced else "Cluster",
                "singularResource": each.singular,
                "verbs": _verbs(each),
                "shortNames": each.short_names,
                "categories": each.categories,
                "subresources": [
                    {
                        "subresource": part.name,
                        "responseKind": _response_kind(each, part.kind),
                        "verbs": part.verbs,
                    }
                    for part in each.subresources.values()
                ],
            }
            optional = ("shortNames", "categories", "subresources")
            resources.append(
                {key: value for key, value in entry.items() if value or key not in optional}
            )
        return {"version": version, "resources": resources, "freshness": "Current"}

    def _of_version(self, group: str, version: str) -> list[Served]:
        found = [
            each
            for each in self._registry
            if each.kind.group == group and each.kind.version == version
        ]
        return sorted(found, key=lambda each: each.plural)

    def _groups(self, *, in_list: bool = False) -> list[tuple[str, list[str]]]:
        """Return the named groups with their versions, in the order of the document.

        In the list at /apis custom groups are sorted by the names of their APIServices, which
        begin with the version.
        """
        known = builtin_groups()
        found: dict[str, set[str]] = {}
        for each in self._registry:
            if each.kind.group:
                found.setdefault(each.kind.group, set()).add(each.kind.version)
        own = [
            (group, [each for each in known[group] if each in found[group]])
            for group in known
            if group in found
        ]
        names = (
            (min(f"{version}.{group}" for version in versions) if in_list else group, group)
            for group, versions in found.items()
            if group not in known
        )
        custom = [(group, sorted(found[group], key=version_priority)) for _, group in sorted(names)]
        return own + custom


def _group(name: str, versions: Iterable[str]) -> Json:
    message = [{"groupVersion": f"{name}/{each}", "version": each} for each in versions]
    return {"name": name, "versions": message, "preferredVersion": message[0]}


def _resource_list(served: list[Served]) -> Json | None:
    if not served:
        return None
    kind = served[0].kind
    # That of the core group does not say of which version it is itself.
    head: Json = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if kind.group else {})
    resources = [entry for each in served for entry in _entries(each)]
    return head | {"groupVersion": kind.api_version, "resources": resources}


def _entries(served: Served) -> Iterator[Json]:
    """Yield how a kind and its parts stand in the list of a group and version."""
    entry: Json = {
        "name": served.plural,
        "singularName": served.singular,
        "namespaced": served.namespaced,
        "kind": served.kind.kind,
        "verbs": _verbs(served),
        "shortNames": served.short_names,
        "categories": served.categories,
        "storageVersionHash": storage_hash(served),
    }
    optional = ("shortNames", "categories", "storageVersionHash")
    yield {key: value for key, value in entry.items() if value or key not in optional}
    for part in served.subresources.values():
        is_other = (part.kind.group, part.kind.version) != _own_version(served)
        yield {
            "name": f"{served.plural}/{part.name}",
            "singularName": "",
            "namespaced": served.namespaced,
            **({"group": part.kind.group, "version": part.kind.version} if is_other else {}),
            "kind": part.kind.kind,
            "verbs": part.verbs,
        }


def _response_kind(served: Served, kind: Kind) -> Json:
    """Name a kind; a built-in one of the same group and version is named without them."""
    is_told = served.is_custom or (kind.group, kind.version) != _own_version(served)
    group, version = (kind.group, kind.version) if is_told else ("", "")
    return {"group": group, "version": version, "kind": kind.kind}


def _own_version(served: Served) -> tuple[str, str]:
    return served.kind.group, served.kind.version


def _verbs(served: Served) -> tuple[str, ...]:
    if not served.is_custom:
        return served.verbs
    return tuple(each for each in _CUSTOM_VERBS if each in served.verbs)


def _is_aggregated_wanted(accept: str, path: str) -> bool:
    """Say in which of the two ways to answer; raise if neither will do."""
    has_both = path in ("/api", "/apis")
    # Parse the accepted media types, the preferred one first.
    clauses_accept = accept or JSON
    found = []
    for clause in clauses_accept.split(","):
        clauses_media_type, *parts = (each.strip() for each in clause.split(";"))
        found.append(
            (clauses_media_type, dict(part.split("=", 1) for part in parts if "=" in part))
        )
    for media_type, said in sorted(found, key=lambda clause: -_quality(clause[1])):
        if media_type not in (JSON, "application/*", "*/*"):
            continue
        wanted = said.get("as")
        if wanted is None:
            return False
        kind = (said.get("g"), said.get("v"), wanted)
        if has_both and kind == ("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList"):
            return True
    message = ", ".join(_ACCEPTED)
    # Another part of the API server serves the list of groups and single groups.
    if path.startswith("/apis") and path.count("/") < 3:
        text = f"only the following media types are accepted: {message}"
    else:
        text = f"406: Not Acceptable\n\nAvailable representations: {message}"
    raise StatusError(406, "NotAcceptable", text)


def _quality(said: Mapping[str, str]) -> float:
    try:
        return float(said.get("q", "1"))
    except ValueError:
        return 0.0
