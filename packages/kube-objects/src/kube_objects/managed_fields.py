"""
Which fields of an object are ours, and whether somebody took one away.

The API server notes for every field who set it (`managedFields`). Whoever changes or removes
a field that we applied takes it out of our entry, whatever defaulting and webhooks made of its
value. So drift is a question about that entry alone: does it still hold all that was applied?
No value is compared, and a quantity that comes back spelled differently is no drift.

Kept of an object in a cache is its own entry as text, beside the object: expressions never see it.
"""

import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from kube_objects.refs import KubeObject

_APPLY_OPERATION = "Apply"
_COMPRESSION_LEVEL = 1

# Not recorded by the API server: what names the object, and what it sets itself.
_UNRECORDED_IN_OBJECT = frozenset({"apiVersion", "kind", "status"})
_UNRECORDED_IN_METADATA = frozenset(
    {"name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation"}
)


class CachedObject(dict[str, Any]):
    """An object as a cache holds it; `owned` is what one manager owns of it, packed."""

    __slots__ = ("owned",)

    def __init__(self, obj: KubeObject, owned: bytes = b"") -> None:
        super().__init__(obj)
        self.owned = owned


def pack_owned_fields(obj: KubeObject, manager: str) -> bytes:
    """Return what a manager owns of an object through server-side apply; empty if nothing."""
    for entry in obj["metadata"].get("managedFields") or ():
        if entry.get("manager") == manager and entry.get("operation") == _APPLY_OPERATION:
            if entry.get("subresource"):
                continue
            return zlib.compress(orjson.dumps(entry.get("fieldsV1") or {}), _COMPRESSION_LEVEL)
    return b""


def other_managers(obj: KubeObject, ours: Iterable[str]) -> tuple[str, ...]:
    """Return who else wrote an object itself, not only its status."""
    known = set(ours)
    found = (
        entry.get("manager") or "unknown"
        for entry in obj["metadata"].get("managedFields") or ()
        if not entry.get("subresource")
    )
    return tuple(dict.fromkeys(name for name in found if name not in known))


def owns_all_fields(owned: bytes, applied: KubeObject) -> bool:
    """Say whether an entry still holds every field of an object that was applied."""
    if not owned:
        return False
    fields = orjson.loads(zlib.decompress(owned))
    for name, value in applied.items():
        if name in _UNRECORDED_IN_OBJECT:
            continue
        if name == "metadata":
            value = {k: v for k, v in value.items() if k not in _UNRECORDED_IN_METADATA}
        if not _owns_field(fields, name, value):
            return False
    return True


def _owns_field(fields: Mapping[str, Any], name: str, value: Any) -> bool:
    if value is None or value in ({}, []):
        return True  # whether nothing is recorded depends on the kind
    below = fields.get(f"f:{name}")
    return below is not None and _owns_value(below, value)


def _owns_value(fields: Mapping[str, Any], value: Any) -> bool:
    if not any(key != "." for key in fields):
        return True  # one field to the server, whatever is in it
    if isinstance(value, dict):
        return all(_owns_field(fields, name, child) for name, child in value.items())
    if isinstance(value, list):
        # Match items of a list by the keys (`k:{…}`) or values (`v:…`) they are recorded under.
        keyed = [
            (orjson.loads(name[2:]), below)
            for name, below in fields.items()
            if name.startswith("k:")
        ]
        valued = sum(name.startswith("v:") for name in fields)
        if valued:
            return valued >= len({orjson.dumps(item) for item in value})
        if not keyed:
            return True
        for item in value:
            # A key that the item leaves out has a default.
            found = [
                below
                for key, below in keyed
                if isinstance(item, dict)
                and all(item.get(name, recorded) == recorded for name, recorded in key.items())
            ]
            if not any(_owns_value(below, item) for below in found):
                return False
        return True
    return True
