"""
Applies a child that was restored from a backup, by a tool that now owns all of its fields.

The object stays: it is neither deleted nor created again. Before the apply, one patch replaces
owner references to a former instance of the same name, and makes the fields that the template sets
ours alone. Otherwise a field that leaves the template later would stay, because the tool that
restored it still owns it.

If the template changed after the backup was made, items of lists and keys of data that it does not
contain any more are removed. Other fields that it does not set stay: they may be defaults, values
that the API server allocated, or what an autoscaler set.
"""

from typing import Any

from kro_gitops.engine.plan.children import is_same_desire
from kro_gitops.engine.plan.steps import Apply
from kro_gitops.kube.api import Cluster, JsonPatch, WriteOptions
from kro_gitops.kube.responses import Invalid
from kro_gitops.metadata import CHILD_MANAGER
from kro_gitops.tracking.added_fields import is_update, move_fields, updated_fields
from kube_objects.field_sets import SELF, Fields, fields_missing_in, is_leaf, union, without
from kube_objects.refs import KubeObject, ObjectRef

_APPLY = WriteOptions(manager=CHILD_MANAGER, force=True)
_PATCH = WriteOptions(manager=CHILD_MANAGER)
_DATA = frozenset(("f:data", "f:binaryData"))


async def apply_restored(cluster: Cluster, step: Apply, parent: ObjectRef) -> KubeObject:
    """Apply a restored child of an instance."""
    found = await cluster.find(step.ref)
    if found is None:
        return await cluster.apply(step.object, _APPLY)
    theirs = updated_fields(found)
    missing = fields_missing_in(step.object, theirs)
    ours = without(theirs, missing)
    obsolete = {} if is_same_desire(found, step.object) else _obsolete_items(missing)
    patched = await _patch(cluster, step, found, parent, union(ours, obsolete))
    try:
        return await cluster.apply(step.object, _APPLY)
    except Invalid:
        if not obsolete:
            raise
        # The kind does not allow to remove them: they stay with the tool.
        restored = {**patched, "metadata": {**patched["metadata"]}}
        restored["metadata"]["managedFields"] = found["metadata"].get("managedFields")
        await _patch(cluster, step, restored, parent, ours)
        return await cluster.apply(step.object, _APPLY)


async def _patch(
    cluster: Cluster, step: Apply, found: KubeObject, parent: ObjectRef, moved: Fields
) -> KubeObject:
    """Replace owner references and managed fields in one request, if anything is to be replaced."""
    metadata = found["metadata"]
    changed: dict[str, Any] = {}
    owners = _current_owners(metadata.get("ownerReferences") or [], step, parent)
    if owners is not None:
        # Before the garbage collector finds that the former owner does not exist. Together with
        # our own, because a child without an owner would stay if we ended here.
        changed["ownerReferences"] = owners
    move = move_fields(found, moved, CHILD_MANAGER, is_update, creates=True)
    if move is not None:
        changed["managedFields"] = move.entries
    if not changed:
        return found
    version = metadata["resourceVersion"]
    operations: list[dict[str, Any]] = [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        *(
            {"op": "add", "path": f"/metadata/{name}", "value": value}
            for name, value in changed.items()
        ),
    ]
    return await cluster.patch(step.ref, JsonPatch(operations), _PATCH)


def _current_owners(
    owners: list[dict[str, Any]], step: Apply, parent: ObjectRef
) -> list[dict[str, Any]] | None:
    """Return owner references without a former instance of our name; None if there is none."""
    ours = step.object["metadata"].get("ownerReferences") or []
    uids = {each["uid"] for each in ours}
    name = (parent.kind.api_version, parent.kind.kind, parent.name)
    kept = [
        each
        for each in owners
        if each["uid"] in uids or (each["apiVersion"], each["kind"], each["name"]) != name
    ]
    return None if kept == owners else [*kept, *(own for own in ours if own not in kept)]


def _obsolete_items(missing: Fields, above: str = "") -> dict[str, Any]:
    """Return only items of lists and keys of data."""
    found: dict[str, Any] = {}
    for name, below in missing.items():
        if (name.startswith("k:") and SELF in below) or (above in _DATA and name != SELF):
            found[name] = below
        elif name != "f:metadata" and not is_leaf(below):
            rest = _obsolete_items(below, name)
            if rest:
                found[name] = rest
    return found
