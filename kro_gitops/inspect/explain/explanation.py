"""
Why an instance is not healthy, and what to do next.

The cause comes first, then the next steps, then what they follow from, in the order in which an
operator looks: the definition, whether the instance is suspended or deleted, its conditions, the
children that block it and why, recent events. Everything is computed from objects that were
fetched. Only an instance that is healthy with all its children, and is what git says, is called
healthy; it gets one paragraph.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from kro_gitops.inspect.explain.advice import (
    CHILD_STEPS,
    DEFINITION_ADVICE,
    INSTANCE_ADVICE,
    Advice,
    Row,
    advice_for,
)
from kro_gitops.inspect.explain.causes import Cause
from kro_gitops.inspect.views.instances import (
    Branch,
    age,
    created,
    definition_row,
    first_line,
    is_deleting,
    text_at,
    written,
)
from kro_gitops.tracking.health import Health, health
from kro_gitops.tracking.workload_health import (
    condition_text,
    is_failing,
    mapping,
    pod_reasons,
    workload_health,
)
from kube_objects.conditions import FALSE, READY, TRUE, Condition, parse_conditions
from kube_objects.refs import KubeObject, ObjectRef
from kube_objects.times import parse_time

BLOCKERS = 3  # children that are explained
EVENTS = 5  # of one object
STEPS = 5
PODS = 3

# kro names the node it waits for in its message, and nowhere else.
_NODE = re.compile(r'node "([^"]+)"')
_LONG_AGO = datetime.min.replace(tzinfo=UTC)

By = Mapping[str, Sequence[KubeObject]]  # by the uid of the object they belong to


@dataclass(frozen=True, slots=True)
class Case:
    """All objects that were fetched for an instance."""

    tree: Branch
    resource: str  # its kind, as kubectl takes it: `webapps.kro.run`
    definition: KubeObject | None
    now: datetime
    events: By = field(default_factory=dict)
    pods: By = field(default_factory=dict)  # of workloads that block the instance
    causes: tuple[Cause, ...] = ()  # why it is not what git says


@dataclass(frozen=True, slots=True)
class Section:
    """Some lines under a title."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The report on an instance, a definition or a source."""

    is_healthy: bool
    headline: str
    sections: tuple[Section, ...] = ()
    steps: tuple[str, ...] = ()
    cause: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as data."""
        return {
            "healthy": self.is_healthy,
            "summary": self.headline,
            "cause": list(self.cause),
            "next": list(self.steps),
            "details": {section.title: list(section.lines) for section in self.sections},
        }


def blockers(tree: Branch) -> list[Branch]:
    """Return the innermost children that block: unhealthy ones, and those kro waits for."""
    awaited = set(_NODE.findall(" ".join(map(condition_text, _worst_first(tree.object)))))
    found: list[Branch] = []
    for branch in tree.branches:
        within = blockers(branch)
        if within or not branch.is_healthy:
            found += within or [branch]
        elif branch.node.partition("[")[0] in awaited:
            found.append(branch)
    return found[:BLOCKERS]


def explain(case: Case) -> Explanation:
    """Return the health of an instance, the reasons, and the next steps."""
    instance, verdict = case.tree.object, case.tree.verdict
    troubled = blockers(case.tree)
    if case.tree.is_healthy and not troubled and not case.causes:
        return Explanation(True, _healthy_text(case))
    definition = ["no definition defines this kind (any more): the instance is not reconciled"]
    if case.definition is not None:
        definition = [_definition_sentence(case.definition)]
        if health(case.definition).health is not Health.HEALTHY:
            definition += _place(case.definition)
            definition += _conditions(case.definition, DEFINITION_ADVICE, case.now)
    state = []
    if is_deleting(instance):
        since = parse_time(mapping(instance, "metadata").get("deletionTimestamp"))
        left = sum(1 for _ in case.tree.walk()) - 1
        lasting = f"being deleted for {age(since, case.now)}"
        state.append(f"{lasting}, {left} objects left; {verdict.message}")
    elif verdict.health is Health.SUSPENDED:
        state.append(verdict.message)
    elif not mapping(instance, "status"):
        state.append(f"not picked up for {age(created(instance), case.now)}")
    elif case.tree.is_healthy and not troubled:
        state.append(f"{_what_runs(case)}, but it may not be what git says")
    sections = (
        Section("Written in", tuple(_place(instance))),
        Section("Definition", tuple(definition)),
        Section("State", tuple(state)),
        Section("Conditions", tuple(_conditions(instance, INSTANCE_ADVICE, case.now))),
        *(_blocker(branch, case) for branch in troubled),
        Section("Recent events", tuple(_events(instance, case))),
    )
    worst = next(iter(_worst_first(instance)), None)
    advice = advice_for(worst) if worst is not None else None
    causes = list(case.causes)
    if not case.tree.is_healthy:
        meaning = first_line(advice.meaning if advice and advice.meaning else verdict.message)
        headline = f"{case.tree.ref} is {verdict.health}: {meaning}"
    elif causes:
        headline = f"{case.tree.ref}: {causes[0].text}"
        causes[0] = replace(causes[0], text="")
    else:
        ref, found = troubled[0].ref, troubled[0].verdict
        headline = (
            f"{case.tree.ref} is ready, but {ref.kind.kind}/{ref.name} is {found.health}, "
            "and no readyWhen waits for it"
        )
    own = list(_trouble(case, troubled))
    cause_texts = [line for cause in causes for line in cause_lines(cause)]
    filled = tuple(section for section in sections if section.lines)
    cause = (*cause_texts, *own) if case.tree.is_healthy else (*own, *cause_texts)
    return Explanation(False, headline, filled, _steps(case, advice), tuple(dict.fromkeys(cause)))


def cause_lines(cause: Cause) -> Iterator[str]:
    """Yield a cause and, below it, its lines; one whose text is the headline has only lines."""
    if cause.text:
        yield cause.text
    yield from (f"  {line}" if cause.text else line for line in cause.lines)


def _trouble(case: Case, troubled: Sequence[Branch]) -> Iterator[str]:
    """Yield the children that block and why; without any, the worst condition."""
    for branch in troubled:
        name = f"{branch.ref.kind.kind}/{branch.ref.name}"
        pods = _troubled_pods(branch.object, case)
        for pod in pods:
            said = first_line(workload_health(pod).message)
            yield f"{name}: Pod/{ObjectRef.of(pod).name}: {said}"
        if not pods:
            message = first_line(branch.verdict.message)
            yield f"{name}: {branch.verdict.health}{f': {message}' if message else ''}"
    worst = next(iter(_worst_first(case.tree.object)), None)
    if not troubled and worst is not None and not case.tree.is_healthy:
        yield first_line(condition_text(worst))


def explain_definition(
    definition: KubeObject, now: datetime, causes: Sequence[Cause] = ()
) -> Explanation:
    """
    Return the health of a definition, the reasons, and the next steps.

    `causes` say why it is not what git has: a healthy definition may be outdated.
    """
    row, name = definition_row(definition), ObjectRef.of(definition).name
    is_healthy = row.summary.verdict.health is Health.HEALTHY
    at = f" at revision {row.revision}" if row.revision else ""
    served = f"its kind {row.makes} is served"
    if is_healthy and not causes:
        return Explanation(True, f"The definition '{name}' is healthy{at}: {served}.")
    known = [advice_for(each, DEFINITION_ADVICE) for each in _worst_first(definition)]
    advices = [each for each in known if each is not None]
    sections = (
        Section("Written in", tuple(_place(definition))),
        Section("State", (f"what runs is healthy{at}: {served}",) if is_healthy else ()),
        Section("Conditions", tuple(_conditions(definition, DEFINITION_ADVICE, now))),
    )
    names = {"definition": name, "resource": f"{row.makes.kind}.{row.makes.group}"}
    steps = [step.format(**names) for each in advices for step in each.steps]
    steps += [step for cause in causes for step in cause.steps]
    cause_texts = list(causes)
    if is_healthy:
        headline = f"The definition '{name}': {causes[0].text}"
        cause_texts[0] = replace(cause_texts[0], text="")
        own = []
    else:
        meaning = advices[0].meaning if advices else row.summary.message
        headline = f"The definition '{name}' is {row.summary.verdict.health}: {first_line(meaning)}"
        own = row.summary.verdict.message.splitlines()
    return Explanation(
        False,
        headline,
        tuple(section for section in sections if section.lines),
        tuple(dict.fromkeys(steps))[:STEPS] or (f"look closer: kubectl describe rgd {name}",),
        (*own, *(line for cause in cause_texts for line in cause_lines(cause))),
    )


def explain_absent(subject: str, causes: Sequence[Cause]) -> Explanation:
    """Return why an object does not exist that git has."""
    lines = [line for cause in causes for line in cause_lines(replace(cause, text=""))]
    steps = dict.fromkeys(step for cause in causes for step in cause.steps)
    headline = f"{subject} is not in the cluster: {causes[0].text}"
    return Explanation(False, headline, (), tuple(steps)[:STEPS], tuple(lines))


def _healthy_text(case: Case) -> str:
    """Describe a healthy instance in one paragraph."""
    count = sum(1 for _ in case.tree.walk()) - 1
    times = [each.changed for each in parse_conditions(case.tree.object) if each.changed]
    since = f", and nothing has changed for {age(max(times), case.now)}" if times else ""
    there = f": {_what_runs(case)}" if count else ""
    sentences = [f"{case.tree.ref} is healthy{there}{since}"]
    if case.definition:
        sentences.append(_definition_sentence(case.definition))
    place = written(case.tree.object)
    if place:
        sentences.append(f"It is written in {place}")
    sentences.append("There is nothing to do")
    return " ".join(f"{sentence}." for sentence in sentences)


def _what_runs(case: Case) -> str:
    """Return how many children there are, all of them healthy."""
    count = sum(1 for _ in case.tree.walk()) - 1
    objects = "the one object it made is" if count == 1 else f"all {count} objects it made are"
    return f"{objects} there" if count else "what runs is healthy"


def _definition_sentence(definition: KubeObject) -> str:
    row = definition_row(definition)
    at = f" at revision {row.revision}" if row.revision else ""
    return f"Its definition '{row.summary.ref.name}' is {row.summary.verdict.health}{at}"


def _place(obj: KubeObject) -> Iterator[str]:
    place = written(obj)
    if place is not None:
        yield str(place)


def _worst_first(obj: KubeObject) -> list[Condition]:
    """Return the conditions that are not True, False before Unknown, without a repeating Ready."""
    listed = [each for each in parse_conditions(obj) if is_failing(each) or each.status != TRUE]
    others = {(each.reason, each.message) for each in listed if each.type != READY}
    kept = [
        each for each in listed if each.type != READY or (each.reason, each.message) not in others
    ]
    return sorted(kept, key=lambda each: (not is_failing(each), each.type == READY))


def _conditions(obj: KubeObject, rows: Iterable[Row], now: datetime) -> Iterator[str]:
    table = tuple(rows)
    for condition in _worst_first(obj):
        since = f" for {age(condition.changed, now)}" if condition.changed else ""
        known = advice_for(condition, table)
        meaning = f": {known.meaning}" if known else ""
        reason = f" ({condition.reason})" if condition.reason else ""
        yield f"{condition.type} is {condition.status}{reason}{since}{meaning}"
        for line in (condition.message or "").splitlines():
            yield f"  {line}"


def _blocker(branch: Branch, case: Case) -> Section:
    ref, verdict = branch.ref, branch.verdict
    lines = [f"{verdict.health}: {verdict.message}" if verdict.message else str(verdict.health)]
    lines += _conditions(branch.object, INSTANCE_ADVICE, case.now)
    for pod in _troubled_pods(branch.object, case):
        lines.append(f"Pod/{ObjectRef.of(pod).name}: {first_line(workload_health(pod).message)}")
        lines += [f"  event: {line}" for line in _events(pod, case)]
    lines += [f"event: {line}" for line in _events(branch.object, case)]
    node = f" (node {branch.node})" if branch.node else ""
    place = f" in {ref.namespace}" if ref.namespace else ""
    title = f"In the way: {ref.kind.kind}/{ref.name}{place}{node}"
    return Section(title, tuple(dict.fromkeys(lines)))


def troubled_pods(pods: Iterable[KubeObject]) -> list[KubeObject]:
    """Return the first pods that are not healthy."""
    return [pod for pod in pods if workload_health(pod).health is not Health.HEALTHY][:PODS]


def _troubled_pods(workload: KubeObject, case: Case) -> list[KubeObject]:
    return troubled_pods(case.pods.get(text_at(workload, "metadata", "uid"), ()))


def _events(obj: KubeObject, case: Case) -> Iterator[str]:
    return event_lines(case.events.get(text_at(obj, "metadata", "uid"), ()), case.now)


def event_lines(listed: Iterable[KubeObject], now: datetime) -> Iterator[str]:
    """Yield the latest Events, a line each."""
    latest = sorted(listed, key=lambda each: last_seen(each) or _LONG_AGO, reverse=True)
    for event in latest[:EVENTS]:
        count = event_count(event)
        times = f" ({count} times)" if count != 1 else ""
        head = f"{age(last_seen(event), now)} ago, {text_at(event, 'reason')}{times}"
        yield f"{head}: {first_line(event_message(event))}"


def event_count(event: KubeObject) -> int:
    """Return how often an Event happened."""
    count = event.get("count") or mapping(event, "series").get("count") or 1
    return count if type(count) is int else 1


def event_message(event: KubeObject) -> str:
    """Return the message of an Event, as core/v1 or events.k8s.io have it."""
    return text_at(event, "message") or text_at(event, "note")


def last_seen(event: KubeObject) -> datetime | None:
    """Return when an event was last seen; old and new clients write it in different fields."""
    series = mapping(event, "series").get("lastObservedTime")
    found = (event.get("lastTimestamp"), series, event.get("eventTime"))
    return next((time for time in map(parse_time, found) if time), created(event))


def _steps(case: Case, advice: Advice | None) -> tuple[str, ...]:
    """Return what to do next, the most certain first."""
    tree = case.tree
    # If the instance is deleted, suspended or not picked up, nothing else matters.
    reason = ""
    if is_deleting(tree.object):
        reason = "UnderDeletion"
    elif tree.verdict.health is Health.SUSPENDED:
        reason = "ReconciliationSuspended"
    elif not mapping(tree.object, "status"):
        reason = "AwaitingReconciliation"
    own = advice_for(Condition("", FALSE, reason))
    listed = [_filled(step, tree.object, case) for step in own.steps] if own else []
    if tree.is_healthy:
        listed = [step for cause in case.causes for step in cause.steps]
    if not own or tree.is_healthy:
        listed += _definition_steps(case)
        for branch in blockers(tree):
            for pod in _troubled_pods(branch.object, case):
                listed += _known_steps(pod, pod_reasons(pod), "pods")
            reasons = [each.reason or "" for each in _worst_first(branch.object)]
            listed += _known_steps(branch.object, reasons, branch.ref.kind.kind.lower())
    if advice:
        listed += [_filled(step, tree.object, case) for step in advice.steps]
    listed += [step for cause in case.causes for step in cause.steps]
    if not listed:
        named = [_named(each.object, each.ref.kind.kind.lower()) for each in blockers(tree)]
        named.append(_named(tree.object, case.resource))
        listed = [f"look closer: kubectl describe {named[0]}"]
    return tuple(dict.fromkeys(listed))[:STEPS]


def _definition_steps(case: Case) -> Iterator[str]:
    if case.definition is None:
        yield "apply the definition again, or delete the instance"
        return
    if health(case.definition).health is Health.HEALTHY:
        return
    for condition in _worst_first(case.definition):
        found = advice_for(condition, DEFINITION_ADVICE)
        for step in found.steps if found else ():
            yield _filled(step, case.definition, case)


def _known_steps(obj: KubeObject, reasons: Iterable[str], resource: str) -> Iterator[str]:
    for reason in reasons:
        if reason in CHILD_STEPS:
            step = CHILD_STEPS[reason].format(object=_named(obj, resource))
            yield f"{ObjectRef.of(obj).kind.kind}/{ObjectRef.of(obj).name}: {step}"


def _filled(step: str, obj: KubeObject, case: Case) -> str:
    """Fill the names into a step."""
    place = written(obj)
    definition = ObjectRef.of(case.definition).name if case.definition else ""
    return step.format(
        object=_named(case.tree.object, case.resource),
        definition=definition,
        resource=case.resource,
        file=place.path if place and place.path else "the instance",
    )


def _named(obj: KubeObject, resource: str) -> str:
    """Return the arguments by which kubectl finds an object."""
    ref = ObjectRef.of(obj)
    place = f" -n {ref.namespace}" if ref.namespace else ""
    return f"{resource}/{ref.name}{place}"
