"""
Which part of an old object a part of the new one corresponds to, and whether they are the same.

Fields correspond by name, items of a list of type `map` by their keys; items of other lists to
nothing. Two parts are the same if everything in them corresponds and is equal; an object with a
field that its schema does not describe is like no other.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/cel/common/equality.go
CorrelatedObject.CachedDeepEqual, CorrelatedObject.Key, CorrelatedObject.Index;
k8s.io/apiextensions-apiserver/pkg/apiserver/validation/ratcheting.go NewRatchetingSchemaValidator.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kube_objects.schemas import Schema
from kube_objects.structural_schema import field, items, list_map_keys, list_type

ABSENT: Any = object()
_SCALARS = frozenset((str, int, float, bool))


def counterparts(new: Sequence[Any], old: Any, schema: Schema) -> list[Any] | None:
    """Return what items of a list correspond to, `ABSENT` for new ones; None if none can."""
    if old is ABSENT or not isinstance(old, list) or list_type(schema) != "map":
        return None
    keys = list_map_keys(schema)
    by_key: dict[Any, Any] = {}
    for each in old:
        key = _key(each, keys)
        if key is not None:
            by_key.setdefault(key, each)
    return [by_key.get(_key(each, keys), ABSENT) for each in new]


def old_counterpart(old: Any, key: str) -> Any:
    """Return what a field of an object corresponds to, or `ABSENT`."""
    return old.get(key, ABSENT) if isinstance(old, dict) else ABSENT


def _key(item: Any, keys: Sequence[str]) -> tuple[Any, ...] | None:
    if not isinstance(item, Mapping):
        return None
    values = [item.get(key) for key in keys]
    if any(type(value) not in _SCALARS for value in values):
        return None
    # True is 1 to Python, but not here.
    return tuple((type(value), value) for value in values)


def is_unchanged(new: Any, old: Any, schema: Schema | None) -> bool:
    """Return whether a part is the same as the part it corresponds to."""
    if new is None or old is None:
        return new is None and old is None
    if isinstance(new, dict) and isinstance(old, dict):
        return new.keys() == old.keys() and all(
            (part := (None if schema is None else field(schema, key))) is not None
            and is_unchanged(new[key], old[key], part)
            for key in new
        )
    if isinstance(new, list) and isinstance(old, list):
        if len(new) != len(old):
            return False
        matched = None if schema is None else counterparts(new, old, schema)
        if schema is None or matched is None:
            return is_equal(new, old)
        item = items(schema)
        return all(
            before is not ABSENT and is_unchanged(each, before, item)
            for each, before in zip(new, matched, strict=True)
        )
    return is_equal(new, old)


def is_equal(new: Any, old: Any) -> bool:
    """Compare as Go does: a number that is not whole in form is none that is."""
    if type(new) is not type(old):
        return False
    if isinstance(new, dict):
        return new.keys() == old.keys() and all(is_equal(new[key], old[key]) for key in new)
    if isinstance(new, list):
        return len(new) == len(old) and all(map(is_equal, new, old))
    return bool(new == old)
