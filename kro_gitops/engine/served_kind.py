"""
Which kinds are served, and by which graph.

A kind may be served without a graph: its definition is gone, or no revision of it compiles any
more. Then instances are not changed, but they can still be deleted.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from kro_gitops.engine.conditions import ReadyCondition
from kro_gitops.engine.deletion_policy import DeletionPolicy
from kro_gitops.engine.graph.nodes import Graph, Node
from kro_gitops.engine.plan.drift import DEFAULT_DRIFT_RULES, DriftRules
from kube_objects.refs import Kind


@dataclass(frozen=True, slots=True)
class ServedKind:
    """A kind and what is made of its instances; `problem` says why there is no graph."""

    kind: Kind
    plural: str
    definition: str
    definition_uid: str
    revision: int = 0
    graph: Graph | None = None
    problem: str = ""
    # What counts for Ready beside the author's conditions; None: Ready is not published then.
    ready_conditions: tuple[ReadyCondition, ...] | None = None
    drift: DriftRules = DEFAULT_DRIFT_RULES
    readiness: str = ""  # what Ready means, if the definition says so
    source_revision: str = ""  # the commit at which the definition last changed, if it is from git
    source: str = ""  # the source that the definition names
    prune_approved: str = ""  # what its annotation approves
    deletion_policy: DeletionPolicy = DeletionPolicy.DELETE  # of children whose template has none

    @property
    def crd_name(self) -> str:
        """Return the name of the CRD that serves the kind."""
        return f"{self.plural}.{self.kind.group}"

    def nodes(self) -> Iterator[Node]:
        """Yield the nodes of the graph, if there is one."""
        if self.graph is not None:
            yield from self.graph.nodes.values()

    def is_same_work(self, other: "ServedKind | None") -> bool:
        """Return whether instances would be treated alike."""
        return (
            other is not None
            and self.graph is other.graph
            and self.problem == other.problem
            and self.definition_uid == other.definition_uid
            and self.ready_conditions == other.ready_conditions
            and self.drift == other.drift
            and self.readiness == other.readiness
            and self.prune_approved == other.prune_approved
            and self.deletion_policy == other.deletion_policy
        )
