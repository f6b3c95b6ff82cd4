"""
Typed values: the paths in a value, and the differences between two values.

This computes every path that a manager can own. An atomic part is one path, whatever its size;
items of lists are named by their keys or values. Several items with one name are one path. Equal
parts of two values are not compared in depth, which makes an update cheap.

Follows structured-merge-diff 6.3 typed/compare.go compareWalker.compare; typed/tofieldset.go
toFieldSetWalker.toFieldSet; typed/helpers.go listItemToPathElement.
"""

from dataclasses import dataclass
from typing import Any

import orjson

from kube_objects.go_format import json_text
from kube_objects.refs import KubeObject
from kube_sandbox.managedfields.fieldset import SELF, FieldSet
from kube_sandbox.managedfields.types import Atom, ListType, MapType

_CONTAINERS = frozenset((dict, list))
_NULL_ITEM = "associative list with keys may not have a null element"
_NON_MAP_ITEM = "associative list with keys may not have non-map elements"
_UNSUPPORTED_ITEMS: dict[type, str] = {
    dict: "associative list without keys has an element that's a map type",
    list: "not supported: associative list with lists as elements",
    type(None): "associative list without keys has an element that's an explicit null",
}


class UnnamedItemError(ValueError):
    """An item of a list cannot be distinguished from the others."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What became of the fields of an object."""

    removed: FieldSet
    modified: FieldSet
    added: FieldSet

    @property
    def is_empty(self) -> bool:
        """Return whether nothing differs."""
        return not (self.removed or self.modified or self.added)


def step_of(item: Any, kind: ListType) -> str:
    """Return the step of a path that leads to an item of a list that is not atomic."""
    if not kind.keys:
        wrong = _UNSUPPORTED_ITEMS.get(type(item))
        if wrong is not None:
            raise UnnamedItemError(wrong)
        return f"v:{json_text(item)}"
    if type(item) is not dict:
        raise UnnamedItemError(_NULL_ITEM if item is None else _NON_MAP_ITEM)
    found = []
    for key, head, default in kind.parts:
        if key in item:
            found.append(head + json_text(item[key]))
        elif default:
            found.append(default)
    if not found:
        keys = " ".join(f'"{key}"' for key in kind.keys)
        raise UnnamedItemError(
            f"associative list with keys has an element that omits all key fields [{keys}] "
            "(and doesn't have default values for any key fields)"
        )
    return f"k:{{{','.join(found)}}}"


def has_path_element(item: Any, kind: ListType) -> bool:
    """Return whether there is a step that leads to an item."""
    if not kind.keys:
        return type(item) not in _UNSUPPORTED_ITEMS
    return type(item) is dict and any(key in item or default for key, _, default in kind.parts)


def steps_of(items: list[Any], kind: ListType) -> dict[str, list[Any]]:
    """Return the items of a list by the steps that lead to them."""
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(step_of(item, kind), []).append(item)
    return found


def fields_of(obj: KubeObject, root: Atom) -> FieldSet:
    """Return the fields that a manager owns by applying an object: leaves, items and keys."""
    return _applied_map(obj, root.map) if root.map is not None else {}


def _applied(value: Any, atom: Atom | None) -> FieldSet | None:
    """Return what is owned below a value; `None` if it is a leaf."""
    if atom is None:
        return None
    if type(value) is dict and atom.map is not None:
        return None if atom.map.is_atomic or not value else _applied_map(value, atom.map)
    if type(value) is list and atom.list is not None:
        if atom.list.is_atomic:
            return None
        kind = atom.list
        found: FieldSet = {}
        for step, items in steps_of(value, kind).items():
            below = _applied(items[0], kind.element) if len(items) == 1 else None
            found[step] = {SELF: {}, **below} if below else {}
        return found
    return None


def _applied_map(value: KubeObject, kind: MapType) -> FieldSet:
    found: FieldSet = {}
    named = kind.fields
    for key, child in value.items():
        if type(child) not in _CONTAINERS:
            found[f"f:{key}"] = {}
            continue
        atom = named.get(key)
        below = _applied(child, atom or kind.element)
        if below is None:
            found[f"f:{key}"] = {}
        elif atom is None:
            found[f"f:{key}"] = {SELF: {}, **below} if below else {}
        elif below:
            found[f"f:{key}"] = below
    return found


def all_paths(value: Any, atom: Atom) -> FieldSet:
    """Return what a step leads to when all of its value is new, or gone."""
    if type(value) is dict and atom.map is not None:
        kind = atom.map
        if kind.is_atomic or not value:
            return {}
        found: FieldSet = {SELF: {}}
        for key, child in value.items():
            if type(child) not in _CONTAINERS:
                found[f"f:{key}"] = {}
            else:
                found[f"f:{key}"] = _all_below(child, kind.fields.get(key) or kind.element)
        return found
    if type(value) is list and atom.list is not None and value and not atom.list.is_atomic:
        found = {SELF: {}}
        for step, items in steps_of(value, atom.list).items():
            found[step] = all_paths(items[0], atom.list.element) if len(items) == 1 else {}
        return found
    return {}


