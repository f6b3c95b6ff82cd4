"""
Sets of field paths, and their algebra.

A set is a dict as it stands in `fieldsV1`, so nothing is converted on the way in or out. A key is
one step of a path: `f:` and a field, `k:` and the keys of an item, `v:` and an item, `i:` and an
index. What a step leads to is `{}` if just the path up to here is in the set; else it holds the
steps that go on, and `.` if the path up to here is in the set as well. Only the set as a whole may
be empty: a step under which nothing is in the set is left out. A set is never changed once made.

How a value's type decides which paths it has is not known here.

Follows structured-merge-diff 6.3 fieldpath/set.go Set.Union, Set.Difference, Set.Intersection,
Set.RecursiveDifference; fieldpath/serialize.go Set.ToJSON, Set.FromJSON; fieldpath/element.go
PathElement.Compare.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson

from kube_objects.go_format import format_value, json_text, whole_floats_as_integers
from kube_objects.go_numbers import format_double
from kube_objects.go_text import quote

FieldSet = dict[str, Any]

SELF = "."
_PREFIXES = {"f": 0, "k": 1, "v": 2, "i": 3}


class MalformedFieldsError(ValueError):
    """What stands in `fieldsV1` is no set of fields."""


def of_names(paths: Iterable[tuple[str, ...]]) -> FieldSet:
    """Return a set of paths that are made of field names only."""
    found: FieldSet = {}
    for path in paths:
        step: FieldSet = {}
        for name in reversed(path[1:]):
            step = {f"f:{name}": step}
        found = union(found, {f"f:{path[0]}": step})
    return found


def is_member(node: FieldSet) -> bool:
    """Return whether the path up to a step is in the set, given what the step leads to."""
    return not node or SELF in node


def with_self(node: FieldSet) -> FieldSet:
    """Return what a step leads to, with the path up to it in the set."""
    return node if not node or SELF in node else {SELF: {}, **node}


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return the paths that are in either set."""
    if not one:
        return other
    if not other or one is other:
        return one
    return _joined(one, other)


def _joined(one: FieldSet, other: FieldSet) -> FieldSet:
    if not one:
        return with_self(other)
    if not other:
        return with_self(one)
    found = dict(one)
    for step, node in other.items():
        mine = found.get(step)
        found[step] = node if mine is None or mine == node else _joined(mine, node)
    return found


def difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return the paths of one set that are not in the other."""
    if not one or not other:
        return one
    return _minus(one, other, is_self=False) or {}


def _minus(one: FieldSet, other: FieldSet, *, is_self: bool) -> FieldSet | None:
    """Subtract; `is_self` says that the path up to here stays in the set."""
    found: FieldSet = {SELF: {}} if is_self else {}
    for step, node in one.items():
        if step == SELF:
            continue
        taken = other.get(step)
        if taken is None:
            found[step] = node
            continue
        left = _minus(node, taken, is_self=is_member(node) and not is_member(taken))
        if left is not None:
            found[step] = left
    return _trimmed(found, is_self=is_self)


def _trimmed(node: FieldSet, *, is_self: bool) -> FieldSet | None:
    """Return a node in its one form, or `None` if nothing is in it."""
    if is_self:
        return node if len(node) > 1 else {}
    return node or None


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return the paths that are in both sets."""
    if not one or not other:
        return {}
    return _common(one, other, is_self=False) or {}


def _common(one: FieldSet, other: FieldSet, *, is_self: bool) -> FieldSet | None:
    found: FieldSet = {SELF: {}} if is_self else {}
    for step, node in one.items():
        theirs = other.get(step)
        if theirs is None or step == SELF:
            continue
        both = _common(node, theirs, is_self=is_member(node) and is_member(theirs))
        if both is not None:
            found[step] = both
    return _trimmed(found, is_self=is_self)


