"""
Where a field comes from that no template has: a file, a default, the API server, somebody else.
"""

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kro_gitops.engine.plan.fields import NOTHING_KNOWN, UNKNOWN
from kro_gitops.inspect.provenance.answer import OriginKind, Provenance
from kro_gitops.inspect.provenance.context import template_of
from kro_gitops.inspect.provenance.drift import Applied
from kro_gitops.inspect.provenance.field_managers import APPLY, Writer, writers
from kro_gitops.inspect.provenance.query import Question, drifts, told
from kro_gitops.inspect.provenance.simple_fields import schema_place
from kro_gitops.inspect.provenance.stamps import server_rule
from kro_gitops.inspect.provenance.template_match import InTemplate, Template
from kro_gitops.metadata import SOURCE_MANAGER
from kube_cel.values import OMIT
from kube_objects.paths import MISSING, leaves
from kube_objects.problems import Path, Spot
from kube_objects.schemas import Schema
from kube_objects.structural_schema import find as find_schema

NOTHING = (None, OMIT)


def of_server(asked: Question) -> Provenance | None:
    """Explain what the API server keeps of every object."""
    rule = server_rule(asked.path)
    return told(asked, OriginKind.SERVER, f"the API server's own: {rule}") if rule else None


def in_template(template: Template, path: Path, base: Any) -> InTemplate | None:
    """Find a field in a template; a Secret's `data` may be written as `stringData`."""
    found = template.find(path, base)
    if found is not None or path[:1] != ("data",) or "stringData" not in template.body:
        return found
    live = {"stringData": base.get("data")} if isinstance(base, dict) else {}
    as_text = template.find(("stringData", *path[1:]), live)
    if as_text is None or not isinstance(as_text.wanted, str):
        return as_text
    return replace(as_text, wanted=b64encode(as_text.wanted.encode()).decode())


def in_manifest(asked: Question) -> Provenance | None:
    """Explain what a file of a source says."""
    case, page = asked.case, asked.case.page
    source = case.written
    if source is None or asked.path[:1] == ("status",):
        return None
    found = _in_file(asked)
    if found is None and (page.document is not None or not _seems_applied(asked)):
        return None
    path, wanted = (found.path, found.wanted) if found is not None else (asked.path, UNKNOWN)
    return told(
        asked,
        OriginKind.MANIFEST,
        f"written in a file of source {source.source or 'unknown'}",
        places=(page.place(Spot(path), hidden=asked.hidden),),
        drift=drifts(asked, Applied(asked.path, wanted, asked.base, case.schema)),
        notes=found.notes if found is not None else (),
    )


def _in_file(asked: Question) -> InTemplate | None:
    """Find a field in the file; expressions there, in a definition say, are text like any other."""
    case = asked.case
    text = case.page.text_of()
    if not isinstance(text, dict):
        return None
    found = in_template(Template(text, NOTHING_KNOWN, case.schema), asked.path, asked.base)
    if found is None or found.rest:
        return None
    return replace(found, wanted=found.value) if found.wanted is UNKNOWN else found


def _seems_applied(asked: Question) -> bool:
    """Say whether a field is most likely in the file, which nobody could read."""
    if asked.value is MISSING:
        return False
    all_writers = writers(asked.case.object)
    if not all_writers or asked.path in (("apiVersion",), ("kind",), ("metadata", "name")):
        return True
    names = {each.manager for each in all_writers if each.operation == APPLY}
    if SOURCE_MANAGER in names:
        return any(each.manager == SOURCE_MANAGER for each in asked.holders)
    return any(not each.is_ours and not each.subresource for each in asked.holders)


def by_default(asked: Question) -> Provenance | None:
    """Explain what the schema of an instance's kind fills in."""
    own, path = asked.case.own, asked.path
    if own is None or own.graph is None or asked.value is MISSING:
        return None
    schema = own.graph.served.schema
    # Whoever set a list that is one value to the server holds the defaults within it, too.
    is_filled_in = asked.case.page.document is not None or asked.case.made is not None
    if asked.holders and not (is_filled_in and _default(schema, path) == asked.value):
        return None
    # A default of an object above brings its parts along.
    has_default = any(
        _default(schema, path[:count]) is not MISSING for count in range(len(path), 0, -1)
    )
    where = schema_place(own.page.object, path)
    if not has_default or where is None:
        return None
    text = f"left out, so it is the default of the schema of definition '{own.name}'"
    return told(asked, OriginKind.DEFAULT, text, places=(own.page.place(Spot(where)),))


def _default(schema: Schema, path: Path) -> Any:
    return (find_schema(schema, path) or {}).get("default", MISSING)


def by_others(asked: Question) -> Provenance:
    """Explain what nobody has a reason for: somebody set it, or nobody did."""
    notes = tuple(_left_empty(asked))
    if asked.value is MISSING:
        return told(asked, OriginKind.ABSENT, "nobody set it", notes=notes)
    found = asked.holders or tuple(_inner_holders(asked))
    if not found:
        return told(asked, OriginKind.SERVER, _of_nobody(asked), notes=notes)
    ours = [each for each in found if each.is_ours]
    if ours and len(ours) == len(found):
        what = "reported" if ours[0].subresource == "status" else "set"
        text = f"{what} by the controller"
    else:
        names = ", ".join(dict.fromkeys(each.manager for each in found if not each.is_ours))
        text = f"set by {names}"
    return told(asked, OriginKind.MANAGER, text, writers=found, notes=notes)


def _of_nobody(asked: Question) -> str:
    if not writers(asked.case.object):
        return "the API server has no notes on who set it"
    if asked.path[:1] == ("status",):
        return "reported by a controller; the API server has no note on which"
    return "nobody set it: a default of the API server, or of an admission webhook"


def _inner_holders(asked: Question) -> Iterator[Writer]:
    """Give who set parts of a field that nobody set as a whole."""
    obj = asked.case.object
    paths = [path for path, _ in leaves(asked.value, asked.path)]
    for each in writers(obj):
        if any(each.holds(path, obj) for path in paths):
            yield each


def _left_empty(asked: Question) -> Iterator[str]:
    """Tell of an expression that gave nothing for the field."""
    made = asked.case.made
    origin = template_of(made) if made is not None else None
    if origin is None:
        return
    found = in_template(origin.template, asked.path, asked.case.object)
    if found is not None and found.wanted in NOTHING:
        yield f"the template leaves it out: {found.value} gives nothing"
