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

from kro_gitops.engine.applyset import FOREIGN_APPLYSET
from kro_gitops.engine.graph.nodes import Graph, Node
from kro_gitops.engine.instance_metadata import inventory_of
from kro_gitops.engine.plan.children import Family, Rules, as_stored
from kro_gitops.engine.plan.evaluation import Bounds, Fatal
from kro_gitops.engine.plan.instance import Pass
from kro_gitops.engine.plan.offline import OfflineKnowledge, stored_instance
from kro_gitops.engine.plan.placeholder import Unknown, is_unknown, unknowns
from kro_gitops.engine.plan.steps import Apply, NodeState, Read, Select, Step
from kro_gitops.engine.status import is_suspended
from kro_gitops.metadata import APPLYSET_PART_OF
from kro_gitops.preview.instances import check_instance
from kro_gitops.preview.sample_data import LiveData
from kube_objects.errors import RefusedError
from kube_objects.problems import Path, Severity
from kube_objects.refs import Kind, KubeObject, ObjectRef

# Where instances go that name no namespace, unless told otherwise; also kubectl's default.
DEFAULT_NAMESPACE = "default"
# A definition may make instances of its own kind; conditions must end that some time.
MAX_NESTING = 32


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
    must be rendered by one `Renderer` for collisions between them to be found.
    """

    def __init__(
        self,
        graphs: Mapping[Kind, Graph] | None = None,
        objects: Mapping[ObjectRef, KubeObject] | None = None,
        given: LiveData | None = None,
        rules: Rules | None = None,
        namespace: str = DEFAULT_NAMESPACE,
        depth: int | None = None,
    ) -> None:
        self._graphs = graphs or {}
        self._objects = objects or {}
        self._given = given or LiveData()
        self._rules = rules or Rules()
        self._namespace = namespace
        self._depth = depth
        self._applied: dict[ObjectRef, KubeObject] = {}

    def render(self, graph: Graph, instance: KubeObject, bounds: Bounds | None = None) -> Rendering:
        """Return the children of an instance, and those of the instances among them."""
        return self._render(graph, instance, bounds or Bounds(), 0, Child("", instance))

    def values(self, graph: Graph, instance: KubeObject) -> dict[str, Any]:
        """Return what expressions of a graph see for an instance, by name."""
        stored = stored_instance(graph, instance, self._namespace)
        knowledge = OfflineKnowledge(
            dict.fromkeys(graph.nodes), graph.judged, errors_are_unknown=True
        )
        run = Pass(graph, stored, Family(stored, self._rules), knowledge, Bounds())
        while steps := run.advance():
            for step in steps:
                self._answer(run, step)
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
        knowledge = OfflineKnowledge(graph.read, graph.judged, self._applied, is_nested=level > 0)
        run = Pass(graph, stored, Family(stored, self._rules), knowledge, bounds)
        applied: set[tuple[str, int]] = set()
        while steps := run.advance():
            for step in steps:
                self._answer(run, step)
                if isinstance(step, Apply):
                    applied.add((step.node, step.index))
        for target in run.targets():
            if (target.node, target.index) in applied:
                node_run = run.runs[target.node]
                maybe, each = node_run.maybe or origin.maybe, node_run.each or origin.each
                rendering.children.append(Child(target.node, target.object, maybe, each))
                if target.ref.name and maybe is None and each is None:
                    self._applied.setdefault(target.ref, _membership(target.object))
        _report(run, rendering)
        for child in rendering.children:
            self._expand(child, rendering, graph.nodes[child.node], bounds, level)
        return rendering

    def _answer(self, run: Pass, step: Step) -> None:
        """Answer a step with what would be there after it."""
        match step:
            case Apply():
                run.made(step, self._given.laid_over(step.node, step.object, step.index))
            case Read():
                found = self._objects.get(step.ref, step.body)
                graph = self._graphs.get(step.ref.kind)
                if graph is not None and found is not step.body:
                    found = stored_instance(graph, found, self._namespace)
                found = self._given.laid_over(step.node, as_stored(found), 0)
                run.found(step, [found])
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
        if not any(unknowns(child.object.get("spec"))):
            named = {key: metadata[key] for key in ("name", "namespace") if key in metadata}
            for problem in check_instance({**child.object, "metadata": named}, graph):
                if problem.severity is Severity.ERROR:
                    ref = ObjectRef.of(child.object)
                    text = f"{ref}: {problem.summary}"
                    failure = Failure(child.node, problem.code, text, place, problem.hint)
                    rendering.failures.append(failure)
                    return
        rendering.nested.append(self._render(graph, child.object, bounds, level + 1, child))


def _membership(child: KubeObject) -> KubeObject:
    """Return what tells which instance an object belongs to; the rest need not be kept."""
    metadata = child["metadata"]
    labels = metadata["labels"]
    known = {APPLYSET_PART_OF: labels[APPLYSET_PART_OF]} if isinstance(labels, dict) else {}
    named = {key: metadata[key] for key in ("name", "namespace") if key in metadata}
    about = {**named, "labels": known}
    return {"apiVersion": child["apiVersion"], "kind": child["kind"], "metadata": about}


def _report(run: Pass, rendering: Rendering) -> None:
    """Note what is left out, what waits and what was rejected."""
    for fault in run.faults:
        failure = Failure(fault.node, fault.code, fault.text, fault.place, fault.hint)
        rendering.failures.append(failure)
    for name, node_run in run.runs.items():
        node = run.graph.nodes[name]
        place = ("spec", "resources", node.index)
        if node_run.state is NodeState.SKIPPED:
            rendering.excluded.append(name)
        for text in node_run.failures.values():
            rendering.failures.append(Failure(name, FOREIGN_APPLYSET, text, place))
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
