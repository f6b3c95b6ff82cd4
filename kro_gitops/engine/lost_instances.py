"""
Instances that went without our finalizer, and what is left to find their children by.

Our finalizer holds an instance until its children are gone, with one exception: a deletion that
began before the finalizer was there may take the instance away at once, though the API server
accepted the finalizer meanwhile, and so let us make children (kubernetes/kubernetes#77988). The
last state of the instance tells, and names its inventory. Whoever comes later and has not seen it
has only what the children remember.
"""

from collections.abc import Iterable

from kro_gitops.engine.applyset import Inventory, parent_labels
from kro_gitops.engine.instance_metadata import has_finalizer, is_deleting
from kro_gitops.metadata import INSTANCE_ID, INSTANCE_NAMESPACE
from kube_objects.refs import Kind, KubeObject, ObjectRef


def was_deleted_without_cleanup(last: KubeObject) -> bool:
    """
    Return whether an instance that is gone went without our finalizer, by its last state.

    Otherwise it is marked as going first, and so it is in the state that its last finalizer ends.
    """
    return has_finalizer(last) and not is_deleting(last)


def instance_uid_of(child: KubeObject) -> str:
    """Return the uid of the instance that a child is of; empty if it does not say."""
    uid: str = (child["metadata"].get("labels") or {}).get(INSTANCE_ID, "")
    return uid


def parents_of(kind: Kind, children: Iterable[KubeObject]) -> dict[ObjectRef, KubeObject]:
    """
    Return instances of a kind as children remember them: enough of each to find these again.

    A child that refers to its instance must be among them. References name it in full, unlike
    labels, and of children that are to stay the garbage collector takes them away.
    """
    families: dict[str, list[KubeObject]] = {}
    for child in children:
        families.setdefault(instance_uid_of(child), []).append(child)
    found: dict[ObjectRef, KubeObject] = {}
    for uid, family in families.items():
        parents = (_parent_of(child, kind, uid) for child in family)
        ref = next((each for each in parents if each is not None), None)
        if ref is not None:
            inventory = Inventory.of(map(ObjectRef.of, family), ref)
            metadata = {
                "name": ref.name,
                "uid": uid,
                "labels": parent_labels(ref),
                "annotations": inventory.annotations(ref, ""),
                **({"namespace": ref.namespace} if ref.namespace else {}),
            }
            found[ref] = {
                "apiVersion": ref.kind.api_version,
                "kind": ref.kind.kind,
                "metadata": metadata,
            }
    return found


def _parent_of(child: KubeObject, kind: Kind, uid: str) -> ObjectRef | None:
    metadata = child["metadata"]
    for each in metadata.get("ownerReferences") or ():
        if (each["apiVersion"], each["kind"], each["uid"]) == (kind.api_version, kind.kind, uid):
            namespace = (metadata.get("labels") or {}).get(INSTANCE_NAMESPACE, "")
            return ObjectRef(kind, namespace, each["name"])
    return None
