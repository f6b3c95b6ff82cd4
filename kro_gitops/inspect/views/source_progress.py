"""
Waiting for a source: each state that is seen in, lines to print and at the end an outcome out.

The events of a watch are handed in one by one; when time is up, whoever counted it says so.
"""

from collections.abc import Iterator
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
    """What must have come about before waiting ends."""

    generation: int = 0  # the spec that must have been read
    request: str = ""  # the request that must have been answered
    commit: str = ""  # the commit that must run
    suspended: bool = False  # it must be at rest, instead of ready


@dataclass(frozen=True, slots=True)
class Seen:
    """What was said so far, so that it is not said again."""

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
    """What follows from one state: lines for a log, one line for a terminal, perhaps the end."""

    seen: Seen
    lines: tuple[str, ...]
    live: str
    outcome: Outcome | None = None


def step(seen: Seen, goal: Goal, source: KubeObject | None) -> Step:
    """Take one state of a source into account; `None` means that it is gone."""
    if source is None:
        return Step(seen, (), "", Outcome(is_good=False, headline="the source was deleted"))
    phase = f"{text_at(source, 'status', 'phase')} {_revision(source)}".strip()
    conditions = frozenset(
        (each.type, each.status, each.reason or "")
        for each in parse_conditions(source)
        if each.type != RECONCILING  # the phase says as much
    )
    lines = [live_text(source)] if phase and phase != seen.phase else []
    if seen.conditions is not None:
        lines += _changes(source, seen.conditions, conditions)
    now = Seen(phase, conditions)
    return Step(now, tuple(lines), live_text(source), _outcome(goal, source))


def live_text(source: KubeObject) -> str:
    """Say in a few words what is being done: `Applying 12/40 · main@1a2b3c4`."""
    phase = text_at(source, "status", "phase") or "waiting to be picked up"
    number = counts(source) if phase in _COUNTED else ""
    return _SEPARATOR.join(filter(None, (f"{phase} {number}".rstrip(), _revision(source))))


def _revision(source: KubeObject) -> str:
    return short_revision(text_at(source, "status", "lastAttemptedRevision"))


def _changes(
    source: KubeObject,
    before: frozenset[tuple[str, str, str]],
    after: frozenset[tuple[str, str, str]],
) -> Iterator[str]:
    for type_, status, reason in sorted(after - before):
        why = condition_text(find_condition(source, type_))
        said = ": ".join(filter(None, (reason, first_line(why) if why != reason else "")))
        yield f"{type_}={status}" + (f" ({said})" if said else "")
    for type_ in sorted({each[0] for each in before} - {each[0] for each in after}):
        yield f"{type_} is over"


def _outcome(goal: Goal, source: KubeObject) -> Outcome | None:
    if is_deleting(source):
        return failed(source, "is being deleted")
    if goal.suspended:
        return _rest(goal, source)
    if is_suspended(source):
        return failed(source, f"is {suspension(source)}")
    if not _is_settled(goal, source):
        return None
    if is_true(source, READY):
        return ready(source)
    return failed(source, f"is not ready: {_why(source)}")


def _rest(goal: Goal, source: KubeObject) -> Outcome | None:
    if not is_suspended(source):
        return failed(source, "was resumed by another client")
    is_read = whole(mapping(source, "status"), "observedGeneration") >= goal.generation
    phase = text_at(source, "status", "phase")
    if is_read and (is_true(source, SUSPENDED) or phase == SUSPENDED):
        return Outcome(is_good=True, headline=f"{_name(source)} is {suspension(source)}")
    return None


def _is_settled(goal: Goal, source: KubeObject) -> bool:
    """Say whether what is reported is the answer to what was asked."""
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
    """Say that all is well."""
    revision = short_revision(text_at(source, "status", "lastAppliedRevision"))
    at, number = f" at {revision}" if revision else "", counts(source)
    objects = f": {number} objects ready" if number else ""
    return Outcome(is_good=True, headline=f"{_name(source)} is ready{at}{objects}")


def failed(source: KubeObject, what: str) -> Outcome:
    """Say what is wrong, where, and what to do."""
    lines = tuple(failure_lines(source))
    hint = advice(source, has_failures=bool(lines))
    return Outcome(is_good=False, headline=f"{_name(source)} {what}", failures=lines, hint=hint)


def timed_out(source: KubeObject, waited: str) -> Outcome:
    """Say how far it came in the time that there was."""
    return failed(source, f"is not done after {waited}: {live_text(source)}{_still(source)}")


def _still(source: KubeObject) -> str:
    said = _why(source) if not is_true(source, READY) else ""
    return f"{_SEPARATOR}{said}" if said else ""


def _why(source: KubeObject) -> str:
    found = find_condition(source, READY)
    return first_line(condition_text(found)) or text_at(source, "status", "phase").lower()


def _name(source: KubeObject) -> str:
    return ObjectRef.of(source).place
