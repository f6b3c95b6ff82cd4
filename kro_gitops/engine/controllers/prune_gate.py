"""
Decides whether an instance may delete children that are no longer desired.

A change of a definition reaches its instances one by one, but the limit counts all of them. So the
first deletion under a new graph waits until every instance was reconciled once with that graph:
then it is known what the change deletes. Nothing else waits, and a change that deletes nothing
costs nothing.

After that pass an instance is *settled*: whatever it stops desiring later under the same graph is
its own change. A restart forgets which instances are settled. Then children that are left over
count as a change of the definition again, so what was held stays held. What a change had lost in
all is on the instance (`Held`), so a hold does not end because a part of it was approved.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto

from kro_gitops.engine.applyset import Target
from kro_gitops.engine.controllers.watches import Watches
from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.engine.instance_metadata import has_finalizer, is_deleting
from kro_gitops.engine.plan.prune_limit import (
    Held,
    Leaving,
    PruneLimit,
    approves,
    definition_condition,
    losses,
)
from kro_gitops.engine.revision import revision_name
from kro_gitops.engine.served_kind import ServedKind
from kro_gitops.metadata import HELD_CHILDREN, PRUNE_APPROVED, REVISION
from kube_objects.conditions import Condition
from kube_objects.refs import Kind, KubeObject, ObjectRef


class Verdict(Enum):
    """What to do with children that are no longer desired."""

    DELETE = auto()
    WAIT = auto()  # until all instances of the definition were planned; they wake this one


@dataclass(frozen=True, slots=True)
class Hold:
    """The children stay until they are approved."""

    held: Held
    limit: PruneLimit


@dataclass(slots=True)
class _Change:
    """What is known of the instances of a kind under one graph."""

    graph: Graph
    pending: set[ObjectRef]  # instances that were not reconciled with it yet
    settled: set[ObjectRef] = field(default_factory=set)
    leaving: dict[ObjectRef, Leaving] = field(default_factory=dict)  # of unsettled instances
    allowed: dict[ObjectRef, frozenset[Target]] = field(default_factory=dict)
    deleted: int = 0  # children that the change of the definition was allowed to delete
    waiting: set[ObjectRef] = field(default_factory=set)
    held: dict[ObjectRef, Hold] = field(default_factory=dict)


class PruneGate:
    """Counts what a change deletes, over all instances of a definition, before it is deleted."""

    def __init__(self, watches: Watches, wake_definition: Callable[[str], None]) -> None:
        self._watches = watches
        self._wake_definition = wake_definition
        self._changes: dict[Kind, _Change] = {}

    # What instances report

    def reconciled(self, served: ServedKind, key: ObjectRef) -> None:
        """Record that an instance was reconciled with the graph of its kind, or that it failed."""
        change = self._change(served)
        if change is None or key not in change.pending:
            return
        change.pending.discard(key)
        if not change.pending:
            self._wake_definition(served.definition)
            for ref in change.waiting:
                self._watches.router.wake(ref)
            change.waiting.clear()

    def knows(self, served: ServedKind, key: ObjectRef) -> bool:
        """Return whether an instance was reconciled with the graph of its kind before."""
        change = self._change(served)
        return change is not None and key not in change.pending

    def report(self, served: ServedKind, key: ObjectRef, leaving: Leaving) -> None:
        """Record what an instance would lose that cannot be planned completely yet."""
        change = self._change(served)
        if change is not None and leaving.children and key not in change.settled:
            change.leaving[key] = leaving

    def settle(self, served: ServedKind, key: ObjectRef) -> None:
        """Record that no child of an instance is left over."""
        change = self._change(served)
        if change is not None:
            change.settled.add(key)
            self._drop(served.definition, change, key)

    def forget(self, key: ObjectRef) -> None:
        """Drop an instance that is gone."""
        change, served = self._changes.get(key.kind), self._watches.served_kinds.get(key.kind)
        if change is None:
            return
        change.settled.discard(key)
        self._drop(served.definition if served is not None else "", change, key)
        if served is not None:
            self.reconciled(served, key)

    # What may be deleted

    def decide(
        self,
        served: ServedKind,
        instance: KubeObject,
        leaving: Leaving,
        own: PruneLimit | None,
        whole: PruneLimit | None,
    ) -> Verdict | Hold:
        """
        Decide about the children that an instance no longer desires.

        `own` limits what one instance may lose, `whole` what a change of the definition deletes.
        """
        key, change = ObjectRef.of(instance), self._change(served)
        if change is None:
            return Verdict.WAIT  # planned with a former graph; all are queued for the new one
        if leaving.targets <= change.allowed.get(key, frozenset()):
            return Verdict.DELETE
        annotations = instance["metadata"].get("annotations") or {}
        former = Held.parse(annotations.get(HELD_CHILDREN, ""))
        names = frozenset(map(str, leaving.children))
        if former is not None and not names <= frozenset(former.children):
            former = None
        is_unsettled = key not in change.settled
        if _is_approved(served, annotations, former, is_unsettled=is_unsettled):
            return self._allow(served, change, key, leaving)
        if is_unsettled:
            change.leaving[key] = leaving
            if change.pending and whole is not None:
                change.waiting.add(key)
                return Verdict.WAIT
        hold = self._exceeded(served, change, instance, leaving, former, own, whole)
        if hold is None:
            return self._allow(served, change, key, leaving)
        if change.held.get(key) != hold:
            change.held[key] = hold
            self._wake_definition(served.definition)
        return hold

    def _exceeded(
        self,
        served: ServedKind,
        change: _Change,
        instance: KubeObject,
        leaving: Leaving,
        former: Held | None,
        own: PruneLimit | None,
        whole: PruneLimit | None,
    ) -> Hold | None:
        """Return what is held because it exceeds a limit; None if it exceeds none."""
        revision = revision_name(served.definition, served.revision)
        count, instances, limit = 0, 1, whole
        if ObjectRef.of(instance) not in change.settled and whole is not None:
            count = losses(change.leaving.values(), whole)
            count += change.deleted if count else 0
            # What a hold had in all: a part of it may have been approved before a restart.
            if former is not None and former.revision == revision:
                count = max(count, former.total)
            instances = len(change.leaving)
        if (limit is None or count <= limit.count) and own is not None:
            count, instances, limit = losses([leaving], own), 1, own
        if limit is None or count <= limit.count:
            return None
        generation = instance["metadata"].get("generation") or 0
        names = tuple(sorted(map(str, leaving.children)))
        return Hold(former or Held(names, count, revision, generation, instances), limit)

    def _allow(
        self, served: ServedKind, change: _Change, key: ObjectRef, leaving: Leaving
    ) -> Verdict:
        former = change.allowed.get(key, frozenset())
        if key not in change.settled:
            change.deleted += len(leaving.targets - former) + leaving.extra
        change.allowed[key] = former | leaving.targets
        self._drop(served.definition, change, key)
        return Verdict.DELETE

    def _drop(self, definition: str, change: _Change, key: ObjectRef) -> None:
        """Drop what an instance would lose."""
        change.waiting.discard(key)
        change.leaving.pop(key, None)
        if change.held.pop(key, None) is not None:
            self._wake_definition(definition)

    # What definitions report

    def is_decided(self, served: ServedKind) -> bool:
        """Return whether all instances were reconciled with the graph of their kind."""
        change = self._change(served)
        return change is not None and not change.pending

    def condition(self, served: ServedKind) -> Condition | None:
        """Return the condition of a definition whose change is held; None if none is."""
        change = self._change(served)
        held = [each for each in change.held.values() if each.held.instances > 1] if change else []
        if not held:
            return None
        revision = revision_name(served.definition, served.revision)
        return definition_condition(
            served.definition, revision, (each.held for each in held), held[0].limit
        )

    def held_children(self) -> int:
        """Return how many children are held."""
        changes = self._changes.values()
        return sum(len(hold.held.children) for each in changes for hold in each.held.values())

    def _change(self, served: ServedKind) -> _Change | None:
        """Return what is known under the graph that a kind is served by; None if there is none."""
        graph, kind = served.graph, served.kind
        current = self._watches.served_kinds.get(kind)
        if graph is None or current is None or current.graph is not graph:
            return None
        found = self._changes.get(kind)
        if found is not None and found.graph is graph:
            return found
        if not self._watches.knows_instances(kind):
            return None
        # An instance without our finalizer, or that is being deleted, has nothing to lose here.
        keys = self._watches.instances(kind)
        pending = {
            key
            for key in keys
            if (seen := self._watches.instance(key)) is not None
            and has_finalizer(seen)
            and not is_deleting(seen)
        }
        change = self._changes[kind] = _Change(graph, pending)
        return change


def _is_approved(
    served: ServedKind, annotations: dict[str, str], held: Held | None, *, is_unsettled: bool
) -> bool:
    """Return whether the deletion was approved, on the instance or for the whole definition."""
    value = annotations.get(PRUNE_APPROVED, "")
    if held is not None and value.strip() == held.token:
        return True
    if value and approves(value, annotations.get(REVISION, "")):
        return True
    if not is_unsettled or not served.prune_approved:
        return False
    approved = served.prune_approved.strip()
    return approved == revision_name(served.definition, served.revision) or approves(
        approved, served.source_revision
    )
