"""
Entries of a timeline, from objects that were fetched.

Kubernetes keeps no history of objects. What is left of the past is collected here: the history of
a source, creation and deletion times, the field managers with the time of their last write, the
last transition of conditions, the last state of containers, and Events, which the cluster keeps
for about an hour. Values of fields are never read, so no Secret can get into an entry.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from kro_gitops.inspect.explain.explanation import event_count, event_message, last_seen
from kro_gitops.inspect.provenance.field_managers import Writer, held_fields, writers
from kro_gitops.inspect.provenance.field_names import Steps
from kro_gitops.inspect.views.instances import created, first_line, revision_row, text_at
from kro_gitops.inspect.views.source_history import attempts
from kro_gitops.inspect.views.sources import NOTABLE, SUSPENDED, short_revision
from kro_gitops.metadata import CHILD_MANAGER, SOURCE_MANAGER
from kro_gitops.tracking.workload_health import condition_text, is_failing, mapping
from kube_objects.conditions import READY, TRUE, parse_conditions
from kube_objects.refs import KubeObject, ObjectRef
from kube_objects.times import format_time, parse_time

_MAX_TEXT = 240  # characters
_FIELDS = 3  # that are named of a write
_APPLIERS = {CHILD_MANAGER: "the instance", SOURCE_MANAGER: "the source"}
# Events of ours that are more than an Event.
_REPAIRED, _PRUNED = "Repaired", "Pruned"
# True conditions that are worth a line; the others repeat them.
_POSITIVE = frozenset((READY, "Available", "Complete", "ChildrenHealthy"))
_CONTAINERS = ("initContainerStatuses", "containerStatuses")
# `front-6f4fcf88b` and `front-6f4fcf88b-2cnp4`, of a Deployment `front`.
_GENERATED = re.compile(r"-[a-z0-9]{1,10}(-[a-z0-9]{5})?")


class What(StrEnum):
    """What an entry reports."""

    COMMIT = "commit"
    REVISION = "revision"
    CREATED = "created"
    APPLIED = "applied"
    CHANGED = "changed"  # by another field manager
    REPAIRED = "repaired"
    DELETED = "deleted"
    CONDITION = "condition"
    POD = "pod"
    EVENT = "event"


@dataclass(frozen=True, slots=True)
class Entry:
    """
    One line of a timeline: when something happened, to what, and by whom.

    `first` and `count` are those of something that happened several times; `time` is the last.
    """

    time: datetime
    what: What
    object: str
    text: str
    by: str = ""
    count: int = 1
    first: datetime | None = None
    is_bad: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return it as data."""
        found: dict[str, Any] = {
            "time": format_time(self.time),
            "what": str(self.what),
            "object": self.object,
            "text": self.text,
            "bad": self.is_bad,
        }
        if self.by:
            found["by"] = self.by
        if self.count > 1:
            found["count"] = self.count
            found["first"] = format_time(self.first or self.time)
        return found


def commits(source: KubeObject) -> Iterator[Entry]:
    """Yield the revisions that a source applied, as far as its history goes."""
    name = label(source)
    for each in attempts(source):
        when = each.finished or each.started
        if when is None:
            continue
        result = each.result or "in progress"
        changes = f" ({each.changes})" if each.changes else ""
        text = f"{short_revision(each.revision)} {result}{changes}: {each.message}".rstrip(": ")
        is_bad = each.result in ("Failed", "Degraded")
        yield Entry(when, What.COMMIT, name, _cut(text), each.author, is_bad=is_bad)


def revisions(listed: Iterable[KubeObject]) -> Iterator[Entry]:
    """Yield the revisions of a definition."""
    for each in listed:
        row, when = revision_row(each), created(each)
        if when is not None:
            number = row.number if row.number is not None else "?"
            text = f"revision {number} of definition '{row.definition}' was issued"
            yield Entry(when, What.REVISION, label(each), text)


def writes(obj: KubeObject) -> Iterator[Entry]:
    """Yield creation, deletion, and the last write of each field manager of an object."""
    name, born = label(obj), created(obj)
    if born is not None:
        yield Entry(born, What.CREATED, name, "created")
    deleted = parse_time(mapping(obj, "metadata").get("deletionTimestamp"))
    if deleted is not None:
        yield Entry(deleted, What.DELETED, name, "deletion was requested")
    for writer in writers(obj):
        when = parse_time(writer.time)
        if when is None or writer.subresource or when == born:
            continue
        if writer.manager in _APPLIERS:
            text = f"applied by {_APPLIERS[writer.manager]}"
            yield Entry(when, What.APPLIED, name, text, writer.manager)
        elif not writer.is_ours:
            yield Entry(when, What.CHANGED, name, _fields_of(writer), writer.manager)


