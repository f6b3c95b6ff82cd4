"""
The history of a source, the numbers of its revisions, and the pin for a rollback.

The history lists attempts, newest first. Counting begins at the running revision, which is 0; 1 is
the one before it. A revision that never ran has no number, and one that ran twice has one.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from kro_gitops.errors import UserError
from kro_gitops.inspect.views.instances import first_line, text_at
from kro_gitops.inspect.views.sources import commit_of, short_revision, whole
from kro_gitops.tracking.workload_health import mapping
from kube_objects.refs import KubeObject
from kube_objects.times import format_time, parse_time

_FULL = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_PART = re.compile("[0-9a-f]{7,63}")
_NEVER_RAN = "Failed"
_MARKS = (("created", "+"), ("changed", "~"), ("pruned", "-"), ("failed", "!"))


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
        # `+3 ~2 -1`, and `!1` for failures
        changes = " ".join(f"{mark}{n}" for key, mark in _MARKS if (n := whole(entry, key)))
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


def commit_before(source: KubeObject, number: int) -> str:
    """Return the commit of a number; the error for an unknown one lists the history."""
    listed = [each for each in attempts(source) if each.number]
    found = next((each.commit for each in listed if each.number == number), None)
    if found is None:
        raise UserError(
            "no-such-revision",
            f"the history has no revision {number} before the one that runs",
            hint=_there_are(listed),
        )
    return found


def commit_named(source: KubeObject, text: str) -> str:
    """Return the commit of a full id, or of the start of one in the history."""
    start = text.lower()
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
    fields = {"commit": commit, "reason": reason.text, "by": reason.by or None, "expires": expires}
    return {"spec": {"pin": fields}}
