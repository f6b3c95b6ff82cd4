"""
The built-in kinds: how each is served, as a real API server tells it in its discovery.

Read from `documents/discovery.json`. Schemas come from the catalogue, each when its kind is first
written: resolving all of them would take a noticeable part of a start.

Follows kubernetes 1.35 pkg/controlplane/instance.go DefaultAPIResourceConfigSource;
k8s.io/apiserver/pkg/server/storage/resource_encoding_config.go
DefaultResourceEncodingConfig.StorageEncodingFor.
"""

import hashlib
import json
from base64 import b64encode
from functools import cache, partial
from importlib.resources import files
from typing import Any

from kube_objects.builtins.catalog import catalog
from kube_objects.refs import Kind
from kube_objects.schemas import Schema
from kube_sandbox.api_errors import qualified
from kube_sandbox.registry.kinds import Served, Subresource
from kube_sandbox.registry.strategy import Strategies

Json = dict[str, Any]

# Where Go has the structs of a group whose name does not begin as its package is called.
_PACKAGES = {
    "rbac.authorization.k8s.io": "rbac",
    "flowcontrol.apiserver.k8s.io": "flowcontrol",
    "internal.apiserver.k8s.io": "apiserverinternal",
}
# Where etcd has kinds that it does not have by their plural, and groups that it tells apart.
_KEYS = {
    "endpoints": "services/endpoints",
    "ingresses": "ingress",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "services": "services/specs",
}
_KEYED_BY_GROUP = frozenset(("apiextensions.k8s.io", "apiregistration.k8s.io"))
# Kinds whose objects are those of another group, which is the core one, at v1.
_OF_CORE = frozenset((Kind("events.k8s.io", "v1", "Event"),))
_DEPRECATED = {
    "componentstatuses": "v1 ComponentStatus is deprecated in v1.19+",
    "endpoints": ("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
}

_ANY_SCHEMA: Schema = {}  # the schema of kinds that have none


def served_builtins(strategies: Strategies) -> list[Served]:
    """Return every built-in kind at every version, with the strategy of its plural with group."""
    found = []
    for path, resources in _builtin()["resources"].items():
        _, *version_group, group_version = path.split("/")
        group, version = "".join(version_group), group_version
        parts: dict[str, dict[str, Subresource]] = {}
        for each in resources:
            plural, _, part = each["name"].partition("/")
            if part:
                kind = Kind(each.get("group", group), each.get("version", version), each["kind"])
                subresource = Subresource(part, kind, tuple(each["verbs"]))
                parts.setdefault(plural, {})[part] = subresource
        for each in resources:
            if "/" not in each["name"]:
                kind = Kind(group, version, each["kind"])
                strategy = strategies[qualified(group, each["name"])]
                subresources = parts.get(each["name"], {})
                # The version of the same group in which the kind is stored; empty: this one.
                stored_hash = each.get("storageVersionHash", "")
                if kind in _OF_CORE:
                    storage_version = "v1"
                else:
                    versions = builtin_groups().get(kind.group, ())
                    storage_version = next(
                        (v for v in versions if _hash(kind.group, v, kind.kind) == stored_hash), ""
                    )
                served = Served(
                    kind=kind,
                    plural=each["name"],
                    namespaced=each["namespaced"],
                    find_schema=partial(_schema, kind),
                    strategy=strategy,
                    singular=each["singularName"],
                    short_names=tuple(each.get("shortNames", ())),
                    categories=tuple(each.get("categories", ())),
                    verbs=tuple(each["verbs"]),
                    subresources=subresources,
                    storage_version=storage_version,
                    storage_group="" if kind in _OF_CORE else None,
                    deprecation="" if kind.group else _DEPRECATED.get(each["name"], ""),
                )
                found.append(served)
    return found


def server_version() -> Json:
    """Return the document served at /version."""
    version: Json = _builtin()["version"]
    return version


def builtin_groups() -> dict[str, list[str]]:
    """Return the named groups in the order of discovery, with their versions."""
    groups: dict[str, list[str]] = _builtin()["groups"]
    return groups


def internal_type(served: Served) -> str:
    """Return how Go calls the struct in which a real API server holds a built-in kind."""
    group = served.kind.group if served.storage_group is None else served.storage_group
    package = _PACKAGES.get(group) or group.split(".", 1)[0] or "core"
    return f"{package}.{served.kind.kind}"


def storage_key(served: Served, namespace: str, name: str) -> str:
    """Return where a real API server has an object in etcd."""
    place = f"{namespace}/{name}" if served.namespaced else name
    group = served.kind.group
    if served.is_custom or group in _KEYED_BY_GROUP:
        return f"/registry/{group}/{served.plural}/{place}"
    return f"/registry/{_KEYS.get(served.plural, served.plural)}/{place}"


def storage_hash(served: Served) -> str:
    """Return what stands for the form in which a kind's objects are stored."""
    if not served.is_custom:
        return _builtin_hashes().get((served.kind.api_version, served.plural), "")
    return _hash(served.kind.group, served.storage_version or served.kind.version, served.kind.kind)


@cache
def _builtin() -> Json:
    file = files("kube_sandbox") / "documents" / "discovery.json"
    content: Json = json.loads(file.read_bytes())
    return content


@cache
def _builtin_hashes() -> dict[tuple[str, str], str]:
    return {
        (path.partition("/")[2], each["name"]): each["storageVersionHash"]
        for path, resources in _builtin()["resources"].items()
        for each in resources
        if "storageVersionHash" in each
    }


def _schema(kind: Kind) -> Schema:
    known = catalog.find(kind)
    return known.schema if known is not None else _ANY_SCHEMA


def _hash(group: str, version: str, kind: str) -> str:
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return b64encode(digest[:8]).decode()
