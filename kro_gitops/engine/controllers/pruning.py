"""
Prunes the children that an instance no longer desires, as far as the limit allows.

They are deleted in the reverse order of the graph. Children over the limit stay, and are recorded
on the instance until they are approved or desired again; everything else of the change proceeds.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kro_gitops.engine.applyset import Inventory
from kro_gitops.engine.child_counts import ChildCounter, ChildCounts
from kro_gitops.engine.controllers.applier import Applier, delete_each
from kro_gitops.engine.controllers.context import WriteContext
from kro_gitops.engine.controllers.find_children import ChildFinder
from kro_gitops.engine.controllers.lineage import PlannedChildren
from kro_gitops.engine.controllers.prune_gate import Hold, PruneGate, Verdict
from kro_gitops.engine.controllers.status_writer import InstanceReport, StatusWriter
from kro_gitops.engine.deletion_policy import is_kept
from kro_gitops.engine.instance_metadata import is_deleting
from kro_gitops.engine.plan.instance import Pass
from kro_gitops.engine.plan.prune_limit import (
    Leaving,
    PruneLimit,
    held_condition,
    leaving_children,
    node_of,
)
from kro_gitops.errors import KroGitopsError
from kube_objects.conditions import Condition
from kube_objects.refs import KubeObject, ObjectRef


@dataclass(frozen=True, slots=True)
class Pruned:
    """
    What came of pruning.

    `problem` is what is in the way. `is_clean` means that no child is left over, so the inventory
    may shrink. `hold` are children that wait for approval. With `is_waiting` that is not decided.
    """

    problem: str | None = None
    is_clean: bool = False
    is_unwatched: bool = False  # a deletion is in progress that no watch will report
    is_waiting: bool = False
    hold: Hold | None = None
    condition: Condition | None = None


class ChildPruner:
    """Deletes children that are no longer desired."""

    def __init__(
        self,
        finder: ChildFinder,
        applier: Applier,
        lineage: PlannedChildren,
        status_writer: StatusWriter,
        gate: PruneGate,
        counter: ChildCounter,
        default_limit: PruneLimit | None,
        *,
        retains_claims: bool,
    ) -> None:
        """`default_limit` holds for instances and definitions that are not from a source."""
        self._retains_claims = retains_claims
        self._finder = finder
        self._applier = applier
        self._lineage = lineage
        self._status_writer = status_writer
        self._gate = gate
        self._counter = counter
        self._default_limit = default_limit

    async def note(
        self, report: InstanceReport, context: WriteContext, inventory: Inventory, run: Pass
    ) -> None:
        """Report what an instance will lose that cannot be planned completely yet."""
        if self._gate.knows(report.served, report.key):
            return
        try:
            members, _ = await self._finder.members(context, inventory)
        except KroGitopsError:
            return  # nothing is deleted without a complete plan, which lists them again
        self._gate.report(report.served, report.key, self._leaving(run, members))

    async def prune(
        self,
        report: InstanceReport,
        context: WriteContext,
        inventory: Inventory,
        run: Pass,
        definition_limit: PruneLimit | None,
    ) -> Pruned:
        """Delete children that are no longer desired, unless they exceed a limit."""
        try:
            members, is_watched = await self._finder.members(context, inventory)
        except KroGitopsError as error:
            return Pruned(f"list orphans failed: {error.message}")
        orphans = leaving_children(run, members)
        # Before they are deleted: nested instances need their parent for that.
        self._lineage.record_leaving(report.instance, orphans)
        if not orphans:
            self._gate.settle(report.served, report.key)
            return Pruned(is_clean=True)
        own = context.authority.prune_limit or self._default_limit
        whole = definition_limit or own
        leaving = self._leaving(run, members)
        verdict = self._gate.decide(report.served, report.instance, leaving, own, whole)
        if isinstance(verdict, Hold):
            # The garbage collector, or another client, may have deleted some of them already.
            key = report.key
            place = f"{key.kind.kind.lower()}/{key.name}"
            place += f" -n {key.namespace}" if key.namespace else ""
            if verdict.held.instances > 1:
                place = f"rgd/{report.served.definition}"
            condition = held_condition(verdict.held, verdict.limit, place)
            return Pruned(hold=verdict, condition=condition)
        if verdict is Verdict.WAIT:
            return Pruned(is_waiting=True)
        problem = await self._delete(report, context, run, orphans)
        return Pruned(problem, is_unwatched=not is_watched)

    async def _delete(
        self,
        report: InstanceReport,
        context: WriteContext,
        run: Pass,
        orphans: Sequence[KubeObject],
    ) -> str | None:
        order = {name: index for index, name in enumerate(run.graph.order)}
        alive = [obj for obj in orphans if not is_deleting(obj) and not self._is_kept(obj)]
        alive.sort(key=lambda obj: order.get(node_of(obj), len(order)), reverse=True)
        try:
            for obj in filter(self._is_kept, orphans):
                await self._applier.release(context, obj, report.instance["metadata"]["uid"])
                text = f"{ObjectRef.of(obj)} is no longer desired, and was left in place"
                self._status_writer.record_event(report, "Normal", "Orphaned", text)
            missed = await delete_each(alive, lambda obj: self._applier.delete(context, obj))
        except KroGitopsError as error:
            return f"prune failed: {error.message}"
        for obj in alive:
            text = f"{ObjectRef.of(obj)} is no longer desired"
            self._status_writer.record_event(report, "Normal", "Pruned", text)
        source = context.authority.source or report.served.source
        self._counter.add(source, "", ChildCounts(deleted=len(alive)))
        return "prune encountered UID conflicts; retrying" if missed else None

    def _is_kept(self, obj: KubeObject) -> bool:
        return is_kept(obj, retains_claims=self._retains_claims)

    def _leaving(self, run: Pass, members: Sequence[KubeObject]) -> Leaving:
        """Return what would be deleted; children that stay, or are deleted already, are not."""
        lost = [
            each
            for each in leaving_children(run, members)
            if not is_deleting(each) and not self._is_kept(each)
        ]
        return Leaving(
            tuple(map(ObjectRef.of, lost)),
            Counter(map(node_of, lost)),
            Counter(map(node_of, members)),
        )
