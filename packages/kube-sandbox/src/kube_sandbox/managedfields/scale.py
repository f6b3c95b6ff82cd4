"""
Managed fields of a scale: one field, owned by the manager of the object's replicas.

A write to the scale is worked out on a Scale's own managed fields and carried back: who set the
replicas there owns them in the object, and nobody else does any more.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/util/managedfields/scalehandler.go
ScaleHandler.ToSubresource, ScaleHandler.ToParent.
"""

from collections.abc import Mapping, Sequence

from kube_sandbox.managedfields import entries, fieldset
from kube_sandbox.managedfields.entries import Entry
from kube_sandbox.managedfields.updater import Owned, Owners

SCALE_VERSION = "autoscaling/v1"
_REPLICAS = fieldset.of_names((("spec", "replicas"),))

# Where each version of a kind keeps its replicas, by apiVersion; `None` if it has no scale.
Paths = Mapping[str, tuple[str, ...] | None]


def of_scale(parent: Sequence[Entry] | None, paths: Paths) -> list[Entry]:
    """Return the entries of an object as those of its scale."""
    managed = entries.read(parent)
    owners: Owners = {}
    for identity, owned in managed.owners.items():
        path = paths.get(owned.version)
        if path is not None and fieldset.includes(owned.fields, fieldset.of_names((path,))):
            owners[identity] = Owned(_REPLICAS, SCALE_VERSION, owned.is_applied)
    return entries.encode_entries(managed.replaced(owners))


def of_parent(
    parent: Sequence[Entry] | None, scale: Sequence[Entry] | None, version: str, paths: Paths
) -> list[Entry]:
    """Return the entries of an object after its scale was written at one of its versions."""
    before, after = entries.read(parent), entries.read(scale)
    left = dict(after.owners)
    owners: Owners = {}
    for identity, owned in before.owners.items():
        if owned.version not in paths:
            continue
        path = paths[owned.version]
        wanted = fieldset.of_names((path,)) if path is not None else {}
        has_replicas = path is not None and fieldset.includes(owned.fields, wanted)
        if not has_replicas or left.pop(identity, None) is not None:
            owners[identity] = owned
        elif rest := fieldset.difference(owned.fields, wanted):
            owners[identity] = Owned(rest, owned.version, owned.is_applied)
    path = paths.get(version)
    for identity, owned in left.items():
        if path is not None and fieldset.includes(owned.fields, _REPLICAS):
            owners[identity] = Owned(fieldset.of_names((path,)), version, owned.is_applied)
    found = before.replaced(owners)
    found.times |= {identity: before.times.get(identity) for identity in left}
    return entries.encode_entries(found)
