"""
The state of a pass: how far each node is, and why the pass stopped.

Plain data. The planner (`instance.Pass`) changes it; status and `render` read it.
"""

from dataclasses import dataclass, field

from kro_gitops.engine.plan.evaluation import Pending
from kro_gitops.engine.plan.placeholder import Unknown
from kro_gitops.engine.plan.steps import Apply, NodeState
from kube_objects.problems import Path
from kube_objects.refs import KubeObject, ObjectRef


@dataclass(slots=True)
class NodeRun:
    """The state of one node in a pass."""

    state: NodeState = NodeState.IN_PROGRESS
    is_included: bool = False  # it is known that it is
    is_settled: bool = False
    targets: list[Apply] = field(default_factory=list)
    # By index, as far as known; `None` where no object exists (yet).
    observed: list[KubeObject | None] = field(default_factory=list)
    desired: int | None = None
    open_steps: int = 0  # steps without a result
    pending: str = ""
    lacking: Pending | None = None  # the failed evaluation behind `pending`, if there is one
    maybe: Unknown | None = None  # the condition that only a cluster can decide
    each: Unknown | None = None  # the list of unknown length; one object stands for all
    is_unknown: bool = False  # only a cluster knows which objects exist
    failures: dict[int, str] = field(default_factory=dict)
    missing: ObjectRef | None = None  # an external object that does not exist
    waiting: str | None = None  # why it is not ready
    has_readiness: bool = False  # `waiting` is computed

    @property
    def present(self) -> list[KubeObject]:
        """Return the objects that exist."""
        return [obj for obj in self.observed if obj is not None]


@dataclass(frozen=True, slots=True)
class Halt:
    """
    Why a pass ended early.

    `place` is the path in the definition that causes it: an expression, or the whole node.
    """

    text: str
    deleting: bool = False
    code: str = ""
    node: str = ""
    place: Path = ()
    hint: str = ""
