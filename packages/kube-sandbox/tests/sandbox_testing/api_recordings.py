"""
What a real API server was asked and answered (`tools/recording/api_answers.py`), to play again.
"""

import lzma
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

import orjson

from kube_objects.refs import Kind, KubeObject
from kube_objects.schemas import Schema
from kube_sandbox.authorization.rbac import RBACAuthorizer
from kube_sandbox.bootstrap import bootstrap_objects
from kube_sandbox.registry.builtin_resources import served_builtins
from kube_sandbox.registry.kinds import Registry, Served, Subresource
from kube_sandbox.registry.strategy import Strategies, Strategy

DATA = Path(__file__).parents[1] / "unit" / "data"
Json = dict[str, Any]
# Nothing here calls a strategy.
STRATEGY = cast("Strategy", None)
PARTS = ("get", "patch", "update")


class AnyStrategies(dict[str, Strategy]):
    """A strategy for whatever plural is asked for."""

    def __missing__(self, key: str) -> Strategy:
        return STRATEGY


@cache
def recorded(name: str) -> Json:
    content: Json = orjson.loads(lzma.decompress((DATA / f"{name}.json.xz").read_bytes()))
    return content


def registry() -> Registry:
    """Serve what the recorded server did."""
    found = Registry()
    strategies: Strategies = AnyStrategies()
    for builtin in served_builtins(strategies):
        found.add(builtin)
    for definition in recorded("api_documents")["definitions"]:
        for custom, _ in served_of(definition):
            found.add(custom)
    return found


def served_of(definition: KubeObject) -> Iterator[tuple[Served, list[str]]]:
    """Yield the served versions of a definition, with the fields they can be selected by."""
    spec, names = definition["spec"], definition["status"]["acceptedNames"]
    storage = next(each["name"] for each in spec["versions"] if each["storage"])
    for version in spec["versions"]:
        if not version["served"]:
            continue
        kind = Kind(spec["group"], version["name"], names["kind"])
        kinds = {"status": kind, "scale": Kind("autoscaling", "v1", "Scale")}
        parts = {
            name: Subresource(name, kinds[name], PARTS)
            for name in kinds
            if name in version.get("subresources", {})
        }
        served = Served(
            kind=kind,
            plural=names["plural"],
            namespaced=spec["scope"] == "Namespaced",
            find_schema=partial(_schema, version),
            strategy=STRATEGY,
            singular=names["singular"],
            short_names=tuple(names.get("shortNames", ())),
            categories=tuple(names.get("categories", ())),
            subresources=parts,
            storage_version=storage,
            is_custom=True,
            list_kind=names["listKind"],
        )
        yield served, [each["jsonPath"] for each in version.get("selectableFields", ())]


def _schema(version: KubeObject) -> Schema:
    found: Schema = version["schema"]["openAPIV3Schema"]
    return found


PLURALS = {
    kind: f"{kind.lower()}s.rbac.authorization.k8s.io"
    for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
}


def access() -> RBACAuthorizer:
    """Return the rights that the recorded server knew."""
    objects: dict[str, list[KubeObject]] = {}
    for each in bootstrap_objects(6443):
        if each["kind"] in PLURALS:
            objects.setdefault(PLURALS[each["kind"]], []).append(each)
    for path, body in recorded("api_access")["made"]:
        plural = f"{path.rpartition('/')[2]}.rbac.authorization.k8s.io"
        objects.setdefault(plural, []).append(placed(path, body))
    return RBACAuthorizer(lambda plural: objects.get(plural, []))


def placed(path: str, body: KubeObject) -> KubeObject:
    """Return a body with the namespace of the path it was sent to."""
    parts = path.split("/")
    if "namespaces" not in parts[:-1]:
        return body
    namespace = parts[parts.index("namespaces") + 1]
    return {**body, "metadata": {**body["metadata"], "namespace": namespace}}


def headers_of(who: Json) -> list[tuple[str, str]]:
    """Return the headers with which the recorder asked as somebody else."""
    named = [("Impersonate-User", who["user"])] if "user" in who else []
    groups = [("Impersonate-Group", each) for each in who.get("groups", ())[:1]]
    return [*named, *groups, *((name, value) for name, value in who.get("headers", ()))]
