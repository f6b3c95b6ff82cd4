"""
What is kept of a live object: its metadata, and which of its fields the source applied.

That is enough to see drift, foreign owners and deletions, whatever the kind. A source may have many
thousands of objects, so it is packed.
"""

import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import orjson

from kro_gitops.metadata import (
    LAST_APPLIED,
    PRUNE,
    PRUNE_APPROVED,
    REVISION,
    SOURCE,
    SOURCE_HASH,
    SOURCE_MANAGER,
    SOURCE_PATH,
)
from kube_objects.managed_fields import CachedObject, pack_owned_fields
from kube_objects.refs import KubeObject

# Large, or different for each object, and not needed to compare them.
_DROPPED = frozenset((LAST_APPLIED, SOURCE_PATH, REVISION))
_KEPT = (
    *("name", "namespace", "uid", "resourceVersion", "generation", "deletionTimestamp"),
    *("finalizers", "labels", "annotations"),
)


# What packed objects have in common, the most frequent last: a dictionary for zlib.
_FREQUENT = (
    '"deletionTimestamp":"","finalizers":["app.kubernetes.io/name":"argocd.argoproj.io/'
    '"operation":"Apply"{"manager":"operation":"Update""generation":1,"resourceVersion":"'
    f'"annotations":{{"{SOURCE}":"default/}},"managedFields":[]}}}}'
    f'"labels":{{"{SOURCE_HASH}":"}},"uid":"'
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"","namespace":"'
).encode()
_LEVEL = 3
_WINDOW_BITS = -10  # raw, without a checksum; objects are smaller than 1 KiB


def kept(obj: KubeObject) -> CachedObject:
    """Return the metadata of an object, and packed beside it the fields that we applied."""
    metadata = obj["metadata"]
    owned = pack_owned_fields(obj, SOURCE_MANAGER)
    trimmed = {key: metadata[key] for key in _KEPT if key in metadata}
    annotations = trimmed.get("annotations")
    if annotations:
        trimmed["annotations"] = {k: v for k, v in annotations.items() if k not in _DROPPED}
    trimmed["managedFields"] = [
        {"manager": entry.get("manager"), "operation": entry.get("operation")}
        for entry in metadata.get("managedFields") or ()
        if entry.get("manager") != SOURCE_MANAGER and not entry.get("subresource")
    ]
    found = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": trimmed}
    return PackedObject(found, _equal_bytes(owned))


@lru_cache(maxsize=4096)
def _equal_bytes(owned: bytes) -> bytes:
    """Return one and the same value for equal ones: objects of a kind own the same fields."""
    return owned


class PackedObject(CachedObject):
    """
    A cached object that is unpacked whenever it is read.

    Sources keep the metadata of all objects that they applied, many thousands, and read that of the
    few that change. As a dict it takes four times the memory. Treat it as read-only; a value that
    is set takes precedence over the packed one.
    """

    __slots__ = ("_packed",)

    def __init__(self, obj: KubeObject, owned: bytes = b"") -> None:
        super().__init__({}, owned)
        packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW_BITS, zdict=_FREQUENT)
        self._packed = packer.compress(orjson.dumps(obj)) + packer.flush()

    def _unpacked(self) -> KubeObject:
        unpacker = zlib.decompressobj(_WINDOW_BITS, zdict=_FREQUENT)
        found: KubeObject = orjson.loads(unpacker.decompress(self._packed))
        found.update(dict.items(self))
        return found

    def __missing__(self, key: str) -> Any:
        return self._unpacked()[key]

    def __contains__(self, key: object) -> bool:
        return key in self._unpacked()

    def __iter__(self) -> Iterator[str]:
        return iter(self._unpacked())

    def __len__(self) -> int:
        return len(self._unpacked())

    def __eq__(self, other: object) -> bool:
        theirs = other._unpacked() if isinstance(other, PackedObject) else other
        return self._unpacked() == theirs

    __hash__ = None  # type: ignore[assignment] # like every dict

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value, or the default."""
        return self._unpacked().get(key, default)

    def keys(self) -> Any:
        """Return the names of the values."""
        return self._unpacked().keys()

    def values(self) -> Any:
        """Return the values."""
        return self._unpacked().values()

    def items(self) -> Any:
        """Return names and values."""
        return self._unpacked().items()


def source_of(obj: KubeObject) -> str:
    """Return the source that an object is annotated with, `namespace/name`; empty if none."""
    found = (obj["metadata"].get("annotations") or {}).get(SOURCE)
    return found if isinstance(found, str) else ""


def is_applied(obj: KubeObject) -> bool:
    """Return True if the API server recorded fields of the object as applied by a source."""
    return bool(
        obj.owned if isinstance(obj, CachedObject) else pack_owned_fields(obj, SOURCE_MANAGER)
    )


def with_own_fields(obj: KubeObject) -> KubeObject:
    """Return an object with our own managedFields entry restored, for `tracking.foreign`."""
    if not isinstance(obj, CachedObject) or not obj.owned:
        return obj
    entry = {
        "manager": SOURCE_MANAGER,
        "operation": "Apply",
        "fieldsV1": orjson.loads(zlib.decompress(obj.owned)),
    }
    metadata = obj["metadata"]
    managers = [*(metadata.get("managedFields") or ()), entry]
    return {**obj, "metadata": {**metadata, "managedFields": managers}}


def relevant(obj: KubeObject) -> tuple[object, ...]:
    """Return what a source must react to if it changes; a change of status alone is not part."""
    metadata = obj["metadata"]
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    return (
        metadata["uid"],
        obj.owned if isinstance(obj, CachedObject) else b"",
        labels.get(SOURCE_HASH),
        metadata.get("deletionTimestamp"),
        source_of(obj),
        annotations.get(PRUNE),
        annotations.get(PRUNE_APPROVED),
    )
