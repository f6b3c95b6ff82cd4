"""
An object as a whole: who made it, from what, why it is there, and who else has a hand in it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from kro_gitops.engine.plan.fields import UNKNOWN, evaluate_field
from kro_gitops.errors import UserError
from kro_gitops.inspect.provenance.answer import (
    Drift,
    Provenance,
    Reference,
    is_secret_field,
    shown,
)
from kro_gitops.inspect.provenance.context import Case, Made, is_child, template_of
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
    """Where a part of the story is written, and what part that is."""

    what: str  # template, instance, definition, manifest
    place: Place


@dataclass(frozen=True, slots=True)
class Condition:
    """An `includeWhen`, or the list of a `forEach`, and what came of it."""

    text: str
    value: str
    reads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Share:
    """What somebody else set of an object."""

    writer: Writer
    fields: tuple[str, ...]
    omitted: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return it as data."""
        return {**self.writer.to_json(), "fields": list(self.fields), "omitted": self.omitted}


@dataclass(frozen=True, slots=True)
class Whole:
    """The story of an object."""

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


def tell(case: Case) -> Whole:
    """Tell the story of an object."""
    made = case.made
    shares = tuple(_shares(case))
    if made is None or made.instance.own is None:
        return Whole(case.ref, _without_maker(case), written=_own_places(case), shares=shares)
    name = made.node if made.index is None else f"{made.node}[{made.index}]"
    own = made.instance.own
    return Whole(
        case.ref,
        f"made by {made.instance.ref}, as node '{name}' of definition '{own.name}'",
        node=name,
        definition=own.name,
        chain=tuple(_chain(case)),
        written=tuple(_places(made)),
        included=tuple(_included(made)),
        iterations=tuple(_iterations(made, hidden=is_secret_field(case.object, ()))),
        shares=shares,
        drift=drifted_fields(case),
    )


def _without_maker(case: Case) -> str:
    if case.written is not None:
        return f"applied by source {case.written.source or 'unknown'}"
    if is_child(case.object):
        labels = mapping(case.object, "metadata", "labels")
        maker = f"{text_at(labels, INSTANCE_KIND)} {text_at(labels, INSTANCE_NAME)}"
        return f"its labels say that {maker} made it, of which no more is known"
    first = min((each for each in writers(case.object) if each.time), key=_time, default=None)
    by = f"; its oldest fields are those of {first.manager}" if first is not None else ""
    return f"no instance and no source made it{by}"


def _time(writer: Writer) -> str:
    return writer.time


def _own_places(case: Case) -> tuple[Written, ...]:
    found = []
    if case.written is not None:
        found.append(Written("manifest", case.page.place(Spot())))
    if case.own is not None:
        found.append(Written("definition", case.own.page.place(Spot())))
    return tuple(found)


def _chain(case: Case) -> Iterator[ObjectRef]:
    made = case.made
    while made is not None:
        yield made.instance.ref
        made = made.instance.made


def _places(made: Made) -> Iterator[Written]:
    own = made.instance.own
    resource = own.resource(made.node) if own is not None else None
    if own is not None:
        path = resource.body_path if resource is not None else ()
        yield Written("template", own.page.place(Spot(path, on_key=bool(path))))
    above: Made | None = made
    while above is not None:
        if above.instance.made is None:
            yield Written("instance", above.instance.page.place(Spot()))
        elif above.instance.made.instance.own is not None:
            outer = above.instance.made
            yield from list(_places(outer))[:1]
        above = above.instance.made


def _included(made: Made) -> Iterator[Condition]:
    own = made.instance.own
    resource = own.resource(made.node) if own is not None else None
    node = own.node(made.node) if own is not None else None
    values = made.instance.values()
    for at, text in enumerate(resource.include_when if resource is not None else ()):
        value = evaluate_field(node.include_when[at], values) if node is not None else UNKNOWN
        yield Condition(text, shown(value), _reads(made, text))


def _iterations(made: Made, *, hidden: bool) -> Iterator[Condition]:
    origin = template_of(made)
    if origin is None:
        return
    texts = {each.name: each.text for each in origin.resource.for_each}
    for each in origin.wanted.iterations:
        text = f"{each.name} = item {each.index} of {texts[each.name]}"
        value = shown(each.value, hidden=hidden)
        yield Condition(text, value, _reads(made, texts[each.name]))


def _reads(made: Made, text: str) -> tuple[str, ...]:
    template, own = scanned(text), made.instance.own
    if template is None or own is None:
        return ()
    return tuple(format_path(each.path) for each in reads(template, own.names() | {"schema"}))


def _shares(case: Case) -> Iterator[Share]:
    for writer in writers(case.object):
        if writer.is_ours:
            continue
        fields = tuple(map(format_steps, held_fields(writer)))
        yield Share(writer, fields[:FIELDS_SHOWN], max(0, len(fields) - FIELDS_SHOWN))


def trace_field(case: Case, steps: Steps) -> Provenance:
    """
    Say where the field that words mean comes from: in the live object, or in what was wanted of it.

    Raises if no such field is there nor was wanted, with what there is instead.
    """
    origin = template_of(case.made) if case.made is not None else None
    wanted = [origin.wanted.body, origin.template.body] if origin is not None else []
    text = case.page.text_of()
    views = [case.object, *wanted, *([text] if text is not MISSING else [])]
    for view in views:
        found = resolve(steps, view)
        if found.is_there:
            return trace(case, found.path, None if view is case.object else view)
    best = max((resolve(steps, view) for view in views), key=lambda each: len(each.path))
    raise _no_such_field(case, steps, best.path)


def _no_such_field(case: Case, steps: Steps, path: tuple[str | int, ...]) -> UserError:
    found = find(case.object, path)
    left = resolve(steps, case.object).rest or steps
    names = near_names(found, left[0])
    where = f"'{format_path(path)}'" if path else "it"
    hint = f"{where} has: {', '.join(names)}" if names else f"{where} has no fields"
    summary = f"{case.ref} has no field '{format_steps(steps)}', and nobody wants one"
    return UserError("no-such-field", summary, hint=hint)


Lookup = Callable[[Place], Commit | None]


def with_commits(found: Provenance, lookup: Lookup) -> Provenance:
    """Say for every place of an answer which commit it is from."""
    places = tuple(replace(each, commit=lookup(each)) for each in found.places)
    references = tuple(_reference_with_commits(each, lookup) for each in found.references)
    return replace(found, places=places, references=references)


def _reference_with_commits(found: Reference, lookup: Lookup) -> Reference:
    if found.found is None:
        return found
    return replace(found, found=with_commits(found.found, lookup))


def whole_with_commits(found: Whole, lookup: Lookup) -> Whole:
    """Say for every place of a story which commit it is from."""
    written = tuple(
        replace(each, place=replace(each.place, commit=lookup(each.place)))
        for each in found.written
    )
    return replace(found, written=written)
