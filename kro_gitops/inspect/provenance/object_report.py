"""
A whole object: its instance and template, why it exists, and the other field managers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from kro_gitops.engine.plan.fields import UNKNOWN, evaluate_field
from kro_gitops.errors import UserError
from kro_gitops.inspect.provenance.answer import (
    Drift,
    Provenance,
    is_secret_field,
    shown,
)
from kro_gitops.inspect.provenance.context import Case, Parent, is_child, template_of
from kro_gitops.inspect.provenance.drift import drifted_fields
from kro_gitops.inspect.provenance.field_managers import Writer, held_fields, writers
from kro_gitops.inspect.provenance.field_names import Steps, format_steps, near_names, resolve
from kro_gitops.inspect.provenance.git_location import Commit, Place
from kro_gitops.inspect.provenance.reads import reads, scanned
from kro_gitops.inspect.provenance.trace import trace
from kro_gitops.inspect.views.instances import text_at
from kro_gitops.metadata import INSTANCE_KIND, INSTANCE_NAME
from kro_gitops.tracking.workload_health import mapping
from kube_objects.paths import MISSING, find, format_path
from kube_objects.problems import Spot
from kube_objects.refs import ObjectRef

FIELDS_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Written:
    """A place in git, and its role for the object."""

    what: str  # template, instance, definition, manifest
    place: Place


@dataclass(frozen=True, slots=True)
class Condition:
    """An `includeWhen`, or the list of a `forEach`, and its value."""

    text: str
    value: str
    reads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Share:
    """The fields of an object that another field manager set."""

    writer: Writer
    fields: tuple[str, ...]
    omitted: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return it as data."""
        return {**self.writer.to_json(), "fields": list(self.fields), "omitted": self.omitted}


