"""
What is said of a source, and when: its status, and Events where something changed.
"""

import logging
from datetime import UTC, datetime
from typing import Any

from kro_gitops.errors import KroGitopsError, UserError
from kro_gitops.kube.api import Cluster, JsonPatch, WriteOptions
from kro_gitops.kube.event_aggregation import EventType
from kro_gitops.kube.events import EventRecorder
from kro_gitops.kube.informer import Informer
from kro_gitops.kube.responses import NotFound
from kro_gitops.metadata import REQUESTED_AT
from kro_gitops.source import status
from kro_gitops.source.accounts import Account, Phase
from kro_gitops.source.controllers.notifying import Notifier
from kro_gitops.source.controllers.observing import SourceObserver
from kro_gitops.source.controllers.registry import Fetched, Held
from kro_gitops.source.spec import NotificationEvent
from kro_gitops.source.status import Report
from kube_objects.conditions import FALSE, TRUE, UNKNOWN
from kube_objects.refs import KubeObject

log = logging.getLogger(__name__)

_STATUS = WriteOptions(subresource="status")


class Reporter:
    """Writes what there is to say."""

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

    def begin(self, held: Held, phase: Phase) -> Report:
        """Begin a report with what is known of a source."""
        former = status_of(held.source)
        report = Report(held.source["metadata"].get("generation") or 0, phase)
        report.history = list(former.get("history") or ())
        report.webhook_path = held.webhook_path
        report.shards = len(held.inventory.shards)
        report.account = held.account
        if held.fetched is not None:
            report.fetched = report.attempted = held.fetched.revision
            report.fetched_at = held.fetched.at
            report.commit = _commit(held.fetched)
        return report

    async def write(self, held: Held, report: Report) -> None:
        """Write a report, unless it says what was said before."""
        former = status_of(held.source)
        written = report.written(former, datetime.now(UTC))
        ready = _ready(written)
        objects = (written.get("inventory") or {}).get("objects") or 0
        self._observer.standing(held.name, ready.get("status", UNKNOWN), objects)
        if written == former:
            return
        patch = JsonPatch([{"op": "add", "path": "/status", "value": written}])
        try:
            with self._observer.step(held.name, "status"):
                answer = await self._cluster.patch(held.key, patch, _STATUS)
        except NotFound:
            return
        answer["metadata"].pop("managedFields", None)
        self._informer.saw(answer)
        held.source = answer
        self._tell_change(held, former, ready)
        if self._notifier is not None:
            self._notifier.reported(held, former, written)

    def tell(self, held: Held, type_: EventType, reason: str, text: str) -> None:
        """Record an Event about a source."""
        if self._events is not None:
            self._events.record(held.source, type_, reason, text)
        if self._notifier is not None and reason == NotificationEvent.HISTORY_REWRITTEN:
            self._notifier.happened(held, NotificationEvent.HISTORY_REWRITTEN, text)

    def _tell_change(self, held: Held, former: dict[str, Any], ready: dict[str, Any]) -> None:
        before = _ready(former)
        same = ("status", "reason", "message")
        if all(before.get(key) == ready.get(key) for key in same):
            return
        facts = {"source": held.name, "reason": ready.get("reason"), "phase": ready.get("status")}
        text = ready.get("message") or ready.get("reason") or ""
        if ready.get("status") == FALSE:
            log.warning("source is not ready", extra={**facts, "detail": text})
            self.tell(held, "Warning", ready.get("reason") or "Failed", text)
        elif ready.get("status") == TRUE:
            log.info("source is ready", extra={**facts, "detail": text})
            self.tell(held, "Normal", ready.get("reason") or "Succeeded", text)


def status_of(source: KubeObject) -> dict[str, Any]:
    """Return the status of a source, as it was last written."""
    found: dict[str, Any] = source.get("status") or {}
    return found


def _ready(written: dict[str, Any]) -> dict[str, Any]:
    conditions: list[dict[str, Any]] = written.get("conditions") or []
    return next((each for each in conditions if each.get("type") == status.READY), {})


def requested(source: KubeObject) -> str:
    """Return the last wish to reconcile at once."""
    found: str = (source["metadata"].get("annotations") or {}).get(REQUESTED_AT, "")
    return found


def of_account(report: Report, account: Account, revision: str, *, waits: bool) -> None:
    """Say what became of a revision's objects."""
    ready, reason, message = status.summed_up(account, revision)
    if not waits and ready == UNKNOWN and not account.pending:
        ready, reason, message = TRUE, "Applied", f"applied {revision}"
    report.say(status.READY, ready, reason, message)
    if account.failures:
        report.say(status.APPLIED, FALSE, reason, message)
    else:
        report.say(status.APPLIED, TRUE, "Applied", f"applied {revision}")
    if account.degraded:
        report.say(status.HEALTHY, FALSE, "Degraded", "; ".join(account.degraded[:3]))
    elif account.waiting or account.pending:
        report.say(status.HEALTHY, UNKNOWN, "Progressing", status.waiting_for(account))
        report.say(status.RECONCILING, TRUE, "Progressing", status.waiting_for(account))
    elif not account.failures:
        report.say(status.HEALTHY, TRUE, "Healthy", f"{account.ready} objects are ready")
    for type_, texts in ((status.FOREIGN, account.foreign), (status.CONFLICT, account.conflicts)):
        if texts:
            report.say(type_, TRUE, type_, "; ".join(texts[:5]))
    if account.braked:
        report.say(status.BRAKED, TRUE, "Brake", account.braked)


def of_error(report: Report, type_: str, error: KroGitopsError) -> None:
    """Say why a source cannot be worked on at all."""
    text, reason = error.full_text, reason_of(error)
    report.say(status.READY, FALSE, reason, text)
    if type_ != status.STALLED:
        report.say(type_, TRUE, reason, text)
    if isinstance(error, UserError):
        report.say(status.STALLED, TRUE, reason, text)


def reason_of(error: KroGitopsError) -> str:
    """Write an error's code as a condition's reason: `git-auth-failed` is `GitAuthFailed`."""
    return "".join(word[:1].upper() + word[1:] for word in error.code.split("-")) or "Failed"


def _commit(fetched: Fetched) -> dict[str, Any]:
    commit = fetched.commit
    written = {
        "id": commit.id,
        "author": commit.author,
        "committer": commit.committer,
        "time": commit.committed,
        "message": status.shortened(commit.subject)[:200],
        "signature": fetched.signature,
    }
    return {key: value for key, value in written.items() if value}
