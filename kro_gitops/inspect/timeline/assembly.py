"""
One timeline from everything that was fetched: sorted, repeated entries summed up.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from kro_gitops.inspect.timeline.entries import (
    Entry,
    commits,
    events,
    is_about,
    pod_states,
    revisions,
    transitions,
    writes,
)
from kube_objects.refs import KubeObject


@dataclass(frozen=True, slots=True)
class Material:
    """All objects that were fetched for a timeline."""

    objects: Sequence[KubeObject]  # the object itself, its definition, and children
    sources: Sequence[KubeObject] = ()
    revisions: Sequence[KubeObject] = ()  # of its definition
    pods: Sequence[KubeObject] = ()
    events: Sequence[KubeObject] = ()  # of whole namespaces


def timeline(material: Material, since: datetime | None = None) -> list[Entry]:
    """Return what happened, oldest first; `since` leaves out what ended before."""
    found: list[Entry] = []
    for obj in (*material.objects, *material.sources):
        found += writes(obj)
        found += transitions(obj)
    for source in material.sources:
        found += commits(source)
    found += revisions(material.revisions)
    for pod in material.pods:
        found += writes(pod)
        found += pod_states(pod)
    known = (*material.objects, *material.sources, *material.pods)
    found += events(event for event in material.events if is_about(event, known))
    recent = (entry for entry in found if since is None or entry.time >= since)
    return sorted(_summed(recent), key=lambda entry: (entry.time, entry.object, entry.text))


def _summed(entries: Iterable[Entry]) -> Iterable[Entry]:
    """Return entries that say the same of the same object as one, with the last time."""
    by_key: dict[tuple[str, ...], Entry] = {}
    for entry in entries:
        key = (entry.what, entry.object, entry.text, entry.by)
        former = by_key.get(key)
        if former is None:
            by_key[key] = entry
            continue
        first = min(each.first or each.time for each in (former, entry))
        later = max(former, entry, key=lambda each: each.time)
        by_key[key] = replace(later, count=former.count + entry.count, first=first)
    return by_key.values()
