"""
An instance and its graph become the children a cluster would be asked for.

A thin driver of the planner (`engine.plan.instance`): it runs a pass with what templates and git
say, answers every step with the object as it would be, and goes on with children that are instances
of other definitions. What is evaluated, stamped or rejected is the planner's business, so a
rendering shows what the controller applies.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kro_gitops.engine.adoption import NotAdopted, may_adopt
from kro_gitops.engine.applyset import FOREIGN_APPLYSET, Target, target_of
from kro_gitops.engine.deletion_policy import DeletionPolicy, policy_of
from kro_gitops.engine.graph.nodes import Graph, Node
from kro_gitops.engine.graph.read_paths import ReadPaths, merge_paths
from kro_gitops.engine.instance_metadata import inventory_of, is_suspended
from kro_gitops.engine.plan.children import (
    Family,
    Rules,
    UnstampedFamily,
    as_stored,
    reads_stamps,
)
from kro_gitops.engine.plan.created import certain_parts
from kro_gitops.engine.plan.evaluation import Bounds, Fatal
from kro_gitops.engine.plan.instance import Pass
from kro_gitops.engine.plan.node_run import Halt
from kro_gitops.engine.plan.offline import OfflineKnowledge, applied_before, stored_instance
from kro_gitops.engine.plan.placeholder import Unknown, is_unknown
from kro_gitops.engine.plan.steps import Apply, NodeState, Read, Select, Step
from kro_gitops.kube.requests import reject_invalid_names
from kro_gitops.preview.admission.refusal import ChildChecker, Refusal
from kro_gitops.preview.cluster import NO_CLUSTER, AssumedCluster
from kro_gitops.preview.sample_data import LiveData
from kube_objects.dns_names import label_problems
from kube_objects.errors import RefusedError
from kube_objects.go_text import quote
from kube_objects.problems import Path
from kube_objects.refs import Kind, KubeObject, ObjectRef

# The namespace of instances that name none, unless a flag sets another; also kubectl's default.
DEFAULT_NAMESPACE = "default"
# A definition may make instances of its own kind; conditions must end that some time.
MAX_NESTING = 32


Refusals = dict[tuple[str, int], Refusal]  # by node and index


@dataclass(frozen=True, slots=True)
class Child:
    """
    One object of a rendering; `object` may hold placeholders.

    `maybe` is set when a condition decides that only the cluster can, `each` when the length
    of a collection is not known and this is its pattern.
    """

    node: str
    object: KubeObject
    maybe: Unknown | None = None
    each: Unknown | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """
    Why a node, or a whole instance, is not applied; code and text are the controller's.

    `place` is a path in the definition. `is_pending` means that the controller would wait.
    """

    node: str
    code: str
    text: str
    place: Path = ()
    hint: str = ""
    is_pending: bool = False


@dataclass(slots=True)
class Rendering:
    """
    The children of one instance, in the order they would be applied.

    `nested` are the renderings of those that are instances themselves. `notes` say why some are
    not rendered although nothing is wrong.
    """

    instance: ObjectRef
    definition: str = ""
    children: list[Child] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    waiting: dict[str, str] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    nested: list["Rendering"] = field(default_factory=list)

    def all(self) -> Iterator["Rendering"]:
        """Yield this rendering and those nested in it, at any depth."""
        yield self
        for rendering in self.nested:
            yield from rendering.all()


class Renderer:
    """
    Renders the instances of a repository.

    `graphs` are the definitions whose instances are expanded when they are children, `objects`
    the manifests that external references may read, `given` what stands in for a cluster.
    `depth` limits how many levels of nested instances are expanded. Children of several instances
    must be rendered by one `Renderer` for collisions between them to be found. With
    `failures_only`, renderings contain what is rejected and not the children.
    """

    def __init__(
        self,
        graphs: Mapping[Kind, Graph] | None = None,
        objects: Mapping[ObjectRef, KubeObject] | None = None,
        given: LiveData | None = None,
        rules: Rules | None = None,
        namespace: str = DEFAULT_NAMESPACE,
        depth: int | None = None,
        *,
        failures_only: bool = False,
        cluster: AssumedCluster = NO_CLUSTER,
    ) -> None:
        self._graphs = graphs or {}
        self._objects = objects or {}
        self._given = given or LiveData()
        self._rules = rules or Rules()
        self._namespace = namespace
        self._depth = depth
        self._applied: dict[Target, str] = {}
        self._written = {target_of(ref) for ref in self._objects}
        self._failures_only = failures_only
        self._children = ChildChecker(cluster.error_of)
        # By definition:
        self._families: dict[str, type[Family]] = {}
        self._parts: dict[str, Mapping[str, ReadPaths | None]] = {}

    def render(self, graph: Graph, instance: KubeObject, bounds: Bounds | None = None) -> Rendering:
        """Return the children of an instance, and those of the instances among them."""
        return self._render(graph, instance, bounds or Bounds(), 0, Child("", instance))

    def values(self, graph: Graph, instance: KubeObject) -> dict[str, Any]:
        """Return what expressions of a graph see for an instance, by name."""
        stored = stored_instance(graph, instance, self._namespace)
        knowledge = OfflineKnowledge(
            dict.fromkeys(graph.nodes), graph.ready_when_reads, errors_are_unknown=True
        )
        run = Pass(graph, stored, Family(stored, self._rules), knowledge, Bounds())
        while steps := run.advance():
            for step in steps:
                self._answer(run, step, None)
        return run.values

    def _render(
        self, graph: Graph, instance: KubeObject, bounds: Bounds, level: int, origin: Child
    ) -> Rendering:
        stored = stored_instance(graph, instance, self._namespace)
        rendering = Rendering(ObjectRef.of(stored), graph.definition.name)
        known = _with_known_marks(stored)
        if is_suspended(known):
            rendering.notes.append("suspended: no children are applied")
            return rendering
        try:
            inventory_of(known)
        except RefusedError as error:
            rendering.failures.append(Failure("", error.code, error.message, hint=error.hint))
            return rendering
        policy = policy_of(graph.definition.annotations) or DeletionPolicy.DELETE
        family = self._family_of(graph)(stored, self._rules, "", policy)
        own: dict[Target, KubeObject] = {}
        children: dict[tuple[str, int], tuple[Apply, Child]] = {}
        faults: dict[Halt, None] = {}  # of all passes, those of the last one first
        while True:
            knowledge = OfflineKnowledge(
                graph.read, graph.ready_when_reads, self._applied, own=own, is_nested=level > 0
            )
            run = Pass(graph, stored, family, knowledge, bounds)
            applied, refused = self._execute(run, known)
            faults = dict.fromkeys((*run.faults, *faults))
            former = len(children)
            for step in applied:
                node_run = run.runs[step.node]
                maybe, each = node_run.maybe or origin.maybe, node_run.each or origin.each
                child = Child(step.node, step.object, maybe, each)
                children.setdefault((step.node, step.index), (step, child))
                answer = node_run.observed[step.index]
                if step.ref.name and answer is not None:
                    own[target_of(step.ref)] = applied_before(answer, family.id)
            # If it was rejected, the controller tries again. What is there by then need not be
            # applied first, so the next pass may get further before it is rejected.
            if not run.faults or len(children) == former:
                break
        order = {name: position for position, name in enumerate(graph.order)}
        for key in sorted(children, key=lambda key: (order[key[0]], key[1])):
            step, child = children[key]
            if not self._failures_only or step.ref.kind in self._graphs:
                rendering.children.append(child)
            if step.ref.name and child.maybe is None and child.each is None:
                self._applied.setdefault(target_of(step.ref), family.apply_set_of(step.object))
        for fault in faults:
            failure = Failure(fault.node, fault.code, fault.text, fault.place, fault.hint)
            rendering.failures.append(failure)
        _report(run, rendering, refused)
        for child in rendering.children:
            self._expand(child, rendering, graph.nodes[child.node], bounds, level)
        return rendering

    def _execute(self, run: Pass, instance: KubeObject) -> tuple[list[Apply], Refusals]:
        """Execute a pass to its end; return the children that are applied, and those that fail."""
        applied: list[Apply] = []
        refused: Refusals = {}
        # What expressions read of each node: those of other nodes, and its `readyWhen`.
        name = run.graph.definition.name
        if name not in self._parts:
            self._parts[name] = merge_paths(run.graph.read, run.graph.ready_when_reads) or {}
        parts = self._parts[name]
        while steps := run.advance():
            for step in steps:
                refusal = self._refusal_of(step, run, instance)
                if refusal is not None:
                    index = step.index if isinstance(step, Apply) else 0
                    refused[step.node, index] = refusal
                    run.failed(step, refusal.error.message)
                    continue
                self._answer(run, step, parts.get(step.node, {}))
                if isinstance(step, Apply):
                    applied.append(step)
        return applied, refused

    def _family_of(self, graph: Graph) -> type[Family]:
        """Return the family for instances of a graph, with stamps if an expression reads them."""
        name = graph.definition.name
        if name not in self._families:
            is_read = reads_stamps(graph) or any(
                node.resource in self._graphs for node in graph.nodes.values()
            )
            stamped = is_read or not self._failures_only
            self._families[name] = Family if stamped else UnstampedFamily
        return self._families[name]

    def _refusal_of(self, step: Step, run: Pass, instance: KubeObject) -> Refusal | None:
        """Return why a step would fail; None if it may not even be tried."""
        if isinstance(step, Select):
            return None
        node_run = run.runs[step.node]
        if node_run.maybe is not None or node_run.each is not None:
            return None
        try:
            reject_invalid_names(step.ref.namespace, step.ref.name)
        except RefusedError as error:
            if isinstance(step, Apply):
                return Refusal(error)
            return Refusal(RefusedError(error.code, step.failure(error.message)))
        if isinstance(step, Read):
            return None
        if step.ref.namespace and label_problems(step.ref.namespace):
            # Whatever the cluster is: there is no namespace of such a name.
            text = f"namespaces {quote(step.ref.namespace)} not found"
            return Refusal(RefusedError("not-found", text))
        is_written = bool(step.ref.name) and target_of(step.ref) in self._written
        if is_written and not may_adopt(self._rules.adoption, instance, step.ref):
            return Refusal(NotAdopted(step.ref))
        return self._children.refusal_of(step.object, run.graph.nodes[step.node])

    def _answer(self, run: Pass, step: Step, parts: ReadPaths | None) -> None:
        """Answer a step with what would exist after it; only `parts` of it are read."""
        served = run.graph.nodes[step.node].served
        match step:
            case Apply():
                stored = certain_parts(step.object, served, parts)
                run.applied(step, self._given.laid_over(step.node, stored, step.index))
            case Read():
                found = self._objects.get(step.ref, step.body)
                graph = self._graphs.get(step.ref.kind)
                if graph is not None and found is not step.body:
                    found = stored_instance(graph, found, self._namespace)
                found = certain_parts(as_stored(found), served, parts)
                run.found(step, [self._given.laid_over(step.node, found, 0)])
            case Select():
                listed = self._given.collection(step.node)
                if listed is None:
                    run.unknown(step)
                else:
                    run.found(step, listed)

    def _expand(
        self, child: Child, rendering: Rendering, node: Node, bounds: Bounds, level: int
    ) -> None:
        """Render a child that is an instance itself."""
        graph = self._graphs.get(node.resource)
        if graph is None or (self._depth is not None and level >= self._depth):
            return
        place = ("spec", "resources", node.index)
        metadata = child.object["metadata"]
        if is_unknown(metadata.get("name")) or is_unknown(metadata.get("namespace")):
            kind = node.resource.kind
            rendering.notes.append(f"{child.node}: children of this {kind} depend on its name")
            return
        if level >= MAX_NESTING:
            text = f"node {child.node} makes instances of instances more than {MAX_NESTING} deep"
            hint = "end the recursion with includeWhen, or render with --depth"
            failure = Failure(child.node, "nesting-too-deep", text, place, hint)
            rendering.failures.append(failure)
            return
        rendering.nested.append(self._render(graph, child.object, bounds, level + 1, child))


def _report(run: Pass, rendering: Rendering, refused: Refusals) -> None:
    """Note what is left out, what waits and what the API server rejects."""
    for name, node_run in run.runs.items():
        node = run.graph.nodes[name]
        place = ("spec", "resources", node.index)
        if node_run.state is NodeState.SKIPPED:
            rendering.excluded.append(name)
        for index, text in node_run.failures.items():
            refusal = refused.get((name, index))
            if refusal is None:
                failure = Failure(name, FOREIGN_APPLYSET, text, place)
            else:
                at = (*place, "template", *refusal.path) if refusal.path else place
                failure = Failure(name, refusal.error.code, text, at, refusal.error.hint)
            rendering.failures.append(failure)
        readiness = _readiness(run, name)
        if isinstance(readiness, Fatal) and not run.faults:
            error = readiness
            rendering.failures.append(Failure(name, error.code, error.message, error.place))
        if not node_run.pending:
            continue
        lacking = node_run.lacking
        if lacking is None or lacking.expression is None:
            needed = (each.id for each in node.dependencies)
            rendering.waiting[name] = next((n for n in needed if _readiness(run, n)), name)
            continue
        rendering.waiting[name] = name
        text = lacking.cause if lacking.message == "data pending" else lacking.message
        failure = Failure(name, lacking.code, text, lacking.expression.place, is_pending=True)
        rendering.failures.append(failure)


def _readiness(run: Pass, name: str) -> str | Fatal | None:
    """Return why a node is not ready, or the error of its condition; `None` if it is ready."""
    try:
        return run.why_not_ready(name)
    except Fatal as error:
        return error


def _with_known_marks(instance: KubeObject) -> KubeObject:
    """Return an instance with those labels and annotations whose texts are known."""
    metadata = dict(instance["metadata"])
    for name in ("labels", "annotations"):
        written = metadata.get(name)
        marks = written.items() if isinstance(written, dict) else ()
        metadata[name] = {key: text for key, text in marks if isinstance(text, str)}
    return {**instance, "metadata": metadata}


def render(
    graph: Graph,
    instance: KubeObject,
    live: LiveData | None = None,
    bounds: Bounds | None = None,
) -> Rendering:
    """Render one instance for itself."""
    return Renderer(given=live).render(graph, instance, bounds)


def node_values(graph: Graph, instance: KubeObject, live: LiveData | None = None) -> dict[str, Any]:
    """Return what expressions of a graph see for an instance, by name."""
    return Renderer(given=live).values(graph, instance)
