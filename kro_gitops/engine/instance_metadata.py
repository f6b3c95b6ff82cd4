"""
What an instance itself carries: finalizer, labels, and the inventory of its children.

All of it goes into one write, before the first child is made. With the inventory alone every child
can be found again, so nothing else must survive a restart.
"""

from collections.abc import Mapping
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
from kro_gitops.metadata import FINALIZER
from kube_objects.errors import RefusedError
from kube_objects.refs import KubeObject, ObjectRef


def is_deleting(obj: KubeObject) -> bool:
    """Return whether somebody deleted an object that is still there."""
    return obj["metadata"].get("deletionTimestamp") is not None


def has_finalizer(obj: KubeObject) -> bool:
    """Return whether an object waits for us before it goes."""
    return FINALIZER in (obj["metadata"].get("finalizers") or ())


def inventory_of(instance: KubeObject) -> Inventory:
    """
    Return where the children of an instance may be, by its own account.

    An instance without our finalizer must not have an inventory that is wrong: whoever removed
    one may have changed the other.
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


def managed_metadata(
    instance: KubeObject, serving: ServedKind, inventory: Inventory, version: str
) -> KubeObject:
    """Return what must be applied to an instance for it to be ours."""
    ref = ObjectRef.of(instance)
    metadata: dict[str, Any] = {
        "name": ref.name,
        # Not of any instance of that name: applying must never bring back one that is gone.
        "uid": instance["metadata"]["uid"],
        "finalizers": [FINALIZER],
        "labels": {
            **definition_labels(serving.definition, serving.definition_uid, version),
            **parent_labels(ref),
        },
        "annotations": inventory.annotations(ref, version),
    }
    if ref.namespace:
        metadata["namespace"] = ref.namespace
    return {"apiVersion": ref.kind.api_version, "kind": ref.kind.kind, "metadata": metadata}


def is_managed(instance: KubeObject, wanted: KubeObject) -> bool:
    """Return whether an instance carries all that it must."""
    live, ours = instance["metadata"], wanted["metadata"]
    return has_finalizer(instance) and all(
        _includes(live.get(section) or {}, ours[section]) for section in ("labels", "annotations")
    )


def _includes(live: Mapping[str, str], ours: Mapping[str, str]) -> bool:
    return all(live.get(key) == value for key, value in ours.items())