@dataclass(frozen=True, slots=True)
class ObjectReport:
    """Where an object comes from."""

    object: ObjectRef
    text: str
    node: str = ""
    definition: str = ""
    chain: tuple[ObjectRef, ...] = ()  # instances above it, the nearest first
    written: tuple[Written, ...] = ()
    included: tuple[Condition, ...] = ()
    iterations: tuple[Condition, ...] = ()
    shares: tuple[Share, ...] = ()
    drift: tuple[Drift, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as data; what is empty is left out."""
        ref = self.object
        found: dict[str, Any] = {
            "apiVersion": ref.kind.api_version,
            "kind": ref.kind.kind,
            "namespace": ref.namespace,
            "name": ref.name,
            "text": self.text,
            "node": self.node,
            "definition": self.definition,
            "madeBy": [
                {"apiVersion": each.kind.api_version, "kind": each.kind.kind}
                | {"namespace": each.namespace, "name": each.name}
                for each in self.chain
            ],
            "places": [{"what": each.what, **each.place.to_json()} for each in self.written],
            "includeWhen": [_condition(each) for each in self.included],
            "forEach": [_condition(each) for each in self.iterations],
            "others": [each.to_json() for each in self.shares],
            "drift": [each.to_json() for each in self.drift],
        }
        return {key: value for key, value in found.items() if value not in ("", [])}


def _condition(found: Condition) -> dict[str, Any]:
    return {"expression": found.text, "value": found.value, "reads": list(found.reads)}


def report_object(case: Case) -> ObjectReport:
    """Explain an object: its instance and node, or its source, and the fields of other managers."""
    shares: list[Share] = []
    for writer in writers(case.object):
        if not writer.is_ours:
            fields = tuple(map(format_steps, held_fields(writer)))
            omitted = max(0, len(fields) - FIELDS_SHOWN)
            shares.append(Share(writer, fields[:FIELDS_SHOWN], omitted))
    parent = case.parent
    if parent is None or parent.instance.own is None:
        places = []
        if case.written is not None:
            places.append(Written("manifest", case.page.place(Spot())))
        if case.own is not None:
            places.append(Written("definition", case.own.page.place(Spot())))
        return ObjectReport(
            case.ref, _without_parent(case), written=tuple(places), shares=tuple(shares)
        )
    chain: list[ObjectRef] = []
    above: Parent | None = parent
    while above is not None:
        chain.append(above.instance.ref)
        above = above.instance.parent
    name = parent.node if parent.index is None else f"{parent.node}[{parent.index}]"
    own = parent.instance.own
    return ObjectReport(
        case.ref,
        f"made by {parent.instance.ref}, as node '{name}' of definition '{own.name}'",
        node=name,
        definition=own.name,
        chain=tuple(chain),
        written=tuple(_places(parent)),
        included=tuple(_included(parent)),
        iterations=tuple(_iterations(parent, hidden=is_secret_field(case.object, ()))),
        shares=tuple(shares),
        drift=drifted_fields(case),
    )


def _without_parent(case: Case) -> str:
    if case.written is not None:
        return f"applied by source {case.written.source or 'unknown'}"
    if is_child(case.object):
        labels = mapping(case.object, "metadata", "labels")
        instance = f"{text_at(labels, INSTANCE_KIND)} {text_at(labels, INSTANCE_NAME)}"
        return f"its labels say that {instance} made it, of which no more is known"
    dated = [writer for writer in writers(case.object) if writer.time]
    first = min(dated, key=lambda writer: writer.time, default=None)
    by = f"; its oldest fields are those of {first.manager}" if first is not None else ""
    return f"no instance and no source made it{by}"


def _places(parent: Parent) -> Iterator[Written]:
    own = parent.instance.own
    resource = own.resource(parent.node) if own is not None else None
    if own is not None:
        path = resource.body_path if resource is not None else ()
        yield Written("template", own.page.place(Spot(path, on_key=bool(path))))
    above: Parent | None = parent
    while above is not None:
        if above.instance.parent is None:
            yield Written("instance", above.instance.page.place(Spot()))
        elif above.instance.parent.instance.own is not None:
            outer = above.instance.parent
            yield from list(_places(outer))[:1]
        above = above.instance.parent


def _included(parent: Parent) -> Iterator[Condition]:
    own = parent.instance.own
    resource = own.resource(parent.node) if own is not None else None
    node = own.node(parent.node) if own is not None else None
    values = parent.instance.values()
    for at, text in enumerate(resource.include_when if resource is not None else ()):
        value = evaluate_field(node.include_when[at], values) if node is not None else UNKNOWN
        yield Condition(text, shown(value), _reads(parent, text))


def _iterations(parent: Parent, *, hidden: bool) -> Iterator[Condition]:
    origin = template_of(parent)
    if origin is None:
        return
    texts = {each.name: each.text for each in origin.resource.for_each}
    for each in origin.desired.iterations:
        text = f"{each.name} = item {each.index} of {texts[each.name]}"
        value = shown(each.value, hidden=hidden, salt=parent.instance.salt)
        yield Condition(text, value, _reads(parent, texts[each.name]))


def _reads(parent: Parent, text: str) -> tuple[str, ...]:
    template, own = scanned(text), parent.instance.own
    if template is None or own is None:
        return ()
    return tuple(format_path(each.path) for each in reads(template, own.names() | {"schema"}))


def trace_field(case: Case, steps: Steps) -> Provenance:
    """
    Return where a field comes from; it is looked up in the live object, then in the desired one.

    Raises if neither has such a field; the hint names the fields that exist.
    """
    origin = template_of(case.parent) if case.parent is not None else None
    desired = [origin.desired.body, origin.template.body] if origin is not None else []
    text = case.page.text_of()
    views = [case.object, *desired, *([text] if text is not MISSING else [])]
    for view in views:
        found = resolve(steps, view)
        if found.is_there:
            return trace(case, found.path, None if view is case.object else view)
    path = max((resolve(steps, view) for view in views), key=lambda each: len(each.path)).path
    left = resolve(steps, case.object).rest or steps
    names = near_names(find(case.object, path), left[0])
    where = f"'{format_path(path)}'" if path else "it"
    hint = f"{where} has: {', '.join(names)}" if names else f"{where} has no fields"
    summary = f"{case.ref} has no field '{format_steps(steps)}', and none is desired"
    raise UserError("no-such-field", summary, hint=hint)


Lookup = Callable[[Place], Commit | None]


def with_commits(found: Provenance, lookup: Lookup) -> Provenance:
    """Add its commit to every place of an answer."""
    places = tuple(replace(place, commit=lookup(place)) for place in found.places)
    references = tuple(
        read if read.found is None else replace(read, found=with_commits(read.found, lookup))
        for read in found.references
    )
    return replace(found, places=places, references=references)


def report_with_commits(found: ObjectReport, lookup: Lookup) -> ObjectReport:
    """Add its commit to every place of a report."""
    written = tuple(
        replace(each, place=replace(each.place, commit=lookup(each.place)))
        for each in found.written
    )
    return replace(found, written=written)
