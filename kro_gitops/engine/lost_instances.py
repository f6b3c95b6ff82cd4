"""
Instances that were removed without our finalizer, and how their children are found.

Our finalizer keeps an instance until its children are gone, with one exception: a deletion that
began before the finalizer was set may remove the instance at once, although the API server accepted
the finalizer meanwhile, and so let us create children (kubernetes/kubernetes#77988). The last state
of the instance shows that, and has its inventory. A controller that starts later, and never saw the
instance, has only the labels and owner references of the children.
"""

from collections.abc import Iterable

from kro_gitops.engine.applyset import Inventory, parent_labels
from kro_gitops.engine.instance_metadata import has_finalizer, is_deleting
from kro_gitops.metadata import INSTANCE_ID, INSTANCE_NAMESPACE, SOURCE
from kube_objects.refs import Kind, KubeObject, ObjectRef


def was_deleted_without_cleanup(last: KubeObject) -> bool:
    """
    Return whether an instance that is gone was removed without our finalizer, by its last state.

    Otherwise its last state has a deletionTimestamp.
    """
    return has_finalizer(last) and not is_deleting(last)


def instance_uid_of(child: KubeObject) -> str:
    """Return the uid of the instance that a child belongs to; empty without the label."""
    uid: str = (child["metadata"].get("labels") or {}).get(INSTANCE_ID, "")
    return uid


def parents_of(kind: Kind, children: Iterable[KubeObject]) -> dict[ObjectRef, KubeObject]:
    """
    Return the instances of a kind that children belong to, with enough metadata to find these.

    At least one child must have an owner reference to its instance. References hold its full name,
    unlike labels, and the garbage collector removes them from children that are to stay.
    """
    families: dict[str, list[KubeObject]] = {}
    for child in children:
        families.setdefault(instance_uid_of(child), []).append(child)
    found: dict[ObjectRef, KubeObject] = {}
    for uid, family in families.items():
        parents = (
            ObjectRef(
                kind,
                (child["metadata"].get("labels") or {}).get(INSTANCE_NAMESPACE, ""),
                owner["name"],
            )
            for child in family
            # An owner is in the namespace of its dependents or in none: others are forged.
            if (child["metadata"].get("labels") or {}).get(INSTANCE_NAMESPACE, "")
            in ("", child["metadata"].get("namespace", ""))
            for owner in child["metadata"].get("ownerReferences") or ()
            if (owner["apiVersion"], owner["kind"], owner["uid"])
            == (kind.api_version, kind.kind, uid)
        )
        ref = next(parents, None)
        if ref is not None:
            inventory = Inventory.of(map(ObjectRef.of, family), ref)
            # Children carry the source of their instance: it decides as whom they are deleted.
            sources = ((each["metadata"].get("annotations") or {}).get(SOURCE) for each in family)
            source = next(filter(None, sources), "")
            metadata = {
                "name": ref.name,
                "uid": uid,
                "labels": parent_labels(ref),
                "annotations": {
                    **inventory.annotations(ref, ""),
                    **({SOURCE: source} if source else {}),
                },
                **({"namespace": ref.namespace} if ref.namespace else {}),
            }
            found[ref] = {
                "apiVersion": ref.kind.api_version,
                "kind": ref.kind.kind,
                "metadata": metadata,
            }
    return found