def _fields_of(writer: Writer) -> str:
    """Name the fields that a manager holds, without items of lists: those may have values."""
    names = list(dict.fromkeys(_field_name(steps) for steps in held_fields(writer)))
    more = f" and {len(names) - _FIELDS} more" if len(names) > _FIELDS else ""
    return _cut(f"wrote {', '.join(names[:_FIELDS]) or 'nothing it still holds'}{more}")


def _field_name(steps: Steps) -> str:
    texts: list[str] = []
    for step in steps:
        if not isinstance(step, str):
            break
        texts.append(step)
    return ".".join(texts) or "the object"


def transitions(obj: KubeObject) -> Iterator[Entry]:
    """Yield when the conditions of an object became what they are."""
    name = label(obj)
    for each in parse_conditions(obj):
        is_bad = is_failing(each) or (each.status == TRUE and each.type in NOTABLE)
        is_good = each.status == TRUE and not is_bad and each.type != SUSPENDED
        if each.changed is None or (is_good and each.type not in _POSITIVE):
            continue
        reason = f" ({each.reason})" if each.reason else ""
        said = condition_text(each)
        message = "" if is_good or said == each.reason else f": {first_line(said)}"
        text = f"{each.type} became {each.status}{reason}{message}"
        yield Entry(each.changed, What.CONDITION, name, _cut(text), is_bad=is_bad)


def pod_states(pod: KubeObject) -> Iterator[Entry]:
    """Yield starts and ends of containers, and why they do not run; no output of a container."""
    name, status = label(pod), mapping(pod, "status")
    for each in parse_conditions(pod):
        if each.type == "PodScheduled" and is_failing(each) and each.changed is not None:
            text = f"not scheduled: {first_line(condition_text(each))}"
            yield Entry(each.changed, What.POD, name, _cut(text), is_bad=True)
    for section in _CONTAINERS:
        listed = status.get(section)
        for container in listed if isinstance(listed, list) else ():
            for entry in _container_states(mapping(container), pod):
                yield replace(entry, object=name)


def _container_states(container: Mapping[str, Any], pod: KubeObject) -> Iterator[Entry]:
    head = f"container {text_at(container, 'name')}"
    count = container.get("restartCount")
    restarts = f", {count} restart{'s' * (count != 1)}" if type(count) is int and count else ""
    ended = None
    for state in ("lastState", "state"):
        terminated = mapping(container, state, "terminated")
        when = parse_time(terminated.get("finishedAt"))
        if when is not None:
            ended, code = when, terminated.get("exitCode")
            reason = text_at(terminated, "reason") or "terminated"
            text = f"{head}: {reason} (exit code {code})"
            yield Entry(when, What.POD, "", _cut(text), is_bad=code != 0)
    started = parse_time(mapping(container, "state", "running").get("startedAt"))
    if started is not None:
        yield Entry(started, What.POD, "", _cut(f"{head}: started{restarts}"))
    waiting = mapping(container, "state", "waiting")
    reason = text_at(waiting, "reason")
    when = ended or created(pod)
    if reason and when is not None:
        message = first_line(text_at(waiting, "message"))
        text = f"{head}: {reason}{restarts}{f': {message}' if message else ''}"
        yield Entry(when, What.POD, "", _cut(text), is_bad=True)


def events(listed: Iterable[KubeObject]) -> Iterator[Entry]:
    """Yield Events; our own reasons identify repairs of drift and prunes."""
    for each in listed:
        when = last_seen(each)
        if when is None:
            continue
        about, reason = mapping(each, "involvedObject"), text_at(each, "reason")
        reporter = text_at(each, "source", "component") or text_at(each, "reportingComponent")
        what = {_REPAIRED: What.REPAIRED, _PRUNED: What.DELETED}.get(reason, What.EVENT)
        message = first_line(event_message(each))
        yield Entry(
            when,
            what,
            f"{text_at(about, 'kind')}/{text_at(about, 'name')}",
            _cut(message if what is not What.EVENT else f"{reason}: {message}"),
            reporter,
            event_count(each),
            parse_time(each.get("firstTimestamp")),
            text_at(each, "type") == "Warning",
        )


def is_about(event: KubeObject, objects: Iterable[KubeObject]) -> bool:
    """Return True if an Event is about one of some objects, or a Pod that one of them had."""
    about = mapping(event, "involvedObject")
    uid, name, kind = (text_at(about, key) for key in ("uid", "name", "kind"))
    for obj in objects:
        if uid and uid == text_at(obj, "metadata", "uid"):
            return True
        # Pods and ReplicaSets of a workload may be gone, their Events are not.
        if kind in ("Pod", "ReplicaSet") and mapping(obj, "spec", "template"):
            owner, namespace = ObjectRef.of(obj), text_at(about, "namespace")
            is_near = name.startswith(owner.name) and namespace == owner.namespace
            if is_near and _GENERATED.fullmatch(name[len(owner.name) :]):
                return True
    return False


def label(obj: KubeObject) -> str:
    """Return `Kind/name`."""
    ref = ObjectRef.of(obj)
    return f"{ref.kind.kind}/{ref.name}"


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
