"""
The planner: a graph, an instance and what is known of its children → what to do next.

A pass walks the nodes in their order. A node whose needs are met says which objects it wants; those
that are not so already become steps. When a step's result is handed back, nodes that waited for it
can go on, in the same pass: call `advance` until it asks for nothing more. Nothing is evaluated
twice.

Nothing here touches a cluster. What is there of the children is asked of the `Knowledge`,
everything else is asked for by a step. The controller and `render` run the same pass with different
knowledge, so whatever one of them rejects, stamps or skips, the other does, too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from kro_gitops.engine.applyset import (
    DuplicateTarget,
    Inventory,
    reject_duplicates,
    reject_foreign_member,
)
from kro_gitops.engine.graph.nodes import SCHEMA, FieldKind, Graph, Node, NodeKind
from kro_gitops.engine.labels import Position
from kro_gitops.engine.plan.children import Family, is_child_of, is_current
from kro_gitops.engine.plan.evaluation import Bounds, Evaluator, Fatal, Pending
from kro_gitops.engine.plan.foreach import expand
from kro_gitops.engine.plan.knowledge import NOT_VISIBLE, Knowledge
from kro_gitops.engine.plan.placeholder import Unknown, is_unknown, unknowns
from kro_gitops.engine.plan.readiness import not_ready
from kro_gitops.engine.plan.resolve import complete, fill
from kro_gitops.engine.plan.steps import Apply, NodeState, Read, Select, Step
from kube_objects.errors import RefusedError
from kube_objects.go_text import quote
from kube_objects.label_selectors import Selector
from kube_objects.problems import Path
from kube_objects.refs import KubeObject, ObjectRef


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
    lacking: Pending | None = None  # the failed evaluation behind `pending`, if there is one
    maybe: Unknown | None = None  # the condition that only a cluster can decide
    each: Unknown | None = None  # the list of unknown length; one object stands for all
    is_unknown: bool = False  # only a cluster can tell which objects there are
    failures: dict[int, str] = field(default_factory=dict)
    missing: bool = False  # an external object that is not there
    waiting: str | None = None  # why it is not ready
    is_judged: bool = False

    @property
    def present(self) -> list[KubeObject]:
        """Return the objects that are there."""
        return [each for each in self.observed if each is not None]


@dataclass(frozen=True, slots=True)
class Halt:
    """
    Why a pass ended early.

    `place` is the path in the definition that is to blame: an expression, or the whole node.
    """

    text: str
    deleting: bool = False
    code: str = ""
    node: str = ""
    place: Path = ()
    hint: str = ""


class Pass:
    """One instance on its way through its graph."""

    def __init__(
        self,
        graph: Graph,
        instance: KubeObject,
        family: Family,
        knowledge: Knowledge,
        bounds: Bounds,
    ) -> None:
        self.graph = graph
        self.family = family
        self.faults: list[Halt] = []  # every reason to halt; one, unless the knowledge wants all
        self.runs = {name: NodeRun() for name in graph.order}
        self.evaluator = Evaluator(bounds, knowledge)
        self.values: dict[str, Any] = {SCHEMA: knowledge.schema(graph, instance)}
        self._knowledge = knowledge
        self._identities: set[tuple[str, str, str, str]] = set()  # of all targets so far
        self._has_duplicates = False

    @property
    def halt(self) -> Halt | None:
        """Return why the pass ended early, or `None`."""
        return self.faults[0] if self.faults else None

    def advance(self) -> tuple[Step, ...]:
        """Go on as far as possible, and return what must be done or read for more."""
        steps: list[Step] = []
        if self.faults:
            return ()
        for name in self.graph.order:
            run = self.runs[name]
            if run.is_settled:
                continue
            node = self.graph.nodes[name]
            try:
                steps += self._visit(node, run, has_steps=bool(steps))
            except Pending as error:
                run.pending = error.message
                run.lacking = error if error.expression is not None else None
            except (Fatal, RefusedError) as error:
                run.state = NodeState.ERROR
                self._reject(node, error)
            if self.faults and not self._knowledge.finds_all_faults:
                return ()
        if self._has_duplicates:
            self._reject_duplicates()
        return () if self.faults else tuple(steps)

    def _reject_duplicates(self) -> None:
        """Reject resources that are one object, wherever in the graph they are."""
        try:
            reject_duplicates(self._members())
        except DuplicateTarget as error:
            node, _, _ = error.id.partition("-")  # of an item: its node and its index
            self._reject(self.graph.nodes[node], error)

    def _reject(self, node: Node, error: Fatal | RefusedError) -> None:
        place = error.place if isinstance(error, Fatal) else ()
        place = place or ("spec", "resources", node.index)
        halt = Halt(error.message, False, error.code, node.id, place, error.hint)
        self.faults.append(halt)

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

    def unknown(self, step: Select) -> None:
        """Take in that only a cluster can tell which objects of others there are."""
        run = self.runs[step.node]
        run.is_unknown, run.desired = True, 0
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
        return bool(self.faults)

    @property
    def is_complete(self) -> bool:
        """
        Say whether all that is desired is known and there, so the rest may go.

        A child that could not be changed is there all the same: nothing replaces it.
        """
        return not self.faults and all(
            run.is_settled and all(run.observed[index] is not None for index in run.failures)
            for run in self.runs.values()
        )

    # Nodes

    def _visit(self, node: Node, run: NodeRun, *, has_steps: bool) -> Iterator[Step]:
        run.pending = ""
        run.lacking = None
        if not run.is_included:  # once it is, nothing in this pass changes that
            if self._is_ignored(node, run):
                run.state, run.is_settled = NodeState.SKIPPED, True
                return
            run.is_included = True
        if has_steps and any(not self.runs[each.id].is_settled for each in node.dependencies):
            return  # visited again when the steps have results
        self._require_dependencies(node)
        match node.kind:
            case NodeKind.RESOURCE | NodeKind.COLLECTION:
                yield from self._managed(node, run)
            case NodeKind.EXTERNAL:
                yield from self._external(node, run)
            case NodeKind.EXTERNAL_COLLECTION:
                yield from self._selected(node, run)

    def _is_ignored(self, node: Node, run: NodeRun) -> bool:
        """Return whether a node is left out, by its own conditions or with one that it needs."""
        for dependency in node.dependencies:
            needed = self.runs[dependency.id]
            if needed.state is NodeState.SKIPPED:
                return True
            if not needed.is_included:
                raise Pending(self._pending_on(node, dependency.id))
            run.maybe = run.maybe or needed.maybe
        if not node.include_when:
            return False
        for name in dict.fromkeys(n for each in node.include_when for n in each.names):
            if name not in self.runs:
                continue
            self._require(name, f"includeWhen dependency {quote(name)}")
        included = self.evaluator.is_included(node, self.values)
        if is_unknown(included):
            run.maybe = run.maybe or included
            return False
        return not included

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
                text = (
                    f"node {quote(node.id)}: failed to check readiness of dependent node "
                    f"{quote(dependency.id)}: {error.message}"
                )
                raise Fatal(text, code=error.code, place=error.place) from None
            if reason is not None:
                raise Pending(self._pending_on(node, dependency.id))

    def _require(self, name: str, what: str) -> None:
        try:
            reason = self.why_not_ready(name)
        except Fatal as error:
            text = f"{what}: {error.message}"
            raise Fatal(text, code=error.code, place=error.place) from None
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
            seen: Sequence[Any] = run.present
            if node.ready_when:
                seen = self._knowledge.observed(node, seen)
            run.waiting = not_ready(node, run.desired, seen, self.evaluator)
            run.is_judged = True
        return run.waiting

    # Children

    def _managed(self, node: Node, run: NodeRun) -> Iterator[Step]:
        is_collection = node.kind is NodeKind.COLLECTION
        bodies = list(self._items(node, run)) if is_collection else [self._body(node)]
        for body in bodies:
            complete(body, node, self.graph, self.family.ref.namespace)
            if node.served.namespaced and not body["metadata"].get("namespace"):
                raise Fatal(
                    f"node {quote(node.id)} is namespaced and must resolve metadata.namespace "
                    "when the instance is cluster-scoped",
                    code="namespace-missing",
                    place=_place_of(node, ("metadata", "namespace")),
                )
        if is_collection:
            _refuse_collisions(node, bodies)
        wave = self.graph.waves.get(node.id, 0)
        targets: list[Apply] = []
        for index, body in enumerate(bodies):
            position = (run.each or Position(index, len(bodies))) if is_collection else None
            metadata = body["metadata"]
            namespace, name = metadata.get("namespace"), metadata.get("name")
            ref = ObjectRef(
                node.resource,
                namespace if isinstance(namespace, str) else "",
                name if isinstance(name, str) else "",
            )
            child = self.family.child(body, node.id, wave, position, ref)
            if not (is_unknown(name) or is_unknown(namespace)):
                identity = (ref.kind.group, ref.kind.kind, ref.namespace, ref.name)
                self._has_duplicates = self._has_duplicates or identity in self._identities
                self._identities.add(identity)
            live = self._knowledge.child(ref)
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

    def _body(self, node: Node) -> KubeObject:
        return fill(node, self.values, self.evaluator.in_template(node, iterating=False))

    def _items(self, node: Node, run: NodeRun) -> Iterator[KubeObject]:
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

        dimensions = self.evaluator.dimensions(node, self.values)
        if not isinstance(dimensions, list):
            # One object stands for an unknown number of them: its iterators have no values.
            run.each, run.is_unknown = dimensions, True
            yield fill(node, self.values, evaluate)
            return
        try:
            for binding in expand(dimensions, self.evaluator.bounds.collection_size):
                yield fill(node, {**self.values, **binding}, evaluate)
        except RefusedError as error:
            place = node.for_each[0].expression.place
            raise Fatal(error.message, code=error.code, place=place, hint=error.hint) from None

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
                self.faults.append(Halt(_going(target), deleting=True, node=target.node))
                return
            try:
                reject_foreign_member(live, self.family.ref)
            except RefusedError as error:
                run.failures[target.index] = error.message
                continue
            if not is_current(live, target.object):
                run.asked += 1
                yield target

    # What others made

    def _external(self, node: Node, run: NodeRun) -> Iterator[Step]:
        body = self._body(node)
        complete(body, node, self.graph, self.family.ref.namespace)
        run.asked += 1
        yield Read(node.id, ObjectRef.of(body), body)

    def _selected(self, node: Node, run: NodeRun) -> Iterator[Step]:
        body = self._body(node)
        metadata = body.get("metadata") or {}
        written = metadata.get("selector")
        try:
            is_known = not any(unknowns(metadata))
            selector = Selector.parse(written) if is_known else Selector()
        except RefusedError as error:
            text = f"invalid label selector for {node.id}: {error.message}"
            place = _place_of(node, ("metadata", "selector"))
            raise Fatal(text, code="invalid-selector", place=place) from None
        namespace = metadata.get("namespace") if node.served.namespaced else ""
        namespace = namespace if isinstance(namespace, str) else ""
        run.asked += 1
        yield Select(node.id, node.resource, namespace, selector)

    # Results

    def _answered(self, name: str, run: NodeRun) -> None:
        run.asked -= 1
        if not run.asked:
            self._settle(name, run)

    def _settle(self, name: str, run: NodeRun) -> None:
        """Let expressions of others see a node, as far as it is there."""
        run.is_settled = True
        objects = None if run.is_unknown else run.present
        value = self._knowledge.shared(self.graph.nodes[name], objects)
        if value is not NOT_VISIBLE:
            self.values[name] = value

    def _members(self) -> Iterator[tuple[str, ObjectRef]]:
        for each in self.targets():
            if _has_unknown_identity(each.object):
                continue
            is_item = self.graph.nodes[each.node].kind is NodeKind.COLLECTION
            yield (f"{each.node}-{each.index}" if is_item else each.node), each.ref


def _place_of(node: Node, path: Path) -> Path:
    """Return where the expression of a field of the template stands in the definition."""
    found = next((each.expression.place for each in node.fields if each.path == path), ())
    return found or ("spec", "resources", node.index)


def _has_unknown_identity(obj: KubeObject) -> bool:
    metadata = obj["metadata"]
    return is_unknown(metadata.get("name")) or is_unknown(metadata.get("namespace"))


def _going(target: Apply) -> str:
    return (
        f"resource {quote(target.ref.place)} for node {quote(target.node)} "
        "is currently being deleted; "
        "waiting for deletion to complete before continuing reconciliation"
    )


def _refuse_collisions(node: Node, bodies: Sequence[KubeObject]) -> None:
    seen = set()
    for body in bodies:
        if _has_unknown_identity(body):
            continue
        ref = ObjectRef.of(body)
        if ref in seen:
            kind = ref.kind
            text = "/".join((kind.group, kind.version, kind.kind, ref.namespace, ref.name))
            raise Fatal(
                f"node {quote(node.id)} identity collision: duplicate identity: {text}",
                code="identity-collision",
                place=_place_of(node, ("metadata", "name")),
            )
        seen.add(ref)
