"""
Where the objects of a revision are placed: manifest → desired object.

A manifest may name no namespace, and git does not know which kinds have one. Each object gets the
namespace of its source if it needs one, is checked against what the source may have, and is stamped
with its origin. What cannot be placed keeps every name that it may have, so that none is pruned.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from kro_gitops.errors import KroGitopsError
from kro_gitops.metadata import PINNED_TO
from kro_gitops.source.api.types import SourceSpec
from kro_gitops.source.files.revision import Item
from kro_gitops.source.plan.apply_errors import not_served
from kro_gitops.source.plan.desired import Desired, Provenance, ReservedKeyError
from kro_gitops.source.plan.model import Memory, Observed, PlanOptions
from kro_gitops.source.plan.permissions import rejection
from kro_gitops.source.plan.result import Fault
from kro_gitops.source.plan.stages import Stage, stage_of
from kro_gitops.tracking.inventory import Inventory, Key, key_of
from kube_objects.errors import RefusedError
from kube_objects.problems import Problem
from kube_objects.refs import Kind, ObjectRef


@dataclass(slots=True)
class Placement:
    """Places the objects of one revision; its collections grow with every stage."""

    commit: str
    observed: Observed
    inventory: Inventory
    spec: SourceSpec
    options: PlanOptions
    memory: Memory
    pinned: Mapping[Item, str] = field(default_factory=dict)  # commits of items, if other ones
    desired: dict[Item, Desired] = field(default_factory=dict)
    keys: set[Key] = field(default_factory=set)  # every name that an object of git may have
    rejected: set[Key] = field(default_factory=set)  # keys that the source may not have

    def unknown_kinds(self, items: Sequence[Item]) -> frozenset[Kind]:
        """Return the kinds of which it is not known yet whether they are namespaced."""
        # No tuple or object for each of thousands: the garbage collector would go through them all.
        known, namespaced = self.memory.desired, self.observed.namespaced
        kind, unknown = None, set()
        for item in items:
            desired = known.get(item)
            its_kind = item.ref.kind if desired is None else desired.ref.kind
            if its_kind is not kind:
                kind = its_kind
                if kind not in namespaced:
                    unknown.add(kind)
        return frozenset(unknown)

    def place(self, items: Sequence[Item], stage: Stage) -> tuple[list[Desired], list[Fault]]:
        """Return the desired objects of manifests, and the findings of the others."""
        known = self.memory.desired
        placed: list[Desired] = []
        faults: list[Fault] = []
        for item in items:
            desired = known.get(item)
            if desired is None:
                found = self._stamp(item, stage)
                if isinstance(found, Fault):
                    faults.append(found)
                    self.keep_names(item)
                    continue
                desired = found
            if desired.key in self.keys:
                text = (
                    f"{desired.ref} is defined twice: once with its namespace written out, "
                    "once without"
                )
                problem = Problem("duplicate-object", text, hint="remove one of the two")
                faults.append(Fault.of_finding(item.finding(problem)))
            else:
                self.desired[item] = desired
                self.keys.add(desired.key)
                placed.append(desired)
        return placed, faults

    def keep_names(self, item: Item) -> None:
        """Record every name that an object may have: none of them may be pruned."""
        kind, name = item.ref.kind, item.ref.name
        for namespace in {item.ref.namespace or self.options.source.namespace, ""}:
            ref = ObjectRef(kind, namespace, name)
            self.keys.add(key_of(ref))
            # Other sources make room for claims, so none may claim what it may not have.
            if self._rejection(ref, bool(namespace)):
                self.rejected.add(key_of(ref))

    def _stamp(self, item: Item, stage: Stage) -> Desired | Fault:
        """Return the object to apply, or why the source may not have it."""
        try:
            is_namespaced = self.observed.namespaced[item.ref.kind]
            if is_namespaced is None:
                raise not_served(item.ref.kind)
            own = self.options.source.namespace
            namespace = (item.ref.namespace or own) if is_namespaced else ""
            ref = ObjectRef(_shared(item.ref.kind), namespace, item.ref.name)
            why = self._rejection(ref, is_namespaced)
            if why:
                raise RefusedError("not-allowed", why)
            entry = self.inventory.find(key_of(ref))
            annotations = (item.object.get("metadata") or {}).get("annotations") or {}
            marks, commit = self.options.marks(ref, annotations), self.commit
            if item in self.pinned:
                commit = self.pinned[item]
                marks = replace(marks, annotations={**marks.annotations, PINNED_TO: commit})
            provenance = Provenance(self.options.source.place, commit)
            return provenance.stamp(item, ref, entry, stage, marks)
        except ReservedKeyError as error:
            return Fault.of_finding(item.finding(error.problem))
        except KroGitopsError as error:
            fault = Fault.of_item(item, item.ref, error, lasting=isinstance(error, RefusedError))
            return replace(fault, is_rejection=error.code == "not-served")

    def _rejection(self, ref: ObjectRef, is_namespaced: bool) -> str:
        return rejection(
            self.spec.allow,
            self.options.source.namespace,
            ref,
            namespaced=is_namespaced,
            is_definition=stage_of(ref.kind) is Stage.DEFINITIONS,
            is_instance=self.observed.is_instance(ref.kind),
        )


@lru_cache(maxsize=4096)
def _shared(kind: Kind) -> Kind:
    """Return one and the same value for equal kinds, so that `is` tells them apart quickly."""
    return kind
