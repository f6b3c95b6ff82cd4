"""
What a revision would change, found by the planner of the source, without changing anything.

The controller executes a stage and plans again. A preview assumes instead that the stage succeeded:
`assumed_result` is what the executor would return, and `with_assumed_kinds` adds the kinds that the
revision itself brings. So the plan is the one that would be executed, as far as it can be known.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from kro_gitops.engine.definition import parse
from kro_gitops.source.plan.model import (
    ExecutedStage,
    Observed,
    Prune,
    Revision,
    SourcePlan,
    StagePlan,
    StageResult,
)
from kro_gitops.source.plan.result import Fault, SyncResult
from kro_gitops.source.plan.stages import Stage
from kro_gitops.source.plan.status import shortened
from kro_gitops.tracking.health import Health, HealthStatus
from kube_objects.crds import is_crd, kinds_of_crd
from kube_objects.errors import SchemaError
from kube_objects.refs import Kind, KubeObject, ObjectRef

_MOST_CHANGES = 300
_MOST_FAILURES = 20


class Action(StrEnum):
    """What happens to an object."""

    CREATE = "Create"
    CHANGE = "Change"
    DELETE = "Delete"


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """
    A change of one object.

    `instance` is the instance whose child the object is. A change is uncertain if only the cluster
    can decide about it.
    """

    action: Action
    ref: ObjectRef
    file: str = ""
    instance: ObjectRef | None = None
    is_uncertain: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the change as it is written to a status."""
        written: dict[str, Any] = {"action": self.action.value, **_written(self.ref)}
        if self.file:
            written["file"] = self.file
        if self.instance is not None:
            written["instance"] = _written(self.instance)
        if self.is_uncertain:
            written["uncertain"] = True
        return written


def _written(ref: ObjectRef) -> dict[str, str]:
    fields = {"group": ref.kind.group, "kind": ref.kind.kind, "namespace": ref.namespace}
    return {name: value for name, value in {**fields, "name": ref.name}.items() if value}


@dataclass(frozen=True, slots=True)
class Preview:
    """What a revision would change, and what would fail."""

    revision: str
    changes: tuple[PlannedChange, ...] = ()
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the preview as it is written to a status."""
        counts = {
            name: sum(change.action is action for change in self.changes)
            for name, action in (
                ("created", Action.CREATE),
                ("changed", Action.CHANGE),
                ("deleted", Action.DELETE),
            )
        }
        # If not all can be listed, deletions must be.
        ordered = sorted(self.changes, key=lambda change: change.action is not Action.DELETE)
        written = {
            "revision": self.revision,
            **counts,
            "objects": [change.to_json() for change in ordered[:_MOST_CHANGES]],
            "objectsOmitted": max(len(ordered) - _MOST_CHANGES, 0),
            "failures": [shortened(text) for text in self.failures[:_MOST_FAILURES]],
            "notes": [shortened(text) for text in self.notes[:_MOST_FAILURES]],
        }
        return {key: value for key, value in written.items() if value or key in counts}


def preview_of(plan: SourcePlan, done: Sequence[ExecutedStage], revision: str) -> Preview:
    """Return what a complete plan changes; `done` are its stages with assumed results."""
    changes = [
        PlannedChange(
            Action.CREATE if step.live is None else Action.CHANGE,
            step.desired.ref,
            step.desired.item.path,
        )
        for stage in done
        for step in stage.plan.applies
    ]
    result, notes = plan.result, [_text(warning) for warning in plan.result.warnings]
    match plan.prune:
        case Prune() as prune:
            deleted = (candidate for group in prune.plan.delete for candidate in group)
            changes += [PlannedChange(Action.DELETE, candidate.ref) for candidate in deleted]
        case _:
            pass
    failures = [_text(failure) for failure in result.failures]
    failures += [result.braked] if result.braked else []
    notes += [f"waits for {text}" for text in result.waiting]
    return Preview(revision, tuple(changes), tuple(failures), tuple(notes))


def _text(fault: Fault) -> str:
    at = fault.origin
    place = f"{at.file}:{at.line}:{at.column}: " if at is not None else ""
    subject = f"{fault.subject}: " if fault.subject and fault.subject not in fault.message else ""
    return f"{place}{subject}{fault.message}"


def assumed_result(stage: StagePlan) -> StageResult:
    """Return the result of a stage of which everything succeeds, and becomes ready."""
    desired = (*(step.desired for step in stage.keeps), *(step.desired for step in stage.applies))
    verdicts: dict[ObjectRef, HealthStatus] = {}
    if stage.stage is Stage.DEFINITIONS:
        changed = (*(step.desired for step in stage.applies), *stage.awaits)
        verdicts = {each.ref: HealthStatus(Health.HEALTHY, "") for each in changed}
    return StageResult(tuple(desired), SyncResult(), verdicts=verdicts)


def with_assumed_kinds(observed: Observed, revision: Revision) -> Observed:
    """Return what is observed, as if the kinds of the revision's own CRDs were served."""
    absent = {kind for kind, scope in observed.namespaced.items() if scope is None}
    if not absent:
        return observed
    made = {kind: scope for kind, scope in _generated(revision) if kind in absent}
    others = {kind: scope for kind, scope in _of_crds(revision) if kind in absent}
    is_instance = observed.is_instance
    return replace(
        observed,
        is_instance=lambda kind: kind in made or is_instance(kind),
        namespaced={**observed.namespaced, **others, **made},
    )


def _generated(revision: Revision) -> Iterable[tuple[Kind, bool]]:
    for item in revision.items[Stage.DEFINITIONS]:
        schema = parse(item.object).definition.schema
        yield schema.served, schema.is_namespaced


def _of_crds(revision: Revision) -> Iterable[tuple[Kind, bool]]:
    for items in revision.items.values():
        for crd in (item.object for item in items):
            if is_crd(crd):
                try:
                    served = kinds_of_crd(crd)
                except SchemaError:
                    continue
                for each in served:
                    yield each.kind, each.namespaced


@dataclass(frozen=True, slots=True, eq=False)
class EngineChanges:
    """
    What a plan changes of definitions and instances, by which their children change.

    Definitions come after those whose kinds they use.
    """

    definitions: tuple[KubeObject, ...] = ()
    instances: Mapping[ObjectRef, KubeObject] = field(default_factory=dict)
    deleted: tuple[ObjectRef, ...] = ()  # instances


def engine_changes(
    preview: Preview, done: Sequence[ExecutedStage], is_instance: Callable[[Kind], bool]
) -> EngineChanges:
    """Return what concerns the engine."""
    definitions, instances = [], {}
    for stage in done:
        for step in stage.plan.applies:
            if stage.plan.stage is Stage.DEFINITIONS:
                definitions.append(step.desired.object)
            elif is_instance(step.desired.ref.kind):
                instances[step.desired.ref] = step.desired.object
    deleted = (each.ref for each in preview.changes if each.action is Action.DELETE)
    return EngineChanges(
        tuple(definitions), instances, tuple(ref for ref in deleted if is_instance(ref.kind))
    )
