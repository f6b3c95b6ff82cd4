"""
The history of a source, the numbers of its revisions, and the pin for a rollback.

The history lists attempts, newest first. Counting begins at the running revision, which is 0; 1 is
the one before it. A revision that never ran has no number, and one that ran twice has one.

Without a number, a rollback goes to the newest revision before the one that was attempted last that
was healthy. That may be the running one: a revision of which a part failed never ran as a whole.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from kro_gitops.errors import UserError
from kro_gitops.inspect.views.instances import first_line, text_at
from kro_gitops.inspect.views.sources import commit_of, failures, short_revision, whole
from kro_gitops.metadata import REVISION
from kro_gitops.source.results import HEALTHY_RESULTS
from kro_gitops.tracking.workload_health import mapping
from kube_objects.refs import KubeObject, ObjectRef
from kube_objects.times import format_time, parse_time

_FULL = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_PART = re.compile("[0-9a-f]{7,63}")
_NUMBER = re.compile("[0-9]{1,4}")  # more digits are those of a commit
_NEVER_RAN = "Failed"
_MARKS = (("created", "+"), ("changed", "~"), ("pruned", "-"), ("failed", "!"))
_CHILDREN = (
    ("childrenCreated", "+"),
    ("childrenChanged", "~"),
    ("childrenDeleted", "-"),
    ("childrenHeld", "held "),
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One line of the history."""

    number: int | None  # how far back; None: it never ran, or it is counted already
    revision: str
    result: str
    started: datetime | None
    finished: datetime | None
    author: str
    message: str
    changes: str

    @property
    def took(self) -> timedelta | None:
        """Return how long it took."""
        known = self.started is not None and self.finished is not None
        return self.finished - self.started if known else None  # type: ignore[operator]  # known

    @property
    def commit(self) -> str:
        """Return the commit in full."""
        return commit_of(self.revision)

    @property
    def is_healthy(self) -> bool:
        """Return True if all of it was applied, and was healthy as far as the source waits."""
        return self.result in HEALTHY_RESULTS

    @property
    def outcome(self) -> str:
        """Return how it ended, as part of a sentence."""
        return f"ended as {self.result}" if self.result else "was not finished"


def attempts(source: KubeObject) -> tuple[Attempt, ...]:
    """Return the history with its numbers, newest first."""
    listed = mapping(source, "status").get("history")
    found = [mapping(each) for each in (listed if isinstance(listed, list) else ())]
    running = commit_of(text_at(source, "status", "lastAppliedRevision"))
    commits = [commit_of(text_at(each, "revision")) for each in found]
    start = commits.index(running) if running in commits else -1
    counted: set[str] = set()
    numbered = []
    for at, entry in enumerate(found):
        is_past = at > start and text_at(entry, "result") != _NEVER_RAN
        number = None
        if at == start or (is_past and commits[at] not in counted):
            counted.add(commits[at])
            number = len(counted) - (1 if start >= 0 else 0)
        # `+3 ~2 -1`, and `!1` for failures; then the same for children of instances
        changes = " ".join(
            f"{title}{marks}"
            for title, marked in (("", _MARKS), ("children: ", _CHILDREN))
            if (marks := " ".join(f"{mark}{n}" for key, mark in marked if (n := whole(entry, key))))
        )
        attempt = Attempt(
            number,
            text_at(entry, "revision"),
            text_at(entry, "result"),
            parse_time(entry.get("started")),
            parse_time(entry.get("finished")),
            text_at(entry, "author"),
            first_line(text_at(entry, "message")),
            changes,
        )
        numbered.append(attempt)
    return tuple(numbered)


def last_healthy(source: KubeObject) -> Attempt:
    """
    Return the newest healthy attempt before the revision that was attempted last.

    What is older than the first attempt at that revision comes first, so that repeated rollbacks go
    further back and not forth.
    """
    listed = attempts(source)
    latest = commit_of(text_at(source, "status", "lastAttemptedRevision"))
    latest = latest or (listed[0].commit if listed else "")
    commits = [each.commit for each in listed]
    start = len(commits) - commits[::-1].index(latest) if latest in commits else 0
    others = (each for each in listed if each.commit != latest)
    found = next((each for each in (*listed[start:], *others) if each.is_healthy), None)
    if found is None:
        raise UserError(
            "no-healthy-revision",
            "the history has no healthy revision before the one that was attempted last",
            hint=f"{_there_are(listed)}\nname one to roll back to it all the same",
        )
    return found


