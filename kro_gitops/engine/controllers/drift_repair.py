"""
Applies a child that is ours, over what others changed in it.

Fields that people added are first moved into our entry of `managedFields`, and the apply removes
them. If the API server rejects that (a field that cannot be removed any more), they are given back
and the child is applied without; that is remembered, so that it is tried only once.

An apply may also be rejected because another client replaced an item of a list: a Service with our
port and its own, both without a name, is invalid. Then the other items of that list go the same
way, whatever client they are from.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from kro_gitops.engine.plan.steps import Apply
from kro_gitops.kube.api import Cluster, JsonPatch, WriteOptions
from kro_gitops.kube.responses import Invalid
from kro_gitops.metadata import CHILD_MANAGER
from kro_gitops.tracking.added_fields import (
    is_manual,
    is_update,
    move_fields,
    patch_managed_fields,
    updated_fields,
)
from kro_gitops.tracking.ignored_fields import IgnoreRule, without_ignored
from kube_objects.field_sets import Fields, below_path, fields_missing_in, format_fields, union
from kube_objects.refs import KubeObject, ObjectRef

_APPLY = WriteOptions(manager=CHILD_MANAGER, force=True)
_PATCH = WriteOptions(manager=CHILD_MANAGER)


@dataclass(frozen=True, slots=True)
class Applied:
    """A child as it was applied; `removed` says what others had added, `kept` what had to stay."""

    object: KubeObject
    removed: str = ""
    kept: str = ""


class DriftRepair:
    """Applies children that are ours."""

    def __init__(self, manual_managers: Collection[str] = ()) -> None:
        self._manual_managers = manual_managers
        # Added fields that the API server does not let go, by child.
        self._immovable: dict[ObjectRef, Fields] = {}

    async def apply(self, cluster: Cluster, step: Apply) -> Applied:
        """Apply a child; fields that are ignored keep their values, fields that were added go."""
        added = step.added
        if added and self._immovable.get(step.ref) == added:
            added = {}
        elif not added:
            self._immovable.pop(step.ref, None)
        desired, live = step.object, None
        if added or step.ignored:
            live = await cluster.find(step.ref)
        if live is not None and step.ignored:
            desired = without_ignored(desired, live, (IgnoreRule(step.ignored),), CHILD_MANAGER)
        if live is not None and added:
            try:
                found = await _apply_without(
                    cluster,
                    desired,
                    live,
                    added,
                    lambda entry: is_manual(entry.get("manager") or "", self._manual_managers),
                )
            except Invalid:
                self._immovable[step.ref] = added
                kept = f"{step.ref}: {format_fields(added)} cannot be removed"
                return Applied(await cluster.apply(desired, _APPLY), kept=kept)
            if found is not None:
                return found
        try:
            return Applied(await cluster.apply(desired, _APPLY))
        except Invalid as error:
            live = await cluster.find(step.ref)
            rivals = _rival_items(desired, live, error) if live is not None else {}
            found = None
            if live is not None and rivals:
                found = await _apply_without(cluster, desired, live, rivals, is_update)
            if found is None:
                raise
            return found


async def _apply_without(
    cluster: Cluster,
    desired: KubeObject,
    live: KubeObject,
    fields: Fields,
    is_meant: Callable[[Mapping[str, Any]], bool],
) -> Applied | None:
    """Take fields over and apply; None if there are none. Give them back if that is invalid."""
    move = move_fields(live, fields, CHILD_MANAGER, is_meant)
    if move is None:
        return None
    ref = ObjectRef.of(desired)
    taken = await cluster.patch(ref, JsonPatch(patch_managed_fields(live, move.entries)), _PATCH)
    try:
        answer = await cluster.apply(desired, _APPLY)
    except Invalid:
        former = live["metadata"]["managedFields"]
        await cluster.patch(ref, JsonPatch(patch_managed_fields(taken, former)), _PATCH)
        raise
    text = f"{ref}: removed {format_fields(fields)}, set by {', '.join(move.owners)}"
    return Applied(answer, removed=text)


def _rival_items(desired: KubeObject, live: KubeObject, error: Invalid) -> Fields:
    """Return items of other clients in the lists that the API server rejected."""
    others = fields_missing_in(desired, updated_fields(live))
    found: Fields = {}
    for cause in error.causes:
        path = cause.field.partition("[")[0].split(".")
        if "[" in cause.field:
            found = union(found, below_path(others, path))
    return found
