"""
Discovery documents → how kinds are served.

The API server lists everything it serves in two documents, one for the core group and one for
the others. A kind may be served more than once, for old clients: the first resource that has it
as its own is meant, and subresources are no kinds of their own.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kro_gitops.kube.api import Resource
from kube_objects.refs import Kind
from kube_objects.schemas import KindSchema

# What is asked for: everything at once, in the newest form or the one before it.
AGGREGATED = ",".join(
    f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
    for version in ("v2", "v2beta1")
)
PATHS = ("/api", "/apis")

# What custom resources can do; the status subresource is the CRD's to have.
_VERBS = frozenset(("create", "delete", "get", "list", "patch", "update", "watch"))


def resources(document: Mapping[str, Any]) -> Iterator[Resource]:
    """Yield every kind in a discovery document."""
    for group in document.get("items") or ():
        group_name = group.get("metadata", {}).get("name", "")
        for version in group.get("versions") or ():
            for entry in version.get("resources") or ():
                kind = entry.get("responseKind") or {}
                yield Resource(
                    # The response may be of another group than the resource is served in; paths
                    # are not.
                    Kind(group_name, version["version"], kind.get("kind", "")),
                    entry["resource"],
                    entry["scope"] == "Namespaced",
                    frozenset(entry.get("verbs") or ()),
                    frozenset(part["subresource"] for part in entry.get("subresources") or ()),
                )


def is_aggregated(document: Mapping[str, Any]) -> bool:
    """Return whether a server understood what was asked for; those before 1.27 do not."""
    return document.get("kind") == "APIGroupDiscoveryList"


def first_of_each(found: Iterable[Resource]) -> dict[Kind, Resource]:
    """Return one resource a kind, the first."""
    mapped: dict[Kind, Resource] = {}
    for resource in found:
        mapped.setdefault(resource.kind, resource)
    return mapped


def resource_of_custom(known: KindSchema) -> Resource:
    """Return how a kind of a CRD is served, before discovery documents contain it."""
    return Resource(known.kind, known.plural, known.namespaced, _VERBS)
