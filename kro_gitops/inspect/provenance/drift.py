"""
Which fields of an object are not ours any more, though we applied them; and who took them.

As in the controller, no value is compared: whoever changes a field takes it out of our entry in
`managedFields` (`objects.owned_fields`). Here it is also told who has it now, and since when.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from kro_gitops.engine.plan.children import as_stored
from kro_gitops.engine.plan.fields import NOTHING_KNOWN, UNKNOWN
from kro_gitops.inspect.provenance.answer import Drift, is_secret_field, shown
from kro_gitops.inspect.provenance.context import Case, template_of
from kro_gitops.inspect.provenance.field_managers import Writer, holders, our_entry, writers
from kro_gitops.inspect.provenance.template_match import Template
from kro_gitops.metadata import CHILD_MANAGER, SOURCE_MANAGER
from kube_cel.values import OMIT
from kube_objects.paths import MISSING, find, leaves
from kube_objects.problems import Path
from kube_objects.refs import KubeObject
from kube_objects.schemas import Schema

# What names an object is not recorded, nor is what the API server sets itself.
_UNRECORDED = frozenset(("apiVersion", "kind", "status"))
_UNRECORDED_IN_METADATA = frozenset(
    {"name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation"}
)


@dataclass(frozen=True, slots=True)
class Applied:
    """A field as we want it; `base` is an object in which its path leads to it."""

    path: Path
    wanted: Any
    base: Any
    schema: Schema | None = None


def drift_of(case: Case, applied: Applied, *, hidden: bool) -> tuple[Drift, ...]:
    """Return the fields at or below a path that somebody took from us."""
    if not is_recorded(applied.path) or _is_nothing(applied.wanted):
        return ()
    manager = CHILD_MANAGER if case.made is not None else SOURCE_MANAGER
    everybody = writers(case.object)
    ours = our_entry(everybody, manager)
    if not everybody or (ours is None and case.made is None):
        return ()
    if isinstance(applied.wanted, dict | list):
        base = _wrapped(applied.path, applied.wanted)
        parts = [
            replace(applied, path=path, wanted=value, base=base)
            for path, value in leaves(applied.wanted, applied.path)
            if not _is_nothing(value)
        ]
    else:
        parts = [applied]
    taken = [each for each in parts if not (ours and ours.holds(each.path, each.base))]
    return tuple(_drift(case, each, hidden=hidden) for each in taken)


def drifted_fields(case: Case) -> tuple[Drift, ...]:
    """Return everything of a child that somebody took from us."""
    origin = template_of(case.made) if case.made is not None else None
    if origin is None:
        return ()
    body = as_stored(origin.wanted.body)
    found: list[Drift] = []
    for path, value in leaves(body):
        applied = Applied(path, value, body, origin.template.schema)
        found += drift_of(case, applied, hidden=False)
    return tuple(found)


def is_recorded(path: Path) -> bool:
    """Say whether the API server notes who set a field."""
    if not path or path[0] in _UNRECORDED:
        return False
    return path[0] != "metadata" or len(path) < 2 or path[1] not in _UNRECORDED_IN_METADATA


def _is_nothing(value: Any) -> bool:
    return value is None or value is OMIT or (isinstance(value, dict | list) and not value)


def _drift(case: Case, applied: Applied, *, hidden: bool) -> Drift:
    hidden = hidden or is_secret_field(case.object, applied.path)
    live = _live_value(case.object, applied)
    others = [each for each in writers(case.object) if not each.is_ours]
    by = holders(others, applied.path, applied.base)
    is_guess = not by
    if is_guess:
        by = tuple(_last_writer(others))
    wanted = shown(applied.wanted, hidden=hidden and applied.wanted is not UNKNOWN)
    return Drift(applied.path, wanted, shown(live, hidden=hidden), by, is_guess)


def _live_value(live: KubeObject, applied: Applied) -> Any:
    """Return what stands live where another object has a field: items of lists by their keys."""
    if applied.base is live:
        return find(live, applied.path)
    found = Template(live, NOTHING_KNOWN, applied.schema).find(applied.path, applied.base)
    return MISSING if found is None else found.value


def _last_writer(others: Iterable[Writer]) -> Iterable[Writer]:
    """Return who wrote last: nobody holds what is gone, so this is the best guess."""
    return [each for each in others if not each.subresource][:1]


def _wrapped(path: Path, value: Any) -> Any:
    """Put a value where it belongs in an object that has nothing else."""
    for step in reversed(path):
        value = {step: value} if isinstance(step, str) else [*([None] * step), value]
    return value
