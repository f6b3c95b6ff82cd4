"""
Fields that may differ from what is desired.

A rule names fields by JSON pointers (RFC 6901) in the desired object. What becomes of such a
field depends on who else cares for it in the cluster:

* Another manager applies it: we leave it out. The server takes it from our fields, and nothing is
  lost, because it has another owner.
* No other manager applies it (an autoscaler updates, it does not apply): we take over the live
  value. To leave it out would remove it, or reset it to a default.
* It is not in the cluster: left out, because another client removed it.
* The object is not in the cluster: it is created as git has it.

Where a rule names a whole map, each of its fields is treated by itself, and only those that git
has: what others added there is not touched. Items of lists that have a `name` are found
by it, whatever stands before them in the cluster; other lists are one value.

What names an object is not ignored, whatever a rule says. Marks of our own are laid over the
result, or they would be frozen with the rest.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import orjson

from kro_gitops.errors import UserError
from kube_objects.paths import MISSING, find
from kube_objects.problems import Path
from kube_objects.refs import KubeObject, ObjectRef

_Fields = Mapping[str, Any]

_IDENTITY: frozenset[Path] = frozenset(
    ((), ("apiVersion",), ("kind",), ("metadata",), ("metadata", "name"), ("metadata", "namespace"))
)
_BAD_ESCAPE = re.compile(r"~(?![01])")
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """Fields that may differ (JSON pointers), and on which objects; empty: on all."""

    pointers: tuple[str, ...]
    group: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""


def parse_pointer(text: str) -> tuple[str, ...]:
    """Take a JSON pointer apart; whether a step is an index shows in the object."""
    if (text and not text.startswith("/")) or _BAD_ESCAPE.search(text):
        raise UserError(
            "invalid-pointer",
            f"{text!r} is not a JSON pointer",
            hint="write /spec/replicas; a slash inside of a name is ~1, a tilde ~0",
        )
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:])


def without_ignored(
    desired: KubeObject,
    live: KubeObject | None,
    rules: tuple[IgnoreRule, ...],
    manager: str,
) -> KubeObject:
    """Return what to apply, as `manager`, if the fields that rules name may differ."""
    if live is None:
        return desired
    paths = _paths(desired, pointers_for(rules, ObjectRef.of(desired)))
    if not paths:
        return desired
    metadata = live.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    others: list[_Fields] = [
        entry["fieldsV1"]
        for entry in entries or ()
        if entry.get("operation") == "Apply"
        and entry.get("manager") != manager
        and not entry.get("subresource")
        and entry.get("fieldsV1")
    ]
    result = deepcopy(desired)
    # Deeper and later first: so no removal moves what is still to come.
    for path in _deepest_first(paths):
        value = _settled(desired, live, path, others)
        parent = find(result, path[:-1])
        if parent is MISSING or find(parent, path[-1:]) is MISSING:
            continue  # what it stood in is gone already
        if value is MISSING:
            del parent[path[-1]]
        else:
            parent[path[-1]] = value
    return result


def pointers_for(rules: Iterable[IgnoreRule], ref: ObjectRef) -> tuple[str, ...]:
    """Return the pointers of all rules that apply to an object."""
    return tuple(pointer for rule in rules if concerns(rule, ref) for pointer in rule.pointers)


def without_pointers(desired: KubeObject, pointers: Iterable[str]) -> KubeObject:
    """Return an object without the fields that pointers name."""
    paths = _paths(desired, pointers)
    if not paths:
        return desired
    result = deepcopy(desired)
    for path in _deepest_first(paths):
        parent = find(result, path[:-1])
        if parent is not MISSING and find(parent, path[-1:]) is not MISSING:
            del parent[path[-1]]
    return result


def _paths(desired: KubeObject, pointers: Iterable[str]) -> set[Path]:
    located = (_located(desired, parse_pointer(pointer)) for pointer in pointers)
    return {path for path in located if path is not None and path not in _IDENTITY}


def _deepest_first(paths: Iterable[Path]) -> list[Path]:
    return sorted(
        paths,
        key=lambda path: [(step, "") if isinstance(step, int) else (-1, step) for step in path],
        reverse=True,
    )


def concerns(rule: IgnoreRule, ref: ObjectRef) -> bool:
    """Return True if a rule applies to an object."""
    asked = (
        (rule.group, ref.kind.group),
        (rule.kind, ref.kind.kind),
        (rule.namespace, ref.namespace),
        (rule.name, ref.name),
    )
    # A bracket is an ordinary character here.
    return all(not glob or fnmatchcase(text, glob.replace("[", "[[]")) for glob, text in asked)


def _located(desired: KubeObject, steps: tuple[str, ...]) -> Path | None:
    """Return the path that a pointer means in an object, if there is anything."""
    path: list[str | int] = []
    value: Any = desired
    for step in steps:
        if isinstance(value, list):
            names = [_name(item) for item in value]
            if step in names:
                path.append(names.index(step))
            elif _INDEX.fullmatch(step) and int(step) < len(value):
                path.append(int(step))
            else:
                return None
        elif isinstance(value, dict) and step in value:
            path.append(step)
        else:
            return None
        value = value[path[-1]]
    return tuple(path)


def _settled(desired: KubeObject, live: KubeObject, path: Path, others: Sequence[_Fields]) -> Any:
    """Walk to a field in the object, in the cluster's, and in what others apply; settle it."""
    value: Any = desired
    found: Any = live
    for step in path:
        item = value[step]
        if any(_is_leaf(fields) for fields in others):
            return MISSING
        others = _below(others, step, item)
        found = _counterpart(found, step, item)
        value = item
    return _settle(value, found, others)


