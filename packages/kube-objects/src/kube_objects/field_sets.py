"""
Sets of fields, as `managedFields` records them (`fieldsV1`).

A set is a tree: `f:name` for a field, `k:{…}` for an item of a list by its keys, `v:…` for one by
its value, `i:…` for one by its index, and `.` for the field or item itself. A tree that ends at a
field holds all of it: the API server treats it as one value.

Follows sigs.k8s.io/structured-merge-diff/v6/fieldpath/set.go.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

Fields = Mapping[str, Any]

SELF = "."
_COMPRESSION_LEVEL = 1
_MISSING: Any = object()
# Keys of list items that have a default, if the schema is that of a built-in kind.
_DEFAULT_KEYS: Mapping[str, Any] = {"protocol": "TCP"}


def is_leaf(fields: Fields) -> bool:
    """Return whether a set holds a field as a whole, not only fields in it."""
    return not any(name != SELF for name in fields)


def pack(fields: Fields) -> bytes:
    """Return a set in little memory; an empty one takes none."""
    return zlib.compress(orjson.dumps(fields), _COMPRESSION_LEVEL) if fields else b""


def unpack(packed: bytes) -> dict[str, Any]:
    """Return a packed set."""
    fields: dict[str, Any] = orjson.loads(zlib.decompress(packed)) if packed else {}
    return fields


def union(one: Fields, other: Fields) -> dict[str, Any]:
    """Return the fields of both sets."""
    found = dict(one)
    for name, below in other.items():
        known = found.get(name)
        if known is None:
            found[name] = below
        elif known and below:
            found[name] = union(known, below)
        elif known or below:
            found[name] = {SELF: {}, **known, **below}
    return found


def without(fields: Fields, removed: Fields) -> dict[str, Any]:
    """
    Return a set without the fields of another; `removed` ends where all of a field goes.

    A map or list of which nothing is left goes, too: alone, it would stand for all that is in it.
    """
    found: dict[str, Any] = {}
    for name, below in fields.items():
        gone = removed.get(name)
        if gone is None:
            found[name] = below
        elif not is_leaf(gone) and not is_leaf(below):
            rest = without(below, gone)
            if not is_leaf(rest):
                found[name] = rest
        elif not is_leaf(gone):
            found[name] = below
    return found


def fields_missing_in(value: Any, fields: Fields) -> dict[str, Any]:
    """Return the fields of a set that a value does not have; where it has a leaf, it has all."""
    found: dict[str, Any] = {}
    for name, below in fields.items():
        if name == SELF:
            continue
        part = part_of(value, name)
        if part is _MISSING:
            found[name] = below
        elif not is_leaf(below):
            rest = fields_missing_in(part, below)
            if rest:
                found[name] = rest
    return found


def has_created_part(value: Any, fields: Fields) -> bool:
    """
    Return whether the manager of a set created a map or list that a value has, too.

    The API server records a map or list itself (`.`) only for the client before which there was
    none. So a manager that only added to an object has no such record.
    """
    for name, below in fields.items():
        part = part_of(value, name) if name != SELF else _MISSING
        if part is _MISSING or is_leaf(below):
            continue
        if SELF in below and name.startswith("f:") and part and isinstance(part, dict | list):
            return True
        if has_created_part(part, below):
            return True
    return False


def part_of(value: Any, name: str) -> Any:
    """Return the field or item of a value that a step of a set names; a marker if it has none."""
    tag, text = name[:2], name[2:]
    match tag:
        case "f:":
            return value.get(text, _MISSING) if isinstance(value, dict) else _MISSING
        case "k:":
            keys = orjson.loads(text)
            items = value if isinstance(value, list) else []
            return next((item for item in items if _has_keys(item, keys)), _MISSING)
        case "v:":
            items = value if isinstance(value, list) else []
            return text if orjson.loads(text) in items else _MISSING
        case _:
            return value


def _has_keys(item: Any, keys: Mapping[str, Any]) -> bool:
    # A key that the item leaves out has the default of the schema.
    return isinstance(item, dict) and all(
        item.get(name, _DEFAULT_KEYS.get(name, recorded)) == recorded
        for name, recorded in keys.items()
    )


def without_paths(fields: Fields, paths: Sequence[Sequence[str]]) -> dict[str, Any]:
    """
    Return a set without the fields at some paths, and all that is below them.

    A step is the name of a field or the `name` of an item; `*` at its end stands for any rest.
    """
    found = dict(fields)
    for name, below in fields.items():
        if name == SELF:
            continue
        step = _step_text(name)
        rests = [path[1:] for path in paths if path and _matches(step, path[0])]
        if any(not rest for rest in rests):
            del found[name]
        elif rests and not is_leaf(below):
            kept = without_paths(below, rests)
            if is_leaf(kept):
                del found[name]
            else:
                found[name] = kept
    return found


def below_path(fields: Fields, path: Sequence[str]) -> dict[str, Any]:
    """Return only what a set has at a path of fields, or below it."""
    if not path:
        return dict(fields)
    below = fields.get(f"f:{path[0]}")
    if below is None:
        return {}
    rest = below_path(below, path[1:])
    return {f"f:{path[0]}": rest} if rest or is_leaf(below) else {}


def format_fields(fields: Fields, limit: int = 3) -> str:
    """Return the topmost fields of a set that hold something themselves, as people write them."""
    found = list(_tops(fields, ""))
    more = f" and {len(found) - limit} more" if len(found) > limit else ""
    return ", ".join(found[:limit]) + more


def _tops(fields: Fields, above: str) -> Iterator[str]:
    for name, below in fields.items():
        if name == SELF:
            continue
        step = _step_text(name)
        is_field = name.startswith("f:") and "." not in step and "/" not in step
        path = f"{above}.{step}".lstrip(".") if is_field else f"{above}[{step}]"
        if is_leaf(below) or SELF in below:
            yield path
        else:
            yield from _tops(below, path)


def _step_text(name: str) -> str:
    tag, text = name[:2], name[2:]
    if tag == "k:":
        keys = orjson.loads(text)
        return str(keys["name"]) if "name" in keys else "/".join(map(str, keys.values()))
    return str(orjson.loads(text)) if tag == "v:" else text


def _matches(step: str, pattern: str) -> bool:
    if pattern.endswith("*"):
        return step.startswith(pattern[:-1])
    return step == pattern
