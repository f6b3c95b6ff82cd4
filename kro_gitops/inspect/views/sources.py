"""
Rows, trees and lines about sources.

Pure functions from objects to data. No field of the status is taken for granted: a source that the
controller has not picked up yet has none.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from kro_gitops.engine.applyset import GroupKind
from kro_gitops.inspect.views.instances import NONE, created, first_line, is_deleting, text_at
from kro_gitops.metadata import SUSPEND_REASON
from kro_gitops.tracking.health import Health, HealthStatus
from kro_gitops.tracking.workload_health import condition_text, find_condition, mapping
from kube_objects.conditions import FALSE, READY, TRUE
from kube_objects.refs import KubeObject, ObjectRef
from kube_objects.times import parse_time

RECONCILING, STALLED, PINNED, SUSPENDED = "Reconciling", "Stalled", "Pinned", "Suspended"
# Conditions that are present only if there is something to report; the most urgent first.
NOTABLE = (
    *("FetchFailed", "Stale", "ForeignOwner", "Conflict", "PruneBlocked", "DependencyNotReady"),
    *(STALLED, PINNED),
)
_SHORT = 7  # digits of a commit that are shown


@dataclass(frozen=True, slots=True)
class ListedFailure:
    """A failure or warning of the status, and its place in git."""

    object: str
    file: str
    line: int
    column: int
    error_code: str
    message: str

    @property
    def place(self) -> str:
        """Return `file:line:column`, as far as it is known."""
        numbers = [str(each) for each in (self.line, self.column) if each]
        return ":".join([self.file, *numbers]) if self.file else ""

    def __str__(self) -> str:
        return ": ".join(part for part in (self.place, self.object, self.message) if part)


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A source: its revision and its state."""

    ref: ObjectRef
    ready: str  # True, False, Unknown, or a dash
    phase: str
    revision: str  # short
    objects: str  # ready/all
    created: datetime | None
    message: str
    url: str
    paths: str
    synced: datetime | None
    author: str


@dataclass(frozen=True, slots=True)
class Entry:
    """An object that a source applied, and where it is written."""

    group_kind: GroupKind
    namespace: str
    name: str
    stage: str
    path: str
    revision: str

    @property
    def label(self) -> str:
        """Return the name of the object in a tree."""
        place = f" in {self.namespace}" if self.namespace else ""
        return f"{self.group_kind.kind}/{self.name}{place}"

    @property
    def names(self) -> frozenset[str]:
        """Return the ways in which a failure may name the object."""
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        kind, group = self.group_kind.kind, self.group_kind.group
        key = f"{group}/{kind}/{self.namespace}/{self.name}"
        return frozenset((f"{kind} {place}", f"{self.group_kind} {place}", f"{kind}/{place}", key))


def source_row(source: KubeObject) -> SourceRow:
    """Summarize a source."""
    spec, status = mapping(source, "spec"), mapping(source, "status")
    ready = find_condition(source, READY)
    paths = spec["paths"] if isinstance(spec.get("paths"), list) else []
    return SourceRow(
        ref=ObjectRef.of(source),
        ready=(ready.status if ready else "") or NONE,
        phase=text_at(status, "phase") or NONE,
        revision=short_revision(text_at(status, "lastAppliedRevision")) or NONE,
        objects=counts(source) or NONE,
        created=created(source),
        message=message_of(source),
        url=without_secrets(text_at(spec, "url")),
        paths=",".join(path for path in paths if isinstance(path, str)) or ".",
        synced=last_sync(source),
        author=text_at(status, "commit", "author") or NONE,
    )


def message_of(source: KubeObject) -> str:
    """Return one line on why a source is not healthy; empty if it is."""
    verdict = source_verdict(source)
    parts = [] if verdict.health is Health.HEALTHY else [first_line(verdict.message)]
    for type_ in NOTABLE:
        found = find_condition(source, type_)
        if found is not None and found.status == TRUE:
            parts.append(f"{type_}: {first_line(condition_text(found))}")
    kept: list[str] = []
    for part in filter(None, parts):
        # Ready repeats the message of the condition that keeps it from being True.
        if not any(part.endswith(other) or other.endswith(part) for other in kept):
            kept.append(part)
    return " · ".join(kept)


