"""
The status of a source: conditions, counts, failures and history.

`Ready` is the sum; kstatus' `Reconciling` and `Stalled` exist only while they are True, and so does
every other condition that is not part of the normal state. A poll that finds nothing new yields the
same status, which is then not written.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

from kro_gitops.engine.child_counts import ChildCounts
from kro_gitops.source.plan.result import Fault, Phase, SyncResult
from kro_gitops.source.results import HEALTHY_RESULTS
from kube_objects.conditions import FALSE, TRUE, UNKNOWN, Condition, parse_conditions
from kube_objects.refs import KubeObject

READY = "Ready"
RECONCILING = "Reconciling"
STALLED = "Stalled"
FETCH_FAILED = "FetchFailed"
STALE = "Stale"
VERIFIED = "SourceVerified"
APPLIED = "Applied"
HEALTHY = "Healthy"
PINNED = "Pinned"
FOREIGN = "ForeignOwner"
CONFLICT = "Conflict"
BRAKED = "PruneBlocked"
DEPENDENCY = "DependencyNotReady"
SUSPENDED = "Suspended"

_CHILDREN = ("childrenCreated", "childrenChanged", "childrenDeleted")
MOST_LISTED = 20
MOST_HISTORY = 10
_KEPT_HEALTHY = 2  # revisions to go back to that stay listed, however many failed since
_LONGEST = 2000  # characters of a message


@dataclass(frozen=True, slots=True)
class Run:
    """One revision in the history: when it was synced, and what changed."""

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
    children: ChildCounts = field(default_factory=ChildCounts)
    held: int = 0  # children that wait for approval

    @classmethod
    def parse(cls, written: Mapping[str, Any]) -> "Run":
        """Parse a run of a status."""
        names = {each.name for each in fields(cls)} - {"children", "held"}
        given = {"revision": "", "started": "", **written}
        return cls(
            **{key: value for key, value in given.items() if key in names},
            children=children_of(written),
            held=written.get("childrenHeld") or 0,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the run as it is written to a status."""
        counts = {"created": self.created, "changed": self.changed, "pruned": self.pruned}
        children = children_json(self.children)
        if self.held:
            children["childrenHeld"] = self.held
        texts = {
            "revision": self.revision,
            "digest": self.digest,
            "started": self.started,
            "finished": self.finished,
            "result": self.result,
            "author": self.author,
            "message": self.message,
        }
        written: dict[str, Any] = {key: value for key, value in texts.items() if value}
        return {**written, **counts, "failed": self.failed, **children}


def children_of(written: Mapping[str, Any]) -> ChildCounts:
    """Return the counts of children in a run of a status."""
    return ChildCounts(*(written.get(key) or 0 for key in _CHILDREN))


def children_json(counts: ChildCounts) -> dict[str, Any]:
    """Return counts of children as a run of a status has them; zeros are left out."""
    values = (counts.created, counts.changed, counts.deleted)
    return {key: value for key, value in zip(_CHILDREN, values, strict=True) if value}


def with_children(
    history: Iterable[Mapping[str, Any]], counts: Mapping[str, ChildCounts]
) -> list[Mapping[str, Any]]:
    """Return the history with more children counted in the newest run of each revision."""
    found: list[Mapping[str, Any]] = []
    left = dict(counts)
    for entry in history:
        more = left.pop(entry.get("revision", ""), None)
        if more is not None:
            entry = {**entry, **children_json(children_of(entry) + more)}
        found.append(entry)
    return found


