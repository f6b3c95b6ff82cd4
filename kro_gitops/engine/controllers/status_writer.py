"""
Writes the status of instances when it changes, and records Events about the change.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from kro_gitops.engine import status as reported
from kro_gitops.engine.conditions import (
    evaluate_in_slices,
    is_ready_computed,
    with_ready,
    with_timestamps,
)
from kro_gitops.engine.controllers.observer import Observer
from kro_gitops.engine.controllers.watches import Watches
from kro_gitops.engine.plan.instance import Pass
from kro_gitops.engine.plan.prune_limit import PRUNE_BLOCKED
from kro_gitops.engine.plan.slices import Slices
from kro_gitops.engine.served_kind import ServedKind
from kro_gitops.engine.status import PassResult, State
from kro_gitops.kube.api import JsonPatch, WriteOptions, Writer
from kro_gitops.kube.event_aggregation import EventType
from kro_gitops.kube.events import EventRecorder, controller_component
from kro_gitops.kube.responses import Invalid, NotFound
from kro_gitops.tracking.health import CHILDREN_HEALTHY
from kube_objects.conditions import FALSE, READY, TRUE, Condition, ConditionSet, parse_conditions
from kube_objects.refs import KubeObject, ObjectRef

log = logging.getLogger(__name__)

_STATUS = WriteOptions(subresource="status")


@dataclass(slots=True)
class InstanceReport:
    """What will be reported about an instance at the end of a reconcile."""

    key: ObjectRef
    instance: KubeObject
    served: ServedKind
    conditions: ConditionSet
    now: datetime
    health: Condition | None = None  # of children; None: nothing is wrong with them

    def set(self, condition: Condition) -> None:
        """Set a condition."""
        self.conditions.set(condition, self.now)

    @property
    def former_health(self) -> Condition | None:
        """Return what was reported about the health of children before this reconcile."""
        found = parse_conditions(self.instance)
        return next((each for each in found if each.type == CHILDREN_HEALTHY), None)

    def set_health(self, condition: Condition | None) -> None:
        """Set the problem of the children, or None if they have none."""
        if condition is not None:
            former, generation = self.former_health, self.instance["metadata"].get("generation", 0)
            is_same = former is not None and former.status == condition.status
            changed = former.changed if former is not None and is_same else self.now
            condition = replace(condition, changed=changed, observed_generation=generation)
        self.health = condition

    @property
    def former(self) -> dict[str, Any]:
        """Return the status before this reconcile."""
        found = self.instance.get("status")
        return found if isinstance(found, dict) else {}


@dataclass(frozen=True, slots=True)
class PassStatus:
    """The status that follows from a pass, and the errors of expressions and children."""

    fields: Mapping[str, Any]
    field_problems: tuple[str, ...] = ()
    condition_problems: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()


def pass_status(report: InstanceReport, run: Pass, result: PassResult) -> Slices[PassStatus]:
    """Evaluate the status after a pass; yield between two expressions when a slice is over."""
    projection = yield from reported.project_in_slices(run.graph, run.values, run.evaluator)
    status: dict[str, Any] = {
        "conditions": reported.builtin(report.conditions),
        "state": str(State.ACTIVE if report.conditions.is_ready else result.state),
        **projection.fields,
    }
    faults: tuple[str, ...] = ()
    if run.graph.conditions:
        builtin = reported.builtin(report.conditions)
        evaluated = yield from evaluate_in_slices(
            run.graph.conditions, run.values, builtin, run.evaluator
        )
        stored = parse_conditions(report.instance)
        ours = (PRUNE_BLOCKED, CHILDREN_HEALTHY)
        former = tuple(each for each in stored if each.type not in ours)
        generation = report.instance["metadata"].get("generation", 0)
        found = with_timestamps(evaluated, former, generation, report.now)
        counted = report.served.ready_conditions
        if is_ready_computed(counted, run.graph.conditions, evaluated):
            ready = next((each for each in former if each.type == READY), None)
            found = with_ready(
                found, counted or (), report.conditions, ready, report.now, evaluated.faults
            )
        held = report.conditions.find(PRUNE_BLOCKED)
        if held is not None and all(each.type != PRUNE_BLOCKED for each in found):
            found = (held, *found)
        status["conditions"], faults = [each.to_json() for each in found], evaluated.faults
        if faults:
            status["state"] = str(State.ERROR)
    if report.health is not None:
        others = [each for each in status["conditions"] if each["type"] != report.health.type]
        status["conditions"] = [*others, report.health.to_json()]
    return PassStatus(status, projection.problems, faults, result.failures)


class StatusWriter:
    """Writes statuses and records Events."""

    def __init__(
        self,
        writer: Writer,
        watches: Watches,
        observer: Observer,
        events: EventRecorder | None,
        *,
        reports_all_conditions: bool,
    ) -> None:
        """`reports_all_conditions`: record an Event for every condition, not only for Ready."""
        self._writer = writer
        self._watches = watches
        self._observer = observer
        self._events = events
        self._reports_all_conditions = reports_all_conditions

    async def write_pass(self, report: InstanceReport, status: PassStatus) -> None:
        """Write the status after a pass, and record its errors."""
        await self._write(report, status.fields)
        self._warn_about(report, "StatusExpressionFailed", status.field_problems)
        self._warn_about(report, "ConditionExpressionFailed", status.condition_problems)
        self._warn_about(report, "ChildFailed", status.failures)

    async def write_conditions(self, report: InstanceReport) -> None:
        """Write conditions without a pass; the state and the projected fields are kept."""
        status = {**report.former, "conditions": self._conditions(report)}
        status.setdefault("state", str(State.IN_PROGRESS))
        await self._write(report, status)

    async def write_error(self, report: InstanceReport) -> None:
        """Write the state ERROR: there is no graph, or children cannot be watched."""
        status = {**report.former, "state": str(State.ERROR)}
        status["conditions"] = self._conditions(report)
        await self._write(report, status)

    async def write_deleting(self, report: InstanceReport) -> None:
        """Write the progress of a deletion; fields projected before are kept."""
        status = {**report.former, "state": str(State.DELETING)}
        status["conditions"] = self._conditions(report, overlay=reported.RESOURCES)
        await self._write(report, status)

    def record_event(
        self, report: InstanceReport, type_: EventType, reason: str, message: str
    ) -> None:
        """Record an Event about an instance."""
        if self._events is not None:
            component = controller_component(report.served.crd_name)
            self._events.record(report.instance, type_, reason, message, component)

    def _conditions(self, report: InstanceReport, overlay: str = "") -> list[KubeObject]:
        """Return conditions without a pass: the author's are kept, some of ours are added."""
        graph = report.served.graph
        if graph is None or not graph.conditions:
            return reported.builtin(report.conditions)
        dropped = (overlay, CHILDREN_HEALTHY)  # without a pass, the health is not known
        former = tuple(e for e in parse_conditions(report.instance) if e.type not in dropped)
        counted = report.served.ready_conditions
        if is_ready_computed(counted, graph.conditions, None):
            ready = next((each for each in former if each.type == READY), None)
            former = with_ready(former, counted or (), report.conditions, ready, report.now)
        ours = report.conditions.find(overlay)
        return [each.to_json() for each in ((ours,) if ours is not None else ()) + former]

    async def _write(self, report: InstanceReport, status: Mapping[str, Any]) -> None:
        if status == report.former:
            return
        former = parse_conditions(report.instance)
        patch = JsonPatch([{"op": "add", "path": "/status", "value": status}])
        try:
            answer = await self._writer.patch(report.key, patch, _STATUS)
        except NotFound:
            return  # the instance is gone
        except Invalid as error:
            own = {key: status[key] for key in ("conditions", "state")}
            if own.keys() == status.keys():
                raise
            # The author's fields violate the schema; our own fields must be visible all the same.
            self._warn_about(report, "StatusRefused", [error.message])
            await self._write(report, own)
            return
        before = report.former.get("state", "")
        report.instance = self._watches.cache_instance(report.key, answer)
        current = parse_conditions(report.instance)
        self._observer.conditions_written(report.key, report.served.plural, current)
        after = str(status["state"])
        if before != after:
            self._observer.state_changed(report.key, before, after)
        before = {each.type: each.status for each in former}
        self._record_health(report, before.get(CHILDREN_HEALTHY))
        for each in current:
            if not self._reports_all_conditions and (
                each.type != READY or (READY not in before and each.status == TRUE)
            ):
                continue
            if before.get(each.type) != each.status:
                # A wait is no reason for a warning; kro's Events for all conditions know no waits.
                is_wait = not self._reports_all_conditions and after != State.ERROR
                type_: EventType = "Normal" if each.status == TRUE or is_wait else "Warning"
                old = before.get(each.type) or "none"
                self.record_event(
                    report, type_, each.type, f"{old} -> {each.status}: {each.reason or ''}"
                )

    def _record_health(self, report: InstanceReport, before: str | None) -> None:
        """Record that children have failed, or that they are healthy again."""
        health = report.health
        if health is not None and health.status == FALSE and before != FALSE:
            text = health.message or ""
            self.record_event(report, "Warning", "ChildrenDegraded", text)
        elif health is None and before is not None:
            self.record_event(report, "Normal", CHILDREN_HEALTHY, "all children are healthy")

    def _warn_about(self, report: InstanceReport, reason: str, problems: Iterable[str]) -> None:
        """Log each problem, and record an Event for it."""
        for problem in problems:
            log.warning(
                "instance has a problem", extra={"key": str(report.key), "problem": problem}
            )
            self.record_event(report, "Warning", reason, problem)