def source_verdict(source: KubeObject) -> HealthStatus:
    """Return the health of a source; the first rule that matches decides."""
    status = mapping(source, "status")
    ready, reconciling = find_condition(source, READY), find_condition(source, RECONCILING)
    if is_deleting(source):
        return HealthStatus(Health.PROGRESSING, "being deleted")
    if is_suspended(source):
        return HealthStatus(Health.SUSPENDED, suspension(source))
    if not status:
        return HealthStatus(Health.PROGRESSING, "not picked up yet")
    if whole(status, "observedGeneration") != whole(mapping(source, "metadata"), "generation"):
        return HealthStatus(Health.PROGRESSING, "spec change not processed")
    if is_true(source, STALLED):
        return HealthStatus(Health.DEGRADED, condition_text(find_condition(source, STALLED)))
    if is_true(source, RECONCILING) and (ready is None or ready.status != FALSE):
        return HealthStatus(Health.PROGRESSING, condition_text(reconciling))
    if is_true(source, READY):
        return HealthStatus(Health.HEALTHY, condition_text(ready))
    failed = ready is not None and ready.status == FALSE
    return HealthStatus(Health.DEGRADED if failed else Health.PROGRESSING, condition_text(ready))


def is_suspended(source: KubeObject) -> bool:
    """Return True if a source is suspended."""
    return mapping(source, "spec").get("suspend") is True


def suspension(source: KubeObject) -> str:
    """Return `suspended`, with the reason if there is one."""
    reason = text_at(source, "metadata", "annotations", SUSPEND_REASON)
    return f"suspended: {reason}" if reason else "suspended"


def is_true(source: KubeObject, type_: str) -> bool:
    """Return True if a condition is there and True."""
    found = find_condition(source, type_)
    return found is not None and found.status == TRUE


def counts(source: KubeObject) -> str:
    """Return how many of its objects are ready: `38/40`; nothing if it has none."""
    inventory = mapping(source, "status", "inventory")
    objects = whole(inventory, "objects")
    return f"{whole(inventory, 'ready')}/{objects}" if objects else ""


def last_sync(source: KubeObject) -> datetime | None:
    """Return when the last attempt to apply a revision ended."""
    history = mapping(source, "status").get("history")
    newest = history[0] if isinstance(history, list) and history else {}
    return parse_time(mapping(newest).get("finished"))


def failures(source: KubeObject, kind: str = "failures") -> tuple[ListedFailure, ...]:
    """Return the failures, or the warnings, of the status."""
    listed = mapping(source, "status").get(kind)
    found = filter(None, map(mapping, listed if isinstance(listed, list) else ()))
    return tuple(
        ListedFailure(
            text_at(each, "object"),
            text_at(each, "file"),
            whole(each, "line"),
            whole(each, "column"),
            text_at(each, "code"),
            first_line(text_at(each, "message")),
        )
        for each in found
    )


def omitted_failures(source: KubeObject) -> int:
    """Return the number of failures that the status has no room for."""
    return whole(mapping(source, "status"), "failuresOmitted")


def failure_lines(source: KubeObject) -> list[str]:
    """Return the failures, a line each, and the number of those that the status omits."""
    omitted = omitted_failures(source)
    lines = list(map(str, failures(source)))
    return [*lines, f"and {omitted} more"] if omitted else lines


def entries(inventories: Iterable[KubeObject]) -> list[Entry]:
    """Return the objects that a source applied, in the order of application."""
    found = []
    for inventory in inventories:
        for key, value in mapping(inventory, "entries").items():
            parts = key.split("/")
            if len(parts) != 4:
                continue  # not a key of ours
            group, kind, namespace, name = parts
            texts = [text_at(mapping(value), field) for field in ("stage", "path", "revision")]
            found.append(Entry(GroupKind(kind, group), namespace, name, *texts))
    return sorted(found, key=_order)


def _order(entry: Entry) -> tuple[int, str, GroupKind, str, str]:
    is_number = entry.stage.isascii() and entry.stage.isdigit()
    stage = int(entry.stage) if is_number else 0
    return stage, entry.stage, entry.group_kind, entry.namespace, entry.name


def short_revision(revision: str) -> str:
    """Shorten a revision: `main@1a2b3c4`, or `1a2b3c4` alone."""
    name, at, _ = revision.rpartition("@")
    return f"{name}{at}{commit_of(revision)[:_SHORT]}"


def commit_of(revision: str) -> str:
    """Return the commit of `main@sha1:<hex>`."""
    return revision.rpartition("@")[2].rpartition(":")[2]


def without_secrets(url: str) -> str:
    """Remove user and password from a URL; ssh keeps the user."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    user, at, host = parts.netloc.rpartition("@")
    shown = f"{user.partition(':')[0]}@{host}" if at and parts.scheme == "ssh" else host
    return urlunsplit(parts._replace(netloc=shown))


def whole(section: Mapping[str, Any], key: str) -> int:
    """Return a whole number; 0 where there is none."""
    value = section.get(key)
    return value if type(value) is int else 0
