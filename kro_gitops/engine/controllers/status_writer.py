"""
What is reported of an instance: its status, once per change, and events about what changed.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kro_gitops.engine import status as reported
from kro_gitops.engine.conditions import evaluate, with_ready, with_timestamps
from kro_gitops.engine.controllers.observer import Observer
from kro_gitops.engine.controllers.watches import Watches
from kro_gitops.engine.plan.instance import Pass
from kro_gitops.engine.served_kind import ServedKind
from kro_gitops.engine.status import PassResult, State
from kro_gitops.kube.api import JsonPatch, WriteOptions, Writer
from kro_gitops.kube.event_aggregation import EventType
from kro_gitops.kube.events import EventRecorder, controller_component
from kro_gitops.kube.responses import Invalid, NotFound
from kube_objects.conditions import READY, TRUE, Condition, ConditionSet, parse_conditions
from kube_objects.refs import KubeObject, ObjectRef

log = logging.getLogger(__name__)

_STATUS = WriteOptions(subresource="status")


@dataclass(slots=True)
class InstanceReport:
    """What is to be said about an instance at the end of a reconcile."""

    key: ObjectRef
    instance: KubeObject
    serving: ServedKind
    conditions: ConditionSet
    now: datetime

    def set(self, condition: Condition) -> None:
        """Say something."""
        self.conditions.set(condition, self.now)

    @property
    def former(self) -> dict[str, Any]:
        """Return what was reported before."""
        found = self.instance.get("status")
        return found if isinstance(found, dict) else {}


class StatusWriter:
    """Writes statuses and tells of changes."""

    def __init__(
        self,
        writer: Writer,
        watches: Watches,
        observer: Observer,
        events: EventRecorder | None,
        *,
        tells_all: bool,
    ) -> None:
        """Take note: `tells_all` makes an event of every condition that changes, not only Ready."""
        self._writer = writer
        self._watches = watches
        self._observer = observer
        self._events = events
        self._tells_all = tells_all

    async def passed(self, account: InstanceReport, run: Pass, verdict: PassResult) -> None:
        """Report a pass that has come to its end."""
        projection = reported.project(run.graph, run.values, run.evaluator)
        status: dict[str, Any] = {
            "conditions": reported.builtin(account.conditions),
            "state": str(State.ACTIVE if account.conditions.is_ready else verdict.state),
            **projection.fields,
        }
        faults: tuple[str, ...] = ()
        if run.graph.conditions:
            status["conditions"], faults = self._author_conditions(account, run)
            if faults:
                status["state"] = str(State.ERROR)
        await self._write(account, status)
        self._complain(account, "StatusExpressionFailed", projection.problems)
        self._complain(account, "ConditionExpressionFailed", faults)
        self._complain(account, "ChildFailed", verdict.failures)

    async def standing(self, account: InstanceReport) -> None:
        """Report without a pass; what was said of the children, and the state, still holds."""
        status = {**account.former, "conditions": self._conditions(account)}
        status.setdefault("state", str(State.IN_PROGRESS))
        await self._write(account, status)

    async def failing(self, account: InstanceReport) -> None:
        """Report that no pass is possible: there is no graph, or children cannot be seen."""
        status = {**account.former, "state": str(State.ERROR)}
        status["conditions"] = self._conditions(account)
        await self._write(account, status)

    async def deleting(self, account: InstanceReport) -> None:
        """Report how far a deletion is; what was said before stays, it cannot be said anew."""
        status = {**account.former, "state": str(State.DELETING)}
        status["conditions"] = self._conditions(account, overlay=reported.RESOURCES)
        await self._write(account, status)

    def tell(self, account: InstanceReport, type_: EventType, reason: str, message: str) -> None:
        """Tell of something that happened to an instance."""
        if self._events is not None:
            component = controller_component(account.serving.crd_name)
            self._events.record(account.instance, type_, reason, message, component)

    def _author_conditions(
        self, account: InstanceReport, run: Pass
    ) -> tuple[list[KubeObject], tuple[str, ...]]:
        builtin = reported.builtin(account.conditions)
        evaluated = evaluate(run.graph.conditions, run.values, builtin, run.evaluator)
        former = parse_conditions(account.instance)
        generation = account.instance["metadata"].get("generation", 0)
        found = with_timestamps(evaluated, former, generation, account.now)
        counted = account.serving.ready_conditions
        if counted:
            ready = next((each for each in former if each.type == READY), None)
            found = with_ready(found, counted, account.conditions, ready, account.now)
        return [each.to_json() for each in found], evaluated.faults

    def _conditions(self, account: InstanceReport, overlay: str = "") -> list[KubeObject]:
        """Return conditions without a pass: an author's stay, with one of ours laid over them."""
        graph = account.serving.graph
        if graph is None or not graph.conditions:
            return reported.builtin(account.conditions)
        former = [each for each in parse_conditions(account.instance) if each.type != overlay]
        ours = account.conditions.find(overlay)
        return [each.to_json() for each in ([ours] if ours is not None else []) + former]

    async def _write(self, account: InstanceReport, status: Mapping[str, Any]) -> None:
        if status == account.former:
            return
        former = parse_conditions(account.instance)
        patch = JsonPatch([{"op": "add", "path": "/status", "value": status}])
        try:
            answer = await self._writer.patch(account.key, patch, _STATUS)
        except NotFound:
            return  # it is gone, and with it the need to report
        except Invalid as error:
            own = {key: status[key] for key in ("conditions", "state")}
            if own.keys() == status.keys():
                raise
            # The author's fields do not fit; what we have to say must be seen all the same.
            self._complain(account, "StatusRefused", [error.message])
            await self._write(account, own)
            return
        before = account.former.get("state", "")
        account.instance = self._watches.cache_instance(account.key, answer)
        current = parse_conditions(account.instance)
        self._observer.conditions_written(account.key, account.serving.plural, current)
        after = str(status["state"])
        if before != after:
            self._observer.state_changed(account.key, before, after)
        self._tell_changes(account, former, current)

    def _tell_changes(
        self, account: InstanceReport, former: Iterable[Condition], current: Iterable[Condition]
    ) -> None:
        before = {each.type: each.status for each in former}
        for each in current:
            if not self._tells_all and (each.type != READY or self._is_ready_at_once(each, before)):
                continue
            if before.get(each.type) != each.status:
                type_: EventType = "Normal" if each.status == TRUE else "Warning"
                old = before.get(each.type) or "none"
                self.tell(account, type_, each.type, f"{old} -> {each.status}: {each.reason or ''}")

    @staticmethod
    def _is_ready_at_once(ready: Condition, before: Mapping[str, str]) -> bool:
        """Say whether an instance was ready at once: a cluster that is restored has many."""
        return READY not in before and ready.status == TRUE

    def _complain(self, account: InstanceReport, reason: str, problems: Iterable[str]) -> None:
        for problem in problems:
            log.warning(
                "instance has a problem", extra={"key": str(account.key), "problem": problem}
            )
            self.tell(account, "Warning", reason, problem)
