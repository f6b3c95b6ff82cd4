"""
A graph, an instance and what is there: what to do next, again and again, until nothing is left.

A pass walks the nodes in their order. A node whose needs are met says which objects it wants; those
that are not so already become steps. When a step's result is handed back, nodes that waited for it
can go on, in the same pass: `advance` until it asks for nothing more. Nothing is worked out twice.

Nothing here touches a cluster. What there is of our own children is asked of `Live`, everything
else is asked for by a step.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from kro_gitops.engine.applyset import Inventory, refuse_duplicates, refuse_foreign_member
from kro_gitops.engine.graph.nodes import SCHEMA, FieldKind, Graph, Node, NodeKind
from kro_gitops.engine.labels import Position
from kro_gitops.engine.plan.children import Family, is_child_of, is_current
from kro_gitops.engine.plan.evaluation import Bounds, Evaluator, Fatal, Pending
from kro_gitops.engine.plan.readiness import not_ready
from kro_gitops.engine.plan.resolve import complete, fill
from kro_gitops.engine.plan.steps import Apply, NodeState, Read, Select, Step
from kube_objects.errors import RefusedError
from kube_objects.go_text import quote
from kube_objects.label_selectors import Selector
from kube_objects.refs import KubeObject, ObjectRef


class Live(Protocol):
    """What is there of our children."""

    def child(self, ref: ObjectRef) -> KubeObject | None:
        """Return a child that carries our label, whichever instance it belongs to."""


@dataclass(slots=True)
class NodeRun:
    """A node on its way through a pass."""

    state: NodeState = NodeState.IN_PROGRESS
    is_included: bool = False  # it is known that it is
    is_settled: bool = False
    targets: list[Apply] = field(default_factory=list)
    # By index, as far as known; `None` where nothing is there (yet).
    observed: list[KubeObject | None] = field(default_factory=list)
    desired: int | None = None
    asked: int = 0  # steps without an answer
    pending: str = ""
    failures: dict[int, str] = field(default_factory=dict)
    missing: bool = False  # an external object that is not there
    waiting: str | None = None  # why it is not ready
    is_judged: bool = False

    @property
    def seen(self) -> list[KubeObject]:
        """Return what is there, as expressions know objects."""
        return [dict(each) for each in self.observed if each is not None]


@dataclass(frozen=True, slots=True)
class Halt:
    """Why a pass ended before its end."""

    text: str
    deleting: bool = False


class Pass:
    """One instance on its way through its graph."""

    def __init__(
        self, graph: Graph, instance: KubeObject, family: Family, live: Live, bounds: Bounds
    ) -> None:
        self.graph = graph
        self.family = family
        self.halt: Halt | None = None
        self.runs = {name: NodeRun() for name in graph.order}
        self.evaluator = Evaluator(bounds)
        # Expressions see what the author and the server wrote, never what we report.
        seen = {key: value for key, value in instance.items() if key != "status"}
        self.values: dict[str, Any] = {SCHEMA: seen}
        self._live = live

    def advance(self) -> tuple[Step, ...]:
        """Go on as far as possible, and return what must be done or read for more."""
        steps: list[Step] = []
        if self.has_halted():
            return ()
        for name in self.graph.order:
            run = self.runs[name]
            if run.is_settled:
                continue
            try:
                steps += self._visit(self.graph.nodes[name], run)
            except Pending as error:
                run.pending = error.message
            except (Fatal, RefusedError) as error:
                run.state = NodeState.ERROR
                self.halt = Halt(error.message)
                return ()
            if self.has_halted():
                return ()
        try:
            refuse_duplicates(self._identities())
        except RefusedError as error:
            self.halt = Halt(error.message)
            return ()
        return tuple(steps)

    def made(self, step: Apply, answer: KubeObject) -> None:
        """Take in what the server says a child is now."""
        run = self.runs[step.node]
        run.observed[step.index] = answer
        self._answered(step.node, run)

    def failed(self, step: Step, text: str) -> None:
        """Take in that a step could not be carried out; what was there before still is."""
        run = self.runs[step.node]
        if isinstance(step, Apply):
            run.failures[step.index] = text
        else:
            run.failures[0] = text
            run.observed = [None]
        self._answered(step.node, run)

    def found(self, step: Read | Select, objects: Sequence[KubeObject]) -> None:
        """Take in what there is of other people's objects."""
        run = self.runs[step.node]
        run.observed = list(objects)
        run.desired = len(run.observed)
        run.missing = isinstance(step, Read) and not objects
        self._answered(step.node, run)

    def targets(self) -> Iterator[Apply]:
        """Yield every child that is desired, as far as that is known."""
        for name in self.graph.order:
            yield from self.runs[name].targets

    def projection(self) -> Inventory:
        """Return where children are or may soon be; nodes that wait count with their kind."""
        known = Inventory.of((each.ref for each in self.targets()), self.family.ref)
        coming = (
            ObjectRef(self.graph.nodes[name].resource, "", "")
            for name, run in self.runs.items()
            if not run.is_settled and not self.graph.nodes[name].kind.is_external
        )
        return known | Inventory.of(coming, self.family.ref)

    def inventory(self) -> Inventory:
        """Return where the desired children are."""
        return Inventory.of((each.ref for each in self.targets()), self.family.ref)

    def has_halted(self) -> bool:
        """Say whether the pass ended before its end."""
        return self.halt is not None

    @property
    def is_complete(self) -> bool:
        """
        Say whether all that is desired is known and there, so the rest may go.

        A child that could not be changed is there all the same: nothing replaces it.
        """
        return self.halt is None and all(
            run.is_settled and all(run.observed[index] is not None for index in run.failures)
            for run in self.runs.values()
        )

    # Nodes

    def _visit(self, node: Node, run: NodeRun) -> Iterator[Step]:
        run.pending = ""
        if self._is_ignored(node):
            run.state, run.is_settled = NodeState.SKIPPED, True
            return
        run.is_included = True
        self._require_dependencies(node)
        match node.kind:
            case NodeKind.RESOURCE | NodeKind.COLLECTION:
                yield from self._managed(node, run)
            case NodeKind.EXTERNAL:
                yield from self._external(node, run)
            case NodeKind.EXTERNAL_COLLECTION:
                yield from self._selected(node, run)

    def _is_ignored(self, node: Node) -> bool:
        """Say whether a node is left out, by its own conditions or with one that it needs."""
        for dependency in node.dependencies:
            run = self.runs[dependency.id]
            if run.state is NodeState.SKIPPED:
                return True
            if not run.is_included:
                raise Pending(self._pending_on(node, dependency.id))
        if not node.include_when:
            return False
        for name in dict.fromkeys(n for each in node.include_when for n in each.names):
            if name not in self.runs:
                continue
            self._require(name, f"includeWhen dependency {quote(name)}")
        return not self.evaluator.is_included(node, self.values)

    def _pending_on(self, node: Node, dependency: str) -> str:
        reason = self.why_not_ready(dependency) or "waiting for readiness"
        return (
            f"node {quote(node.id)}: dependent node {quote(dependency)} not ready: "
            f"{reason} (data pending)"
        )

    def _require_dependencies(self, node: Node) -> None:
        for dependency in node.dependencies:
            try:
                reason = self.why_not_ready(dependency.id)
            except Fatal as error:
                raise Fatal(
                    f"node {quote(node.id)}: failed to check readiness of dependent node "
                    f"{quote(dependency.id)}: {error.message}"
                ) from None
            if reason is not None:
                raise Pending(self._pending_on(node, dependency.id))

    def _require(self, name: str, what: str) -> None:
        try:
            reason = self.why_not_ready(name)
        except Fatal as error:
            raise Fatal(f"{what}: {error.message}") from None
        if reason is not None:
            raise Pending(f"{what} not ready: {reason} (data pending)")

    def why_not_ready(self, name: str) -> str | None:
        """Return why a node is not ready, or `None`; raise `Fatal` if that cannot be told."""
        run, node = self.runs[name], self.graph.nodes[name]
        if run.state is NodeState.SKIPPED:
            return None
        if not run.is_settled:
            return not_ready(node, None, (), self.evaluator)
        if not run.is_judged:
            run.waiting = not_ready(node, run.desired, run.seen, self.evaluator)
            run.is_judged = True
        return run.waiting

    # Children

    def _managed(self, node: Node, run: NodeRun) -> Iterator[Step]:
        is_collection = node.kind is NodeKind.COLLECTION
        bodies = self._bodies(node)
        if is_collection:
            _refuse_collisions(node, bodies)
        wave = self.graph.waves.get(node.id, 0)
        targets: list[Apply] = []
        for index, body in enumerate(bodies):
            position = Position(index, len(bodies)) if is_collection else None
            child = self.family.child(body, node.id, wave, position)
            ref = ObjectRef.of(child)
            live = self._live.child(ref)
            targets.append(Apply(node.id, index, ref, self.family.dated(child, live), live))
        run.targets, run.desired = targets, len(targets)
        # An object of another owner stays invisible to expressions even if its name is ours:
        # its apply will be rejected, and reading it would show what the author may not see.
        run.observed = [
            each.live if each.live is not None and is_child_of(each.live, self.family.id) else None
            for each in targets
        ]
        yield from self._needed(run)
        if not run.asked:
            self._settle(node.id, run)

    def _bodies(self, node: Node) -> list[KubeObject]:
        namespace = self.family.ref.namespace
        if node.kind is not NodeKind.COLLECTION:
            bodies = [fill(node, self.values, self.evaluator.in_template(node, iterating=False))]
        else:
            bodies = list(self._items(node))
        for body in bodies:
            complete(body, node, self.graph, namespace)
            if node.served.namespaced and not body["metadata"].get("namespace"):
                raise Fatal(
                    f"node {quote(node.id)} is namespaced and must resolve metadata.namespace "
                    "when the instance is cluster-scoped"
                )
        return bodies

    def _items(self, node: Node) -> Iterator[KubeObject]:
        shared = self.evaluator.in_template(node, iterating=False)
        iterating = self.evaluator.in_template(node, iterating=True)
        ours = {id(each.expression) for each in node.fields if each.kind is FieldKind.ITERATION}
        known: dict[int, Any] = {}

        def evaluate(expression: Any, values: Any) -> Any:
            if id(expression) in ours:
                return iterating(expression, values)
            if id(expression) not in known:
                known[id(expression)] = shared(expression, values)
            return known[id(expression)]

        for binding in self.evaluator.bindings(node, self.values):
            yield fill(node, {**self.values, **binding}, evaluate)

    def _needed(self, run: NodeRun) -> Iterator[Apply]:
        """Yield the children that are not what they should be; stop at one that goes."""
        for target in run.targets:
            live = target.live
            if live is None:
                run.asked += 1
                yield target
                continue
            if live["metadata"].get("deletionTimestamp") is not None:
                run.state = NodeState.DELETING
                self.halt = Halt(_going(target), deleting=True)
                return
            try:
                refuse_foreign_member(live, self.family.ref)
            except RefusedError as error:
                run.failures[target.index] = error.message
                continue
            if not is_current(live, target.object):
                run.asked += 1
                yield target

    # What others made

    def _external(self, node: Node, run: NodeRun) -> Iterator[Step]:
        body = fill(node, self.values, self.evaluator.in_template(node, iterating=False))
        complete(body, node, self.graph, self.family.ref.namespace)
        run.asked += 1
        yield Read(node.id, ObjectRef.of(body))

    def _selected(self, node: Node, run: NodeRun) -> Iterator[Step]:
        body = fill(node, self.values, self.evaluator.in_template(node, iterating=False))
        metadata = body.get("metadata") or {}
        try:
            selector = Selector.parse(metadata.get("selector"))
        except RefusedError as error:
            raise Fatal(f"invalid label selector for {node.id}: {error.message}") from None
        namespace = metadata.get("namespace") or "" if node.served.namespaced else ""
        run.asked += 1
        yield Select(node.id, node.resource, namespace, selector)

    # Results

    def _answered(self, name: str, run: NodeRun) -> None:
        run.asked -= 1
        if not run.asked:
            self._settle(name, run)

    def _settle(self, name: str, run: NodeRun) -> None:
        """Let others see a node, as far as it is there."""
        run.is_settled = True
        seen = run.seen
        if self.graph.nodes[name].kind.is_list:
            self.values[name] = seen
        elif seen:
            self.values[name] = seen[0]

    def _identities(self) -> Iterator[tuple[str, ObjectRef]]:
        for each in self.targets():
            is_item = self.graph.nodes[each.node].kind is NodeKind.COLLECTION
            yield (f"{each.node}-{each.index}" if is_item else each.node), each.ref


def _going(target: Apply) -> str:
    return (
        f"resource {quote(target.ref.place)} for node {quote(target.node)} "
        "is currently being deleted; "
        "waiting for deletion to complete before continuing reconciliation"
    )


def _refuse_collisions(node: Node, bodies: Sequence[KubeObject]) -> None:
    seen = set()
    for body in bodies:
        ref = ObjectRef.of(body)
        if ref in seen:
            kind = ref.kind
            text = "/".join((kind.group, kind.version, kind.kind, ref.namespace, ref.name))
            raise Fatal(f"node {quote(node.id)} identity collision: duplicate identity: {text}")
        seen.add(ref)
