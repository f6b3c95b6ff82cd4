"""
The pins of a source: which of them are in force, and a revision with its pinned objects.

A pinned object takes the place of the one that the commit has. If the commit has none, it is added,
so that it is not pruned.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from kro_gitops.source.api.types import ObjectPin, Pin, SourceSpec
from kro_gitops.source.files.revision import Item, Snapshot
from kube_objects.times import parse_time


def valid_pin(spec: SourceSpec, now: datetime) -> Pin | None:
    """Return the pin of a source, unless it has expired."""
    pin = spec.pin
    return pin if pin is None or _is_valid(pin.expires, now) else None


def with_valid_pins(spec: SourceSpec, now: datetime) -> SourceSpec:
    """Return a spec without the pins of objects that have expired."""
    valid = tuple(pin for pin in spec.pins if _is_valid(pin.expires, now))
    return spec if valid == spec.pins else replace(spec, pins=valid)


def _is_valid(expires: str, now: datetime) -> bool:
    until = parse_time(expires) if expires else None
    return until is None or now < until


def find_pinned(snapshot: Snapshot, pin: ObjectPin, namespace: str) -> Item | None:
    """Return the object of a pin in a commit; `namespace` is the source's."""
    return next((item for item in snapshot.items if _is_pinned(item, pin, namespace)), None)


def _is_pinned(item: Item, pin: ObjectPin, namespace: str) -> bool:
    ref = item.ref
    is_same_kind = (ref.kind.group, ref.kind.kind, ref.name) == (pin.group, pin.kind, pin.name)
    return is_same_kind and (ref.namespace or namespace) == (pin.namespace or namespace)


def with_pinned(snapshot: Snapshot, pinned: Mapping[ObjectPin, Item], namespace: str) -> Snapshot:
    """Return a commit with the pinned objects of other commits."""
    replaced, kept = dict[Item, Item](), list[Item]()
    for pin, item in pinned.items():
        own = find_pinned(snapshot, pin, namespace)
        if own is None:
            kept.append(item)
        else:
            replaced[own] = item
    items = (*(replaced.get(item, item) for item in snapshot.items), *kept)
    commits = {item: pin.commit for pin, item in pinned.items()}
    return replace(snapshot, items=items, pinned=commits, kept=frozenset(kept))
