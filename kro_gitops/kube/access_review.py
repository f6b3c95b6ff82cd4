"""
Asks the API server what an identity may do, and builds the Role that grants what is missing.

The review is sent as the identity itself (SelfSubjectAccessReview), so the right to impersonate it
is enough. Answers are cached for a short time, because the same is asked for every instance of a
kind. A denial is cached for less time, because the missing right may be granted soon.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from kro_gitops.kube.api import Cluster, Identity, Resource
from kube_objects.refs import Kind, KubeObject

ALLOWED_TTL = 60.0  # seconds
DENIED_TTL = 10.0
CACHE_SIZE = 4096  # answers

_REVIEW = Kind("authorization.k8s.io", "v1", "SelfSubjectAccessReview")
_RBAC = "rbac.authorization.k8s.io/v1"
_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


class Mapper(Protocol):
    """Maps kinds to resources."""

    async def resource_of(self, kind: Kind) -> Resource:
        """Return how a kind is served, or raise `NotServed`."""


@dataclass(frozen=True, slots=True)
class Permission:
    """To do something with objects of a resource: in a namespace or all, one name or any."""

    verb: str
    resource: Resource
    namespace: str = ""
    name: str = ""

    def review(self) -> KubeObject:
        """Return the question whether one has it."""
        asked = {
            "verb": self.verb,
            "group": self.resource.kind.group,
            "version": self.resource.kind.version,
            "resource": self.resource.plural,
            "namespace": self.namespace,
            "name": self.name,
        }
        attributes = {key: value for key, value in asked.items() if value}
        return {
            "apiVersion": _REVIEW.api_version,
            "kind": _REVIEW.kind,
            "spec": {"resourceAttributes": attributes},
        }


class AccessReviewer:
    """Asks, and remembers for a moment."""

    def __init__(self, cluster: Cluster, mapper: Mapper, clock: Callable[[], float]) -> None:
        """Ask of a cluster; the clock counts seconds and does not jump."""
        self._cluster = cluster
        self._mapper = mapper
        self._clock = clock
        self._answers: OrderedDict[tuple[Identity | None, Permission], tuple[bool, float]] = (
            OrderedDict()
        )

    async def may(
        self,
        identity: Identity | None,
        verb: str,
        resource: Resource,
        namespace: str,
        name: str = "",
    ) -> bool:
        """
        Return whether an identity has a right; `None` is the identity of the controller.

        Raises `Forbidden` if we may not act as that identity.
        """
        # A namespace means nothing to the rights on cluster-scoped kinds.
        right = Permission(verb, resource, namespace if resource.namespaced else "", name)
        known, until = self._answers.get((identity, right), (False, float("-inf")))
        if self._clock() < until:
            return known
        answer = await self._cluster.acting_as(identity).create(right.review())
        allowed = answer.get("status", {}).get("allowed") is True
        until = self._clock() + (ALLOWED_TTL if allowed else DENIED_TTL)
        self._answers[identity, right] = (allowed, until)
        self._answers.move_to_end((identity, right))
        if len(self._answers) > CACHE_SIZE:
            self._answers.popitem(last=False)
        return allowed

    async def missing(
        self, identity: Identity | None, wanted: Iterable[tuple[str, Kind, str]]
    ) -> KubeObject | None:
        """Return the Role that lacks for (verb, kind, namespace), or `None` if nothing does."""
        lacking = []
        for verb, kind, namespace in wanted:
            resource = await self._mapper.resource_of(kind)
            if not await self.may(identity, verb, resource, namespace):
                lacking.append(Permission(verb, resource, namespace))
        return role_for(lacking) if lacking else None


def role_for(rights: Iterable[Permission], name: str = "kro-gitops-missing") -> KubeObject:
    """
    Return one Role or ClusterRole that grants all these rights.

    It is a Role if all of them are in one namespace; otherwise a ClusterRole, which the user binds
    in a namespace or in the whole cluster.
    """
    listed = list(rights)
    namespaces = {right.namespace if right.resource.namespaced else "" for right in listed}
    metadata = {"name": name}
    kind = "ClusterRole"
    if len(namespaces) == 1 and "" not in namespaces:
        kind = "Role"
        metadata["namespace"] = namespaces.pop()
    # Write rights as few rules: one for the resources of a group that need the same verbs.
    verbs: dict[tuple[str, str, str], set[str]] = {}
    for right in listed:
        target = (right.resource.kind.group, right.name, right.resource.plural)
        verbs.setdefault(target, set()).add(right.verb)
    resources: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (group, object_name, plural), needed in sorted(verbs.items()):
        resources.setdefault(
            (
                group,
                object_name,
                tuple(sorted(needed, key=lambda v: (_VERBS.index(v) if v in _VERBS else 99, v))),
            ),
            [],
        ).append(plural)
    rules = [
        {
            "apiGroups": [group],
            "resources": plurals,
            **({"resourceNames": [object_name]} if object_name else {}),
            "verbs": list(needed),
        }
        for (group, object_name, needed), plurals in resources.items()
    ]
    return {"apiVersion": _RBAC, "kind": kind, "metadata": metadata, "rules": rules}
