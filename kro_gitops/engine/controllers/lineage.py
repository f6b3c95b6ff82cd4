"""
Which nested instances are children of which instance, by what their parents planned.

Labels and owner references of a nested instance can be written by everyone who can write the
instance, so they only name the parent. What counts is that the parent desires a child of this kind,
namespace and name: the targets of its plans are kept here. Until a parent was planned for the first
time, its children wait, and the plan wakes them. A child that is no longer desired has a parent
until it is deleted.

The namespace of a nested instance may be another one than its parent's, with other people who can
write there. They must not direct the rights of the parent: there the spec of the child has to be
what the parent desires. Otherwise the child waits until the parent has repaired it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kro_gitops.engine.applyset import Target, target_of
from kro_gitops.engine.controllers.watches import Watches
from kro_gitops.engine.instance_metadata import is_deleting
from kro_gitops.engine.lost_instances import instance_uid_of
from kro_gitops.engine.plan.steps import Apply
from kro_gitops.errors import NotYet
from kube_objects.defaulting import apply_defaults
from kube_objects.refs import Kind, KubeObject, ObjectRef


@dataclass(frozen=True, slots=True)
class _Planned:
    """The nested instances that an instance desires."""

    uid: str  # of the instance
    targets: Mapping[Target, Any]  # with the desired spec of those in another namespace
    is_complete: bool  # False: some nodes could not be planned yet
    leaving: frozenset[Target] = frozenset()  # children that are no longer desired
    was_pruned: bool = False  # children that a former process knew are among `leaving`


class PlannedChildren:
    """Remembers the nested instances of all instances; implements `Lineage`."""

    def __init__(self, watches: Watches) -> None:
        self._watches = watches
        self._planned: dict[ObjectRef, _Planned] = {}
        self._waiting: dict[ObjectRef, set[ObjectRef]] = {}  # children, by parent

    def record(self, parent: KubeObject, children: Iterable[Apply], *, is_complete: bool) -> None:
        """Store what a plan of an instance contains, before any of it is applied."""
        key, uid = ObjectRef.of(parent), parent["metadata"]["uid"]
        targets = {
            target_of(step.ref): None if step.ref.namespace == key.namespace else _spec(step.object)
            for step in children
            if self._may_be_instance(step.ref.kind)
        }
        former = self._planned_by(parent)
        if former is None:
            self._planned[key] = _Planned(uid, targets, is_complete)
        elif is_complete:
            leaving = (former.leaving | former.targets.keys()) - targets.keys()
            self._planned[key] = replace(
                former, targets=targets, is_complete=True, leaving=frozenset(leaving)
            )
        else:
            # What the former plan had may still be there.
            self._planned[key] = replace(former, targets={**former.targets, **targets})
        self._wake_children(key)

    def record_leaving(self, parent: KubeObject, leaving: Iterable[KubeObject]) -> None:
        """Store all children that are no longer desired; the others are gone."""
        planned = self._planned_by(parent)
        if planned is None:
            return
        refs = [ObjectRef.of(each) for each in leaving]
        targets = frozenset(target_of(ref) for ref in refs if self._may_be_instance(ref.kind))
        key = ObjectRef.of(parent)
        self._planned[key] = replace(planned, leaving=targets, was_pruned=True)
        self._wake_children(key)

    def forget(self, key: ObjectRef) -> None:
        """Drop an instance that is gone."""
        self._planned.pop(key, None)
        self._wake_children(key)

    def parent_of(self, child: KubeObject, parent: ObjectRef) -> KubeObject | None:
        """Return the parent of a nested instance; None if it does not desire this child."""
        uid = instance_uid_of(child)
        # Labels hold long names shortened, so the parent is found by its uid.
        above = self._watches.find_instance(self._watches.router.instance_with(uid) or parent)
        if above is None or uid != above["metadata"]["uid"]:
            return None
        is_leaving = is_deleting(child)
        if is_deleting(above) and is_leaving:
            return above  # the parent is planned no more; all that is left to do is to delete
        ref, planned = ObjectRef.of(child), self._planned_by(above)
        target, why = target_of(ref), f"waiting for {parent} to confirm that {ref} is its child"
        if planned is not None and target in planned.targets:
            changed = [] if is_leaving else self._changed_fields(child, planned.targets[target])
            if not changed:
                return above
            why = (
                f"waiting for {parent} to repair {ref}: another client changed "
                f"{', '.join(changed)}; in another namespace than that of its outer instance, a "
                "nested instance is reconciled only with the spec that the outer instance desires"
            )
        elif planned is not None and planned.is_complete:
            if is_leaving and target in planned.leaving:
                return above
            if not is_leaving or planned.was_pruned:
                return None
        self._waiting.setdefault(ObjectRef.of(above), set()).add(ref)
        raise NotYet("owner-unknown", why)

    def _changed_fields(self, child: KubeObject, desired: Any) -> list[str]:
        """Return the fields of the spec of a child that are not as its parent desires them."""
        served = self._watches.served_kinds.get(ObjectRef.of(child).kind)
        if desired is None or served is None or served.graph is None:
            return []  # in the namespace of the parent; or nothing is applied without a graph
        stored = apply_defaults({"spec": desired}, served.graph.served.schema)
        expected, live = _spec(stored), _spec(child)
        names = sorted({*expected, *live})
        return [f"spec.{name}" for name in names if expected.get(name) != live.get(name)]

    def _planned_by(self, parent: KubeObject) -> _Planned | None:
        """Return the plan of this very instance, not of a former one of its name."""
        found = self._planned.get(ObjectRef.of(parent))
        return found if found is not None and found.uid == parent["metadata"]["uid"] else None

    def _wake_children(self, parent: ObjectRef) -> None:
        for child in self._waiting.pop(parent, ()):
            self._watches.router.wake(child)

    def _may_be_instance(self, kind: Kind) -> bool:
        """Return False for most children: they are of the groups of Kubernetes itself."""
        is_custom = "." in kind.group and not kind.group.endswith(".k8s.io")
        return is_custom or kind in self._watches.served_kinds


def _spec(obj: KubeObject) -> dict[str, Any]:
    found = obj.get("spec")
    return found if isinstance(found, dict) else {}
