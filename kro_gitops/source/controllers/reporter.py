"""
Writes what is reported of a source: its status, and Events where Ready changed.
"""

import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from kro_gitops.kube.api import Cluster, JsonPatch, WriteOptions
from kro_gitops.kube.event_aggregation import EventType
from kro_gitops.kube.events import EventRecorder
from kro_gitops.kube.informer import Informer
from kro_gitops.kube.responses import NotFound
from kro_gitops.metadata import REQUESTED_AT
from kro_gitops.source.api.types import NotificationEvent
from kro_gitops.source.controllers.context import SourceObserver
from kro_gitops.source.controllers.notifier import Notifier
from kro_gitops.source.controllers.state import SourceState
from kro_gitops.source.plan import status
from kro_gitops.source.plan.requested_plan import current_plan
from kro_gitops.source.plan.result import Phase
from kro_gitops.source.plan.status import Report
from kube_objects.conditions import FALSE, TRUE, UNKNOWN, Condition
from kube_objects.refs import KubeObject

log = logging.getLogger(__name__)

_STATUS = WriteOptions(subresource="status")
_MAX_SUBJECT = 200  # characters


class Reporter:
    """Writes the status of sources."""

    def __init__(
        self,
        cluster: Cluster,
        informer: Informer,
        events: EventRecorder | None,
        observer: SourceObserver,
        notifier: Notifier | None = None,
    ) -> None:
        self._cluster = cluster
        self._informer = informer
        self._events = events
        self._observer = observer
        self._notifier = notifier

    def draft(self, state: SourceState, phase: Phase) -> Report:
        """Return a report with the facts that need no decision."""
        report = Report(state.source["metadata"].get("generation") or 0, phase)
        report.history = list(status_of(self._latest(state)).get("history") or ())
        report.plan = current_plan(self._latest(state))
        report.webhook_path = state.webhook_path
        report.shards = len(state.inventory.shards)
        report.result = state.result
        if state.fetched is not None:
            report.fetched = report.attempted = state.fetched.revision
            report.fetched_at = state.fetched.at
            commit = state.fetched.commit
            written = {
                "id": commit.id,
                "author": commit.author,
                "committer": commit.committer,
                "time": commit.committed,
                "message": status.shortened(commit.subject)[:_MAX_SUBJECT],
                "signature": state.fetched.signature,
            }
            report.commit = {key: value for key, value in written.items() if value}
        return report

    async def write(self, state: SourceState, report: Report) -> None:
        """Write a status, unless it equals the one before; record what changed."""
        source = self._latest(state)
        former = status_of(source)
        written = report.written(former, datetime.now(UTC))
        ready = _ready(written)
        objects = (written.get("inventory") or {}).get("objects") or 0
        self._observer.standing(
            state.name,
            ready.get("status", UNKNOWN),
            objects,
            notable_types(report.conditions),
        )
        if written == former:
            return
        patch = JsonPatch([{"op": "add", "path": "/status", "value": written}])
        try:
            with self._observer.step(state.name, "status"):
                answer = await self._cluster.patch(state.key, patch, _STATUS)
        except NotFound:
            return
        answer["metadata"].pop("managedFields", None)
        self._informer.record_write(answer)
        before = _ready(former)
        if any(before.get(key) != ready.get(key) for key in ("status", "reason", "message")):
            reason, text = ready.get("reason"), ready.get("message") or ready.get("reason") or ""
            facts = {"source": state.name, "reason": reason, "phase": ready.get("status")}
            if ready.get("status") == FALSE:
                log.warning("source is not ready", extra={**facts, "detail": text})
                self.record_event(state, "Warning", reason or "Failed", text)
            elif ready.get("status") == TRUE:
                log.info("source is ready", extra={**facts, "detail": text})
                self.record_event(state, "Normal", reason or "Succeeded", text)
        for is_new, reason in ((True, "Pinned"), (False, "Unpinned")):
            for text in pin_changes(former, written, is_new=is_new):
                self.record_event(state, "Normal", reason, text)
        if self._notifier is not None:
            self._notifier.reported(state, former, written)

    def record_event(self, state: SourceState, type_: EventType, reason: str, text: str) -> None:
        """Record an Event about a source."""
        if self._events is not None:
            self._events.record(state.source, type_, reason, text)
        if self._notifier is not None and reason == NotificationEvent.HISTORY_REWRITTEN:
            self._notifier.happened(state, NotificationEvent.HISTORY_REWRITTEN, text)

    def forget(self, name: str) -> None:
        """Drop what is remembered of a source that is gone."""
        self._observer.standing(name, "", 0)
        if self._notifier is not None:
            self._notifier.forget(name)

    def _latest(self, state: SourceState) -> KubeObject:
        """Return the source as it was last seen or written: a sync reports while it runs."""
        found = self._informer.cache.find(state.key.namespace, state.key.name)
        is_same = found is not None and found["metadata"]["uid"] == state.source["metadata"]["uid"]
        return found if found is not None and is_same else state.source


def notable_types(conditions: Mapping[str, Condition]) -> set[str]:
    """Return the conditions that a source has only if something is wrong or held back."""
    normal = (status.READY, status.APPLIED, status.HEALTHY, status.VERIFIED, status.RECONCILING)
    found = {each.type for each in conditions.values() if each.status == TRUE} - {*normal}
    healthy = conditions.get(status.HEALTHY)
    return found | {"Degraded"} if healthy is not None and healthy.status == FALSE else found


def status_of(source: KubeObject) -> dict[str, Any]:
    """Return the status of a source, as it was last written."""
    found: dict[str, Any] = source.get("status") or {}
    return found


def pin_changes(former: dict[str, Any], written: dict[str, Any], *, is_new: bool) -> Iterator[str]:
    """Yield a text for each pin that is new in a status, or that is over."""
    before, after = (former, written) if is_new else (written, former)
    for pin in (after.get("pin") or {}, *(after.get("pins") or ())):
        if pin and pin not in (before.get("pin"), *(before.get("pins") or ())):
            place = "/".join(filter(None, (pin.get("namespace"), pin.get("name"))))
            subject = f"{pin['kind']} {place}" if "kind" in pin else "the source"
            reason = f": {pin['reason']}" if is_new and pin.get("reason") else ""
            at = f"at {pin['commit'][:12]}{reason}"
            yield f"{subject} is {'held' if is_new else 'no longer held'} {at}"


def requested(source: KubeObject) -> str:
    """Return the value of the annotation that requests a reconcile."""
    found: str = (source["metadata"].get("annotations") or {}).get(REQUESTED_AT, "")
    return found


def _ready(written: dict[str, Any]) -> dict[str, Any]:
    conditions: list[dict[str, Any]] = written.get("conditions") or []
    return next((each for each in conditions if each.get("type") == status.READY), {})
