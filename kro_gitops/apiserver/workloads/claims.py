"""
Whose pods and ReplicaSets are these? Controllers take in what their selectors choose and nobody
has, and let go of what they choose no longer.
"""

from collections.abc import Iterable, Iterator, Mapping

from kro_gitops.apiserver.workloads.plans import (
    Controller,
    Seen,
    Step,
    Update,
    controller_of,
    is_going,
    reference_to,
)
from kro_gitops.objects.refs import KubeObject
from kro_gitops.objects.selection import Selector


class Orphans:
    """Remembers which objects nobody controls, of the buckets whose objects can be taken in."""

    def __init__(self, controllers: Iterable[Controller]) -> None:
        found = [each for each in controllers if each.adopts]
        self._buckets = {bucket for each in found for bucket in each.owns}
        self._names: dict[tuple[str, str], dict[str, None]] = {}

    def note(self, bucket: str, obj: KubeObject, *, is_gone: bool = False) -> bool:
        """Take note of an object; say whether somebody may want it."""
        if bucket not in self._buckets:
            return False
        metadata = obj["metadata"]
        place, name = (bucket, metadata.get("namespace", "")), metadata["name"]
        if is_gone or is_going(obj) or controller_of(obj) is not None:
            self._names.get(place, {}).pop(name, None)
            return False
        self._names.setdefault(place, {})[name] = None
        return True

    def names(self, bucket: str, namespace: str) -> Iterator[str]:
        """Give the names of those in a namespace."""
        yield from self._names.get((bucket, namespace), ())


def selects(owner: KubeObject, obj: KubeObject) -> bool:
    """Say whether an owner's selector chooses an object; one without a selector chooses none."""
    selector = owner["spec"].get("selector")
    labels = obj["metadata"].get("labels") or {}
    return bool(selector) and Selector.parse(selector).matches(labels)


def wants(controller: Controller, owner: KubeObject, orphan: KubeObject) -> bool:
    """Say whether an owner takes in an object that nobody controls."""
    if controller.adopts is None or is_going(owner) or is_going(orphan):
        return False
    return selects(owner, orphan) and controller.adopts(owner, orphan)


def claimed(
    controller: Controller,
    owner: KubeObject,
    seen: Seen,
    orphans: Mapping[str, Iterable[KubeObject]],
) -> tuple[Seen, list[Step]]:
    """Return what an owner has after it has taken in and let go, and the steps of that."""
    if controller.adopts is None or is_going(owner) or not owner["spec"].get("selector"):
        return seen, []
    found, steps = dict(seen), list[Step]()
    for bucket in controller.owns:
        released = [each for each in seen.get(bucket, ()) if not selects(owner, each)]
        adopted = [
            _adopted(owner, each)
            for each in orphans.get(bucket, ())
            if wants(controller, owner, each)
        ]
        if released or adopted:
            kept = [each for each in seen.get(bucket, ()) if each not in released]
            found[bucket] = [*kept, *adopted]
            steps += [Update(bucket, _released(owner, each)) for each in released]
            steps += [Update(bucket, each) for each in adopted]
    return found, steps


def _adopted(owner: KubeObject, obj: KubeObject) -> KubeObject:
    others = obj["metadata"].get("ownerReferences") or ()
    references = [*others, reference_to(owner)]
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": references}}


def _released(owner: KubeObject, obj: KubeObject) -> KubeObject:
    uid = owner["metadata"]["uid"]
    others = [each for each in obj["metadata"]["ownerReferences"] if each["uid"] != uid]
    metadata = {name: v for name, v in obj["metadata"].items() if name != "ownerReferences"}
    return {**obj, "metadata": {**metadata, **({"ownerReferences": others} if others else {})}}