def without(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return the paths of one set that neither are in the other nor lie below one that is."""
    if not one or not other:
        return one
    return _cut(one, other, is_self=False) or {}


def _cut(one: FieldSet, other: FieldSet, *, is_self: bool) -> FieldSet | None:
    found: FieldSet = {SELF: {}} if is_self else {}
    for step, node in one.items():
        if step == SELF:
            continue
        taken = other.get(step)
        if taken is None:
            found[step] = node
        elif not is_member(taken):
            left = _cut(node, taken, is_self=is_member(node))
            if left is not None:
                found[step] = left
    return _trimmed(found, is_self=is_self)


def includes(one: FieldSet, other: FieldSet) -> bool:
    """Return whether every path of the other set is in this one."""
    for step, node in other.items():
        mine = one.get(step)
        if mine is None:
            return False
        if mine is node or mine == node:
            continue
        if is_member(node) and not is_member(mine):
            return False
        if node and not includes(with_self(mine), node):
            return False
    return True


def paths(fields: FieldSet) -> Iterator[tuple[str, ...]]:
    """Yield every path, as steps: those of a level before those below it."""
    yield from _paths(fields, ())


def _paths(fields: FieldSet, prefix: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    steps = sorted((step for step in fields if step != SELF), key=_order)
    for step in steps:
        if is_member(fields[step]):
            yield (*prefix, step)
    for step in steps:
        yield from _paths(fields[step], (*prefix, step))


def ordered(fields: FieldSet) -> FieldSet:
    """Return the same set with its steps in the order in which they are written."""
    steps = fields if len(fields) == 1 else sorted(fields, key=_order)
    return {step: ordered(fields[step]) if fields[step] else {} for step in steps}


def _order(step: str) -> tuple[Any, ...]:
    prefix = step[0]
    if prefix == "f":
        return (0, step)
    if prefix == SELF:
        return (-1,)
    value = orjson.loads(step[2:])
    if prefix == "k":
        return (1, [(name, _value_order(value[name])) for name in sorted(value)])
    return (_PREFIXES[prefix], _value_order(value))


def _value_order(value: Any) -> tuple[Any, ...]:
    """Sort numbers before texts before booleans, and those before anything else."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    if isinstance(value, list):
        return (3, [_value_order(item) for item in value])
    if isinstance(value, dict):
        return (4, [(name, _value_order(value[name])) for name in sorted(value)])
    return (5,)


def stored_number_text(number: float) -> str:
    """Print a number of stored managed fields: JSON, which Go reads as a float64."""
    return format_double(float(number))


def applied_number_text(number: float) -> str:
    """Print a number of an applied object: YAML, in which a whole number is an integer."""
    return format_value(whole_floats_as_integers(number))


def path_text(path: Iterable[str], number_text: Callable[[float], str] = stored_number_text) -> str:
    """
    Print a path as messages have it: `.spec.ports[port=80,protocol="TCP"].name`.

    Numbers are floats in paths that were stored, which shows if they are large.
    """
    return "".join(step_text(step, number_text) for step in path)


def step_text(step: str, number_text: Callable[[float], str] = stored_number_text) -> str:
    """Print one step of a path."""
    prefix, rest = step[0], step[2:]
    if prefix == "f":
        return f".{rest}"
    if prefix == "i":
        return f"[{rest}]"
    value = orjson.loads(rest)
    if prefix == "v":
        return f"[={_value_text(value, number_text)}]"
    keys = (f"{name}={_value_text(value[name], number_text)}" for name in sorted(value))
    return f"[{','.join(keys)}]"


def _value_text(value: Any, number_text: Callable[[float], str]) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, list):
        return f"[{','.join(_value_text(each, number_text) for each in value)}]"
    if isinstance(value, dict):
        return "".join(f"{key}={_value_text(value[key], number_text)}" for key in sorted(value))
    return number_text(value)


def parsed(fields: Any) -> FieldSet:
    """Parse a field set of a client into its canonical form; raise if it is malformed."""
    if not isinstance(fields, dict):
        raise MalformedFieldsError("ReadMapCB: expect { or n")
    found = _parsed(fields)
    return {} if found is None else {step: node for step, node in found.items() if step != SELF}


def _parsed(fields: dict[str, Any]) -> FieldSet | None:
    found: FieldSet = {}
    for key, node in fields.items():
        if key == SELF:
            found[SELF] = {}
            continue
        # A path element as stored here, or `None` if it is unknown.
        if len(key) < 2:
            raise MalformedFieldsError("key must be 2 characters long:")
        if key[1] != ":":
            raise MalformedFieldsError(f"missing colon: {key}")
        prefix, rest = key[0], key[2:]
        if prefix == "f":
            step: str | None = key
        elif prefix not in _PREFIXES:
            step = None
        else:
            try:
                value = orjson.loads(rest)
            except orjson.JSONDecodeError as error:
                raise MalformedFieldsError(f"parsing key as path element: {error}") from None
            if (prefix == "k" and not isinstance(value, dict)) or (
                prefix == "i" and type(value) is not int
            ):
                raise MalformedFieldsError(f"parsing key as path element: {rest}")
            step = f"{prefix}:{json_text(value)}"
        if step is not None:
            below = _parsed(node) if isinstance(node, dict) else {}
            found[step] = {} if below is None else below
    return None if not found or found.keys() == {SELF} else found
