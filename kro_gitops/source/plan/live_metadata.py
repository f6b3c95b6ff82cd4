"""
What is kept of a live object: its metadata, and which of its fields the source applied.

That is enough to see drift, foreign owners and deletions, whatever the kind.
"""

import zlib

import orjson

from kro_gitops.kube.cache import intern_strings
from kro_gitops.metadata import PRUNE, PRUNE_APPROVED, SOURCE, SOURCE_HASH, SOURCE_MANAGER
from kube_objects.managed_fields import CachedObject, pack_owned_fields
from kube_objects.refs import KubeObject

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_KEPT = (
    *("name", "namespace", "uid", "resourceVersion", "generation", "deletionTimestamp"),
    *("finalizers", "labels", "annotations"),
)


def kept(obj: KubeObject) -> CachedObject:
    """Return the metadata of an object, and packed beside it the fields that we applied."""
    metadata = obj["metadata"]
    owned = pack_owned_fields(obj, SOURCE_MANAGER)
    trimmed = {key: metadata[key] for key in _KEPT if key in metadata}
    annotations = trimmed.get("annotations")
    if annotations and _LAST_APPLIED in annotations:
        trimmed["annotations"] = {k: v for k, v in annotations.items() if k != _LAST_APPLIED}
    trimmed["managedFields"] = [
        {"manager": entry.get("manager"), "operation": entry.get("operation")}
        for entry in metadata.get("managedFields") or ()
        if entry.get("manager") != SOURCE_MANAGER and not entry.get("subresource")
    ]
    shared = intern_strings(
        {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": trimmed}
    )
    return CachedObject(shared, owned)


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
