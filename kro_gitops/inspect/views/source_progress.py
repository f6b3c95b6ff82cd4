"""
Waiting for a source: from each state that is seen, lines to print and at the end an outcome.

The caller passes the events of a watch one by one, and calls `timed_out` when the time is over.
"""

from dataclasses import dataclass

from kro_gitops.inspect.views.instances import first_line, is_deleting, text_at
from kro_gitops.inspect.views.source_advice import advice
from kro_gitops.inspect.views.sources import (
    RECONCILING,
    SUSPENDED,
    commit_of,
    counts,
    failure_lines,
    is_suspended,
    is_true,
    short_revision,
    suspension,
    whole,
)
from kro_gitops.tracking.workload_health import condition_text, find_condition, mapping
from kube_objects.conditions import FALSE, READY, TRUE, parse_conditions
from kube_objects.refs import KubeObject, ObjectRef

_COUNTED = ("Applying", "Waiting")  # phases in which numbers grow
_RETRYING = "ProgressingWithRetry"  # Flux's word: it failed, and will be tried again
_SEPARATOR = " · "


@dataclass(frozen=True, slots=True)
class Goal:
    """The state for which the command waits."""

    generation: int = 0  # the spec that must have been read
    request: str = ""  # the request that must have been answered
    commit: str = ""  # the commit that must run
    suspended: bool = False  # it must be suspended, instead of ready


@dataclass(frozen=True, slots=True)
class Seen:
    """What was printed so far, so that it is not printed again."""

    phase: str = ""
    conditions: frozenset[tuple[str, str, str]] | None = None  # None: nothing was seen


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it ended: a headline, failures by file and line, a hint."""

    is_good: bool
    headline: str
    failures: tuple[str, ...] = ()
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """The result of one state: lines for a log, one line for a terminal, perhaps the outcome."""

    seen: Seen
    lines: tuple[str, ...]
    live: str
    outcome: Outcome | None = None


def step(seen: Seen, goal: Goal, source: KubeObject | None) -> Step:
    """Compare one state of a source with the last; `None` means that it was deleted."""
    if source is None:
        return Step(seen, (), "", Outcome(is_good=False, headline="the source was deleted"))
    phase = f"{text_at(source, 'status', 'phase')} {_revision(source)}".strip()
    conditions = frozenset(
        (each.type, each.status, each.reason or "")
        for each in parse_conditions(source)
        if each.type != RECONCILING  # the phase has the same information
    )
    lines = [live_text(source)] if phase and phase != seen.phase else []
    if seen.conditions is not None:
        for type_, status, reason in sorted(conditions - seen.conditions):
            why = condition_text(find_condition(source, type_))
            text = ": ".join(filter(None, (reason, first_line(why) if why != reason else "")))
            lines.append(f"{type_}={status}" + (f" ({text})" if text else ""))
        gone = {each[0] for each in seen.conditions} - {each[0] for each in conditions}
        lines += [f"{type_} is over" for type_ in sorted(gone)]
    now = Seen(phase, conditions)
    return Step(now, tuple(lines), live_text(source), _outcome(goal, source))


def live_text(source: KubeObject) -> str:
    """Format the present activity: `Applying 12/40 · main@1a2b3c4`."""
    phase = text_at(source, "status", "phase") or "waiting to be picked up"
    number = counts(source) if phase in _COUNTED else ""
    return _SEPARATOR.join(filter(None, (f"{phase} {number}".rstrip(), _revision(source))))


def _revision(source: KubeObject) -> str:
    return short_revision(text_at(source, "status", "lastAttemptedRevision"))


def _outcome(goal: Goal, source: KubeObject) -> Outcome | None:
    if is_deleting(source):
        return failed(source, "is being deleted")
    if goal.suspended:
        if not is_suspended(source):
            return failed(source, "was resumed by another client")
        is_read = whole(mapping(source, "status"), "observedGeneration") >= goal.generation
        phase = text_at(source, "status", "phase")
        if is_read and (is_true(source, SUSPENDED) or phase == SUSPENDED):
            return Outcome(is_good=True, headline=f"{_name(source)} is {suspension(source)}")
        return None
    if is_suspended(source):
        return failed(source, f"is {suspension(source)}")
    if not _is_settled(goal, source):
        return None
    if is_true(source, READY):
        return ready(source)
    return failed(source, f"is not ready: {_why(source)}")


def _is_settled(goal: Goal, source: KubeObject) -> bool:
    """Return True if the status answers the request."""
    status, found = mapping(source, "status"), find_condition(source, READY)
    if goal.request and status.get("lastHandledReconcileAt") != goal.request:
        return False
    if whole(status, "observedGeneration") < goal.generation:
        return False
    if found is None or found.status not in (TRUE, FALSE):
        return False
    if 0 < found.observed_generation < goal.generation:
        return False
    under_way = find_condition(source, RECONCILING)
    if under_way is not None and under_way.status == TRUE and under_way.reason != _RETRYING:
        return False
    running = commit_of(text_at(status, "lastAppliedRevision"))
    return not (goal.commit and found.status == TRUE and running != goal.commit)


def ready(source: KubeObject) -> Outcome:
    """Return the outcome of a source that is ready."""
    revision = short_revision(text_at(source, "status", "lastAppliedRevision"))
    at, number = f" at {revision}" if revision else "", counts(source)
    objects = f": {number} objects ready" if number else ""
    return Outcome(is_good=True, headline=f"{_name(source)} is ready{at}{objects}")


def failed(source: KubeObject, what: str) -> Outcome:
    """Return the outcome of a failure: the failures with their places, and advice."""
    lines = tuple(failure_lines(source))
    hint = advice(source, has_failures=bool(lines))
    return Outcome(is_good=False, headline=f"{_name(source)} {what}", failures=lines, hint=hint)


def timed_out(source: KubeObject, waited: str) -> Outcome:
    """Return the outcome when the time is over: how far it came."""
    why = _why(source) if not is_true(source, READY) else ""
    still = f"{_SEPARATOR}{why}" if why else ""
    return failed(source, f"is not done after {waited}: {live_text(source)}{still}")


def _why(source: KubeObject) -> str:
    found = find_condition(source, READY)
    return first_line(condition_text(found)) or text_at(source, "status", "phase").lower()


def _name(source: KubeObject) -> str:
    return ObjectRef.of(source).place