@dataclass(slots=True)
class Report:
    """What is reported of a source."""

    generation: int
    phase: Phase
    handled: str = ""  # the request that was answered
    attempted: str = ""  # revision
    applied: str = ""
    fetched: str = ""
    fetched_at: str = ""
    commit: Mapping[str, Any] = field(default_factory=dict)
    pin: Mapping[str, Any] = field(default_factory=dict)
    pins: list[Mapping[str, Any]] = field(default_factory=list)  # of objects
    plan: Mapping[str, Any] = field(default_factory=dict)  # that was requested
    webhook_path: str = ""
    shards: int = 0
    conditions: dict[str, Condition] = field(default_factory=dict)
    history: list[Mapping[str, Any]] = field(default_factory=list)
    result: SyncResult | None = None  # None: what was reported of objects before still holds

    def set_condition(self, type_: str, status: str, reason: str, message: str = "") -> None:
        """Set a condition."""
        self.conditions[type_] = Condition(type_, status, reason, shortened(message))

    def written(self, former: Mapping[str, Any], now: datetime) -> dict[str, Any]:
        """Return the status; facts that are not reported again are taken from the former one."""
        result = self.result
        artifact = former.get("artifact")
        if self.fetched and (artifact or {}).get("revision") != self.fetched:
            artifact = {"revision": self.fetched, "lastUpdateTime": self.fetched_at}
        objects: dict[str, Any] = {}
        if result is None:
            names = ("inventory", "failures", "failuresOmitted", "warnings")
            objects = {name: former.get(name) for name in names}
        else:
            listed = (*result.failures, *result.rejections)
            objects = {
                "inventory": {
                    "objects": result.objects,
                    "definitions": result.definitions,
                    "instances": result.instances,
                    "ready": result.ready,
                    "failed": len(result.failures),
                    "shards": self.shards,
                },
                "failures": _listed(listed),
                "failuresOmitted": max(len(listed) - MOST_LISTED, 0) or None,
                "warnings": _listed(result.warnings),
            }
        known = {each.type: each for each in parse_conditions({"status": dict(former)})}
        conditions: list[KubeObject] = []
        for each in self.conditions.values():
            before = known.get(each.type)
            since = before.changed if before is not None and before.status == each.status else now
            dated = replace(each, changed=since or now, observed_generation=self.generation)
            conditions.append(dated.to_json())
        status: dict[str, Any] = {
            "observedGeneration": self.generation,
            "lastHandledReconcileAt": self.handled or former.get("lastHandledReconcileAt"),
            "phase": self.phase.value,
            "lastAppliedRevision": self.applied or former.get("lastAppliedRevision"),
            "lastAttemptedRevision": self.attempted or former.get("lastAttemptedRevision"),
            "artifact": artifact,
            "commit": dict(self.commit) or former.get("commit"),
            "pin": dict(self.pin),
            "pins": [dict(each) for each in self.pins],
            "plan": dict(self.plan),
            "webhookPath": self.webhook_path,
            **objects,
            "history": [dict(each) for each in self.history[:MOST_HISTORY]],
            "conditions": conditions,
        }
        return {key: value for key, value in status.items() if value not in (None, "", {}, [])}


def _listed(failures: Iterable[Fault]) -> list[dict[str, object]]:
    return [
        replace(each, message=shortened(each.message)).to_json()
        for each in list(failures)[:MOST_LISTED]
    ]


def shortened(text: str) -> str:
    """Cut a text to what a status should hold."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def with_run(history: Iterable[Mapping[str, Any]], run: Run) -> list[Mapping[str, Any]]:
    """Return the history with a run on top, in place of its former version."""
    rest = [
        each
        for each in history
        if (each.get("revision"), each.get("started")) != (run.revision, run.started)
    ]
    return kept_runs([run.to_json(), *rest])


def kept_runs(history: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the newest runs, and with them the last healthy ones, to which a source can return."""
    healthy = [at for at, run in enumerate(history) if run.get("result") in HEALTHY_RESULTS]
    kept = set(healthy[:_KEPT_HEALTHY])
    for at in range(len(history)):
        if len(kept) >= MOST_HISTORY:
            break
        kept.add(at)
    return [history[at] for at in sorted(kept)]


def ready_condition(result: SyncResult, revision: str) -> tuple[str, str, str]:
    """Return status, reason and message of Ready for a revision that was synced."""
    if result.failures:
        reason = "ApplyFailed" if result.is_retryable else "InvalidManifests"
        return FALSE, reason, describe_failures(result.failures)
    if result.braked or result.held:
        return FALSE, "PruneBlocked", result.braked or result.held
    if result.degraded:
        return FALSE, "Degraded", few(result.degraded)
    if result.waiting or result.pending:
        return UNKNOWN, "Progressing", waiting_for(result)
    return TRUE, "Succeeded", f"applied {revision}"


def waiting_for(result: SyncResult) -> str:
    """Return what is not finished yet; empty if nothing is."""
    parts = [few(result.waiting)] if result.waiting else []
    if result.pending:
        parts.append(f"{result.pending} objects are being deleted")
    return "waiting for " + "; ".join(parts) if parts else ""


def describe_failures(failures: Iterable[Fault]) -> str:
    """Return one text for faults, each with its place; only the first few are named."""
    lines: list[str] = []
    for failure in failures:
        at = failure.origin
        place = f"{at.file}:{at.line}:{at.column}: " if at is not None else ""
        subject = f"{failure.subject}: " if failure.subject else ""
        lines.append(f"{place}{subject}{failure.message}")
    return few(lines)


def few(texts: Sequence[str], most: int = 3) -> str:
    """Return the first texts, and how many more there are."""
    shown = "; ".join(texts[:most])
    return f"{shown}; and {len(texts) - most} more" if len(texts) > most else shown
