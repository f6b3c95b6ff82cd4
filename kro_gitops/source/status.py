"""
What a source reports: conditions, counts, failures and history.

`Ready` is the sum; kstatus' `Reconciling` and `Stalled` are there only while they hold, and so is
whatever else is nobody's normal state. Written is only what differs from the status before, so a
poll that finds nothing new writes nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

from kro_gitops.source.accounts import Account, Fault, Phase
from kube_objects.conditions import FALSE, TRUE, UNKNOWN, Condition, parse_conditions
from kube_objects.refs import KubeObject

READY = "Ready"
RECONCILING = "Reconciling"
STALLED = "Stalled"
FETCH_FAILED = "FetchFailed"
VERIFIED = "SourceVerified"
APPLIED = "Applied"
HEALTHY = "Healthy"
PINNED = "Pinned"
FOREIGN = "ForeignOwner"
CONFLICT = "Conflict"
BRAKED = "PruneBlocked"
DEPENDENCY = "DependencyNotReady"
SUSPENDED = "Suspended"

MOST_LISTED = 20
MOST_HISTORY = 10
_LONGEST = 2000  # characters of a message


@dataclass(frozen=True, slots=True)
class Run:
    """One revision's way into the cluster, for the history."""

    revision: str
    started: str
    author: str = ""
    message: str = ""
    digest: str = ""
    finished: str = ""
    result: str = ""
    created: int = 0
    changed: int = 0
    pruned: int = 0
    failed: int = 0

    @classmethod
    def parse(cls, written: Mapping[str, Any]) -> "Run":
        """Read it off a status."""
        names = {each.name for each in fields(cls)}
        given = {"revision": "", "started": "", **written}
        return cls(**{key: value for key, value in given.items() if key in names})

    def to_json(self) -> dict[str, Any]:
        """Write it as it stands in a status."""
        counts = {"created": self.created, "changed": self.changed, "pruned": self.pruned}
        texts = {
            "revision": self.revision,
            "digest": self.digest,
            "started": self.started,
            "finished": self.finished,
            "result": self.result,
            "author": self.author,
            "message": self.message,
        }
        return {k: v for k, v in texts.items() if v} | {**counts, "failed": self.failed}


@dataclass(slots=True)
class Report:
    """What is to be said of a source; `keeps` are fields of the former status that stay."""

    generation: int
    phase: Phase
    handled: str = ""  # the request that was answered
    attempted: str = ""  # revision
    applied: str = ""
    fetched: str = ""
    fetched_at: str = ""
    commit: Mapping[str, Any] = field(default_factory=dict)
    pin: Mapping[str, Any] = field(default_factory=dict)
    webhook_path: str = ""
    shards: int = 0
    conditions: dict[str, Condition] = field(default_factory=dict)
    history: list[Mapping[str, Any]] = field(default_factory=list)
    account: Account | None = None  # None: what was said of objects before still holds

    def say(self, type_: str, status: str, reason: str, message: str = "") -> None:
        """Set a condition."""
        self.conditions[type_] = Condition(type_, status, reason, shortened(message))

    def written(self, former: Mapping[str, Any], now: datetime) -> dict[str, Any]:
        """Put the status together."""
        status: dict[str, Any] = {
            "observedGeneration": self.generation,
            "lastHandledReconcileAt": self.handled or former.get("lastHandledReconcileAt"),
            "phase": self.phase.value,
            "lastAppliedRevision": self.applied or former.get("lastAppliedRevision"),
            "lastAttemptedRevision": self.attempted or former.get("lastAttemptedRevision"),
            "artifact": self._artifact(former),
            "commit": dict(self.commit) or former.get("commit"),
            "pin": dict(self.pin),
            "webhookPath": self.webhook_path,
            **self._objects(former),
            "history": [dict(each) for each in self.history[:MOST_HISTORY]],
            "conditions": self._dated(former, now),
        }
        return {key: value for key, value in status.items() if value not in (None, "", {}, [])}

    def _artifact(self, former: Mapping[str, Any]) -> Any:
        if not self.fetched or (former.get("artifact") or {}).get("revision") == self.fetched:
            return former.get("artifact")
        return {"revision": self.fetched, "lastUpdateTime": self.fetched_at}

    def _objects(self, former: Mapping[str, Any]) -> dict[str, Any]:
        account = self.account
        if account is None:
            names = ("inventory", "failures", "failuresOmitted", "warnings")
            return {name: former.get(name) for name in names}
        return {
            "inventory": {
                "objects": account.objects,
                "definitions": account.definitions,
                "instances": account.instances,
                "ready": account.ready,
                "failed": len(account.failures),
                "shards": self.shards,
            },
            "failures": _listed(account.failures),
            "failuresOmitted": max(len(account.failures) - MOST_LISTED, 0) or None,
            "warnings": _listed(account.warnings),
        }

    def _dated(self, former: Mapping[str, Any], now: datetime) -> list[KubeObject]:
        known = {each.type: each for each in parse_conditions({"status": dict(former)})}
        return [
            _since(each, known.get(each.type), self.generation, now).to_json()
            for each in self.conditions.values()
        ]


def _since(
    condition: Condition, former: Condition | None, generation: int, now: datetime
) -> Condition:
    changed = former.changed if former and former.status == condition.status else now
    return replace(condition, changed=changed or now, observed_generation=generation)


def _listed(failures: Iterable[Fault]) -> list[dict[str, object]]:
    return [
        replace(each, message=shortened(each.message)).to_json()
        for each in list(failures)[:MOST_LISTED]
    ]


def shortened(text: str) -> str:
    """Keep a text within what a status should hold."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def with_run(history: Iterable[Mapping[str, Any]], run: Run) -> list[Mapping[str, Any]]:
    """Put a run on top of the history, in place of what was said of it before."""
    rest = [
        each
        for each in history
        if (each.get("revision"), each.get("started")) != (run.revision, run.started)
    ]
    return [run.to_json(), *rest][:MOST_HISTORY]


def summed_up(account: Account, revision: str) -> tuple[str, str, str]:
    """Return status, reason and message of Ready, for a revision that was gone through."""
    if account.failures:
        reason = "ApplyFailed" if account.may_be_tried_again else "InvalidManifests"
        return FALSE, reason, told(account.failures)
    if account.braked:
        return FALSE, "PruneBlocked", account.braked
    if account.degraded:
        return FALSE, "Degraded", _few(account.degraded)
    if account.waiting or account.pending:
        return UNKNOWN, "Progressing", waiting_for(account)
    return TRUE, "Succeeded", f"applied {revision}"


def waiting_for(account: Account) -> str:
    """Say what is not finished yet."""
    parts = [_few(account.waiting)] if account.waiting else []
    if account.pending:
        parts.append(f"{account.pending} objects are being deleted")
    return "waiting for " + "; ".join(parts) if parts else ""


def told(failures: Iterable[Fault]) -> str:
    """Say in one text what went wrong, worst first, with its place."""
    return _few([_line(each) for each in failures])


def _line(failure: Fault) -> str:
    place = ""
    if failure.origin is not None:
        origin = failure.origin
        place = f"{origin.file}:{origin.line}:{origin.column}: "
    subject = f"{failure.subject}: " if failure.subject else ""
    return f"{place}{subject}{failure.message}"


def _few(texts: list[str], most: int = 3) -> str:
    shown = "; ".join(texts[:most])
    return f"{shown}; and {len(texts) - most} more" if len(texts) > most else shown
