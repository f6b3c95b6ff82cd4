"""
Fields that the controller adds to objects, and the rule for each.

One table for children, one for instances, one for the objects of a source. The rules themselves are
in `tracking.stamp`, `engine.labels` and `engine.management`; these tables map a live field to its
rule, and to the field of the instance that it copies.
"""

from dataclasses import dataclass

from kro_gitops import metadata
from kro_gitops.settings.tracking_options import INSTANCE_LABEL
from kro_gitops.tracking.propagated_labels import is_propagated
from kube_objects.paths import MISSING, find
from kube_objects.problems import Path
from kube_objects.refs import KubeObject

LABELS = ("metadata", "labels")
ANNOTATIONS = ("metadata", "annotations")
NAMESPACE = ("metadata", "namespace")
OWNERS = ("metadata", "ownerReferences")
FINALIZERS = ("metadata", "finalizers")


@dataclass(frozen=True, slots=True)
class Stamp:
    """Why a field is there; `copied` is the field of the instance that it copies."""

    rule: str
    copied: Path | None = None
    overrides: bool = False  # it takes precedence over the template
    is_of_child: bool = False  # it is applied together with a template


_KRO = "kro's mark by which the controller knows its own"
_INSTANCE = "names the instance that the object belongs to"
_CHILD_LABELS = {
    metadata.OWNED: _KRO,
    metadata.KRO_VERSION: "the level of kro that the controller speaks",
    metadata.MANAGED_BY: "kro's mark: always 'kro', whatever the template says",
    metadata.NODE_ID: "names the node of the definition that the object was made from",
    metadata.COLLECTION_INDEX: "the object's place in its collection (forEach)",
    metadata.COLLECTION_SIZE: "the size of the collection (forEach)",
    metadata.INSTANCE_ID: _INSTANCE,
    metadata.INSTANCE_NAME: _INSTANCE,
    metadata.INSTANCE_NAMESPACE: _INSTANCE,
    metadata.INSTANCE_GROUP: _INSTANCE,
    metadata.INSTANCE_VERSION: _INSTANCE,
    metadata.INSTANCE_KIND: _INSTANCE,
    metadata.APPLYSET_PART_OF: "membership in the apply set of the instance",
    metadata.DESIRED_HASH: "the hash of what was last applied, by which a change is noticed",
}
_INHERITED = "says where the instance is written, copied from it"
_TRACKING = "copied from the instance, so that Argo CD shows the object below it"
_SHIELD = "keeps Argo CD from pruning an object that nothing owns"
_CHILD_ANNOTATIONS = {
    metadata.APPLY_ORDER: "the wave in which the object is applied, and so deleted",
    metadata.SOURCE: _INHERITED,
    metadata.SOURCE_PATH: _INHERITED,
    metadata.REVISION: _INHERITED,
    metadata.ARGOCD_TRACKING_ID: _TRACKING,
    metadata.ARGOCD_INSTALLATION_ID: _TRACKING,
    metadata.ARGOCD_SYNC_OPTIONS: _SHIELD,
    metadata.ARGOCD_COMPARE_OPTIONS: _SHIELD,
}
_COPIED = frozenset(
    (
        *(metadata.SOURCE, metadata.SOURCE_PATH, metadata.REVISION),
        *(metadata.ARGOCD_TRACKING_ID, metadata.ARGOCD_INSTALLATION_ID),
    )
)

_DEFINITION = "names the definition that makes the kind"
_INVENTORY = "the inventory of the instance's children (apply set)"
_INSTANCE_KEYS = {
    metadata.OWNED: _KRO,
    metadata.KRO_VERSION: "the level of kro that the controller speaks",
    metadata.DEFINITION_ID: _DEFINITION,
    metadata.DEFINITION_NAME: _DEFINITION,
    metadata.APPLYSET_ID: _INVENTORY,
    metadata.APPLYSET_TOOLING: _INVENTORY,
    metadata.APPLYSET_GROUP_KINDS: _INVENTORY,
    metadata.APPLYSET_NAMESPACES: _INVENTORY,
    metadata.INVENTORY_HASH: _INVENTORY,
}

