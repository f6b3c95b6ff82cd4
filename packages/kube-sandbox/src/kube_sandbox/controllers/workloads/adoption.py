"""
Adoption and release: controllers adopt orphans that match their selectors and release objects that
no longer match.

Follows kubernetes 1.35 pkg/controller/controller_ref_manager.go
BaseControllerRefManager.ClaimObject, PodControllerRefManager.ClaimPods.
"""

from collections.abc import Iterable, Mapping

from kube_objects.label_selectors import Selector
from kube_objects.refs import KubeObject
from kube_sandbox.controllers.workloads.indexes import (
    RelatedBucket,
    label_index_keys,
    label_query,
)
from kube_sandbox.controllers.workloads.plan_steps import (
    Controller,
    RelatedObjects,
    Step,
    Update,
    controller_of,
    is_deleting,
    reference_to,
)


def adoptions(controllers: Iterable[Controller]) -> dict[str, tuple[RelatedBucket, ...]]:
    """Return the queries for orphans by label, for each bucket whose objects adopt."""
    return {
        each.bucket: tuple(
            RelatedBucket(
                bucket,
                wishes=lambda owner: (
                    [label_query(owner["metadata"]["namespace"], selector.get("matchLabels"))]
                    if (selector := owner["spec"].get("selector")) and not is_deleting(owner)
                    else []
                ),
                ties=lambda obj: (
                    [] if is_deleting(obj) or controller_of(obj) else label_index_keys(obj)
                ),
            )
            for bucket in each.owns
        )
        for each in controllers
        if each.adopts is not None
    }


def selects(owner: KubeObject, obj: KubeObject) -> bool:
    """Return whether an owner's selector chooses an object; one without a selector chooses none."""
    selector = owner["spec"].get("selector")
    labels = obj["metadata"].get("labels") or {}
    return bool(selector) and Selector.parse(selector).matches(labels)


def should_adopt(controller: Controller, owner: KubeObject, orphan: KubeObject) -> bool:
    """Return whether an owner adopts an orphan."""
    if controller.adopts is None or is_deleting(owner) or is_deleting(orphan):
        return False
    return selects(owner, orphan) and controller.adopts(owner, orphan)


def adopt_or_release(
    controller: Controller,
    owner: KubeObject,
    seen: RelatedObjects,
    orphans: Mapping[str, Iterable[KubeObject]],
) -> tuple[RelatedObjects, list[Step]]:
    """Return what an owner has after it has taken in and let go, and the steps of that."""
    if controller.adopts is None or is_deleting(owner) or not owner["spec"].get("selector"):
        return seen, []
    found, steps = dict(seen), list[Step]()
    for bucket in controller.owns:
        released = [each for each in seen.get(bucket, ()) if not selects(owner, each)]
        adopted: list[KubeObject] = []
        for each in orphans.get(bucket, ()):
            if should_adopt(controller, owner, each):
                others = each["metadata"].get("ownerReferences") or ()
                references = [*others, reference_to(owner)]
                adopted.append(
                    {**each, "metadata": {**each["metadata"], "ownerReferences": references}}
                )
        if released or adopted:
            kept = [each for each in seen.get(bucket, ()) if each not in released]
            found[bucket] = [*kept, *adopted]
            for each in released:
                uid, metadata = owner["metadata"]["uid"], dict(each["metadata"])
                others = [ref for ref in metadata.pop("ownerReferences") if ref["uid"] != uid]
                if others:
                    metadata["ownerReferences"] = others
                steps.append(Update(bucket, {**each, "metadata": metadata}))
            steps += [Update(bucket, each) for each in adopted]
    return found, steps
