"""
What an instance reports: conditions, its state, its projected fields.

The messages are kro's. `Ready` follows from the other conditions; the state sums it up in one word.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from kro_gitops.engine.graph.nodes import Graph, NodeKind
from kro_gitops.engine.plan.evaluation import Evaluator, Fatal, error_text, is_pending
from kro_gitops.engine.plan.instance import Pass
from kro_gitops.engine.plan.prune_limit import PRUNE_BLOCKED
from kro_gitops.engine.plan.slices import Slices, finish
from kro_gitops.engine.plan.steps import NodeState
from kube_cel.errors import ConversionError, EvaluationError
from kube_objects.conditions import (
    FALSE,
    TRUE,
    UNKNOWN,
    Condition,
    ConditionSet,
    ConditionTypes,
)
from kube_objects.go_text import quote
from kube_objects.refs import KubeObject

MANAGED = "InstanceManaged"
RESOLVED = "GraphResolved"
RESOURCES = "ResourcesReady"
TYPES = ConditionTypes((MANAGED, RESOLVED, RESOURCES))

_MAX_CONTESTED = 3


class State(StrEnum):
    """An instance in one word."""

    ACTIVE = "ACTIVE"
    IN_PROGRESS = "IN_PROGRESS"
    ERROR = "ERROR"
    DELETING = "DELETING"


IS_MANAGED = Condition(
    MANAGED, TRUE, "Managed", "instance is properly managed with finalizers and labels"
)
IS_RESOLVED = Condition(
    RESOLVED, TRUE, "Resolved", "runtime graph created and all resources resolved"
)
ALL_READY = Condition(RESOURCES, TRUE, "AllResourcesReady", "all resources are created and ready")
SUSPENDED = Condition(
    RESOURCES,
    FALSE,
    "ReconciliationSuspended",
    "reconciliation suspended via kro.run/reconcile annotation",
)


def not_managed(text: str) -> Condition:
    """Report that an instance could not be made ours."""
    return Condition(MANAGED, FALSE, "ManagementFailed", text)


def not_resolved(text: str) -> Condition:
    """Report that there is no graph for an instance."""
    return Condition(RESOLVED, FALSE, "ResolutionFailed", text)


def without_definition(name: str) -> Condition:
    """Report that an instance is not reconciled any more, because its definition was deleted."""
    text = f"the definition {name} was deleted: this instance and its children are not reconciled"
    return Condition(RESOLVED, UNKNOWN, "DefinitionDeleted", text)


def not_ready(text: str) -> Condition:
    """Report that children are missing or wait."""
    return Condition(RESOURCES, FALSE, "NotReady", f"resource reconciliation failed: {text}")


def evaluation_stopped(text: str) -> Condition:
    """Report that the expressions of an instance exceeded their time limit."""
    return Condition(RESOURCES, FALSE, "EvaluationLimitExceeded", text)


def under_deletion(text: str) -> Condition:
    """Return how far a deletion is."""
    return Condition(RESOURCES, UNKNOWN, "UnderDeletion", text)


@dataclass(frozen=True, slots=True)
class PassResult:
    """The outcome of a pass; `failures` are the errors of children that could not be applied."""

    state: State
    condition: Condition
    failures: tuple[str, ...] = ()


def children_not_healthy(health: Condition) -> PassResult:
    """Return the outcome of a pass whose children exist, if Ready waits for their health."""
    is_degraded = health.status == FALSE
    reason = "ChildrenDegraded" if is_degraded else "ChildrenProgressing"
    condition = Condition(RESOURCES, health.status, reason, health.message)
    return PassResult(State.ERROR if is_degraded else State.IN_PROGRESS, condition)


def with_contested_children(condition: Condition, contested: Sequence[str]) -> Condition:
    """Return a condition that names children which other clients keep changing, whatever it is."""
    texts = [text for text in contested if text not in (condition.message or "")]
    if not texts:
        return condition
    more = f"; and {len(texts) - _MAX_CONTESTED} more" if len(texts) > _MAX_CONTESTED else ""
    message = "; ".join([condition.message or "", *texts[:_MAX_CONTESTED]]) + more
    return replace(condition, message=message)


def summarize(run: Pass) -> PassResult:
    """Return the state and condition that follow from a finished pass."""
    return finish(summarize_in_slices(run))


def summarize_in_slices(run: Pass) -> Slices[PassResult]:
    """Return the same, and yield between two conditions when a time slice is over."""
    errors: list[tuple[str, str, bool]] = []
    for found in _settle_states(run):
        if found is None:
            yield
        else:
            errors.append(found)
    failures = tuple(text for _, text, is_failure in errors if is_failure)
    states = {each.state for each in run.runs.values()}
    if NodeState.ERROR in states:
        state: State = State.ERROR
    else:
        state = (
            State.ACTIVE if states <= {NodeState.SYNCED, NodeState.SKIPPED} else State.IN_PROGRESS
        )
    if run.halt is not None:
        if run.halt.deleting:
            condition = Condition(RESOURCES, FALSE, "ResourceDeleting", run.halt.text)
            return PassResult(state, condition)
        return PassResult(state, not_ready(run.halt.text), (run.halt.text,))
    if errors:
        text = "\n".join(text for _, text, _ in errors)
        return PassResult(state, not_ready(f"apply results contain errors: {text}"), failures)
    pending = next(((name, each) for name, each in run.runs.items() if each.pending), None)
    if pending is not None:
        name, waiting = pending
        served = run.graph.nodes[name].served
        where = f"{served.kind.group}/{served.kind.version}, Resource={served.plural}"
        text = f"waiting for unresolved resource: gvr {quote(where)}: {waiting.pending}"
        return PassResult(state, not_ready(text))
    return PassResult(state, ALL_READY)


def _settle_states(run: Pass) -> Iterator[tuple[str, str, bool] | None]:
    """Set the state of every node; yield what is wrong, in graph order, and None for a pause."""
    for name, each in run.runs.items():
        if not each.is_settled or each.state in (NodeState.SKIPPED, NodeState.DELETING):
            continue
        if run.evaluator.is_slice_over():
            yield None
        node = run.graph.nodes[name]
        if each.failures:
            index, problem_text = min(each.failures.items())
            is_item = node.kind is NodeKind.COLLECTION
            found: tuple[str, bool] | None = (
                (f"collection item {index}: {problem_text}" if is_item else problem_text),
                True,
            )
        elif each.missing is not None:
            # kro's words, and which object it is.
            what = f"{each.missing.kind.kind} {each.missing.place}"
            found = f"waiting for external reference {quote(name)}: not found: {what}", False
        else:
            try:
                reason = yield from run.readiness_in_slices(name)
            except Fatal as error:
                found = error.message, True
            else:
                if reason is None:
                    found = None
                else:
                    found = (
                        f"waiting for {_WAITING_NOUNS[node.kind]} {quote(name)}: {reason}",
                        False,
                    )
        if found is not None:
            text, is_failure = found
            each.state = NodeState.ERROR if is_failure else NodeState.WAITING
            yield name, text, is_failure
        else:
            each.state = NodeState.SYNCED


_WAITING_NOUNS = {
    NodeKind.RESOURCE: "node",
    NodeKind.COLLECTION: "node",
    NodeKind.EXTERNAL: "external reference",
    NodeKind.EXTERNAL_COLLECTION: "external collection",
}


@dataclass(frozen=True, slots=True)
class Projection:
    """The author's status fields whose value is known, and the errors of the others."""

    fields: Mapping[str, Any]
    problems: tuple[str, ...] = ()


