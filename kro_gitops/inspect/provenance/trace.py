"""
A live field, traced to its origin.

The finders are called in this order, and the first answer is used: a field of the API server, a
field that the controller adds, the template of the object, the status of the definition, a file of
a source, a default of the kind's schema, another field manager.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from kro_gitops.engine.plan.fields import NOTHING_KNOWN, UNKNOWN
from kro_gitops.inspect.provenance.answer import (
    OriginKind,
    Provenance,
    Reference,
    is_secret_field,
    shown,
)
from kro_gitops.inspect.provenance.context import Case, template_of
from kro_gitops.inspect.provenance.drift import Applied
from kro_gitops.inspect.provenance.fallback_origins import (
    NOTHING,
    by_default,
    by_others,
    in_manifest,
    in_template,
    of_server,
)
from kro_gitops.inspect.provenance.query import Question, answer, drifts, spot_of
from kro_gitops.inspect.provenance.reads import scanned
from kro_gitops.inspect.provenance.references import Follower
from kro_gitops.inspect.provenance.stamps import (
    Stamp,
    child_stamp,
    instance_stamp,
    source_stamp,
)
from kro_gitops.inspect.provenance.template_match import Template
from kube_cel.interpolation import Expression
from kube_objects.paths import MISSING, find, format_path
from kube_objects.problems import Path

DEEPEST = 12  # fields behind fields


def trace(case: Case, path: Path, elsewhere: Any = None) -> Provenance:
    """Return where a field comes from; a missing one has its path in `elsewhere`."""
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
    if case.parent is not None:
        found = child_stamp(path, case.object, case.parent.instance.object)
    if found is None and case.own is not None:
        found = instance_stamp(path, case.object)
    if found is None and case.written is not None:
        found = source_stamp(path)
    return found if asked.value is not MISSING or (found and found.overrides) else None


def _stamped(asked: Question, stamp: Stamp) -> Provenance:
    parent = asked.case.parent
    references: tuple[Reference, ...] = ()
    desired: Any = UNKNOWN
    if stamp.copied is not None and parent is not None:
        behind = _answer(_behind(asked, parent.instance, stamp.copied))
        references = (Reference(f"schema.{format_path(stamp.copied)}", behind),)
        desired = find(parent.instance.object, stamp.copied)
    text = f"set by the controller: {stamp.rule}"
    applied = Applied(asked.path, desired, asked.case.object)
    drift = drifts(asked, applied) if stamp.is_of_child else ()
    return answer(asked, OriginKind.STAMP, text, references=references, drift=drift)


def _behind(asked: Question, case: Case, path: Path) -> Question:
    return Question(case, path, asked.depth + 1, asked.hidden)


# Templates


def _templated(asked: Question) -> Provenance | None:
    parent = asked.case.parent
    own = parent.instance.own if parent is not None else None
    origin = template_of(parent) if parent is not None else None
    if parent is None or own is None or origin is None:
        return None
    found = in_template(origin.template, asked.path, asked.base)
    if found is None or (found.desired in NOTHING and asked.value is not MISSING):
        return None
    applied = Applied(asked.path, found.desired, asked.base, origin.template.schema)
    drift = drifts(asked, applied)
    template, expression = scanned(found.value), ""
    follower = Follower(parent, origin, asked.path, asked.value)
    if template is not None:
        kind, how = OriginKind.EXPRESSION, "computed in"
        read = list(follower.of(template, found.rest))
        for piece in template.pieces:  # of a secret value only the expressions are shown
            if isinstance(piece, Expression):
                expression += f"${{{piece.text}}}"
            else:
                expression += "…" if asked.hidden else piece.text
    else:
        read = list(follower.inside(found.path, found.value))
        kind = OriginKind.EXPRESSION if read else OriginKind.LITERAL
        how = "partly computed in" if read else "written out in"
    spot = spot_of(origin.path(found.path), found.value)
    return answer(
        asked,
        kind,
        f"{how} the template of node '{parent.node}' of definition '{own.name}'",
        expression=expression,
        places=(own.page.place(spot, hidden=asked.hidden),),
        references=tuple(_followed(asked, read)),
        drift=drift,
        notes=(*found.notes, *_doubts(asked, found.desired, is_drifted=bool(drift))),
    )


def _followed(
    asked: Question, found: Iterable[tuple[str, Case | None, Path, str]]
) -> Iterator[Reference]:
    for text, case, path, note in found:
        if case is None or asked.depth >= DEEPEST:
            yield Reference(text, None, note)
        else:
            yield Reference(text, _answer(_behind(asked, case, path)), note)


def _doubts(asked: Question, desired: Any, *, is_drifted: bool) -> Iterator[str]:
    """Yield a note if the live value is not the one of the template, and nothing explains that."""
    live = asked.value
    if desired is UNKNOWN:
        yield "the expression cannot be evaluated with what was read"
    elif is_drifted or isinstance(desired, dict | list) or live is MISSING:
        return
    elif desired != live:
        asks_for = shown(desired, hidden=asked.hidden, salt=asked.case.salt)
        yield (
            f"the template asks for {asks_for}: the API server or a webhook writes it differently, "
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
    return answer(
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
