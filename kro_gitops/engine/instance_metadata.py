"""
The metadata of an instance: finalizer, labels, and the inventory of its children.

All of it is written at once, before the first child is created. With the inventory alone every
child can be found again, so nothing else must survive a restart.
"""

from typing import Any

from kro_gitops.engine.applyset import (
    Inventory,
    has_inventory,
    parent_labels,
    parse_inventory,
    validate_inventory,
)
from kro_gitops.engine.labels import definition_labels
from kro_gitops.engine.served_kind import ServedKind
from kro_gitops.metadata import FINALIZER, HELD_CHILDREN, RECONCILE
from kube_objects.errors import RefusedError
from kube_objects.refs import KubeObject, ObjectRef

_SUSPENDED = frozenset(("suspended", "disabled"))


def is_deleting(obj: KubeObject) -> bool:
    """Return whether an object has a deletionTimestamp."""
    return obj["metadata"].get("deletionTimestamp") is not None


def is_suspended(instance: KubeObject) -> bool:
    """Return whether the annotation asks to suspend the reconciliation of an instance."""
    annotations = instance["metadata"].get("annotations") or {}
    return str(annotations.get(RECONCILE, "")).lower() in _SUSPENDED


def has_finalizer(obj: KubeObject) -> bool:
    """Return whether an object has our finalizer."""
    return FINALIZER in (obj["metadata"].get("finalizers") or ())


def inventory_of(instance: KubeObject) -> Inventory:
    """
    Return the inventory of an instance: where its children may be.

    It is validated if our finalizer is missing: a client that removed the finalizer may also have
    changed the inventory.
    """
    if not has_finalizer(instance) and has_inventory(instance):
        try:
            return validate_inventory(instance)
        except RefusedError as error:
            raise RefusedError(
                error.code,
                "cannot install finalizer with invalid ApplySet inventory; repair the metadata, "
                f"or remove it only after confirming no managed members remain: {error.message}",
            ) from None
    return parse_inventory(instance["metadata"].get("annotations") or {})


def held_text(instance: KubeObject) -> str:
    """Return the annotation with the children that wait for approval; empty if there is none."""
    found: str = (instance["metadata"].get("annotations") or {}).get(HELD_CHILDREN, "")
    return found


def managed_metadata(
    instance: KubeObject,
    serving: ServedKind,
    inventory: Inventory,
    version: str,
    held: str = "",
) -> KubeObject:
    """
    Return the metadata to apply to an instance before its first child.

    `held` are the children that wait for approval, as the annotation has them.
    """
    ref = ObjectRef.of(instance)
    metadata: dict[str, Any] = {
        "name": ref.name,
        # With the uid: an apply must never create an instance that is gone.
        "uid": instance["metadata"]["uid"],
        "finalizers": [FINALIZER],
        "labels": {
            **definition_labels(serving.definition, serving.definition_uid, version),
            **parent_labels(ref),
        },
        "annotations": inventory.annotations(ref, version),
    }
    if held:
        metadata["annotations"][HELD_CHILDREN] = held
    if ref.namespace:
        metadata["namespace"] = ref.namespace
    return {"apiVersion": ref.kind.api_version, "kind": ref.kind.kind, "metadata": metadata}


def is_managed(instance: KubeObject, desired: KubeObject) -> bool:
    """Return whether an instance has the finalizer, labels and annotations that it needs."""
    live = instance["metadata"]
    if held_text(instance) != desired["metadata"]["annotations"].get(HELD_CHILDREN, ""):
        return False
    return has_finalizer(instance) and all(
        (live.get(section) or {}).get(key) == value
        for section in ("labels", "annotations")
        for key, value in desired["metadata"][section].items()
    )
