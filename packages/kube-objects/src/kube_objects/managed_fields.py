"""
Drift detection by `managedFields`: which fields of an object one field manager owns.

The API server records for every field which manager set it. A client that changes or removes a
field takes it away from our entry, whatever defaulting and webhooks did to its value. So drift is
decided from that entry alone: does it still own every field that was applied? Values are not
compared, and a quantity that is returned in another notation is no drift.

A cache keeps only the entry of one manager, compressed, beside the object, where expressions cannot
see it; and, of the few objects that have any, the fields that people added by hand.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from kube_objects.field_sets import SELF, Fields, pack, unpack
from kube_objects.refs import KubeObject

_APPLY_OPERATION = "Apply"
_NOTHING: Fields = {SELF: {}}  # an entry without fields, which is not the same as no entry

# Not recorded by the API server: what names the object, and what it sets itself.
_UNRECORDED_IN_OBJECT = frozenset({"apiVersion", "kind", "status"})
_UNRECORDED_IN_METADATA = frozenset(
    {"name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation"}
)


class CachedObject(dict[str, Any]):
    """
    An object as a cache holds it; `owned` is what one manager owns of it, packed.

    `added` is what managers own that stand for a person, packed; empty for nearly every object.
    """

    __slots__ = ("added", "owned")

    def __init__(self, obj: KubeObject, owned: bytes = b"", added: bytes = b"") -> None:
        super().__init__(obj)
        self.owned = owned
        self.added = added


def pack_owned_fields(obj: KubeObject, manager: str) -> bytes:
    """Return the fields a manager owns by server-side apply, packed; empty if none."""
    for entry in obj["metadata"].get("managedFields") or ():
        if entry.get("manager") == manager and entry.get("operation") == _APPLY_OPERATION:
            if entry.get("subresource"):
                continue
            return pack(entry.get("fieldsV1") or _NOTHING)
    return b""


def other_managers(obj: KubeObject, ours: Iterable[str]) -> tuple[str, ...]:
    """Return the other managers that wrote the object itself, not only a subresource."""
    known = set(ours)
    found = (
        entry.get("manager") or "unknown"
        for entry in obj["metadata"].get("managedFields") or ()
        if not entry.get("subresource")
    )
    return tuple(dict.fromkeys(name for name in found if name not in known))


def owns_all_fields(owned: bytes, applied: KubeObject) -> bool:
    """Return whether packed fields still include every field of an applied object."""
    if not owned:
        return False
    fields = unpack(owned)
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
