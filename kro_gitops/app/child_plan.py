"""
Plans how children change with their instances and definitions, without touching them.

An instance is rendered twice by the planner of the engine, as it is and as it would be: the
difference of the two are the changes of its children. A definition is compiled with the schemas
that the cluster serves, and its CRD compared with the live one by the rule that would reject it.
"""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from kro_gitops.engine.applyset import Target, target_of
from kro_gitops.engine.controllers.engine import Engine
from kro_gitops.engine.crd.update import changes_needed
from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.engine.kinds import CRD_KIND
from kro_gitops.engine.plan.children import Rules
from kro_gitops.engine.plan.placeholder import is_unknown
from kro_gitops.errors import KroGitopsError
from kro_gitops.kube.api import Reader
from kro_gitops.preview.objects import check_instance
from kro_gitops.preview.render import Renderer
from kro_gitops.source.controllers.plan_requests import ChildPlan
from kro_gitops.source.plan.preview import Action, EngineChanges, PlannedChange
from kube_objects.problems import Severity
from kube_objects.refs import Kind, KubeObject, ObjectRef

_MOST_INSTANCES = 200  # that are rendered for one plan


@dataclass(slots=True)
class _Plan:
    """One plan: instances as they are and as they would be, and what was found."""

    before: dict[ObjectRef, KubeObject | None] = field(default_factory=dict)
    after: dict[ObjectRef, KubeObject | None] = field(default_factory=dict)
    graphs: dict[Kind, Graph] = field(default_factory=dict)  # as they would be
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Rendered:
    """A child of a rendering, and the instance whose child it is."""

    ref: ObjectRef
    object: KubeObject
    instance: ObjectRef
    is_uncertain: bool


class EngineChildPlanner:
    """Plans children by what the engine knows of the cluster."""

    def __init__(self, engine: Engine, reader: Reader, rules: Rules) -> None:
        self._engine = engine
        self._reader = reader
        self._rules = rules

    async def plan(self, changes: EngineChanges) -> ChildPlan:
        """Return how children change, and what would be rejected."""
        served = {
            kind: each.graph
            for kind, each in self._engine.served_kinds.items()
            if each.graph is not None
        }
        plan = _Plan(graphs=dict(served))
        for definition in changes.definitions:
            await self._plan_definition(definition, plan)
        changed = {kind for kind, graph in plan.graphs.items() if graph is not served.get(kind)}
        for kind in changed:
            for ref in self._engine.watches.instances(kind):
                plan.before[ref] = plan.after[ref] = self._engine.watches.instance(ref)
        for ref, desired in changes.instances.items():
            live = self._engine.watches.instance(ref)
            plan.before[ref], plan.after[ref] = live, _merged(live, desired)
        for ref in changes.deleted:
            plan.before[ref], plan.after[ref] = self._engine.watches.instance(ref), None
        if len(plan.after) > _MOST_INSTANCES:
            text = f"the children of {len(plan.after) - _MOST_INSTANCES} instances were not planned"
            plan.notes.append(text)
        return await asyncio.to_thread(_compared, plan, served, self._rules)

    async def _plan_definition(self, definition: KubeObject, plan: _Plan) -> None:
        """Compile a definition as it would be; report why the engine would reject it."""
        name = definition["metadata"]["name"]
        compiled = await self._engine.compile(definition)
        graph = compiled.graph
        if graph is None:
            plan.failures.append(f"definition {name} would be rejected: {compiled.message}")
            return
        try:
            live = await self._reader.find(ObjectRef(CRD_KIND, "", graph.crd["metadata"]["name"]))
            if live is not None:
                changes_needed(live, graph.crd, definition)
        except KroGitopsError as error:
            text = f"definition {name} would be rejected: {error.full_text}"
            plan.failures.append(f"{text}; its instances keep the present definition")
            return
        plan.graphs[graph.served.kind] = graph


def _merged(live: KubeObject | None, desired: KubeObject) -> KubeObject:
    """Return an instance with what git desires; labels and annotations of others stay."""
    if live is None:
        return desired
    metadata = {**live["metadata"]}
    for section in ("labels", "annotations"):
        both = {**(metadata.get(section) or {}), **(desired["metadata"].get(section) or {})}
        metadata[section] = both
    return {**desired, "metadata": metadata}


def _compared(plan: _Plan, served: Mapping[Kind, Graph], rules: Rules) -> ChildPlan:
    """Render instances as they are and as they would be; return the difference of the children."""
    changes: list[PlannedChange] = []
    old, new = Renderer(served, rules=rules), Renderer(plan.graphs, rules=rules)
    for ref in islice(plan.after, _MOST_INSTANCES):
        instance = plan.after[ref]
        graph = plan.graphs.get(ref.kind)
        if instance is not None and graph is not None:
            for problem in check_instance(instance, graph):
                if problem.severity is Severity.ERROR:
                    plan.failures.append(f"{ref} would be rejected: {problem.full_text}")
        before = _children(old, served.get(ref.kind), plan.before.get(ref))
        after = _children(new, graph, instance)
        changes += _differences(before, after)
    return ChildPlan(tuple(changes), tuple(plan.failures), tuple(plan.notes))


def _children(
    renderer: Renderer, graph: Graph | None, instance: KubeObject | None
) -> dict[Target, _Rendered]:
    """Return the children of an instance, also those of its nested instances."""
    if graph is None or instance is None:
        return {}
    found: dict[Target, _Rendered] = {}
    for rendering in renderer.render(graph, instance).all():
        for child in rendering.children:
            ref, metadata = ObjectRef.of(child.object), child.object["metadata"]
            # A name that only the cluster can tell is a placeholder.
            if not any(is_unknown(metadata.get(name)) for name in ("name", "namespace")):
                is_uncertain = child.maybe is not None or child.each is not None
                each = _Rendered(ref, child.object, rendering.instance, is_uncertain)
                found.setdefault(target_of(ref), each)
    return found


def _differences(
    before: Mapping[Target, _Rendered], after: Mapping[Target, _Rendered]
) -> Iterator[PlannedChange]:
    for target, child in after.items():
        if target not in before:
            yield _change(Action.CREATE, child)
        elif before[target].object != child.object:
            yield _change(Action.CHANGE, child)
    for target, child in before.items():
        if target not in after:
            yield _change(Action.DELETE, child)


def _change(action: Action, child: _Rendered) -> PlannedChange:
    return PlannedChange(
        action, child.ref, instance=child.instance, is_uncertain=child.is_uncertain
    )
