"""
The origin of a field that is in no template: a file, a default, the API server, another manager.
"""

from base64 import b64encode
from dataclasses import replace
from typing import Any

from kro_gitops.engine.plan.fields import NOTHING_KNOWN, UNKNOWN
from kro_gitops.inspect.provenance.answer import OriginKind, Provenance
from kro_gitops.inspect.provenance.context import template_of
from kro_gitops.inspect.provenance.drift import Applied
from kro_gitops.inspect.provenance.field_managers import APPLY, writers
from kro_gitops.inspect.provenance.query import Question, answer, drifts
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
    """Explain a field that the API server sets on every object."""
    rule = server_rule(asked.path)
    return answer(asked, OriginKind.SERVER, f"the API server's own: {rule}") if rule else None


def in_template(template: Template, path: Path, base: Any) -> InTemplate | None:
    """Find a field in a template; a Secret's `data` may be written as `stringData`."""
    found = template.find(path, base)
    if found is not None or path[:1] != ("data",) or "stringData" not in template.body:
        return found
    live = {"stringData": base.get("data")} if isinstance(base, dict) else {}
    as_text = template.find(("stringData", *path[1:]), live)
    if as_text is None or not isinstance(as_text.desired, str):
        return as_text
    return replace(as_text, desired=b64encode(as_text.desired.encode()).decode())


def in_manifest(asked: Question) -> Provenance | None:
    """Explain a field that is written in a file of a source."""
    case, page = asked.case, asked.case.page
    source = case.written
    if source is None or asked.path[:1] == ("status",):
        return None
    text, found = page.text_of(), None
    if isinstance(text, dict):
        found = in_template(Template(text, NOTHING_KNOWN, case.schema), asked.path, asked.base)
    if found is not None and found.rest:
        found = None
    elif found is not None and found.desired is UNKNOWN:
        # Expressions in a file, for example those of a definition, are plain text there.
        found = replace(found, desired=found.value)
    if found is None and (page.document is not None or not _seems_applied(asked)):
        return None
    path, desired = (found.path, found.desired) if found is not None else (asked.path, UNKNOWN)
    return answer(
        asked,
        OriginKind.MANIFEST,
        f"written in a file of source {source.source or 'unknown'}",
        places=(page.place(Spot(path), hidden=asked.hidden),),
        drift=drifts(asked, Applied(asked.path, desired, asked.base, case.schema)),
        notes=found.notes if found is not None else (),
    )


def _seems_applied(asked: Question) -> bool:
    """Return True if a field is most likely in the file, which could not be read."""
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
    """Explain a field that is a default of the schema of an instance's kind."""
    own, path = asked.case.own, asked.path
    if own is None or own.graph is None or asked.value is MISSING:
        return None
    schema = own.graph.served.schema
    # The manager of a list that is one value to the server also holds the defaults within it.
    is_filled_in = asked.case.page.document is not None or asked.case.parent is not None
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
    return answer(asked, OriginKind.DEFAULT, text, places=(own.page.place(Spot(where)),))


def _default(schema: Schema, path: Path) -> Any:
    return (find_schema(schema, path) or {}).get("default", MISSING)


def by_others(asked: Question) -> Provenance:
    """Explain a field that no rule explains: by its field managers, if it has any."""
    obj, parent = asked.case.object, asked.case.parent
    notes: tuple[str, ...] = ()
    origin = template_of(parent) if parent is not None else None
    if origin is not None:
        left_out = in_template(origin.template, asked.path, obj)
        if left_out is not None and left_out.desired in NOTHING:
            notes = (f"the template leaves it out: {left_out.value} gives nothing",)
    if asked.value is MISSING:
        return answer(asked, OriginKind.ABSENT, "no field manager set it", notes=notes)
    everybody = writers(obj)
    found = asked.holders
    if not found:  # parts of it may have been set, though not the whole
        paths = [path for path, _ in leaves(asked.value, asked.path)]
        found = tuple(each for each in everybody if any(each.holds(path, obj) for path in paths))
    if not found:
        if not everybody:
            text = "the API server has no notes on who set it"
        elif asked.path[:1] == ("status",):
            text = "reported by a controller; the API server has no note on which"
        else:
            text = (
                "no field manager set it: a default of the API server, or of an admission webhook"
            )
        return answer(asked, OriginKind.SERVER, text, notes=notes)
    ours = [writer for writer in found if writer.is_ours]
    if ours and len(ours) == len(found):
        what = "reported" if ours[0].subresource == "status" else "set"
        text = f"{what} by the controller"
    else:
        names = ", ".join(dict.fromkeys(each.manager for each in found if not each.is_ours))
        text = f"set by {names}"
    return answer(asked, OriginKind.MANAGER, text, writers=found, notes=notes)
