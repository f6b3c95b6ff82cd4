"""
What is assumed of the cluster that a repository is for: its API server, and kinds of others.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from kro_gitops.errors import KroGitopsError
from kube_objects.refs import Kind, KubeObject
from kube_objects.schemas import KindSchema, Schema, Schemas, SchemaSet

# Returns the error with which an API server would reject an object of a built-in kind.
ErrorOf = Callable[[KubeObject], KroGitopsError | None]

ANY_KIND = "*"
# Of a kind whose schema is not known: everything is allowed.
ANYTHING: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@dataclass(frozen=True, slots=True)
class ExternalKinds:
    """Kinds that the cluster has, by group and kind or `*`; their schemas are not known."""

    listed: frozenset[tuple[str, str]] = frozenset()

    def schema_of(self, kind: Kind) -> KindSchema | None:
        """Return a kind in which everything is allowed, if it is listed."""
        if {(kind.group, kind.kind), (kind.group, ANY_KIND)} & self.listed:
            return KindSchema(kind, "", True, ANYTHING)
        return None

    def kinds(self) -> Iterable[Kind]:
        """Return no kinds: their versions are not known."""
        return ()


@dataclass(frozen=True, slots=True)
class AssumedCluster:
    """
    A cluster, as far as it is known without one.

    `error_of` is an API server in this process. It is a parameter, because only `local` knows one;
    without it, the rules that single kinds have beyond their schema are not checked. `schemas` are
    those of kinds that neither Kubernetes nor the repository has.
    """

    error_of: ErrorOf | None = None
    schemas: Schemas = field(default_factory=SchemaSet)
    namespace: str = "default"  # of objects that name none


NO_CLUSTER = AssumedCluster()
