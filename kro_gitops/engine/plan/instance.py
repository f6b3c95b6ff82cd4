"""
The planner: a graph, an instance and what is known of its children → what to do next.

A pass visits the nodes in their order. A node whose dependencies are ready yields its desired
objects; those that differ from the live ones become steps. When the result of a step is passed
back, nodes that waited for it are visited again, in the same pass: call `advance` until it returns
no more steps. Nothing is evaluated twice. `advance_in_slices` can be interrupted between two
expressions.

No I/O happens here. Live children come from the `Knowledge`, everything else is requested by a
step. The controller and `render` run the same pass with different knowledge, so whatever one of
them rejects, stamps or skips, the other does, too.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from kro_gitops.engine.applyset import (
    DuplicateTarget,
    Inventory,
    reject_duplicates,
    reject_foreign_member,
)
from kro_gitops.engine.graph.nodes import SCHEMA, Graph, Node, NodeKind
from kro_gitops.engine.labels import Position
from kro_gitops.engine.plan.children import Family, is_child_of
from kro_gitops.engine.plan.drift import DEFAULT_DRIFT_RULES, DriftRules, plan_drift
from kro_gitops.engine.plan.evaluation import Bounds, Evaluator, Fatal, Pending
from kro_gitops.engine.plan.knowledge import NOT_VISIBLE, Knowledge
from kro_gitops.engine.plan.node_run import Halt, NodeRun
from kro_gitops.engine.plan.placeholder import has_unknown_identity, is_unknown, unknowns
from kro_gitops.engine.plan.readiness import not_ready
from kro_gitops.engine.plan.resolve import complete, desired_bodies, fill, place_of
from kro_gitops.engine.plan.slices import Slices, finish
from kro_gitops.engine.plan.steps import Apply, NodeState, Read, Select, Step
from kube_objects.errors import RefusedError
from kube_objects.go_text import quote
from kube_objects.label_selectors import Selector
from kube_objects.refs import KubeObject, ObjectRef


class Pass:
    """One pass over the graph of an instance."""

    def __init__(
        self,
        graph: Graph,
        instance: KubeObject,
        family: Family,
        knowledge: Knowledge,
        bounds: Bounds,
        drift: DriftRules = DEFAULT_DRIFT_RULES,
    ) -> None:
        self.graph = graph
        self._drift = drift
        self.family = family
        # Every reason to halt; only the first, unless the knowledge asks for all.
        self.faults: list[Halt] = []
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
        """Visit every node that is not settled; return the steps whose results the rest needs."""
        return finish(self.advance_in_slices())

    def advance_in_slices(self) -> Slices[tuple[Step, ...]]:
        """Do the same, and yield between two expressions when a time slice is over."""
        steps: list[Step] = []
        if self.faults:
            return ()
        for name in self.graph.order:
            run = self.runs[name]
            if run.is_settled:
                continue
            if self.evaluator.is_slice_over():
                yield
            node = self.graph.nodes[name]
            run.pending, run.lacking = "", None
            try:
                # Once a node is included, nothing in this pass changes that.
                if not run.is_included:
                    if not (yield from self._is_included(node, run)):
                        run.state, run.is_settled = NodeState.SKIPPED, True
                        continue
                    run.is_included = True
                if steps and any(not self.runs[each.id].is_settled for each in node.dependencies):
                    continue  # visited again when the steps have results
                for step in self._plan_node(node, run):
                    if step is None:
                        yield
                    else:
                        steps.append(step)
            except Pending as error:
                run.pending = error.message
                run.lacking = error if error.expression is not None else None
            except (Fatal, RefusedError) as error:
                self._reject(node, error)
            if self.faults and not self._knowledge.finds_all_faults:
                return ()
        if self._has_duplicates:
            self._reject_duplicates()
        return () if self.faults else tuple(steps)

    def _reject_duplicates(self) -> None:
        """Reject resources that are one object, maybe in different parts of the graph."""
        members: list[tuple[str, ObjectRef]] = []
        for target in self.targets():
            if not has_unknown_identity(target.object):
                is_item = self.graph.nodes[target.node].kind is NodeKind.COLLECTION
                id_ = f"{target.node}-{target.index}" if is_item else target.node
                members.append((id_, target.ref))
        try:
            reject_duplicates(members)
        except DuplicateTarget as error:
            node, _, _ = error.id.partition("-")
            self._reject(self.graph.nodes[node], error)

    def _reject(self, node: Node, error: Fatal | RefusedError) -> None:
        self.runs[node.id].state = NodeState.ERROR
        place = error.place if isinstance(error, Fatal) else ()
        place = place or ("spec", "resources", node.index)
        halt = Halt(error.message, False, error.code, node.id, place, error.hint)
        self.faults.append(halt)

    def applied(self, step: Apply, response: KubeObject) -> None:
        """Record a child as the API server returned it."""
        run = self.runs[step.node]
        run.observed[step.index] = response
        self._close_step(step.node, run)

    def failed(self, step: Step, text: str) -> None:
        """Record that a step failed; a child that existed before still does."""
        run = self.runs[step.node]
        if isinstance(step, Apply):
            run.failures[step.index] = text
        else:
            run.failures[0] = text
            run.observed = [None]
        self._close_step(step.node, run)

    def found(self, step: Read | Select, objects: Sequence[KubeObject]) -> None:
        """Record the external objects that exist."""
        run = self.runs[step.node]
        run.observed = list(objects)
        run.desired = len(run.observed)
        run.missing = step.ref if isinstance(step, Read) and not objects else None
        self._close_step(step.node, run)

    def unknown(self, step: Select) -> None:
        """Record that only a cluster knows which external objects exist."""
        run = self.runs[step.node]
        run.is_unknown, run.desired = True, 0
        self._close_step(step.node, run)

    def targets(self) -> Iterator[Apply]:
        """Yield every desired child, as far as it is known."""
        for name in self.graph.order:
            yield from self.runs[name].targets

    def projection(self) -> Inventory:
        """Return where children are or may soon be; nodes that wait count with their kind."""
        known = Inventory.of((target.ref for target in self.targets()), self.family.ref)
        coming = (
            ObjectRef(self.graph.nodes[name].resource, "", "")
            for name, run in self.runs.items()
            if not run.is_settled and not self.graph.nodes[name].kind.is_external
        )
        return known | Inventory.of(coming, self.family.ref)

    def inventory(self) -> Inventory:
        """Return where the desired children are."""
        return Inventory.of((target.ref for target in self.targets()), self.family.ref)

    @property
    def is_complete(self) -> bool:
        """
        Return whether all desired children are known and exist, so others may be pruned.

        A child that could not be changed exists all the same: nothing replaces it.
        """
        return not self.faults and all(
            run.is_settled and all(run.observed[index] is not None for index in run.failures)
            for run in self.runs.values()
        )

    def why_not_ready(self, name: str) -> str | None:
        """Return why a node is not ready, or `None`; raise `Fatal` if a condition is invalid."""
        return finish(self.readiness_in_slices(name))

    def readiness_in_slices(self, name: str) -> Slices[str | None]:
        """Return the same, and yield between two conditions when a time slice is over."""
        run, node = self.runs[name], self.graph.nodes[name]
        if run.state is NodeState.SKIPPED:
            return None
        if not run.is_settled:
            return (yield from not_ready(node, None, (), self.evaluator))
        if not run.has_readiness:
            observed: Sequence[Any] = run.present
            if node.ready_when:
                observed = self._knowledge.observed(node, observed)
            run.waiting = yield from not_ready(node, run.desired, observed, self.evaluator)
            run.has_readiness = True
        return run.waiting

    def _plan_node(self, node: Node, run: NodeRun) -> Iterator[Step | None]:
        """Yield the steps of a node that is included, and None where a time slice is over."""
        for dependency in node.dependencies:
            needed = self.runs[dependency.id]
            if needed.has_readiness and needed.waiting is None:
                continue
            try:
                reason = yield from self.readiness_in_slices(dependency.id)
            except Fatal as error:
                text = (
                    f"node {quote(node.id)}: failed to check readiness of dependent node "
                    f"{quote(dependency.id)}: {error.message}"
                )
                raise Fatal(text, code=error.code, place=error.place) from None
            if reason is not None:
                raise Pending((yield from self._pending_on(node, dependency.id)))
        if not node.kind.is_external:
            yield from self._plan_children(node, run)
            return
        evaluator = self.evaluator
        evaluate = evaluator.in_template(node, iterating=False)
        body = yield from fill(node, self.values, evaluate, evaluator.is_slice_over)
        if node.kind is NodeKind.EXTERNAL:
            complete(body, node, self.graph, self.family.ref.namespace)
            step: Step = Read(node.id, ObjectRef.of(body), body)
        else:
            metadata = body.get("metadata") or {}
            try:
                is_known = not any(unknowns(metadata))
                selector = Selector.parse(metadata.get("selector")) if is_known else Selector()
            except RefusedError as error:
                text = f"invalid label selector for {node.id}: {error.message}"
                place = place_of(node, ("metadata", "selector"))
                raise Fatal(text, code="invalid-selector", place=place) from None
            namespace = metadata.get("namespace") if node.served.namespaced else ""
            namespace = namespace if isinstance(namespace, str) else ""
            step = Select(node.id, node.resource, namespace, selector)
        run.open_steps += 1
        yield step

    def _is_included(self, node: Node, run: NodeRun) -> Slices[bool]:
        """
        Return whether a node is applied, by its own conditions and those of its dependencies.

        Raises `Pending` while that is not known. A condition that only a cluster can decide is
        recorded in `run.maybe` and counts as true.
        """
        for dependency in node.dependencies:
            needed = self.runs[dependency.id]
            if needed.state is NodeState.SKIPPED:
                return False
            if not needed.is_included:
                raise Pending((yield from self._pending_on(node, dependency.id)))
            run.maybe = run.maybe or needed.maybe
        if not node.include_when:
            return True
        for name in dict.fromkeys(n for each in node.include_when for n in each.names):
            if name not in self.runs:
                continue
            what = f"includeWhen dependency {quote(name)}"
            try:
                reason = yield from self.readiness_in_slices(name)
            except Fatal as error:
                text = f"{what}: {error.message}"
                raise Fatal(text, code=error.code, place=error.place) from None
            if reason is not None:
                raise Pending(f"{what} not ready: {reason} (data pending)")
        included = yield from self.evaluator.is_included(node, self.values)
        if isinstance(included, bool):
            return included
        run.maybe = run.maybe or included
        return True

    def _pending_on(self, node: Node, dependency: str) -> Slices[str]:
        """Return kro's message for a node that waits for a dependency."""
        reason = (yield from self.readiness_in_slices(dependency)) or "waiting for readiness"
        return (
            f"node {quote(node.id)}: dependent node {quote(dependency)} not ready: "
            f"{reason} (data pending)"
        )

    def _plan_children(self, node: Node, run: NodeRun) -> Iterator[Apply | None]:
        """Record the desired children of a node; yield those that differ from the live ones."""
        bodies, run.each = yield from desired_bodies(
            node, self.graph, self.values, self.evaluator, self.family.ref.namespace
        )
        run.is_unknown = run.each is not None
        is_collection = node.kind is NodeKind.COLLECTION
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
            if self.evaluator.is_slice_over():
                yield None
        run.targets, run.desired = targets, len(targets)
        # An object of another owner stays invisible to expressions even if its name is ours:
        # its apply will be rejected, and reading it would show what the author may not see.
        run.observed = [
            each.live if each.live is not None and is_child_of(each.live, self.family.id) else None
            for each in targets
        ]
        for step in targets:
            target, live = step, step.live
            if live is not None:
                if live["metadata"].get("deletionTimestamp") is not None:
                    run.state = NodeState.DELETING
                    text = (
                        f"resource {quote(target.ref.place)} for node {quote(target.node)} "
                        "is currently being deleted; "
                        "waiting for deletion to complete before continuing reconciliation"
                    )
                    self.faults.append(Halt(text, deleting=True, node=target.node))
                    break
                try:
                    reject_foreign_member(live, self.family.ref)
                except RefusedError as error:
                    run.failures[target.index] = error.message
                    continue
                drift = plan_drift(target, live, self._drift)
                if not drift.added and self._knowledge.is_current(live, drift.expected):
                    continue
                target = drift.onto(target)
            run.open_steps += 1
            yield target
        if not run.open_steps:
            self._settle(node.id, run)

    def _close_step(self, name: str, run: NodeRun) -> None:
        run.open_steps -= 1
        if not run.open_steps:
            self._settle(name, run)

    def _settle(self, name: str, run: NodeRun) -> None:
        """Make a node visible to the expressions of others, as far as its objects exist."""
        run.is_settled = True
        objects = None if run.is_unknown else run.present
        value = self._knowledge.shared(self.graph.nodes[name], objects)
        if value is not NOT_VISIBLE:
            self.values[name] = value
