"""
Values made from others by their types: an applied one laid over a live one, or parts taken out.

Nothing is changed in place. An unchanged part stays the same dict or list, so that a comparison can
skip it; `copy_value` makes an independent copy.

Follows structured-merge-diff 6.3 typed/merge.go mergingWalker.merge; typed/remove.go
removeItemsWithSchema; typed/reconcile_schema.go ReconcileFieldSetWithSchema.
"""

from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.managedfields.fieldset import SELF, FieldSet, is_member, with_self
from kube_sandbox.managedfields.typed import is_same, step_of
from kube_sandbox.managedfields.types import Atom, ListType, MapType


def merge_applied(live: KubeObject, config: KubeObject, root: Atom) -> KubeObject:
    """Lay an applied object over a live one; nothing is removed by it."""
    return _merged_maps(live, config, root.map) if root.map is not None else config


def _merged(live: Any, config: Any, atom: Atom | None) -> Any:
    if atom is None:
        return config
    if config is None:
        # Lay `null` over a value: it is no value for what is merged field by field.
        if atom.map is not None:
            return live if type(live) is dict and live and not atom.map.is_atomic else None
        if atom.list is not None and not atom.scalar:
            return live if type(live) is list and live and not atom.list.is_atomic else None
        return None
    if type(live) is type(config) is dict and atom.map is not None and not atom.map.is_atomic:
        return _merged_maps(live, config, atom.map)
    granular = atom.list is not None and not atom.list.is_atomic
    if granular and type(live) is type(config) is list and live and atom.list is not None:
        if not config:
            return live
        # Merge items of the same name.
        kind = atom.list
        before, known = _named(live, kind)
        after, wanted = _named(config, kind)
        if before == after and len(known) == len(before):
            pairs = zip(live, config, strict=True)
            items = [_merged(one, other, kind.element) for one, other in pairs]
            unchanged = all(one is other for one, other in zip(live, items, strict=True))
            return live if unchanged else items
        found = _in_order(before, after, known, wanted)
        return [
            live[place]
            if place is not None
            else _merged(known[step], wanted[step], kind.element)
            if step in known
            else wanted[step]
            for step, place in found
        ]
    return live if is_same(live, config) else config


def _merged_maps(live: KubeObject, config: KubeObject, kind: MapType) -> KubeObject:
    found: KubeObject | None = None
    for key, value in config.items():
        if key in live:
            before = live[key]
            atom = kind.fields.get(key) or kind.element
            value = _merged(before, value, atom)
            if value is before:
                continue
        if found is None:
            found = dict(live)
        found[key] = value
    return live if found is None else found


def _named(items: list[Any], kind: ListType) -> tuple[list[str], dict[str, Any]]:
    """Return the steps that lead to items, and the items; those of one name count as `null`."""
    steps = [step_of(item, kind) for item in items]
    found: dict[str, Any] = {}
    for step, item in zip(steps, items, strict=True):
        found[step] = None if step in found else item
    return steps, found


def _in_order(
    before: list[str], after: list[str], known: dict[str, Any], wanted: dict[str, Any]
) -> list[tuple[str, int | None]]:
    """Return the steps of the merged list, each with its place in the live one if only there."""
    shared = iter([step for step in after if step in known])
    next_shared = next(shared, None)
    found: list[tuple[str, int | None]] = []
    taken: set[str] = set()
    left = right = 0
    while left < len(before) or right < len(after):
        if left < len(before) and right < len(after):
            step = before[left]
            if step == after[right]:
                taken.add(step)
                found.append((step, None))
                left, right = left + 1, right + 1
                next_shared = next(shared, None)
                continue
            if step in wanted and next_shared is not None and next_shared != step:
                left += 1
                continue
        if left < len(before):
            step = before[left]
            if step not in wanted:
                found.append((step, left))
                left += 1
                continue
            if step in taken:
                left += 1
        if right < len(after):
            step = after[right]
            taken.add(step)
            found.append((step, None))
            right += 1
            if next_shared == step:
                next_shared = next(shared, None)
    return found


def copy_value(value: Any) -> Any:
    """Return a value that shares nothing with what it was made from."""
    if type(value) is dict:
        return {key: copy_value(each) for key, each in value.items()}
    return [copy_value(each) for each in value] if type(value) is list else value


def remove_fields(obj: KubeObject, fields: FieldSet, root: Atom) -> KubeObject:
    """Return an object without some of its fields, items and keys."""
    return _removed(obj, fields, root) if fields else obj


def _removed(value: Any, fields: FieldSet, atom: Atom) -> Any:
    """Take fields out; what has nothing left in it becomes `null`."""
    if type(value) is dict and atom.map is not None:
        if atom.map.is_atomic:
            return None
        kept: KubeObject = {}
        for key, child in value.items():
            inside = fields.get(f"f:{key}")
            if inside is None:
                kept[key] = child
            elif not is_member(inside):
                part = atom.map.fields.get(key) or atom.map.element
                kept[key] = child if part is None else _removed(child, inside, part)
        return kept or None
    if type(value) is list and atom.list is not None:
        if atom.list.is_atomic:
            return None
        kind = atom.list
        found = []
        for item in value:
            below = fields.get(step_of(item, kind))
            if below is None:
                found.append(item)
            elif not is_member(below):
                found.append(_removed(item, below, kind.element))
        return found or None
    return value if type(value) in atom.accepts else None


def with_named_fields(fields: FieldSet, atom: Atom | None) -> FieldSet:
    """Return a set with all fields that have a name in the schema and lie above others in it."""
    found: FieldSet = {}
    for step, node in fields.items():
        if not node:
            found[step] = node
            continue
        below: Atom | None = None
        is_named = False
        if atom is not None and step[0] == "f" and atom.map is not None:
            below = atom.map.fields.get(step[2:])
            is_named = below is not None
            below = below or atom.map.element
        elif atom is not None and step[0] == "k" and atom.list is not None:
            below = atom.list.element
        inner = with_named_fields(node, below)
        found[step] = with_self(inner) if is_named else inner
    return found


def lift_to_atomic(fields: FieldSet, atom: Atom | None) -> FieldSet:
    """Return a set in which nothing lies below what is atomic by now."""
    found: FieldSet | None = None
    for step, node in fields.items():
        if not node:
            continue
        # What stands where a step leads, or `None` if the schema does not say.
        if atom is None or step == SELF:
            below: Atom | None = None
        elif atom.map is not None:
            below = (atom.map.fields.get(step[2:]) if step[0] == "f" else None) or atom.map.element
        else:
            below = atom.list.element if atom.list is not None else None
        if below is None:
            inner: FieldSet = node
        elif below.map is not None:
            if below.map.is_free:
                inner = node
            else:
                inner = {} if below.map.is_atomic else lift_to_atomic(node, below)
        elif below.scalar or below.list is None:
            inner = node
        else:
            inner = {} if below.list.is_atomic else lift_to_atomic(node, below)
        if inner is not node:
            found = dict(fields) if found is None else found
            found[step] = inner
    return fields if found is None else found
