"""
ControllerRevisions: the former templates of a StatefulSet or DaemonSet.

Follows kubernetes 1.35 pkg/controller/history/controller_history.go NewControllerRevision,
ControllerRevisionName, HashControllerRevision.
"""

from collections.abc import Iterable
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.controllers.workloads.plan_steps import Remove, Step, reference_to
from kube_sandbox.controllers.workloads.template_hash import template_hash

BUCKET = "controllerrevisions.apps"


def revision_hash(owner: KubeObject) -> str:
    """Return the short name of the template that an object has now."""
    collisions = (owner.get("status") or {}).get("collisionCount", 0)
    return template_hash(owner["spec"]["template"], collisions)


def revision_name(owner: KubeObject) -> str:
    """Return the name of the revision of the template that an object has now."""
    return f"{owner['metadata']['name']}-{revision_hash(owner)}"


def revision(owner: KubeObject, known: Iterable[KubeObject], label: str) -> KubeObject:
    """Make the revision of the template that an object has now."""
    labels = {**owner["spec"]["selector"].get("matchLabels", {}), label: revision_hash(owner)}
    data: dict[str, Any] = {
        "spec": {"template": {**owner["spec"]["template"], "$patch": "replace"}}
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": revision_name(owner),
            "namespace": owner["metadata"]["namespace"],
            "labels": labels,
            "ownerReferences": [reference_to(owner)],
        },
        "data": data,
        "revision": max((each.get("revision", 0) for each in known), default=0) + 1,
    }


def template_of_revision(owner: KubeObject, known: Iterable[KubeObject], name: str) -> KubeObject:
    """Return an object with the template it had at a revision; as it is if that is not known."""
    found = next((each for each in known if each["metadata"]["name"] == name), None)
    if found is None or name == revision_name(owner):
        return owner
    kept = found["data"]["spec"]["template"]
    template = {key: value for key, value in kept.items() if key != "$patch"}
    return {**owner, "spec": {**owner["spec"], "template": template}}


def renewed_revision(known: Iterable[KubeObject], name: str) -> KubeObject | None:
    """Return the revision of a template that is had again, as the newest; `None` if it is that."""
    found = list(known)
    newest = max((each.get("revision", 0) for each in found), default=0)
    current = next((each for each in found if each["metadata"]["name"] == name), None)
    if current is None or current.get("revision") == newest:
        return None
    return {**current, "revision": newest + 1}


def revisions_to_delete(
    owner: KubeObject, known: Iterable[KubeObject], used: set[str]
) -> list[Step]:
    """Return the steps that delete revisions that are too long ago."""
    unused = sorted(
        (each for each in known if each["metadata"]["name"] not in used),
        key=lambda each: each.get("revision", 0),
    )
    kept = owner["spec"].get("revisionHistoryLimit", 10)
    return [Remove(BUCKET, each) for each in unused[: max(0, len(unused) - kept)]]
