"""
What is news about a source, and whom it concerns.

A status says how things are; news is what was not so when it was last told. So a source that is
tried again every minute, and fails in the same way each time, is told of once. What was told is
remembered in memory only: after a restart the last status stands for it, so nobody hears anything
twice.

Texts from git (subjects, authors, names of branches) are strangers' words. They are put on one
line, made printable and short here, before any target sees them.
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

# While these hold, a source is in trouble.
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
# Told once for each revision, whatever happens between.
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
    """Something to tell, in a sentence."""

    event: NotificationEvent
    text: str


class Chronicle:
    """What has been told of one source."""

    def __init__(self, known: Status) -> None:
        """Begin with a status that everybody knows."""
        self._told = {event: mark for event, (mark, _) in _holding(known).items()}
        self._was_troubled = _is_troubled(self._told) or _ended_badly(known)

    def news(self, written: Status) -> list[News]:
        """Return what was not told before, and remember it as told."""
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
        self._remember(holding, is_well)
        return found

    def _remember(
        self, holding: Mapping[NotificationEvent, tuple[str, str]], is_well: bool
    ) -> None:
        """Keep trouble in mind until all is well: between two attempts it seems to be gone."""
        kept = _MILESTONES if is_well else (*_MILESTONES, *_TROUBLE)
        former = {event: mark for event, mark in self._told.items() if event in kept}
        self._told = former | {event: mark for event, (mark, _) in holding.items()}


def _holding(written: Status) -> dict[NotificationEvent, tuple[str, str]]:
    """Return what holds of a status: a mark that tells it from others of its kind, and a text."""
    conditions = {each.get("type"): each for each in written.get("conditions") or ()}
    said = _ready(written).get("message") or ""
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
    elif _has_failed(written):
        found[NotificationEvent.FAILED] = (revision, said)
    elif written.get("phase") == Phase.DEGRADED and NotificationEvent.PRUNE_BLOCKED not in found:
        found[NotificationEvent.DEGRADED] = (revision, said)
    return found | _milestones(written)


def _milestones(written: Status) -> dict[NotificationEvent, tuple[str, str]]:
    applied = written.get("lastAppliedRevision") or ""
    found = {}
    if applied:
        found[NotificationEvent.SYNCED] = (applied, f"applied {applied}")
    is_waited_for = _ready(written).get("reason") != "Applied"  # else nobody has looked
    if applied and is_waited_for and written.get("phase") == Phase.HEALTHY and _is_well(written):
        counts = written.get("inventory") or {}
        text = f"{counts.get('ready', 0)} of {counts.get('objects', 0)} objects are ready"
        found[NotificationEvent.HEALTHY] = (applied, text)
    return found


def _has_failed(written: Status) -> bool:
    reason = _ready(written).get("reason")
    return written.get("phase") == Phase.FAILED or reason == "DeletionFailed"


def _is_well(written: Status) -> bool:
    return _ready(written).get("status") == TRUE and written.get("phase") != Phase.SUSPENDED


def _is_troubled(events: Iterable[NotificationEvent]) -> bool:
    return not _ERRORS.isdisjoint(events)


def _ended_badly(known: Status) -> bool:
    """Say whether trouble is not over, though the status says that work is under way."""
    ended = [each for each in known.get("history") or () if each.get("finished")]
    return not _is_well(known) and bool(ended) and ended[0].get("result") in ("Failed", "Degraded")


def _ready(written: Status) -> Mapping[str, Any]:
    conditions = written.get("conditions") or ()
    return next((each for each in conditions if each.get("type") == status.READY), {})


def concerns(notification: Notification, event: NotificationEvent) -> bool:
    """Say whether somebody wants to hear of an event."""
    return not notification.events or event in notification.events


# What is said


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
    """One piece of news with all that belongs to it, fit to be shown."""

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
        """Return what makes two letters equal: all but the time."""
        return (self.uid, self.source, self.event, self.revision, self.text)

    @property
    def id(self) -> str:
        """Return the same for every attempt to deliver it, and for no other letter."""
        return hashlib.sha256("\n".join((*self.likeness, self.time)).encode()).hexdigest()[:32]


def compose(news: News, source: KubeObject, written: Status, now: datetime) -> Letter:
    """Write a letter about a source."""
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
        failures=tuple(map(_failed, failures[:MOST_FAILURES])),
        omitted=max(len(failures) - MOST_FAILURES, 0) + (written.get("failuresOmitted") or 0)
        if failures
        else 0,
        counts={name: counts.get(name) or 0 for name in ("objects", "ready", "failed")},
    )


def _failed(failure: Mapping[str, Any]) -> Failed:
    return Failed(
        object=plain(failure.get("object") or "", _LONGEST_NAME),
        code=plain(failure.get("code") or "", _LONGEST_NAME),
        message=plain(failure.get("message") or "", _LONGEST_FAILURE),
        file=plain(failure.get("file") or "", _LONGEST_NAME),
        line=failure.get("line") or 0,
        column=failure.get("column") or 0,
    )


def plain(text: str, limit: int) -> str:
    """Put a stranger's text on one line: printable, without secrets, not too long."""
    shown = "".join(c if c.isprintable() else " " if c.isspace() else _REPLACEMENT for c in text)
    return redact(shown, limit=limit)