def _settle(desired: Any, found: Any, others: Sequence[_Fields]) -> Any:
    if any(_is_leaf(fields) for fields in others) or found is MISSING:
        return MISSING
    if isinstance(desired, dict) and desired and isinstance(found, dict):
        settled = {
            key: _settle(value, _counterpart(found, key, value), _below(others, key, value))
            for key, value in desired.items()
        }
        kept = {key: value for key, value in settled.items() if value is not MISSING}
        return kept or MISSING
    is_list = isinstance(desired, list) and isinstance(found, list)
    if is_list and desired and all(_name(each) for each in desired):
        items = [
            _settle(item, _counterpart(found, index, item), _below(others, index, item))
            for index, item in enumerate(desired)
        ]
        return [item for item in items if item is not MISSING] or MISSING
    # Others may apply parts of a list that has no names; then it is not ours to set.
    return MISSING if others else deepcopy(found)


def _counterpart(found: Any, step: str | int, item: Any) -> Any:
    """Return what stands in the cluster for a field or an item; items are found by name."""
    if isinstance(step, int) and isinstance(found, list) and _name(item) is not None:
        return next((each for each in found if _name(each) == _name(item)), MISSING)
    return find(found, (step,))


def _name(item: Any) -> str | None:
    name = item.get("name") if isinstance(item, dict) else None
    return name if isinstance(name, str) else None


def _below(others: Sequence[_Fields], step: str | int, item: Any) -> list[_Fields]:
    """Return what other managers own of a field or an item; those that own nothing are left out."""
    if isinstance(step, str):
        return [fields[f"f:{step}"] for fields in others if f"f:{step}" in fields]
    return [
        below for fields in others for name, below in fields.items() if _is_item(name, step, item)
    ]


def _is_item(name: str, index: int, item: Any) -> bool:
    tag, text = name[:2], name[2:]
    match tag:
        case "k:":
            key = orjson.loads(text)
            return isinstance(item, dict) and all(item.get(k, v) == v for k, v in key.items())
        case "v:":
            return bool(orjson.loads(text) == item)
        case "i:":
            return text == str(index)
        case _:
            return False


def _is_leaf(fields: _Fields) -> bool:
    """Return True if a manager owns a field as a whole, not only fields in it."""
    return not any(key != "." for key in fields)