def project(graph: Graph, values: Mapping[str, Any], evaluator: Evaluator) -> Projection:
    """Evaluate the status fields; a field that cannot be evaluated is left out."""
    return finish(project_in_slices(graph, values, evaluator))


def project_in_slices(
    graph: Graph, values: Mapping[str, Any], evaluator: Evaluator
) -> Slices[Projection]:
    """Do the same, and yield between two fields when a time slice is over."""
    status: dict[str, Any] = {}
    problems: list[str] = []
    for item in graph.status:
        if evaluator.is_slice_over():
            yield
        try:
            value = evaluator.value(item.expression, values)
        except (EvaluationError, ConversionError) as error:
            if not is_pending(error):
                problems.append(error_text(item.expression, error))
            continue
        value = _without_nulls(value)
        if value is None:
            continue
        *owners, last = item.path
        here: Any = status
        for step, following in zip(owners, item.path[1:], strict=True):
            empty: Any = [] if isinstance(following, int) else {}
            if isinstance(step, int):
                _extend_to(here, step)
                here[step] = empty if here[step] is None else here[step]
                here = here[step]
            else:
                here = here.setdefault(step, empty)
        if isinstance(last, int):
            _extend_to(here, last)
        here[last] = value
    status = _without_gaps(status)
    # These two are ours.
    return Projection(
        {k: v for k, v in status.items() if k not in ("conditions", "state")}, tuple(problems)
    )


def _extend_to(items: list[Any], index: int) -> None:
    items.extend([None] * (index + 1 - len(items)))


def _without_gaps(fields: dict[str, Any]) -> dict[str, Any]:
    """Drop lists with a missing element: the API server would reject the whole status."""
    found = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            value = _without_gaps(value)
        if not isinstance(value, list) or not any(each is None for each in value):
            found[name] = value
    return found


def _without_nulls(value: Any) -> Any:
    """Drop nulls as the API server does, so that a comparison with its object is equal."""
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    return value


def conditions_of(instance: KubeObject, now: datetime) -> ConditionSet:
    """Take over the conditions an instance reports."""
    return ConditionSet.of(TYPES, instance, now)


def builtin(conditions: ConditionSet) -> list[KubeObject]:
    """Return the conditions that are ours, as they are written."""
    ours = (*TYPES.known, PRUNE_BLOCKED)
    return [each.to_json() for each in conditions.all if each.type in ours]
