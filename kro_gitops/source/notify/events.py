"""
What is new about a source, and which notifications select it.

A status is the present state; news is what differs from the last report. So a source that is
retried every minute, and fails in the same way each time, is reported once. Reports are remembered
in memory only: after a restart the last status stands for them, so no target gets a notification
twice.

Texts from git (subjects, authors, names of branches) are untrusted. They are put on one line and
become printable and short here, before any target sees them.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kro_gitops.source.api.redaction import redact
from kro_gitops.source.api.types import Notification, NotificationEvent
from kro_gitops.source.plan import status
from kro_gitops.source.plan.result import Phase
from kube_objects.conditions import FALSE, TRUE
from kube_objects.refs import KubeObject
from kube_objects.times import format_time

Status = Mapping[str, Any]

MOST_FAILURES = 5
_LONGEST_TEXT = 1500  # characters
_LONGEST_FAILURE = 300
_LONGEST_NAME = 255
_LONGEST_SUBJECT = 200
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

# While one of these is true, a source is in trouble.
_TROUBLE = (
    NotificationEvent.DEGRADED,
    NotificationEvent.FAILED,
    NotificationEvent.FETCH_FAILED,
    NotificationEvent.UNVERIFIED,
    NotificationEvent.PRUNE_BLOCKED,
)
_ERRORS = frozenset(_TROUBLE)
_WARNINGS = frozenset(
    (
        NotificationEvent.FOREIGN_OWNER,
        NotificationEvent.CONFLICT,
        NotificationEvent.HISTORY_REWRITTEN,
    )
)
# Reported once for each revision, whatever happens between.
_MILESTONES = (NotificationEvent.SYNCED, NotificationEvent.HEALTHY)
# Conditions that are there only while they hold.
_STATES = {
    NotificationEvent.PRUNE_BLOCKED: status.BRAKED,
    NotificationEvent.FOREIGN_OWNER: status.FOREIGN,
    NotificationEvent.CONFLICT: status.CONFLICT,
    NotificationEvent.PINNED: status.PINNED,
    NotificationEvent.SUSPENDED: status.SUSPENDED,
}
_ENDINGS = {
    NotificationEvent.PINNED: (NotificationEvent.UNPINNED, "it follows its ref again"),
    NotificationEvent.SUSPENDED: (NotificationEvent.RESUMED, "it is reconciled again"),
}


@dataclass(frozen=True, slots=True)
class News:
    """An event to report, with a sentence about it."""

    event: NotificationEvent
    text: str


class Chronicle:
    """What has been reported of one source."""

    def __init__(self, known: Status) -> None:
        """Begin with a status that was reported already."""
        self._told = {event: mark for event, (mark, _) in _holding(known).items()}
        # Trouble may not be over, although the status reports work in progress.
        ended = [each for each in known.get("history") or () if each.get("finished")]
        has_failed = bool(ended) and ended[0].get("result") in ("Failed", "Degraded")
        self._was_troubled = _is_troubled(self._told) or (has_failed and not _is_well(known))

    def news(self, written: Status) -> list[News]:
        """Return what was not reported before, and remember it."""
        holding = _holding(written)
        found = [
            News(event, text)
            for event, (mark, text) in holding.items()
            if self._told.get(event) != mark
        ]
        for event, (ending, text) in _ENDINGS.items():
            if event in self._told and event not in holding:
                found.append(News(ending, text))
        is_well = _is_well(written)
        if is_well and self._was_troubled:
            found.append(News(NotificationEvent.RECOVERED, _ready(written).get("message") or ""))
        self._was_troubled = not is_well and (self._was_troubled or _is_troubled(holding))
        # Trouble is remembered until all is well: between two attempts it seems to be gone.
        kept = _MILESTONES if is_well else (*_MILESTONES, *_TROUBLE)
        former = {event: mark for event, mark in self._told.items() if event in kept}
        self._told = former | {event: mark for event, (mark, _) in holding.items()}
        return found


def _holding(written: Status) -> dict[NotificationEvent, tuple[str, str]]:
    """Return the events that a status contains: a mark that identifies each, and a text."""
    conditions = {each.get("type"): each for each in written.get("conditions") or ()}
    ready = _ready(written)
    said, reason = ready.get("message") or "", ready.get("reason")
    revision = written.get("lastAttemptedRevision") or ""
    found: dict[NotificationEvent, tuple[str, str]] = {}
    for event, type_ in _STATES.items():
        if conditions.get(type_, {}).get("status") == TRUE:
            mark = (written.get("pin") or {}).get("commit", "") if type_ == status.PINNED else ""
            found[event] = (mark, conditions[type_].get("message") or "")
    if conditions.get(status.VERIFIED, {}).get("status") == FALSE:
        found[NotificationEvent.UNVERIFIED] = ("", conditions[status.VERIFIED].get("message") or "")
    elif conditions.get(status.FETCH_FAILED, {}).get("status") == TRUE:
        text = conditions[status.FETCH_FAILED].get("message") or ""
        found[NotificationEvent.FETCH_FAILED] = ("", text)
    elif written.get("phase") == Phase.FAILED or reason == "DeletionFailed":
        found[NotificationEvent.FAILED] = (revision, said)
    elif written.get("phase") == Phase.DEGRADED and NotificationEvent.PRUNE_BLOCKED not in found:
        found[NotificationEvent.DEGRADED] = (revision, said)
    applied = written.get("lastAppliedRevision") or ""
    if applied:
        found[NotificationEvent.SYNCED] = (applied, f"applied {applied}")
    is_waited_for = reason != "Applied"  # with that reason, health was not checked
    if applied and is_waited_for and written.get("phase") == Phase.HEALTHY and _is_well(written):
        counts = written.get("inventory") or {}
        text = f"{counts.get('ready', 0)} of {counts.get('objects', 0)} objects are ready"
        found[NotificationEvent.HEALTHY] = (applied, text)
    return found


def _is_well(written: Status) -> bool:
    return _ready(written).get("status") == TRUE and written.get("phase") != Phase.SUSPENDED


def _is_troubled(events: Iterable[NotificationEvent]) -> bool:
    return not _ERRORS.isdisjoint(events)


def _ready(written: Status) -> Mapping[str, Any]:
    conditions = written.get("conditions") or ()
    return next((each for each in conditions if each.get("type") == status.READY), {})


def concerns(notification: Notification, event: NotificationEvent) -> bool:
    """Return whether a notification selects an event."""
    return not notification.events or event in notification.events


# Messages


@dataclass(frozen=True, slots=True)
class Failed:
    """One object that could not be applied."""

    object: str
    code: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0

    @property
    def place(self) -> str:
        """Return where it is written: `apps/front.yaml:7:3`."""
        return f"{self.file}:{self.line}:{self.column}" if self.file else ""


@dataclass(frozen=True, slots=True)
class Letter:
    """The notification of one event with all that belongs to it; it may be shown."""

    event: NotificationEvent
    text: str
    time: str
    namespace: str
    name: str
    uid: str = ""
    url: str = ""
    revision: str = ""
    commit: str = ""
    author: str = ""
    subject: str = ""
    failures: tuple[Failed, ...] = ()
    omitted: int = 0  # failures that are not listed
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def severity(self) -> str:
        """Return how bad it is: `error`, `warning` or `info`."""
        if self.event in _ERRORS:
            return "error"
        return "warning" if self.event in _WARNINGS else "info"

    @property
    def source(self) -> str:
        """Return namespace and name."""
        return f"{self.namespace}/{self.name}"

    @property
    def short_revision(self) -> str:
        """Return the revision as people read it: `main@9f8e7d6`."""
        name, _, digest = self.revision.rpartition("@")
        hexadecimal = digest.partition(":")[2] or digest
        return f"{name}@{hexadecimal[:7]}" if name else hexadecimal[:7]

    @property
    def likeness(self) -> tuple[str, ...]:
        """Return what makes two notifications equal: all but the time."""
        return (self.uid, self.source, self.event, self.revision, self.text)

    @property
    def id(self) -> str:
        """Return an id that is the same for every attempt to deliver it, and unique."""
        return hashlib.sha256("\n".join((*self.likeness, self.time)).encode()).hexdigest()[:32]


def compose(news: News, source: KubeObject, written: Status, now: datetime) -> Letter:
    """Compose the notification of an event."""
    metadata, commit = source["metadata"], written.get("commit") or {}
    failures = written.get("failures") or () if news.event is NotificationEvent.FAILED else ()
    counts = written.get("inventory") or {}
    return Letter(
        event=news.event,
        text=plain(news.text, _LONGEST_TEXT),
        time=format_time(now),
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata.get("uid") or "",
        url=plain((source.get("spec") or {}).get("url") or "", _LONGEST_NAME),
        revision=plain(written.get("lastAttemptedRevision") or "", _LONGEST_NAME),
        commit=plain(commit.get("id") or "", _LONGEST_NAME),
        author=plain(commit.get("author") or "", _LONGEST_NAME),
        subject=plain(commit.get("message") or "", _LONGEST_SUBJECT),
        failures=tuple(
            Failed(
                object=plain(failure.get("object") or "", _LONGEST_NAME),
                code=plain(failure.get("code") or "", _LONGEST_NAME),
                message=plain(failure.get("message") or "", _LONGEST_FAILURE),
                file=plain(failure.get("file") or "", _LONGEST_NAME),
                line=failure.get("line") or 0,
                column=failure.get("column") or 0,
            )
            for failure in failures[:MOST_FAILURES]
        ),
        omitted=max(len(failures) - MOST_FAILURES, 0) + (written.get("failuresOmitted") or 0)
        if failures
        else 0,
        counts={name: counts.get(name) or 0 for name in ("objects", "ready", "failed")},
    )


def plain(text: str, limit: int) -> str:
    """Put untrusted text on one line: printable, without secrets, not too long."""
    shown = "".join(c if c.isprintable() else " " if c.isspace() else _REPLACEMENT for c in text)
    return redact(shown, limit=limit)
