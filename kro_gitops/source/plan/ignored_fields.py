"""
Fields that may differ from git.

A rule names fields by JSON pointers (RFC 6901) in the object as git has it. What becomes of such a
field depends on who else cares for it in the cluster:

* Another manager applies it: we leave it out. The server takes it from our fields, and nothing is
  lost, because it has another owner.
* Nobody else applies it (an autoscaler updates, it does not apply): we take over the live value.
  To leave it out would remove it, or reset it to a default.
* It is not in the cluster: left out, because another client removed it.
* The object is not in the cluster: it is made as git has it.

Where a rule names a whole map, each of its fields is treated by itself, and only those that git
has: what others added there is none of our business. Items of lists that have a `name` are found
by it, whatever stands before them in the cluster; other lists are one value.

What names an object is not ignored, whatever a rule says. Marks of our own are laid over the
result, or they would be frozen with the rest.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

import orjson

from kro_gitops.errors import UserError
from kro_gitops.source.api.types import IgnoreRule
from kro_gitops.source.plan.permissions import matches
from kube_objects.paths import MISSING, find
from kube_objects.problems import Path
from kube_objects.refs import KubeObject, ObjectRef

_Fields = Mapping[str, Any]

_IDENTITY: frozenset[Path] = frozenset(
    ((), ("apiVersion",), ("kind",), ("metadata",), ("metadata", "name"), ("metadata", "namespace"))
)
_BAD_ESCAPE = re.compile(r"~(?![01])")
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")


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
    found = set(_paths(desired, rules))
    if not found:
        return desired
    others = _applied_by_others(live, manager)
    result = deepcopy(desired)
    # Deeper and later first: so no removal moves what is still to come.
    for path in sorted(found, key=_sortable, reverse=True):
        _replace(result, path, _settled(desired, live, path, others))
    return result


def _paths(desired: KubeObject, rules: Sequence[IgnoreRule]) -> Iterator[Path]:
    ref = ObjectRef.of(desired)
    for rule in rules:
        if not concerns(rule, ref):
            continue
        for pointer in rule.pointers:
            path = _located(desired, parse_pointer(pointer))
            if path is not None and path not in _IDENTITY:
                yield path


def concerns(rule: IgnoreRule, ref: ObjectRef) -> bool:
    """Return True if a rule applies to an object."""
    asked = (
        (rule.group, ref.kind.group),
        (rule.kind, ref.kind.kind),
        (rule.namespace, ref.namespace),
        (rule.name, ref.name),
    )
    return all(not glob or matches(text, (glob,)) for glob, text in asked)


def _located(desired: KubeObject, steps: tuple[str, ...]) -> Path | None:
    """Return the path that a pointer means in an object, if there is anything."""
    path: list[str | int] = []
    value: Any = desired
    for step in steps:
        if isinstance(value, list):
            if not _INDEX.fullmatch(step) or int(step) >= len(value):
                return None
            path.append(int(step))
        elif isinstance(value, dict) and step in value:
            path.append(step)
        else:
            return None
        value = value[path[-1]]
    return tuple(path)


def _settled(desired: KubeObject, live: KubeObject, path: Path, others: Sequence[_Fields]) -> Any:
    """Walk to a field in the object, in the cluster's, and in what others apply; settle it."""
    wanted: Any = desired
    found: Any = live
    for step in path:
        item = wanted[step]
        if any(_is_leaf(fields) for fields in others):
            return MISSING
        others = _below(others, step, item)
        found = _counterpart(found, step, item)
        wanted = item
    return _settle(wanted, found, others)


def _settle(wanted: Any, found: Any, others: Sequence[_Fields]) -> Any:
    if any(_is_leaf(fields) for fields in others) or found is MISSING:
        return MISSING
    if isinstance(wanted, dict) and wanted and isinstance(found, dict):
        settled = {
            key: _settle(value, _counterpart(found, key, value), _below(others, key, value))
            for key, value in wanted.items()
        }
        kept = {key: value for key, value in settled.items() if value is not MISSING}
        return kept or MISSING
    if _has_names(wanted) and isinstance(found, list):
        items = [
            _settle(item, _counterpart(found, index, item), _below(others, index, item))
            for index, item in enumerate(wanted)
        ]
        return [item for item in items if item is not MISSING] or MISSING
    # Others may apply parts of a list that has no names; then it is not ours to set.
    return MISSING if others else deepcopy(found)


def _counterpart(found: Any, step: str | int, item: Any) -> Any:
    """Return what stands in the cluster for a field or an item; items are found by name."""
    if isinstance(step, int) and isinstance(found, list) and _name(item) is not None:
        return next((each for each in found if _name(each) == _name(item)), MISSING)
    return find(found, (step,))


def _has_names(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(_name(each) for each in value)


def _name(item: Any) -> str | None:
    name = item.get("name") if isinstance(item, dict) else None
    return name if isinstance(name, str) else None


def _applied_by_others(live: KubeObject, manager: str) -> list[_Fields]:
    metadata = live.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    return [
        entry.get("fieldsV1") or {}
        for entry in entries or ()
        if entry.get("operation") == "Apply"
        and entry.get("manager") != manager
        and not entry.get("subresource")
        and entry.get("fieldsV1")
    ]


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


def _replace(root: KubeObject, path: Path, value: Any) -> None:
    parent = find(root, path[:-1])
    if parent is MISSING or find(parent, path[-1:]) is MISSING:
        return  # what it stood in is gone already
    if value is MISSING:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value


def _sortable(path: Path) -> tuple[tuple[int, str], ...]:
    return tuple((step, "") if isinstance(step, int) else (-1, step) for step in path)
