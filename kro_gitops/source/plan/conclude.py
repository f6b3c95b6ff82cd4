"""
From the result of a sync to what is reported, and when the source is reconciled again.

Pure: the caller hands in both clocks and gets a new history back. The monotonic clock measures how
long something takes; the wall clock is written to the status.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from kro_gitops.engine.child_counts import ChildCounts
from kro_gitops.errors import KroGitopsError, UserError
from kro_gitops.source.api.types import Pin, SourceSpec
from kro_gitops.source.plan import status
from kro_gitops.source.plan.result import Phase, SyncResult
from kro_gitops.source.plan.status import Report, Run
from kube_objects.conditions import FALSE, TRUE, UNKNOWN, Condition
from kube_objects.times import format_time, parse_time

_FIRST_DELAY = 0.5  # seconds until an unfinished source is reconciled again
_MAX_DELAY = 5.0
_MIN_OVERDUE = 15.0  # seconds
_MAX_OVERDUE = 120.0
_SHORT_SYNC = 1.0  # seconds: one that took longer and failed is retried after a rest,
_REST = 10.0  # which is so many times its duration
_MAX_REST = 3600.0  # seconds
_STALLED_AFTER = 5  # attempts with the same outcome
_MAX_SUBJECT = 200  # characters
_MAX_NAMED = 3
_MAX_FOREIGN = 5
_RESULTS = {Phase.HEALTHY: "Healthy", Phase.DEGRADED: "Degraded", Phase.FAILED: "Failed"}


class UnverifiedError(UserError):
    """A commit or tag without a valid signature of a trusted key."""

    def __init__(self, error: KroGitopsError) -> None:
        super().__init__(error.code, error.message, hint=error.hint)


@dataclass(frozen=True, slots=True)
class Now:
    """The time: wall clock for people, monotonic seconds for durations."""

    at: datetime
    monotonic: float


@dataclass(frozen=True, slots=True)
class History:
    """What earlier reconciles of a source came to."""

    run: Run | None = None
    attempts: int = 0  # at the same content with the same outcome
    outcome: str = ""  # a hash of the failures
    fetch_failures: int = 0  # in a row
    waiting_since: float | None = None  # objects are not ready
    unfinished_since: float | None = None  # the same, or deletions are under way


@dataclass(frozen=True, slots=True)
class Attempt:
    """What this reconcile was asked for, and what git answered."""

    requested: str = ""  # the value of the annotation that requested it
    pin: Pin | None = None
    error: KroGitopsError | None = None  # of the last fetch
    retry: float | None = None  # seconds until that fetch is repeated; None: it is running
    overdue: datetime | None = None  # since when git should have been read, if that is long ago
    seconds: float = 0.0  # that the last sync took
    pause: float | None = None  # seconds until failures are retried; None: they were, just now
    children: Mapping[str, ChildCounts] = field(default_factory=dict)  # by revision


@dataclass(frozen=True, slots=True)
class CommitFacts:
    """What is reported of the commit that was fetched."""

    revision: str
    author: str = ""
    subject: str = ""
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """
    What follows from a reconcile.

    `result` is the result without the counts that the history has taken over. `requeue` is in
    seconds; None: the next change or poll.
    """

    report: Report
    history: History
    result: SyncResult = field(default_factory=SyncResult)
    requeue: float | None = None
    retry_at: float = 0.0  # when failures are retried, by the monotonic clock


def begin_run(
    history: History, commit: CommitFacts, last: Mapping[str, Any], now: datetime
) -> History:
    """Return the history with a run of this revision; `last` is the newest run in the status."""
    if history.run is not None and history.run.revision == commit.revision:
        return history
    recorded = Run.parse(last)
    if history.run is None and recorded.revision == commit.revision:
        return replace(history, run=recorded)  # the controller was restarted
    subject = status.shortened(commit.subject)[:_MAX_SUBJECT]
    return replace(history, run=Run(commit.revision, format_time(now), commit.author, subject))


def conclude_without_revision(
    draft: Report, history: History, spec: SourceSpec, attempt: Attempt
) -> Conclusion:
    """Conclude a reconcile that has never read a revision."""
    report = replace(draft, handled=attempt.requested, conditions=dict(draft.conditions))
    if attempt.error is None:
        text = f"reading {spec.url}"
        report.phase = Phase.WAITING
        report.set_condition(status.READY, UNKNOWN, "Fetching", text)
        report.set_condition(status.RECONCILING, TRUE, "Fetching", text)
        return Conclusion(report, history)  # the end of the fetch is awaited
    _report_fetch_error(report, attempt.error)
    return Conclusion(report, history, requeue=attempt.retry)


def conclude(
    result: SyncResult,
    history: History,
    now: Now,
    draft: Report,
    commit: CommitFacts,
    spec: SourceSpec,
    attempt: Attempt,
) -> Conclusion:
    """Conclude a reconcile; `draft` is a report with the facts that need no decision."""
    # Since when objects are waited for, and deletions under way.
    clock, is_waiting = now.monotonic, bool(result.waiting) and not result.failures
    unfinished = clock if history.unfinished_since is None else history.unfinished_since
    waiting = clock if history.waiting_since is None else history.waiting_since
    history = replace(
        history,
        unfinished_since=unfinished if result.waiting or result.pending else None,
        waiting_since=waiting if is_waiting else None,
    )
    phase, is_late = _phase(history, result, spec, now.monotonic)
    report = replace(
        draft, phase=phase, handled=attempt.requested, conditions=dict(draft.conditions)
    )
    _report_result(report, result, commit, spec, attempt.pin)
    if is_late:
        text = f"not ready after {spec.health_timeout:g} s: {status.waiting_for(result)}"
        report.set_condition(status.READY, FALSE, "HealthTimeout", text)
        report.conditions.pop(status.RECONCILING, None)
    history, delay = _next_attempt(history, result, spec, now.monotonic, attempt, is_late=is_late)
    retry_at = now.monotonic + delay if result.is_retryable and delay is not None else 0.0
    if history.attempts >= _STALLED_AFTER or (result.failures and delay is None):
        report.set_condition(
            status.STALLED, TRUE, "Stalled", status.describe_failures(result.failures)
        )
    if attempt.error is not None:
        _report_fetch_error(report, attempt.error)
        if attempt.retry is not None:
            delay = attempt.retry if delay is None else min(attempt.retry, delay)
    elif attempt.overdue is not None:
        due = format_time(attempt.overdue)
        text = f"git should have been read at {due}: {commit.revision} may be outdated"
        report.set_condition(status.STALE, TRUE, "FetchOverdue", text)
        if report.conditions[status.READY].status == TRUE:
            report.set_condition(status.READY, UNKNOWN, "FetchOverdue", text)
        report.set_condition(status.RECONCILING, TRUE, "FetchOverdue", text)
    run = _finished_run(history.run, phase, result, spec, now.at)
    counted = _with_children(run or history.run, result, attempt.children, report.history)
    if run is not None or counted != history.run:
        report.history = status.with_run(report.history, counted) if counted else report.history
        history = replace(history, run=counted)
    if run is not None:
        result = replace(result, created=0, changed=0, pruned=0)
    current = counted.revision if counted is not None else ""
    earlier = {key: each for key, each in attempt.children.items() if key != current}
    report.history = status.with_children(report.history, earlier)
    pins = (*spec.pins, *((attempt.pin,) if attempt.pin is not None else ()))
    for expires in filter(None, (parse_time(each.expires) for each in pins if each.expires)):
        left = max((expires - now.at).total_seconds(), 0.0) + 0.1
        delay = left if delay is None else min(delay, left)
    return Conclusion(report, history, result, delay, retry_at)


def report_error(report: Report, type_: str, error: KroGitopsError) -> None:
    """Set the conditions of an error that keeps a source from being reconciled."""
    text = error.full_text
    # `git-auth-failed` is the reason `GitAuthFailed`.
    words = (word[:1].upper() + word[1:] for word in error.code.split("-"))
    reason = "".join(words) or "Failed"
    report.set_condition(status.READY, FALSE, reason, text)
    if type_ != status.STALLED:
        report.set_condition(type_, TRUE, reason, text)
    if isinstance(error, UserError):
        report.set_condition(status.STALLED, TRUE, reason, text)


def report_suspended(report: Report, former: Condition | None) -> None:
    """Set the conditions of a suspended source; what `Ready` was before still holds."""
    text = "suspended: neither commits nor drift are looked at"
    if former is None:
        report.set_condition(status.READY, UNKNOWN, "Suspended", text)
    else:
        reason = former.reason or "Suspended"
        report.set_condition(status.READY, former.status, reason, former.message or "")
    report.set_condition(status.SUSPENDED, TRUE, "Suspended", text)


def _phase(
    history: History, result: SyncResult, spec: SourceSpec, now: float
) -> tuple[Phase, bool]:
    """Return the phase, and whether the health timeout has passed."""
    if result.failures:
        return Phase.FAILED, False
    if result.degraded or result.braked or result.held:
        return Phase.DEGRADED, False
    since = history.waiting_since
    if spec.wait and since is not None and now - since > spec.health_timeout:
        return Phase.DEGRADED, True
    is_waiting = (result.waiting and spec.wait) or result.pending
    return (Phase.WAITING if is_waiting else Phase.HEALTHY), False


def _next_attempt(
    history: History,
    result: SyncResult,
    spec: SourceSpec,
    now: float,
    attempt: Attempt,
    *,
    is_late: bool,
) -> tuple[History, float | None]:
    """Return the history with this attempt, and the seconds until the next; None: a change."""
    if result.is_retryable and attempt.pause is not None:
        return history, attempt.pause
    found = [(each.code, each.message, each.subject) for each in result.failures]
    outcome = hashlib.sha256(repr(found).encode()).hexdigest() if found else ""
    is_same = outcome == history.outcome
    if result.is_retryable:
        attempts = history.attempts + 1 if is_same else 1
        delay = min(2.0 ** min(attempts - 1, 20), max(spec.interval, _FIRST_DELAY))
        # With many failing objects an attempt takes minutes: then the source mostly rests.
        rest = (attempt.seconds - _SHORT_SYNC) * _REST
        delay = max(delay, min(rest, _MAX_REST))
        return replace(history, outcome=outcome, attempts=attempts), delay
    history = replace(history, outcome=outcome, attempts=0)
    if not result.waiting and not result.pending:
        return history, None
    if is_late:
        return history, _MAX_DELAY
    # Often at first, and less often what takes long: it may never become ready.
    since = history.unfinished_since
    waited = now - since if since is not None else 0.0
    return history, min(max(waited / 10, _FIRST_DELAY), _MAX_DELAY)


def fetch_delay(failures: int, spec: SourceSpec) -> float:
    """Return the seconds until a fetch is repeated that failed so many times in a row."""
    return min(2.0 ** min(failures - 1, 20), max(spec.interval, _FIRST_DELAY))


def overdue_after(spec: SourceSpec) -> float:
    """Return the seconds that a poll may take before the revision is reported as stale."""
    return min(max(spec.interval, _MIN_OVERDUE), _MAX_OVERDUE)


def _with_children(
    run: Run | None,
    result: SyncResult,
    counts: Mapping[str, ChildCounts],
    history: Iterable[Mapping[str, Any]],
) -> Run | None:
    """Return the run with its children, and with those whose revision the history has not."""
    if run is None:
        return None
    others = {each.get("revision") for each in history} - {run.revision}
    total = run.children
    for revision, more in counts.items():
        if revision not in others:
            total += more
    return replace(run, children=total, held=result.held_children)


def _finished_run(
    run: Run | None, phase: Phase, result: SyncResult, spec: SourceSpec, now: datetime
) -> Run | None:
    """Return the run with this sync counted; None if it was finished before."""
    is_changed = phase is Phase.HEALTHY and run is not None and run.result in ("Failed", "Degraded")
    # Instances follow a definition later: only then it is known what they would lose.
    is_changed |= bool(result.held) and run is not None and run.result != "Degraded"
    if run is None or (run.finished and not is_changed):
        return None
    run = replace(
        run,
        created=run.created + result.created,
        changed=run.changed + result.changed,
        pruned=run.pruned + result.pruned,
        failed=len(result.failures),
    )
    if phase not in _RESULTS:
        return run
    ended = "Applied" if phase is Phase.HEALTHY and not spec.wait else _RESULTS[phase]
    return replace(run, result=ended, finished=format_time(now))


def _report_result(
    report: Report, result: SyncResult, commit: CommitFacts, spec: SourceSpec, pin: Pin | None
) -> None:
    revision = commit.revision
    ready, reason, message = status.ready_condition(result, revision)
    if not spec.wait and ready == UNKNOWN and not result.pending:
        ready, reason, message = TRUE, "Applied", f"applied {revision}"
    report.set_condition(status.READY, ready, reason, message)
    if result.failures:
        report.set_condition(status.APPLIED, FALSE, reason, message)
    else:
        report.set_condition(status.APPLIED, TRUE, "Applied", f"applied {revision}")
    if result.degraded:
        text = "; ".join(result.degraded[:_MAX_NAMED])
        report.set_condition(status.HEALTHY, FALSE, "Degraded", text)
    elif result.waiting or result.pending:
        text = status.waiting_for(result)
        report.set_condition(status.HEALTHY, UNKNOWN, "Progressing", text)
        report.set_condition(status.RECONCILING, TRUE, "Progressing", text)
    elif not result.failures:
        report.set_condition(status.HEALTHY, TRUE, "Healthy", f"{result.ready} objects are ready")
    for type_, texts in ((status.FOREIGN, result.foreign), (status.CONFLICT, result.conflicts)):
        if texts:
            report.set_condition(type_, TRUE, type_, "; ".join(texts[:_MAX_FOREIGN]))
    if result.braked:
        report.set_condition(status.BRAKED, TRUE, "Brake", result.braked)
    elif result.held:
        report.set_condition(status.BRAKED, TRUE, "ChildrenHeld", result.held)
    if result.is_applied:
        report.applied = revision
    if spec.verify is not None:
        report.set_condition(status.VERIFIED, TRUE, "Verified", commit.signature)
    if pin is not None:
        written = {"commit": pin.commit, "reason": pin.reason, "expires": pin.expires, "by": pin.by}
        report.pin = {key: value for key, value in written.items() if value}
        until = f" until {pin.expires}" if pin.expires else ""
        why = f": {pin.reason}" if pin.reason else ""
        text = f"held at {pin.commit[:12]}{until}{why}"
        report.set_condition(status.PINNED, TRUE, "Pinned", text)
    report.pins = [{k: v for k, v in asdict(each).items() if v} for each in spec.pins]
    if spec.pins:
        held = [] if pin is None else [report.conditions[status.PINNED].message or ""]
        held += [f"{each.subject} is held at {each.commit[:12]}" for each in spec.pins]
        text = status.few(held)
        report.set_condition(status.PINNED, TRUE, "Pinned" if pin else "ObjectsPinned", text)


def _report_fetch_error(report: Report, error: KroGitopsError) -> None:
    """Report that git could not be read, whatever was read before."""
    if isinstance(error, UnverifiedError):
        report.set_condition(status.VERIFIED, FALSE, "Unverified", error.full_text)
    report_error(report, status.FETCH_FAILED, error)
