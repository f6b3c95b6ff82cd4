"""
Why a source is not healthy, and what to do next.

The order is that of an on-call engineer: what is wrong and where, the next commands, then the state
and the last commit, and the worst objects. Computed from objects that were fetched.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from kro_gitops.inspect.explain.causes import Cause, correction, is_pinned, standstill
from kro_gitops.inspect.explain.explanation import (
    STEPS,
    Explanation,
    Section,
    cause_lines,
    event_lines,
)
from kro_gitops.inspect.views.instances import Branch, age, created, first_line, text_at
from kro_gitops.inspect.views.source_advice import advice
from kro_gitops.inspect.views.sources import (
    NOTABLE,
    PINNED,
    RECONCILING,
    counts,
    failure_lines,
    failures,
    is_true,
    short_revision,
    source_verdict,
    without_secrets,
)
from kro_gitops.tracking.health import Health
from kro_gitops.tracking.workload_health import condition_text, find_condition, mapping
from kube_objects.conditions import READY, parse_conditions
from kube_objects.refs import KubeObject, ObjectRef
from kube_objects.times import parse_time

WORST = 5  # objects that are named
_FILES = 2
_ORDER = (Health.DEGRADED, Health.PROGRESSING, Health.SUSPENDED, Health.HEALTHY)
# Conditions that `causes.standstill` explains.
_EXPLAINED = ("FetchFailed", "Stale", "DependencyNotReady")


@dataclass(frozen=True, slots=True)
class SourceCase:
    """All objects that were fetched for a source."""

    source: KubeObject
    now: datetime
    branches: tuple[Branch, ...] = ()  # the trees of the objects it applied
    absent: tuple[str, ...] = ()  # names of objects it applied that were not found
    instances: frozenset[str] = frozenset()  # uids of instances among them
    events: Sequence[KubeObject] = ()
    causes: tuple[Cause, ...] = ()  # outside the source: no controller runs
    resources: Mapping[str, str] = field(default_factory=dict)  # `webapps.kro.run`, by kind


def explain_source(case: SourceCase) -> Explanation:
    """Return the state of a source, what failed and where, and the next steps."""
    source, now = case.source, case.now
    verdict, place = source_verdict(source), ObjectRef.of(source).place
    worst = worst_first(case.branches)
    causes = [*standstill(source, "it"), *case.causes]
    listed = failure_lines(source)
    notable = [line for line in _notable(source) if line not in listed]
    is_healthy = verdict.health is Health.HEALTHY
    if is_healthy and not (worst or causes or listed or notable or case.absent):
        return Explanation(True, _healthy_text(case))
    headline = f"GitSource {place} is {verdict.health}"
    cause: list[str] = [*listed, *notable]
    if causes:
        # It says what holds everything back, whatever was reported before.
        headline = f"GitSource {place}: {causes[0].text}"
        causes[0] = replace(causes[0], text="")
        cause = [*(line for each in causes for line in cause_lines(each)), *cause]
    elif listed:
        count = len(failures(source))
        headline += f": {count} {'failure' if count == 1 else 'failures'}"
    elif not is_healthy:
        headline += f": {first_line(verdict.message)}" if verdict.message else ""
    elif notable:
        headline = f"GitSource {place} is ready, but held back: {notable[0]}"
    elif worst:
        headline = (
            f"GitSource {place} is ready, but {_named(worst[0])} is {worst[0].verdict.health}"
        )
    elif case.absent:
        headline = f"GitSource {place} is ready, but {case.absent[0]} does not exist"
    if not cause:
        cause = [_trouble(branch) for branch in worst[:1]] or [first_line(verdict.message)]
    sections = (
        Section("State", tuple(_state(source, now))),
        Section("Last commit", tuple(_commit(source, now))),
        Section("Worst objects", tuple(_worst(worst, case.absent))),
        Section("Warnings", tuple(map(str, failures(source, "warnings")))),
        Section("Recent events", tuple(event_lines(case.events, now))),
    )
    filled = tuple(section for section in sections if section.lines)
    steps = _steps(case, causes, worst)
    return Explanation(False, headline, filled, steps, tuple(dict.fromkeys(cause)))


def worst_first(branches: Iterable[Branch]) -> list[Branch]:
    """Return the innermost objects that are not healthy, degraded ones first."""

    def innermost(branch: Branch) -> Iterator[Branch]:
        within = [found for inner in branch.branches for found in innermost(inner)]
        if within:
            yield from within
        elif not branch.is_healthy:
            yield branch

    found = [each for branch in branches for each in innermost(branch)]
    return sorted(found, key=lambda branch: _ORDER.index(branch.verdict.health))


def _healthy_text(case: SourceCase) -> str:
    source = case.source
    commit = mapping(source, "status", "commit")
    revision = short_revision(text_at(source, "status", "lastAppliedRevision"))
    said, author = text_at(commit, "message"), text_at(commit, "author")
    by = f", by {author}" if author else ""
    about = f" ({first_line(said)}{by})" if said else ""
    objects = counts(source)
    have = f": {objects} objects are ready" if objects else ""
    at = f" at {revision}{about}" if revision else ""
    times = [each.changed for each in parse_conditions(source) if each.changed]
    since = f", and nothing has changed for {age(max(times), case.now)}" if times else ""
    place = ObjectRef.of(source).place
    return f"GitSource {place} is healthy{have}{at}{since}. There is nothing to do."


def _notable(source: KubeObject) -> Iterator[str]:
    """Yield what its conditions say, besides the failures and what `standstill` explains."""
    ready = find_condition(source, READY)
    verdict = source_verdict(source)
    if ready is not None and verdict.health is not Health.HEALTHY and not failures(source):
        yield f"Ready is {ready.status} ({ready.reason}): {first_line(condition_text(ready))}"
    explained = (*_EXPLAINED, PINNED) if is_pinned(source) else _EXPLAINED
    for type_ in NOTABLE:
        if type_ not in explained and is_true(source, type_):
            yield f"{type_}: {first_line(condition_text(find_condition(source, type_)))}"


def _state(source: KubeObject, now: datetime) -> Iterator[str]:
    status = mapping(source, "status")
    ready = find_condition(source, READY)
    if ready is None:
        yield f"no Ready condition; created {age(created(source), now)} ago"
    else:
        since = f" for {age(ready.changed, now)}" if ready.changed else ""
        yield f"Ready is {ready.status} ({ready.reason or 'no reason'}){since}"
    reconciling = find_condition(source, RECONCILING)
    if reconciling is not None and is_true(source, RECONCILING):
        yield f"Reconciling: {first_line(condition_text(reconciling))}"
    applied, tried = (
        short_revision(text_at(status, key))
        for key in ("lastAppliedRevision", "lastAttemptedRevision")
    )
    if tried and tried != applied:
        yield f"runs {applied or 'nothing complete'}, tried {tried}"
    elif applied:
        yield f"runs {applied}"
    if counts(source):
        yield f"{counts(source)} objects are ready"
    yield f"reads {without_secrets(text_at(source, 'spec', 'url'))}"


def _commit(source: KubeObject, now: datetime) -> Iterator[str]:
    commit = mapping(source, "status", "commit")
    number = text_at(commit, "id")
    if not number:
        return
    written = parse_time(commit.get("time"))
    when = f", {age(written, now)} ago" if written else ""
    yield f"{number[:12]} by {text_at(commit, 'author') or 'unknown'}{when}"
    if text_at(commit, "message"):
        yield first_line(text_at(commit, "message"))


def _worst(worst: Sequence[Branch], absent: Sequence[str]) -> Iterator[str]:
    listed = [_trouble(branch) for branch in worst]
    listed += [f"{name}: not found, or not readable" for name in absent]
    yield from listed[:WORST]
    if len(listed) > WORST:
        yield f"and {len(listed) - WORST} more"


def _named(branch: Branch) -> str:
    ref = branch.ref
    return f"{ref.kind.kind}/{ref.name}"


def _trouble(branch: Branch) -> str:
    place = f" in {branch.ref.namespace}" if branch.ref.namespace else ""
    message = first_line(branch.verdict.message)
    return f"{_named(branch)}{place} is {branch.verdict.health}{f': {message}' if message else ''}"


def _steps(case: SourceCase, causes: Sequence[Cause], worst: Sequence[Branch]) -> tuple[str, ...]:
    """Return the next commands: what holds it back, files to correct, objects to look at."""
    source, listed = case.source, failures(case.source)
    steps = [step for cause in causes for step in cause.steps]
    files = list(dict.fromkeys(each.file for each in listed if each.file))[:_FILES]
    steps += map(correction, files)
    known = advice(source, has_failures=bool(listed))
    if known and not (causes or files):
        steps.append(known)
    for branch in case.branches:
        # The outermost instance with trouble: its explanation goes down to the Pod.
        if worst_first([branch]) and text_at(branch.object, "metadata", "uid") in case.instances:
            steps.append(f"see why: kro-gitops explain {_target(branch.object, case)}")
            break
    else:
        steps += [
            f"look at it: kubectl describe {_target(each.object, case)}" for each in worst[:1]
        ]
    ref = ObjectRef.of(source)
    if not causes and case.absent:
        steps.append(f"apply it again: kro-gitops sync {ref.place} --wait")
    steps.append(f"see what happened: kro-gitops timeline source/{ref.name} -n {ref.namespace}")
    return tuple(dict.fromkeys(steps))[:STEPS]


def _target(obj: KubeObject, case: SourceCase) -> str:
    ref = ObjectRef.of(obj)
    kind = case.resources.get(ref.kind.kind, ref.kind.kind.lower())
    return f"{kind}/{ref.name}" + (f" -n {ref.namespace}" if ref.namespace else "")