def last_healthy_of(source: KubeObject, obj: KubeObject) -> Attempt:
    """
    Return the newest healthy attempt with an earlier content of an object.

    If the present version in git was rejected, the live one is an earlier content.
    """
    ref = ObjectRef.of(obj)
    if any(each.object == str(ref) for each in failures(source)):
        return last_healthy(source)
    listed = attempts(source)
    changed = text_at(obj, "metadata", "annotations", REVISION)
    commits = [each.commit for each in listed]
    older = listed[len(commits) - commits[::-1].index(changed) :] if changed in commits else ()
    found = next((each for each in older if each.is_healthy), None)
    if found is None:
        raise UserError(
            "no-healthy-revision",
            f"the history has no healthy revision with another content of {ref}",
            hint=f"{_there_are(listed)}\nname one to roll back to it all the same",
        )
    return found


def pins_of(source: KubeObject) -> list[dict[str, Any]]:
    """Return the pins of objects in the spec of a source."""
    listed = mapping(source, "spec").get("pins")
    return [mapping(each) for each in (listed if isinstance(listed, list) else ())]


def pinned_name(pin: Mapping[str, Any]) -> str:
    """Return the pinned object as people name it: `WebApp shop/front`."""
    place = "/".join(filter(None, (text_at(pin, "namespace"), text_at(pin, "name"))))
    return f"{text_at(pin, 'kind')} {place}"


def named_commit(source: KubeObject, text: str) -> str:
    """Return the commit of a number or a revision; the error for an unknown one lists the rest."""
    if _NUMBER.fullmatch(text):
        return _numbered(source, int(text)).commit
    return commit_named(source, text)


def _numbered(source: KubeObject, number: int) -> Attempt:
    listed = attempts(source)
    found = next((each for each in listed if each.number == number), None)
    if found is None:
        raise UserError(
            "no-such-revision",
            f"the history has no revision {number}",
            hint=_there_are([each for each in listed if each.number is not None]),
        )
    if number == 0 and not found.is_healthy:
        name = short_revision(found.revision)
        raise UserError(
            "no-healthy-revision",
            f"revision 0, {name}, was not healthy: it {found.outcome}",
            hint=f"without a number, rollback goes to the newest healthy revision; "
            f"to stay at this one all the same, name its commit: {found.commit[:12]}",
        )
    return found


def commit_named(source: KubeObject, text: str) -> str:
    """Return the commit of a full id, or of a revision or the start of a commit in the history."""
    start = commit_of(text.lower())
    if _FULL.fullmatch(start):
        return start
    listed = attempts(source)
    found = {each.commit for each in listed if each.commit.startswith(start)}
    if not _PART.fullmatch(start) or len(found) != 1:
        raise UserError(
            "no-such-revision",
            f"'{text}' names no commit of the history",
            hint=f"{_there_are(listed)}\nany other commit is named in full",
        )
    return found.pop()


def attempt_at(source: KubeObject, commit: str) -> Attempt | None:
    """Return the newest attempt at a commit."""
    return next((each for each in attempts(source) if each.commit == commit), None)


def _there_are(listed: "tuple[Attempt, ...] | list[Attempt]") -> str:
    lines = [
        f"{'-' if each.number is None else each.number}  {short_revision(each.revision)}  "
        f"{each.result}  {each.message}".rstrip()
        for each in listed
    ]
    return "\n    ".join(["there are:", *lines]) if lines else "there is no other one"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a source is pinned, by whom, and until when."""

    text: str
    by: str
    expires: datetime | None = None


def pin(commit: str, reason: Reason) -> dict[str, Any]:
    """Return the merge patch that pins a source; it replaces an older pin."""
    expires = format_time(reason.expires) if reason.expires else None
    fields = {
        "commit": commit,
        "reason": reason.text or None,
        "by": reason.by or None,
        "expires": expires,
    }
    return {"spec": {"pin": fields}}


def with_pin_of(
    source: KubeObject, obj: KubeObject, commit: str, reason: Reason | None
) -> list[dict[str, Any]]:
    """Return the pins of a source with one of an object, in place of an older; None: without."""
    ref = ObjectRef.of(obj)
    wanted = (ref.kind.group, ref.kind.kind, ref.namespace, ref.name)
    own = text_at(source, "metadata", "namespace") if ref.namespace else ""
    names = ("group", "kind", "namespace", "name")
    kept: list[dict[str, Any]] = []
    for each in pins_of(source):
        group, kind, namespace, name = (text_at(each, key) for key in names)
        if (group, kind, namespace or own, name) != wanted:
            kept.append(each)
    if reason is None:
        return kept
    expires = format_time(reason.expires) if reason.expires else ""
    texts = {"commit": commit, "reason": reason.text, "by": reason.by, "expires": expires}
    written = {**dict(zip(names, wanted, strict=True)), **texts}
    return [*kept, {key: value for key, value in written.items() if value}]
