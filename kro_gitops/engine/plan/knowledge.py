"""
What a planner may know of the objects that expressions read.

The planner (`instance.Pass`) is the same for the controller, for `render` and for `why`. They
differ in what they know: the controller knows live objects, `render` knows templates and git
(`offline.OfflineKnowledge`), and `why` asks for single fields of an object that is there already.
Everything else, what is evaluated, stamped and rejected, is decided once.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from kro_gitops.engine.graph.nodes import Expression, Graph, Node
from kro_gitops.engine.plan.children import is_current
from kube_cel.errors import ConversionError, EvaluationError
from kube_objects.refs import KubeObject, ObjectRef

NOT_VISIBLE: Any = object()


class Knowledge(Protocol):
    """What is there of an instance's children, and what becomes of a value that is not known."""

    # Whether to plan the other nodes, too, after one was rejected. The controller stops at the
    # first rejection, as kro does; offline all of them are reported in one run.
    finds_all_faults: bool

    def schema(self, graph: Graph, instance: KubeObject) -> KubeObject:
        """Return what expressions see as `schema`: the instance without its status."""

    def child(self, ref: ObjectRef) -> KubeObject | None:
        """Return a child that is there already, whichever instance it belongs to."""

    def is_current(self, live: KubeObject, desired: KubeObject) -> bool:
        """Return whether a child that is there already is as desired: it needs no step."""

    def shared(self, node: Node, observed: Sequence[KubeObject] | None) -> Any:
        """
        Return the value of a node's name in expressions of others; may be `NOT_VISIBLE`.

        `observed` is `None` if only a cluster can tell which objects there are.
        """

    def observed(self, node: Node, observed: Sequence[KubeObject]) -> list[Any]:
        """Return the objects of a node as its own `readyWhen` sees them."""

    def stand_in(
        self,
        node: Node,
        expression: Expression,
        values: Mapping[str, Any],
        error: EvaluationError | ConversionError,
    ) -> Any:
        """Return what replaces a value that could not be evaluated; `None`: the node stops."""


class Children(Protocol):
    """Where live children are found."""

    def child(self, ref: ObjectRef) -> KubeObject | None:
        """Return a child that carries our label, whichever instance it belongs to."""


class LiveKnowledge:
    """Live objects are all there is: what they lack is absent, and what is absent may come."""

    finds_all_faults = False

    def __init__(self, children: Children) -> None:
        self.child = children.child

    def is_current(self, live: KubeObject, desired: KubeObject) -> bool:
        """Return whether a child was applied as desired and we still own all its fields."""
        return is_current(live, desired)

    def schema(self, _graph: Graph, instance: KubeObject) -> KubeObject:
        """Return the instance without its status, which is ours to report, not to read."""
        return {key: value for key, value in instance.items() if key != "status"}

    def shared(self, node: Node, observed: Sequence[KubeObject] | None) -> Any:
        """Return the objects as plain dicts; a single object that is not there is not visible."""
        if node.kind.is_list:
            return [dict(obj) for obj in observed or ()]
        return dict(observed[0]) if observed else NOT_VISIBLE

    def observed(self, _node: Node, observed: Sequence[KubeObject]) -> list[Any]:
        """Return the objects as plain dicts."""
        return [dict(obj) for obj in observed]

    def stand_in(
        self,
        _node: Node,
        _expression: Expression,
        _values: Mapping[str, Any],
        _error: EvaluationError | ConversionError,
    ) -> Any:
        """Return `None`: a cluster has no values that are unknown, only values that are missing."""
        return None


class _NoChildren:
    def child(self, _ref: ObjectRef) -> KubeObject | None:
        return None


NOTHING_THERE: Knowledge = LiveKnowledge(_NoChildren())


class FieldKnowledge(LiveKnowledge):
    """
    Live objects, read field by field.

    An expression that cannot be evaluated leaves the other fields their values: in its place
    stands `unknown`, whatever the reason is.
    """

    def __init__(self, unknown: Any) -> None:
        super().__init__(_NoChildren())
        self._unknown = unknown

    def stand_in(
        self,
        _node: Node,
        _expression: Expression,
        _values: Mapping[str, Any],
        _error: EvaluationError | ConversionError,
    ) -> Any:
        """Return the marker of an unknown field."""
        return self._unknown