_SOURCE_KEYS = {
    metadata.SOURCE: "the source that applied the object",
    metadata.SOURCE_PATH: "the file of the source that the object is written in",
    metadata.REVISION: "the commit at which the object's content last changed",
    metadata.SOURCE_HASH: "the hash by which the source finds what it applied",
}

_SERVER = {
    "uid": "given to every object when it is created",
    "resourceVersion": "counted up by the API server with every change",
    "generation": "incremented by the API server with every change of the spec",
    "creationTimestamp": "when the object was created",
    "managedFields": "the API server's own notes on who set which field",
    "selfLink": "an address that old API servers gave every object",
    "deletionTimestamp": "set when the object was deleted; it waits for its finalizers",
    "deletionGracePeriodSeconds": "set when the object was deleted",
}


def server_rule(path: Path) -> str:
    """Return why the API server sets a field of the metadata; empty if it does not."""
    is_metadata = len(path) >= 2 and path[0] == "metadata"
    return _SERVER.get(str(path[1]), "") if is_metadata else ""


def child_stamp(path: Path, live: KubeObject, instance: KubeObject) -> Stamp | None:
    """Return the rule by which the controller set a field of a child, if it did."""
    if path == NAMESPACE:
        if find(live, path) not in (find(instance, path), MISSING):
            return None
        rule = "a child without a namespace gets that of its instance"
        return Stamp(rule, NAMESPACE, is_of_child=True)
    if path[:2] == OWNERS:
        uid = find(instance, ("metadata", "uid"))
        items = find(live, OWNERS)
        listed = items if isinstance(items, list) else []
        # The whole list, or the item that is asked about.
        asked = [owner for at, owner in enumerate(listed) if path[2:3] in ((), (at,))]
        if any(isinstance(owner, dict) and owner.get("uid") == uid for owner in asked):
            rule = "the instance owns its children: when it goes, they go"
            return Stamp(rule, is_of_child=True)
        return None
    if len(path) != 3:
        return None
    key = str(path[2])
    if path[:2] == ANNOTATIONS and key in _CHILD_ANNOTATIONS:
        is_copied = key in _COPIED
        if is_copied and find(instance, path) is MISSING:
            return None
        is_order = key == metadata.APPLY_ORDER
        return Stamp(_CHILD_ANNOTATIONS[key], path if is_copied else None, is_order, True)
    return _child_label(path, live, instance) if path[:2] == LABELS else None


def _child_label(path: Path, live: KubeObject, instance: KubeObject) -> Stamp | None:
    key = str(path[2])
    rule = _CHILD_LABELS.get(key)
    if rule is not None:
        return Stamp(rule, overrides=True, is_of_child=True)
    theirs = find(instance, path)
    if theirs is MISSING or find(live, path) not in (theirs, MISSING):
        return None
    if key == INSTANCE_LABEL:
        return Stamp(_TRACKING, path, is_of_child=True)
    if is_propagated(key):
        return Stamp("flows from the labels of the instance", path, is_of_child=True)
    return None


def instance_stamp(path: Path, live: KubeObject) -> Stamp | None:
    """Return the rule by which the controller set a field of an instance, if it did."""
    if path[:2] in (LABELS, ANNOTATIONS) and len(path) == 3:
        rule = _INSTANCE_KEYS.get(str(path[2]))
        return Stamp(rule) if rule else None
    if path[:2] == FINALIZERS:
        held = find(live, path)
        if held == metadata.FINALIZER or held == [metadata.FINALIZER]:
            return Stamp("keeps the instance until its children are gone, in order")
    return None


def source_stamp(path: Path) -> Stamp | None:
    """Return the rule by which a source set a field of an object it applied, if it did."""
    if path[:2] in (LABELS, ANNOTATIONS) and len(path) == 3:
        rule = _SOURCE_KEYS.get(str(path[2]))
        return Stamp(rule) if rule else None
    return None
