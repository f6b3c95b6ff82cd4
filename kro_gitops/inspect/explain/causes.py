"""
Causes outside an object: why it is not, or may not be, what git says.

An instance or a definition can be healthy and outdated: its source rejected the version in git, is
pinned or suspended, cannot read git, or no controller runs. These causes are computed from the
`GitSource` that the annotations of the object name, its definition, and the Lease of the
controllers. Nothing is taken for granted about a status.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from shlex import quote

from kro_gitops.control.lease import LeaseRecord
from kro_gitops.engine.crd.plurals import pluralize
from kro_gitops.engine.kinds import DEFINITION_KIND
from kro_gitops.inspect.views.instances import (
    age,
    definition_row,
    first_line,
    is_deleting,
    text_at,
    written,
)
from kro_gitops.inspect.views.source_advice import advice
from kro_gitops.inspect.views.sources import (
    PINNED,
    ListedFailure,
    failures,
    is_suspended,
    is_true,
    suspension,
    whole,
)
from kro_gitops.metadata import PINNED_TO
from kro_gitops.tracking.health import Health, health
from kro_gitops.tracking.workload_health import condition_text, find_condition, mapping
from kube_objects.conditions import TRUE, parse_conditions
from kube_objects.refs import KubeObject, ObjectRef
from kube_objects.times import parse_time

_SHOWN = 3  # failures of one object
# A Lease that was not renewed for so long has no holder that runs; clocks of machines differ.
_LEASE_GRACE = timedelta(minutes=2)
_HELD_BACK, _MISSING_RIGHTS = "held-back", "missing-rights"
_PRUNE_BLOCKED, _OBJECTS_PINNED = "PruneBlocked", "ObjectsPinned"
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_DEFINITION = "resourcegraphdefinition"


@dataclass(frozen=True, slots=True)
class Cause:
    """
    One reason why an object is not what git says.

    `text` completes "WebApp shop/front: …"; `lines` have the place and the message, `steps` are the
    next commands.
    """

    text: str
    lines: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()


def failures_of(ref: ObjectRef, path: str, listed: Iterable[ListedFailure]) -> list[ListedFailure]:
    """
    Return the failures of a source that concern an object.

    They name the object; failures of a whole file name only the file, and concern each object that
    is written in it. `path` is the object's file, with or without a line.
    """
    kind, place = ref.kind, ref.place
    names = {f"{kind.kind} {place}", f"{kind.kind}.{kind.group} {place}", f"{kind.kind}/{place}"}
    file = _file_of(path)
    return [
        each
        for each in listed
        if each.object in names or (not each.object and each.file and each.file == file)
    ]


def named_failures(kind: str, name: str, namespace: str, source: KubeObject) -> list[ListedFailure]:
    """Return the failures of an object that may not exist, named as on the command line."""
    word = kind.lower().partition(".")[0]
    found = []
    for each in failures(source):
        what, _, place = each.object.partition(" ")
        what = what.lower().partition(".")[0]
        is_kind = word in (what, pluralize(what)) or (word == "rgd" and what == _DEFINITION)
        if is_kind and place in (name, f"{namespace}/{name}"):
            found.append(each)
    return found


def source_causes(obj: KubeObject, source: KubeObject | None) -> Iterator[Cause]:
    """
    Yield why an object may not be what its source has in git; the first is the most important.

    `source` is the one that the object's annotations name; None: it does not exist, empty: it may
    not be read.
    """
    place = written(obj)
    if place is None or not place.source or source == {}:
        return
    name = place.source
    if source is None:
        step = "let another source apply it, or remove its annotations gitops.kro.run/…"
        yield Cause(f"its source {name} does not exist: nothing follows git", (), (step,))
        return
    explain_source = f"see the whole source: {explain_command(source)}"
    rejected = failures_of(ObjectRef.of(obj), place.path, failures(source))
    if rejected:
        yield rejection(name, rejected, explain_source)
    elif omitted := whole(mapping(source, "status"), "failuresOmitted"):
        text = f"its version in git may have been rejected by source {name}"
        line = f"the status of the source omits {omitted} failures; this object may be among them"
        yield Cause(text, (line,), (explain_source,))
    if pinned := text_at(obj, "metadata", "annotations", PINNED_TO):
        ref = ObjectRef.of(obj)
        at = f"-n {ref.namespace} " if ref.namespace else ""
        undo = f"kro-gitops rollback {ref.kind.kind.lower()}/{ref.name} {at}--undo"
        text = f"a pin of its source {name} holds it at {pinned[:12]}"
        yield Cause(text, (), (f"let it follow git again: {undo}",))
    yield from standstill(source, f"its source {name}")


def held_back_causes(obj: KubeObject, source: KubeObject | None) -> Iterator[Cause]:
    """Yield why a source may not have applied an object, though nothing names the object itself."""
    place, kind = written(obj), ObjectRef.of(obj).kind.kind
    for each in failures(source or {}):
        if each.object or each.file or place is None:
            continue
        # What waits for a definition is counted by its kind; missing rights name objects, too.
        is_about = f" {kind} object" in each.message if each.error_code == _HELD_BACK else True
        if is_about and each.error_code != _MISSING_RIGHTS:
            text = f"its version in git may be held back by source {place.source}"
            yield Cause(text, (each.message,), (f"see why: {explain_command(source or {})}",))


def standstill(source: KubeObject, subject: str) -> Iterator[Cause]:
    """Yield why a source does not apply what git has, each with the command that changes it."""
    place = ObjectRef.of(source).place
    if is_deleting(source):
        yield Cause(f"{subject} is being deleted")
    if is_suspended(source):
        resume = f"resume it: kro-gitops resume {place} --wait"
        yield Cause(f"{subject} is {suspension(source)}", (), (resume,))
    if is_pinned(source):
        yield _pinned(source, subject)
    for type_, text in _STANDSTILLS.items():
        found = find_condition(source, type_)
        if is_true(source, type_) and found is not None:
            steps = (advice(source, has_failures=False), f"retry: kro-gitops sync {place} --wait")
            lines = (first_line(condition_text(found)),)
            yield Cause(text.format(subject=subject), lines, tuple(filter(None, steps)))
    status = mapping(source, "status")
    seen, generation = whole(status, "observedGeneration"), mapping(source, "metadata")
    if seen != whole(generation, "generation") and not is_deleting(source):
        what = "a change of its spec" if status else "it"
        text = f"{subject}: no controller has processed {what} yet"
        yield Cause(text, (), ("see that kro-gitops runs with --sources, and its log",))


_STANDSTILLS = {
    "FetchFailed": "{subject}: git cannot be read, so what runs may be outdated",
    "Stale": "{subject}: git was not read in time, so what runs may be outdated",
    "DependencyNotReady": "{subject} waits for another source",
}


def is_pinned(source: KubeObject) -> bool:
    """Return True if a whole source is pinned; a pin of one object holds back only that."""
    found = find_condition(source, PINNED)
    is_reported = found is not None and found.status == TRUE and found.reason != _OBJECTS_PINNED
    return bool(mapping(source, "spec", "pin")) or is_reported


def deletion_causes(obj: KubeObject) -> Iterator[Cause]:
    """Yield the cause that a limit keeps children which the version in git does not have."""
    found = find_condition(obj, _PRUNE_BLOCKED)
    if found is not None and found.status == TRUE:
        ref = ObjectRef.of(obj)
        kind = "rgd" if ref.kind == DEFINITION_KIND else ref.kind.kind.lower()
        target = f"{kind}/{ref.name}" + (f" -n {ref.namespace}" if ref.namespace else "")
        step = f"revert the change in git, or approve the deletions: kro-gitops approve {target}"
        text = "children that are no longer desired are kept: a limit holds their deletion"
        yield Cause(text, (first_line(condition_text(found)),), (step,))


def _pinned(source: KubeObject, subject: str) -> Cause:
    found, pin = find_condition(source, PINNED), mapping(source, "spec", "pin")
    commit = text_at(pin, "commit")[:12]
    reason, by, expires = (text_at(pin, key) for key in ("reason", "by", "expires"))
    line = condition_text(found) or ": ".join(filter(None, (f"held at {commit}", reason)))
    more = [f"by {by}"] if by else []
    more += [f"until {expires}"] if expires and expires not in line else []
    line = " ".join((line, *(f"({each})" for each in more)))
    steps = (f"follow git again: kro-gitops rollback {ObjectRef.of(source).place} --undo",)
    return Cause(f"{subject} is pinned: newer commits are not applied", (line,), steps)


def definition_causes(definition: KubeObject | None, source: KubeObject | None) -> Iterator[Cause]:
    """Yield why an instance does not follow the newest version of its definition."""
    if definition is None:
        text = "no definition defines its kind (any more), so it is not reconciled"
        yield Cause(text, (), ("apply the definition again, or delete the instance",))
        return
    name = ObjectRef.of(definition).name
    verdict = health(definition)
    if is_deleting(definition):
        yield Cause(f"its definition '{name}' is being deleted", (), ())
    elif verdict.health is Health.DEGRADED:
        row = definition_row(definition)
        at = f", so it follows revision {row.revision}" if row.revision else ""
        place = written(definition)
        lines = [f"{place}"] if place else []
        steps = (f"see why: kro-gitops explain rgd/{name}",)
        lines += verdict.message.splitlines()[:_SHOWN]
        yield Cause(f"its definition '{name}' is broken{at}", tuple(lines), steps)
    for cause in deletion_causes(definition):
        yield replace(cause, text=f"its definition '{name}': {cause.text}")
    for cause in source_causes(definition, source):
        yield replace(cause, text=f"its definition '{name}' is not what git has: {cause.text}")


def controller_causes(
    obj: KubeObject, leases: Iterable[KubeObject], now: datetime
) -> Iterator[Cause]:
    """Yield the cause that no controller runs, if there are Leases and none of them is renewed."""
    records = [(lease, LeaseRecord.parse(lease)) for lease in leases]
    dated = [(lease, record) for lease, record in records if record.renewed is not None]
    if not dated:
        return
    lease, record = max(dated, key=lambda pair: pair[1].renewed or now)
    assert record.renewed is not None, "only dated records are compared"
    until = record.renewed + timedelta(seconds=record.seconds) + _LEASE_GRACE
    if now < until or _last_change(obj) > until:
        return  # a controller without leader election may have changed it
    holder = f" by {record.holder}" if record.holder else ""
    text = "no controller seems to run"
    line = f"{ObjectRef.of(lease)} was last renewed {age(record.renewed, now)} ago{holder}"
    place = ObjectRef.of(lease).namespace
    yield Cause(text, (line,), (f"see its pods: kubectl get pods -n {place}",))


def _last_change(obj: KubeObject) -> datetime:
    """Return when a condition of an object last changed; it was created before that."""
    times = [each.changed for each in parse_conditions(obj) if each.changed]
    born = parse_time(mapping(obj, "metadata").get("creationTimestamp"))
    return max((*times, *([born] if born else [])), default=_LONG_AGO)


def rejection(source: str, rejected: Sequence[ListedFailure], *steps: str) -> Cause:
    """Return the cause that a source rejected the version of an object that git has."""
    lines = [": ".join(filter(None, (each.place, each.message))) for each in rejected[:_SHOWN]]
    if len(rejected) > _SHOWN:
        lines.append(f"and {len(rejected) - _SHOWN} more")
    files = dict.fromkeys(each.file for each in rejected if each.file)
    commands = [correction(file) for file in files]
    text = f"its version in git was rejected by source {source}"
    return Cause(text, tuple(lines), (*commands[:_SHOWN], *steps))


def correction(file: str) -> str:
    """Return the step for a file with a mistake; its name is hostile, the command is copied."""
    path = f"./{file}" if file.startswith("-") else file
    return f"correct {file} and commit; check it: kro-gitops validate {quote(path)}"


def explain_command(source: KubeObject) -> str:
    """Return the command that explains a source."""
    ref = ObjectRef.of(source)
    return f"kro-gitops explain source/{ref.name} -n {ref.namespace}"


def _file_of(path: str) -> str:
    """Return the file of `apps/front.yaml:7`."""
    file, _, line = path.rpartition(":")
    return file if file and line.isdigit() else path
