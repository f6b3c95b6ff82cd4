"""
Fields that people added to our objects by hand, and how they are removed.

Server-side apply removes a field only if its manager no longer applies it. A field that was added
with `kubectl edit` is never removed, and neither is the old item of a list that a merge patch
replaced. As Flux does, we take over the fields of managers that stand for a person: they are moved
into our own entry of `managedFields`, and the next apply removes what is not desired. The values
change in that apply only, so no request leaves the object half-way.

Everything else that writes to our objects is left alone: autoscalers, injectors, operators,
controllers, whatever their names are. Nor are fields removed that are requests to such controllers
or that they set as well (`_SPARED`), and nothing is that was written through a subresource: `scale`
and `status`.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from kro_gitops.metadata import (
    GITOPS_PREFIX,
    INTERNAL_PREFIX,
    KRO_PREFIX,
)
from kube_objects.field_sets import Fields, is_leaf, union, without, without_paths
from kube_objects.refs import KubeObject

UPDATE = "Update"
APPLY = "Apply"
_NEW_ENTRY: Mapping[str, Any] = {"operation": APPLY, "fieldsType": "FieldsV1", "fieldsV1": {}}

# Managers that stand for a person: what the API server derives from the user agent, or kubectl
# names itself. `Mozilla` is a browser, behind the proxies of Headlamp and Rancher, `node-fetch` is
# what Lens is called.
MANUAL_MANAGERS = frozenset(
    (
        *("kubectl", "before-first-apply", "k9s"),
        *("node-fetch", "Lens", "OpenLens", "Freelens"),
        *("Mozilla", "dashboard", "headlamp", "octant"),
    )
)
_MANUAL_PREFIX = "kubectl-"
# A restart is a request to the Deployment's controller; removing it would restart once more.
_NOT_MANUAL = frozenset(("kubectl-rollout",))

_OPERATED = (
    *(KRO_PREFIX, INTERNAL_PREFIX, GITOPS_PREFIX, "applyset.kubernetes.io/"),
    *("argocd.argoproj.io/", "reconcile.fluxcd.io/"),
    *("autoscaling.keda.sh/", "cluster-autoscaler.kubernetes.io/", "karpenter.sh/"),
    *("sidecar.istio.io/", "istio.io/", "linkerd.io/", "config.linkerd.io/"),
    *("deployment.kubernetes.io/", "kubernetes.io/change-cause", "pv.kubernetes.io/"),
    *("volume.kubernetes.io/", "volume.beta.kubernetes.io/"),
    "kubectl.kubernetes.io/restartedAt",
)
_POD_METADATA = ("spec", "template", "metadata")
# Fields that are never removed; a `*` stands for any rest of a name.
_SPARED: tuple[tuple[str, ...], ...] = (
    ("status",),
    ("metadata", "finalizers"),
    ("metadata", "ownerReferences"),
    # Without it the API server sets 1, whatever an autoscaler decided.
    ("spec", "replicas"),
    *(
        (*metadata, section, f"{key}*")
        for metadata in (("metadata",), _POD_METADATA)
        for section in ("labels", "annotations")
        for key in _OPERATED
    ),
)


def is_manual(manager: str, more: Collection[str] = ()) -> bool:
    """Return whether a field manager stands for a person; `more` are those that the user named."""
    if manager in more:
        return True
    is_known = manager in MANUAL_MANAGERS or manager.startswith(_MANUAL_PREFIX)
    return is_known and manager not in _NOT_MANUAL


def manual_fields(obj: KubeObject, more: Collection[str] = ()) -> Fields:
    """Return the fields of managers that stand for a person; empty for nearly every object."""
    found: Fields = {}
    for entry in obj["metadata"].get("managedFields") or ():
        if not entry.get("subresource") and is_manual(entry.get("manager") or "", more):
            found = union(found, entry.get("fieldsV1") or {})
    return without_paths(found, _SPARED) if found else found


def is_update(entry: Mapping[str, Any]) -> bool:
    """Return whether fields were set by an update or a patch."""
    return entry.get("operation") == UPDATE


def updated_fields(obj: KubeObject) -> Fields:
    """Return the fields that other clients set by an update or a patch, not by an apply."""
    found: Fields = {}
    for entry in obj["metadata"].get("managedFields") or ():
        if is_update(entry) and not entry.get("subresource"):
            found = union(found, entry.get("fieldsV1") or {})
    return found


@dataclass(frozen=True, slots=True)
class Move:
    """Managed fields after fields became ours, and the managers that had them."""

    entries: list[dict[str, Any]]
    owners: tuple[str, ...]


def move_fields(
    obj: KubeObject,
    moved: Fields,
    ours: str,
    is_meant: Callable[[Mapping[str, Any]], bool],
    *,
    creates: bool = False,
) -> Move | None:
    """
    Return managed fields in which `ours` holds fields that the entries which are meant held.

    None if there is nothing to move. Without an entry of ours there is, unless this `creates` it.
    A set of another version of the kind is left as it is: its fields may have other names.
    """
    entries = obj["metadata"].get("managedFields") or []
    mine = next((entry for entry in entries if _is_ours(entry, ours)), None)
    if mine is None:
        if not creates or not entries:
            return None
        mine = {**_NEW_ENTRY, "manager": ours, "apiVersion": obj["apiVersion"]}
        mine["time"] = entries[0].get("time")
    taken: Fields = {}
    owners: list[str] = []
    rest: list[dict[str, Any]] = []
    for entry in entries:
        fields = entry.get("fieldsV1") or {}
        if entry is mine:
            continue
        is_same_version = entry.get("apiVersion") == mine.get("apiVersion")
        is_source = is_same_version and not entry.get("subresource") and is_meant(entry)
        left = without(fields, moved) if is_source else fields
        if left == fields:
            rest.append(entry)
            continue
        taken = union(taken, without(fields, left))
        owners.append(entry.get("manager") or "unknown")
        if not is_leaf(left):
            rest.append({**entry, "fieldsV1": left})
    if not taken:
        return None
    ours_after = {**mine, "fieldsV1": union(mine.get("fieldsV1") or {}, taken)}
    return Move([ours_after, *rest], tuple(dict.fromkeys(owners)))


def patch_managed_fields(obj: KubeObject, entries: list[dict[str, Any]]) -> list[Mapping[str, Any]]:
    """Return a JSON patch that replaces managed fields, if the object has not changed since."""
    version = obj["metadata"]["resourceVersion"]
    return [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        {"op": "replace", "path": "/metadata/managedFields", "value": entries},
    ]


def _is_ours(entry: Mapping[str, Any], ours: str) -> bool:
    return (
        entry.get("manager") == ours
        and entry.get("operation") == APPLY
        and not entry.get("subresource")
    )
