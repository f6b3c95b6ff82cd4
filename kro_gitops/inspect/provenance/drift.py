"""
Drift: the fields that we applied but do not own any more, and the field manager that has them.

As in the controller, no value is compared: a client that changes a field takes it out of our entry
in `managedFields` (`objects.owned_fields`). The answer also names the present owner and the time.
"""

from dataclasses import dataclass, replace
from typing import Any

from kro_gitops.engine.plan.children import as_stored
from kro_gitops.engine.plan.fields import NOTHING_KNOWN, UNKNOWN
from kro_gitops.inspect.provenance.answer import Drift, is_secret_field, shown
from kro_gitops.inspect.provenance.context import Case, template_of
from kro_gitops.inspect.provenance.field_managers import holders, our_entry, writers
from kro_gitops.inspect.provenance.template_match import Template
from kro_gitops.metadata import CHILD_MANAGER, SOURCE_MANAGER
from kube_cel.values import OMIT
from kube_objects.paths import MISSING, find, leaves
from kube_objects.problems import Path
from kube_objects.schemas import Schema

# managedFields has no entries for the identity of an object and for what the API server sets.
_UNRECORDED = frozenset(("apiVersion", "kind", "status"))
_UNRECORDED_IN_METADATA = frozenset(
    {"name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation"}
)


@dataclass(frozen=True, slots=True)
class Applied:
    """The desired value of a field; `base` is an object in which its path leads to it."""

    path: Path
    desired: Any
    base: Any
    schema: Schema | None = None


def drift_of(case: Case, applied: Applied, *, hidden: bool) -> tuple[Drift, ...]:
    """Return the fields at or below a path that another field manager took from us."""
    if not is_recorded(applied.path) or _is_nothing(applied.desired):
        return ()
    manager = CHILD_MANAGER if case.parent is not None else SOURCE_MANAGER
    everybody = writers(case.object)
    ours = our_entry(everybody, manager)
    if not everybody or (ours is None and case.parent is None):
        return ()
    parts = [applied]
    if isinstance(applied.desired, dict | list):
        base = applied.desired  # an object that has this value at its path, and nothing else
        for step in reversed(applied.path):
            base = {step: base} if isinstance(step, str) else [*([None] * step), base]
        parts = [
            replace(applied, path=path, desired=value, base=base)
            for path, value in leaves(applied.desired, applied.path)
            if not _is_nothing(value)
        ]
    others = [writer for writer in everybody if not writer.is_ours]
    drifted = []
    for part in parts:
        if ours and ours.holds(part.path, part.base):
            continue
        if part.base is case.object:
            live = find(case.object, part.path)
        else:  # the path is that of another object, so items of lists are found by their keys
            template = Template(case.object, NOTHING_KNOWN, part.schema)
            found = template.find(part.path, part.base)
            live = MISSING if found is None else found.value
        by = holders(others, part.path, part.base)
        # No manager holds a removed field: the one that wrote last is the best guess.
        guess = tuple([writer for writer in others if not writer.subresource][:1])
        is_secret = hidden or is_secret_field(case.object, part.path)
        is_known = part.desired is not UNKNOWN
        desired = shown(part.desired, hidden=is_secret and is_known, salt=case.salt)
        live_text = shown(live, hidden=is_secret, salt=case.salt)
        drifted.append(Drift(part.path, desired, live_text, by or guess, is_guess=not by))
    return tuple(drifted)


def drifted_fields(case: Case) -> tuple[Drift, ...]:
    """Return all fields of a child that another field manager took from us."""
    origin = template_of(case.parent) if case.parent is not None else None
    if origin is None:
        return ()
    body = as_stored(origin.desired.body)
    found: list[Drift] = []
    for path, value in leaves(body):
        applied = Applied(path, value, body, origin.template.schema)
        found += drift_of(case, applied, hidden=False)
    return tuple(found)


def is_recorded(path: Path) -> bool:
    """Return True if `managedFields` has entries for the field."""
    if not path or path[0] in _UNRECORDED:
        return False
    return path[0] != "metadata" or len(path) < 2 or path[1] not in _UNRECORDED_IN_METADATA


def _is_nothing(value: Any) -> bool:
    return value is None or value is OMIT or (isinstance(value, dict | list) and not value)
