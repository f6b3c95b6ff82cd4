"""
A live field, traced back to where it comes from.

Asked in turn: is it the API server's own, is it one of our marks, does the template that the object
was made from have it, does the definition report it as status, does a file of a source have it, is
it a default of the kind's schema, did somebody else set it. The first that knows answers.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from kro_gitops.engine.plan.fields import NOTHING_KNOWN, UNKNOWN
from kro_gitops.inspect.provenance.answer import (
    Drift,
    OriginKind,
    Provenance,
    Reference,
    is_secret_field,
    shown,
)
from kro_gitops.inspect.provenance.context import Case, Made, Origin, Own, template_of
from kro_gitops.inspect.provenance.drift import Applied
from kro_gitops.inspect.provenance.fallback_origins import (
    NOTHING,
    by_default,
    by_others,
    in_manifest,
    in_template,
    of_server,
)
from kro_gitops.inspect.provenance.query import Question, drifts, spot_of, told
from kro_gitops.inspect.provenance.reads import scanned
from kro_gitops.inspect.provenance.references import Follower
from kro_gitops.inspect.provenance.stamps import (
    Stamp,
    child_stamp,
    instance_stamp,
    source_stamp,
)
from kro_gitops.inspect.provenance.template_match import InTemplate, Template
from kube_cel.interpolation import Expression
from kube_cel.interpolation import Template as Scanned
from kube_objects.paths import MISSING, find, format_path
from kube_objects.problems import Path

DEEPEST = 12  # fields behind fields


def trace(case: Case, path: Path, elsewhere: Any = None) -> Provenance:
    """Say where the value of a field comes from; one that is not there has its path elsewhere."""
    return _answer(Question(case, path, elsewhere=elsewhere))


def _answer(question: Question) -> Provenance:
    hidden = question.hidden or is_secret_field(question.case.object, question.path)
    asked = replace(question, hidden=hidden)
    for finder in _FINDERS:
        found = finder(asked)
        if found is not None:
            return found
    return by_others(asked)


# Stamps


def _strong_stamp(asked: Question) -> Provenance | None:
    found = _stamp(asked)
    return _stamped(asked, found) if found is not None and found.overrides else None


def _weak_stamp(asked: Question) -> Provenance | None:
    found = _stamp(asked)
    return _stamped(asked, found) if found is not None else None


def _stamp(asked: Question) -> Stamp | None:
    case, path = asked.case, asked.path
    found = None
    if case.made is not None:
        found = child_stamp(path, case.object, case.made.instance.object)
    if found is None and case.own is not None:
        found = instance_stamp(path, case.object)
    if found is None and case.written is not None:
        found = source_stamp(path)
    return found if asked.value is not MISSING or (found and found.overrides) else None


def _stamped(asked: Question, stamp: Stamp) -> Provenance:
    made = asked.case.made
    references: tuple[Reference, ...] = ()
    wanted: Any = UNKNOWN
    if stamp.copied is not None and made is not None:
        behind = _answer(_behind(asked, made.instance, stamp.copied))
        references = (Reference(f"schema.{format_path(stamp.copied)}", behind),)
        wanted = find(made.instance.object, stamp.copied)
    text = f"set by the controller: {stamp.rule}"
    applied = Applied(asked.path, wanted, asked.case.object)
    drift = drifts(asked, applied) if stamp.is_of_child else ()
    return told(asked, OriginKind.STAMP, text, references=references, drift=drift)


def _behind(asked: Question, case: Case, path: Path) -> Question:
    return Question(case, path, asked.depth + 1, asked.hidden)


# Templates


@dataclass(frozen=True, slots=True)
class _Written:
    """A field that a template has: which one, where in it, and what somebody made of it since."""

    made: Made
    own: Own
    origin: Origin
    found: InTemplate
    drift: tuple[Drift, ...]


def _templated(asked: Question) -> Provenance | None:
    here = _in_own_template(asked)
    if here is None:
        return None
    found, template = here.found, scanned(here.found.value)
    follower = Follower(here.made, here.origin, asked.path, asked.value)
    if template is not None:
        kind, how = OriginKind.EXPRESSION, "computed in"
        read = follower.of(template, found.rest)
    else:
        read = follower.inside(found.path, found.value)
        is_mixed = any(True for _ in follower.inside(found.path, found.value))
        kind = OriginKind.EXPRESSION if is_mixed else OriginKind.LITERAL
        how = "partly computed in" if is_mixed else "written out in"
    spot = spot_of(here.origin.path(found.path), found.value)
    return told(
        asked,
        kind,
        f"{how} the template of node '{here.made.node}' of definition '{here.own.name}'",
        expression=_quoted(template, hidden=asked.hidden) if template is not None else "",
        places=(here.own.page.place(spot, hidden=asked.hidden),),
        references=tuple(_followed(asked, read)),
        drift=here.drift,
        notes=tuple(_doubts(asked, here)),
    )


def _in_own_template(asked: Question) -> _Written | None:
    made = asked.case.made
    own = made.instance.own if made is not None else None
    origin = template_of(made) if made is not None else None
    if made is None or own is None or origin is None:
        return None
    found = in_template(origin.template, asked.path, asked.base)
    if found is None or (found.wanted in NOTHING and asked.value is not MISSING):
        return None
    applied = Applied(asked.path, found.wanted, asked.base, origin.template.schema)
    return _Written(made, own, origin, found, drifts(asked, applied))


def _quoted(template: Scanned, *, hidden: bool) -> str:
    """Return a value of a template as it is written; of a secret one only its expressions."""
    return "".join(
        f"${{{piece.text}}}" if isinstance(piece, Expression) else "…" if hidden else piece.text
        for piece in template.pieces
    )


def _followed(
    asked: Question, found: Iterable[tuple[str, Case | None, Path, str]]
) -> Iterator[Reference]:
    for text, case, path, note in found:
        if case is None or asked.depth >= DEEPEST:
            yield Reference(text, None, note)
        else:
            yield Reference(text, _answer(_behind(asked, case, path)), note)


def _doubts(asked: Question, here: _Written) -> Iterator[str]:
    """Say what is not certain, and if a value is not the one that was asked for."""
    yield from here.found.notes
    wanted, live = here.found.wanted, asked.value
    if wanted is UNKNOWN:
        yield "the expression cannot be evaluated with what was read"
    elif here.drift or isinstance(wanted, dict | list) or live is MISSING:
        return
    elif wanted != live:
        said = shown(wanted, hidden=asked.hidden)
        yield (
            f"the template asks for {said}: the API server or a webhook writes it differently, "
            "or the controller has not applied it yet"
        )


# Status


def _status(asked: Question) -> Provenance | None:
    own, path = asked.case.own, asked.path
    if own is None or path[:1] != ("status",):
        return None
    written = find(own.page.object, ("spec", "schema", "status"))
    found = Template({"status": written}, NOTHING_KNOWN).find(path, asked.case.object)
    if found is None or not path[1:]:
        return None
    where: Path = ("spec", "schema", *found.path)
    place = own.page.place(spot_of(where, found.value))
    template = scanned(found.value)
    references: tuple[Reference, ...] = ()
    if template is not None:
        follower = Follower.of_status(asked.case, asked.path, asked.value)
        references = tuple(_followed(asked, follower.of(template, found.rest)))
    return told(
        asked,
        OriginKind.EXPRESSION if template else OriginKind.LITERAL,
        f"reported by the controller, as the status of definition '{own.name}' says",
        expression=str(found.value) if template else "",
        places=(place,),
        references=references,
    )


_FINDERS: tuple[Callable[[Question], Provenance | None], ...] = (
    *(of_server, _strong_stamp, _templated, _weak_stamp, _status),
    *(in_manifest, by_default),
)