def compare(old: KubeObject, new: KubeObject, root: Atom) -> Comparison:
    """Return what differs between two objects."""
    found = _Difference()
    if root.map is not None:
        found.maps(old, new, root.map)
    return Comparison(found.removed, found.modified, found.added)


class _Difference:
    """What differs below one place, and whether the place itself counts as modified."""

    __slots__ = ("added", "is_modified", "modified", "removed")

    def __init__(self) -> None:
        self.removed: FieldSet = {}
        self.modified: FieldSet = {}
        self.added: FieldSet = {}
        self.is_modified = False

    def values(self, old: Any, new: Any, atom: Atom) -> None:
        """Find out what differs between two values."""
        before, after = _handler(old, atom), _handler(new, atom)
        self._as(before, old, new, atom)
        if after != before:
            self._as(after, old, new, atom)

    def _as(self, handler: str, old: Any, new: Any, atom: Atom) -> None:
        if handler == "map" and atom.map is not None and not atom.map.is_atomic:
            before = old if type(old) is dict else {}
            after = new if type(new) is dict else {}
            if before or after:
                return self.maps(before, after, atom.map)
        elif handler == "list" and atom.list is not None and not atom.list.is_atomic:
            first = old if type(old) is list else []
            second = new if type(new) is list else []
            if first or second:
                return self.lists(first, second, atom.list)
        if not is_same(old, new):
            self.is_modified = True
        return None

    def maps(self, old: KubeObject, new: KubeObject, kind: MapType) -> None:
        """Find out what differs between two objects."""
        for key, before in old.items():
            atom = kind.fields.get(key) or kind.element
            if key not in new:
                self.removed[f"f:{key}"] = _all_below(before, atom)
                continue
            after = new[key]
            if before is not after and not _is_surely_same(before, after):
                self._both(f"f:{key}", before, after, atom)
        for key, after in new.items():
            if key not in old:
                self.added[f"f:{key}"] = _all_below(after, kind.fields.get(key) or kind.element)

    def lists(self, old: list[Any], new: list[Any], kind: ListType) -> None:
        """Find out what differs between two lists, item by item."""
        before, after = steps_of(old, kind), steps_of(new, kind)
        for step in {**before, **after}:
            first, second = before.get(step, []), after.get(step, [])
            if len(first) == len(second) == 1:
                self._both(step, first[0], second[0], kind.element)
            elif len(first) > 1 and len(second) > 1:
                if not is_same(first, second):
                    self.modified[step] = {}
            else:
                # Several items of one name are a path without anything below.
                if first:
                    self.removed[step] = {} if len(first) > 1 else all_paths(first[0], kind.element)
                if second:
                    self.added[step] = {} if len(second) > 1 else all_paths(second[0], kind.element)

    def _both(self, step: str, old: Any, new: Any, atom: Atom | None) -> None:
        if atom is None:
            return
        below = _Difference()
        below.values(old, new, atom)
        if below.removed:
            self.removed[step] = below.removed
        if below.added:
            self.added[step] = below.added
        if below.is_modified:
            self.modified[step] = {SELF: {}, **below.modified} if below.modified else {}
        elif below.modified:
            self.modified[step] = below.modified


def _all_below(value: Any, atom: Atom | None) -> FieldSet:
    return {} if atom is None else all_paths(value, atom)


def _handler(value: Any, atom: Atom) -> str:
    """Say as what a value is treated; `null` is whatever may stand there."""
    kind = type(value)
    if kind is dict and atom.map is not None:
        return "map"
    if kind is list and atom.list is not None:
        return "list"
    if kind in atom.accepts:
        return "scalar"
    return "map" if atom.map is not None else "scalar" if atom.scalar else "list"


def _is_surely_same(one: Any, other: Any) -> bool:
    """Return whether two values are the same, where that can be said at once."""
    if type(one) is not type(other) or one != other:
        return False
    if type(one) not in _CONTAINERS:
        return True
    try:
        # Python takes True for 1, so equal objects and lists are looked into a little closer.
        return orjson.dumps(one) == orjson.dumps(other)
    except TypeError:  # integers of more than 64 bits
        return False


def is_same(one: Any, other: Any) -> bool:
    """Return whether two values are the same; a number is the same however it is written."""
    if _is_surely_same(one, other):
        return True
    if type(one) is dict and type(other) is dict:
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if type(one) is list and type(other) is list:
        return len(one) == len(other) and all(map(is_same, one, other))
    return bool(one == other) and (type(one) is bool) == (type(other) is bool)
